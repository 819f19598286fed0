// A call written down in each language.
export interface Example {
  method: string;
  url: string;
  /** The header that says who is calling, if any. */
  credential: { header: string; value: string } | undefined;
  body: unknown;
}

export const LANGUAGES = ["curl", "Python", "JavaScript"] as const;
export type Language = (typeof LANGUAGES)[number];

export function write(language: Language, example: Example): string {
  switch (language) {
    case "curl":
      return curl(example);
    case "Python":
      return python(example);
    case "JavaScript":
      return javascript(example);
  }
}

function curl({ method, url, credential, body }: Example): string {
  const lines = [
    method === "GET" || (method === "POST" && body !== undefined)
      ? `curl ${url}`
      : `curl -X ${method} ${url}`,
  ];
  if (credential !== undefined) lines.push(`-H '${credential.header}: ${credential.value}'`);
  if (body !== undefined)
    lines.push(
      "-H 'Content-Type: application/json'",
      `-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`,
    );
  return lines.join(" \\\n  ");
}

/** The standard library alone, so that it runs as it stands. */
function python({ method, url, credential, body }: Example): string {
  const headers = headersOf(credential, body).map(
    ([name, value]) => `        ${JSON.stringify(name)}: ${JSON.stringify(value)},`,
  );
  const lines = [
    "import json",
    "import urllib.request",
    "",
    "request = urllib.request.Request(",
    `    ${JSON.stringify(url)},`,
    `    method="${method}",`,
  ];
  if (headers.length > 0) lines.push("    headers={", ...headers, "    },");
  if (body !== undefined) lines.push(`    data=json.dumps(${pythonLiteral(body)}).encode(),`);
  lines.push(
    ")",
    "with urllib.request.urlopen(request) as response:",
    "    print(response.status, response.read().decode())",
  );
  return lines.join("\n");
}

function javascript({ method, url, credential, body }: Example): string {
  const headers = headersOf(credential, body).map(
    ([name, value]) => `    ${JSON.stringify(name)}: ${JSON.stringify(value)},`,
  );
  const lines = [`const response = await fetch(${JSON.stringify(url)}, {`, `  method: "${method}",`];
  if (headers.length > 0) lines.push("  headers: {", ...headers, "  },");
  if (body !== undefined) lines.push(`  body: JSON.stringify(${JSON.stringify(body)}),`);
  lines.push("});", "console.log(response.status, await response.text());");
  return lines.join("\n");
}

function headersOf(credential: Example["credential"], body: unknown): [string, string][] {
  const headers: [string, string][] = [];
  if (credential !== undefined) headers.push([credential.header, credential.value]);
  if (body !== undefined) headers.push(["Content-Type", "application/json"]);
  return headers;
}

/** JSON, but for its three words that Python spells otherwise. */
function pythonLiteral(value: unknown): string {
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
