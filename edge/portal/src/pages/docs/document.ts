// The part of OpenAPI 3.1 that the reference shows.
/** An OpenAPI document. */
export interface Document {
  info: { title: string; version: string; description?: string };
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; securitySchemes: Record<string, unknown> };
  tags?: { name: string }[];
}

export interface Operation {
  tags?: string[];
  summary?: string;
  description?: string;
  operationId: string;
  parameters?: { name: string; in: string; required?: boolean; schema?: Schema; description?: string }[];
  requestBody?: { content: Content; required?: boolean };
  responses: Record<string, Outcome>;
  security?: Record<string, unknown>[];
}

export interface Outcome {
  /** Set for the responses that every operation has: the page's basics describe them. */
  $ref?: string;
  description: string;
  headers?: Record<string, { description?: string }>;
  content?: Content;
}

type Content = Record<
  string,
  { schema: Schema; example?: unknown; examples?: Record<string, { value?: unknown }> }
>;

export interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  /** Members that this release always sends, but earlier releases didn't. */
  "x-added-later"?: string[];
  items?: Schema;
  enum?: unknown[];
  /** Known values; a later version may add others. */
  "x-extensible-enum"?: unknown[];
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
  format?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
  default?: unknown;
}

/** An operation with its method and path. */
export interface Endpoint {
  method: string;
  path: string;
  operation: Operation;
}

/** Returns endpoints by tag, in the document's order of tags, untagged endpoints last. */
export function byTag(document: Document): [string, Endpoint[]][] {
  const endpoints = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const names = [...new Set([...(document.tags ?? []).map((tag) => tag.name), ...endpoints.map(tagOf)])];
  return names
    .map((name): [string, Endpoint[]] => [name, endpoints.filter((endpoint) => tagOf(endpoint) === name)])
    .filter(([, tagged]) => tagged.length > 0);
}

const tagOf = (endpoint: Endpoint) => endpoint.operation.tags?.[0] ?? "Other";

/** Returns the schema behind a reference. */
export function resolve(document: Document, schema: Schema): Schema {
  if (schema.$ref !== undefined) {
    const target = document.components.schemas[schema.$ref.split("/").pop()!] ?? {};
    return resolve(document, {
      ...target,
      ...(schema.description !== undefined && { description: schema.description }),
    });
  }
  if (schema.allOf !== undefined) {
    return schema.allOf.map((part) => resolve(document, part)).reduce(merged, schema);
  }
  return schema;
}

/** Returns a schema with the members of `one` and `other`; `other` overrides `one`. */
function merged(one: Schema, other: Schema): Schema {
  return {
    ...one,
    ...other,
    properties: { ...one.properties, ...other.properties },
    required: [...(one.required ?? []), ...(other.required ?? [])],
  };
}

/** Returns the responses that an operation describes itself. */
export const ownResponses = (operation: Operation) =>
  Object.entries(operation.responses).filter(([, { $ref }]) => $ref === undefined);

/** Returns a field's known values, if its schema lists them. */
export const valuesOf = (schema: Schema) => schema.enum ?? schema["x-extensible-enum"];

export function bodyOf(document: Document, content: Content | undefined): Schema | undefined {
  const schema = content?.["application/json"]?.schema;
  return schema === undefined ? undefined : resolve(document, schema);
}

/** Returns the example of a body, which was recorded from a running service. */
export function exampleOf(content: Content | undefined): unknown {
  const body = content?.["application/json"];
  return body?.example ?? Object.values(body?.examples ?? {})[0]?.value;
}

/** Returns the name of a body's schema. */
export function nameOf(content: Content | undefined): string | undefined {
  return content?.["application/json"]?.schema.$ref?.split("/").at(-1);
}

/** Returns a type's name for readers: `string or null`, `integer, 300 to 10,000`, `one of "a", "b"`, `list of strings`. */
export function typeName(document: Document, given: Schema): string {
  const schema = resolve(document, given);
  return [kindOf(document, schema), ...limitsOf(schema)].join(", ");
}

function kindOf(document: Document, schema: Schema): string {
  const alternatives = schema.oneOf ?? schema.anyOf;
  if (alternatives !== undefined)
    return nullLast(alternatives.map((part) => typeName(document, part))).join(" or ");
  const types = [schema.type ?? "any"].flat();
  const listed = valuesOf(schema)?.filter((value) => value !== null);
  if (listed !== undefined) {
    const names = listed.map((value) => JSON.stringify(value)).join(", ");
    const all = schema.enum === undefined ? `a string such as ${names}` : `one of ${names}`;
    return types.includes("null") ? `${all} or null` : all;
  }
  const named = types.map((type) => {
    if (type === "array" && schema.items !== undefined) return `list of ${typeName(document, schema.items)}s`;
    return type === "string" && schema.format === "date-time" ? "date-time" : type;
  });
  return nullLast(named).join(" or ");
}

const nullLast = (names: string[]) =>
  names.filter((name) => name !== "null").concat(names.filter((name) => name === "null"));

/** Returns what the service checks beside the type. */
function limitsOf(schema: Schema): string[] {
  return [
    range(schema.minimum, schema.maximum, ""),
    range(schema.minLength, schema.maxLength, " characters"),
    range(schema.minItems, schema.maxItems, " items"),
    schema.pattern && `matching ${schema.pattern}`,
    schema.default !== undefined && `default ${JSON.stringify(schema.default)}`,
  ].filter((limit): limit is string => typeof limit === "string" && limit !== "");
}

function range(least: number | undefined, most: number | undefined, unit: string): string | undefined {
  const number = (value: number) => value.toLocaleString("en");
  if (most !== undefined)
    return (least ?? 0) === 0
      ? `at most ${number(most)}${unit}`
      : `${number(least!)} to ${number(most)}${unit}`;
  return least !== undefined && least > 0 ? `at least ${number(least)}${unit}` : undefined;
}
