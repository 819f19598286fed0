// Formats values as in programs.

/** Returns a JavaScript literal: JSON with spaces, and without quotes around names, which must be identifiers. */
export function jsonLiteral(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(jsonLiteral).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).map(([name, member]) => `${name}: ${jsonLiteral(member)}`);
    return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
  }
  return JSON.stringify(value);
}

/** Returns a Python literal: JSON, except for `True`, `False` and `None`. */
export function pythonLiteral(value: unknown): string {
  if (value === true) return "True";
  if (value === false) return "False";
  if (value === null) return "None";
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    return `{${Object.entries(value)
      .map(([key, member]) => `${JSON.stringify(key)}: ${pythonLiteral(member)}`)
      .join(", ")}}`;
  }
  return JSON.stringify(value);
}

/** Converts `scanResults` to `scan_results`. */
export function camelToSnake(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Converts `deadline_ms` to `deadlineMs`. */
export function snakeToCamel(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
