// A call in each language. Calls that accept an API key use our clients; the other calls, which
// only the portal needs, use each language's own tools.
import { camelToSnake, jsonLiteral, pythonLiteral, snakeToCamel } from "./literals";

export interface Example {
  /** The operation's name in the API's description, and its tag. */
  operation: string;
  tag: string;
  method: string;
  /** URL of the service, without `/v1`. */
  base: string;
  /** Path such as `/v1/scans/{id}`. */
  path: string;
  /** The header that authenticates the caller, if any. */
  credential: { header: string; value: string } | undefined;
  body: unknown;
  /** The name of the body's schema. */
  schema: string | undefined;
  /** The function of our clients, and the member of the body that is its first argument. */
  call?: string | undefined;
  /** The command's line, with `{email}` for the body's address. */
  command?: string | undefined;
}

/** A check, to which the caller and the address are added. */
export const CHECK = {
  operation: "validateEmail",
  tag: "Validation",
  method: "POST",
  path: "/v1/validate_email",
  schema: "CheckRequest",
  call: "check email",
  command: "rcpt check {email}",
} as const;

export const LANGUAGES = ["curl", "rcpt", "TypeScript", "Python"] as const;
export type Language = (typeof LANGUAGES)[number];

/** Returns the call in a language; undefined if the language has no example for it. */
export function write(language: Language, example: Example): string | undefined {
  const byKey = example.credential?.header === "X-API-Key";
  switch (language) {
    case "curl":
      return curl(example);
    case "rcpt":
      return command(example);
    case "TypeScript":
      return byKey ? typescript(example) : fetched(example);
    case "Python":
      return byKey ? python(example) : requested(example);
  }
}

/** Placeholders for the parameters of a path. */
const PARAMETERS: Record<string, string | number> = { id: "SCAN_ID", n: 0 };

function parametersOf(path: string): [string, string | number][] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => [name, PARAMETERS[name] ?? name]);
}

function urlOf({ base, path }: Example): string {
  return parametersOf(path).reduce((url, [name, value]) => url.replace(`{${name}}`, `${value}`), base + path);
}

