// Returns whether the service runs on the reader's own machine: its emails stay there, and it has a sandbox.

export function isLocal(): boolean {
  return ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
}
