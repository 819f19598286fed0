// Returns whether the service runs on the reader's own computer, where its emails are files.

export function isLocal(): boolean {
  return ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
}
