// The token of a mailed link, taken when the page loads: it is removed from the address bar, and so
// from history, bookmarks and screenshots, before anything is drawn.
let token: string | undefined;

export function takeFromAddressBar(): void {
  const query = new URLSearchParams(location.search);
  const given = query.get("token");
  if (given === null) return;
  token = given.trim() || undefined;
  query.delete("token");
  const rest = query.toString();
  history.replaceState(null, "", location.pathname + (rest === "" ? "" : `?${rest}`));
}

export function mailedToken(): string | undefined {
  return token;
}

/** Forgets a used token. */
export function forgetMailedToken(): void {
  token = undefined;
}
