// Calls to the API, typed by its description.
import * as session from "../session";
import { Problem, problemOf } from "./problem";
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];

type Method = "get" | "post" | "put" | "delete";
type MethodsOf<P extends keyof paths> = {
  [M in Method]: paths[P][M] extends { responses: unknown } ? M : never;
}[Method];

type Json<R> = R extends { content: { "application/json": infer B } } ? B : undefined;
type BodyOf<O> = O extends { requestBody?: infer R } ? Json<NonNullable<R>> : undefined;
type ResultOf<O> = O extends { responses: infer R }
  ? R extends { 200: infer A }
    ? Json<A>
    : R extends { 201: infer A }
      ? Json<A>
      : undefined
  : never;

/** Time limit of a call in milliseconds; the service ends the slowest check after 12 s. */
const PATIENCE_MS = 25_000;

/** The caller: anybody, the session, or the owner of an API key. */
export type Caller = "anyone" | "session" | { apiKey: string };

/**
 * Calls one operation of the API, typed by its description.
 *
 * @throws {Problem} unless the call succeeds. If the service no longer knows the session, the session also ends
 * in this browser.
 */
export async function call<P extends keyof paths, M extends MethodsOf<P>>(
  method: M,
  path: P,
  caller: Caller,
  body?: BodyOf<paths[P][M]>,
  /** Values for the braces in the path; the remaining values form the query. */
  params: Record<string, string> = {},
): Promise<ResultOf<paths[P][M]>> {
  const token = caller === "session" ? session.current()?.token : undefined;
  if (caller === "session" && token === undefined) throw sessionOver();
  const headers: Record<string, string> = {};
  if (token !== undefined) headers["Authorization"] = `Bearer ${token}`;
  if (typeof caller === "object") headers["X-API-Key"] = caller.apiKey;
  if (body !== undefined) headers["Content-Type"] = "application/json";

  const { response, json } = await exchange(filled(path, params), {
    method: method.toUpperCase(),
    headers,
    body: body === undefined ? null : JSON.stringify(body),
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  if (response.ok) return json as ResultOf<paths[P][M]>;
  if (response.status === 401 && token !== undefined) throw sessionOver();
  throw problemOf(response, json);
}

function filled(path: string, params: Record<string, string>): string {
  const query = new URLSearchParams(params);
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    query.delete(name);
    return encodeURIComponent(params[name] ?? "");
  });
  return query.size === 0 ? filled : `${filled}?${query}`;
}

/** Ends a session on the service, without awaiting the response: this browser has already ended it. */
export function endSession(token: string): void {
  const headers = { Authorization: `Bearer ${token}` };
  // The request outlives the page, and a failure has no consequence.
  void fetch(`${API_URL}/v1/auth/sign-out`, {
    method: "POST",
    headers,
    keepalive: true,
    credentials: "omit",
  }).catch(() => {});
}

async function exchange(path: string, init: RequestInit): Promise<{ response: Response; json: unknown }> {
  try {
    const response = await fetch(API_URL + path, init);
    const text = await response.text();
    return { response, json: response.status === 204 ? undefined : parse(text) };
  } catch (error) {
    const slow = error instanceof DOMException && error.name === "TimeoutError";
    throw new Problem({ kind: slow ? "slow" : "unreachable" });
  }
}

/** Returns undefined for anything but JSON: a proxy may respond with its own page. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function sessionOver(): Problem {
  session.end("expired");
  return new Problem({ kind: "session-over" });
}
