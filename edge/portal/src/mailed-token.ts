// The token of a mailed link. Before anything is drawn, the token is removed from the address bar, and so from
// history, bookmarks and screenshots.
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

/** Forgets the token after its use. */
export function forgetMailedToken(): void {
  token = undefined;
}
