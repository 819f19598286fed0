// Names of countries.

/** Returns the name of an ISO 3166 code; other codes, such as Tor's, are returned unchanged. */
export function countryName(code: string): string {
  return new Intl.DisplayNames(["en"], { type: "region", fallback: "code" }).of(code) ?? code;
}

/** Returns the known part of a text such as `Firefox on Linux, Germany`. */
export function placeOf(browser: string | null | undefined, country: string | null | undefined): string {
  return [browser, country == null ? undefined : countryName(country)]
    .filter((part) => part != null)
    .join(", ");
}
