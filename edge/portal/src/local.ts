/** Whether the service runs on the reader's own machine: its mails do not leave it, and its sandbox answers. */
export function isLocal(): boolean {
  return ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
}
