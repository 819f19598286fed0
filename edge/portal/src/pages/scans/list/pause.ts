/** Yields to the event loop, so that the page stays responsive. */
export function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}
