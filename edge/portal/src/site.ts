// The operator's settings of the build: contact and published pages. Each setting is undefined unless the operator
// sets it.
/** Returns the URL of the operator's contact page, or else a `mailto:` link. */
export const contactUrl = () => set(CONTACT_URL) ?? set(CONTACT_EMAIL && `mailto:${CONTACT_EMAIL}`);
export const termsUrl = () => set(TERMS_URL);
export const statusUrl = () => set(STATUS_URL);

function set(url: string): string | undefined {
  return url === "" ? undefined : url;
}
