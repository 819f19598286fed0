/** Checks what a client is made with. No error shows a key or an address: errors end up in logs. */

/** Throws if the runtime lacks what the client needs: otherwise every call would fail as if there were no network. */
export function checkRuntime(): void {
  if (typeof fetch !== "function" || typeof globalThis.crypto?.randomUUID !== "function")
    throw new Error("rcpt-client needs Node.js 20 or newer, or another runtime with fetch and Web Crypto.");
}

/** Throws if no key has this text, such as a key read with the line break of its file. */
export function checkKey(apiKey: string): void {
  if (!apiKey) throw new TypeError("The API key is empty.");
  if (!/^[A-Za-z0-9_]+$/.test(apiKey)) throw new TypeError("The API key has characters that no key has.");
}

/** Returns the URL without `/v1` and slashes at its end. Throws if the key would leave the machine unencrypted. */
export function serviceAt(url: string): string {
  const { protocol, hostname, username, password } = parsed(url);
  const isHere = ["localhost", "[::1]"].includes(hostname) || /^127(\.\d+){3}$/.test(hostname);
  if (protocol !== "https:" && !(protocol === "http:" && isHere))
    throw new TypeError("The service's address must start with https://.");
  if (username !== "" || password !== "")
    throw new TypeError("The service's address must not contain a user name or a password.");
  return url.trim().replace(/\/+$/, "").replace(/\/v1$/, "");
}

function parsed(url: string): URL {
  try {
    return new URL(url);
  } catch {
    // The runtime's error has the text, which is the key where both were mixed up.
    throw new TypeError("The service's address isn't a URL.");
  }
}
