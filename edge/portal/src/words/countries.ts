// Names of countries.

/** The country of an ISO 3166 code; codes that are none, such as that of Tor, stay as they are. */
export function countryName(code: string): string {
  return new Intl.DisplayNames(["en"], { type: "region", fallback: "code" }).of(code) ?? code;
}

/** `Firefox on Linux, Germany`, as far as it’s known. */
export function placeOf(browser: string | null | undefined, country: string | null | undefined): string {
  return [browser, country == null ? undefined : countryName(country)]
    .filter((part) => part != null)
    .join(", ");
}