function curl(example: Example): string {
  const { method, credential, body } = example;
  const url = urlOf(example);
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

function command({ base, credential, body, command }: Example): string | undefined {
  const { email = "" } = (body ?? {}) as { email?: string };
  const line = command?.replace("{email}", email);
  if (line === undefined || credential === undefined) return undefined;
  return `export RCPT_URL=${base}\nexport RCPT_API_KEY=${credential.value}\n${line}`;
}

/** Returns the function for an operation, its first argument, and the other members as options. */
function functionOf({ call, body }: Example) {
  const [name, member = ""] = call?.split(" ") ?? [];
  if (name === undefined) return undefined;
  const { [member]: first, ...options } = (body ?? {}) as Record<string, unknown>;
  return { name, first: first === undefined ? [] : [first], options };
}

function typescript(example: Example): string {
  const { method, base, path, credential, body } = example;
  const key = credential?.value ?? "";
  const named = functionOf(example);
  const parameters = parametersOf(path);
  const init = [
    ...(parameters.length === 0
      ? []
      : [`  params: { path: ${jsonLiteral(Object.fromEntries(parameters))} },`]),
    ...(body === undefined ? [] : [`  body: ${jsonLiteral(body)},`]),
  ];
  const arguments_ =
    init.length === 0 ? JSON.stringify(path) : `${JSON.stringify(path)}, {\n${init.join("\n")}\n}`;
  const options = Object.entries(named?.options ?? {}).map(([name, value]) => [snakeToCamel(name), value]);
  const given = [...(named?.first ?? []), ...(options.length === 0 ? [] : [Object.fromEntries(options)])];
  const call = named && `rcpt.${named.name}(${given.map((value) => jsonLiteral(value)).join(", ")})`;
  return [
    "// npm install ./rcpt-client-*.tgz, which comes with each release",
    `import { Rcpt${call === undefined ? ", answer" : ""} } from "rcpt-client";`,
    "",
    `const rcpt = new Rcpt({ url: ${JSON.stringify(base)}, apiKey: ${JSON.stringify(key)} });`,
    call === undefined
      ? `console.log(answer(await rcpt.api.${method}(${arguments_})));`
      : `console.log(await ${call});`,
  ].join("\n");
}

function python(example: Example): string {
  const { operation, tag, base, path, credential, body, schema } = example;
  const opened = `rcpt = Rcpt(${JSON.stringify(base)}, ${JSON.stringify(credential?.value ?? "")})`;
  const install = "# pip install ./rcpt_client-*.whl, which comes with each release";
  const named = functionOf(example);
  if (named !== undefined) {
    const options = Object.entries(named.options).map(([name, value]) => `${name}=${pythonLiteral(value)}`);
    const given = [...named.first.map((value) => pythonLiteral(value)), ...options].join(", ");
    const call = `rcpt.${camelToSnake(named.name)}(${given})`;
    return [install, "from rcpt_client import Rcpt", "", opened, `print(${call})`].join("\n");
  }
  const module = camelToSnake(operation);
  const members = Object.entries((body ?? {}) as Record<string, unknown>);
  const given = members.map(([name, value]) => `${name}=${pythonLiteral(value)}`).join(", ");
  const arguments_ = [
    ...parametersOf(path).map(([name, value]) => `${name}=${pythonLiteral(value)}`),
    "client=rcpt.client",
    ...(schema === undefined ? [] : [`body=${schema}(${given})`]),
  ];
  return [
    install,
    "from rcpt_client import Rcpt, answer",
    `from rcpt_client.generated.api.${tag.toLowerCase()} import ${module}`,
    ...(schema === undefined ? [] : [`from rcpt_client.generated.models import ${schema}`]),
    "",
    opened,
    `print(answer(${module}.sync_detailed, ${arguments_.join(", ")}))`,
  ].join("\n");
}

function fetched(example: Example): string {
  const { method, credential, body } = example;
  const headers = headersOf(credential, body).map(
    ([name, value]) => `    ${JSON.stringify(name)}: ${JSON.stringify(value)},`,
  );
  const lines = [
    `const response = await fetch(${JSON.stringify(urlOf(example))}, {`,
    `  method: "${method}",`,
  ];
  if (headers.length > 0) lines.push("  headers: {", ...headers, "  },");
  if (body !== undefined) lines.push(`  body: JSON.stringify(${JSON.stringify(body)}),`);
  lines.push("});", "console.log(response.status, await response.text());");
  return lines.join("\n");
}

/** Returns a Python program that needs only the standard library. */
function requested(example: Example): string {
  const { method, credential, body } = example;
  const headers = headersOf(credential, body).map(
    ([name, value]) => `        ${JSON.stringify(name)}: ${JSON.stringify(value)},`,
  );
  const lines = [
    "import json",
    "import urllib.error",
    "import urllib.request",
    "",
    "request = urllib.request.Request(",
    `    ${JSON.stringify(urlOf(example))},`,
    `    method="${method}",`,
  ];
  if (headers.length > 0) lines.push("    headers={", ...headers, "    },");
  if (body !== undefined) lines.push(`    data=json.dumps(${pythonLiteral(body)}).encode(),`);
  lines.push(
    ")",
    "try:",
    "    response = urllib.request.urlopen(request)",
    "except urllib.error.HTTPError as error:",
    "    response = error  # It has a status and a body, too.",
    "print(response.status, response.read().decode())",
  );
  return lines.join("\n");
}

function headersOf(credential: Example["credential"], body: unknown): [string, string][] {
  const headers: [string, string][] = [];
  if (credential !== undefined) headers.push([credential.header, credential.value]);
  if (body !== undefined) headers.push(["Content-Type", "application/json"]);
  return headers;
}
