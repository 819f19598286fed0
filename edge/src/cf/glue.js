//! Steps that would be many crossings each, done from wasm. A crossing costs the same whatever it carries.

const PATH = /^[a-z]+:\/\/[^/?#]*\/v1\/validate_email(?:\?|$)/;

// The API key of a check whose body is in memory and may be, without an Idempotency-Key; nothing for any other
// request.
export function keyOf(request, limit) {
  const { headers, method, url } = request;
  if (method !== "POST" || !PATH.test(url) || headers.has("origin")) return undefined;
  if (headers.has("idempotency-key")) return undefined;
  const length = Number(headers.get("content-length"));
  return length > 0 && length <= limit ? (headers.get("x-api-key") ?? undefined) : undefined;
}

// Without a limit nothing is said of one.
export function answer(body, id, policy, limit, headers) {
  headers["x-request-id"] = id;
  const told = limit === "" ? headers : { ...headers, "ratelimit-policy": policy, ratelimit: limit };
  return new Response(body, { headers: told });
}

// The text under a URL; nothing where there is none, or the cache fails or takes longer.
export function textOf(cache, url, patience) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, patience);
    const done = (text) => {
      clearTimeout(timer);
      resolve(text);
    };
    const found = cache.match(url).then((response) => response?.text());
    found.then(done, () => done());
  });
}

// Runs statements as one transaction: of each its rows, how many it has changed, and how many were written.
export async function ask(database, statements, params) {
  const bound = JSON.parse(params).map((values, index) => statements[index].bind(...values));
  const answers = bound.length === 1 ? [await bound[0].run()] : await database.batch(bound);
  return JSON.stringify(answers.map(({ results, meta }) => [results ?? [], meta.changes, meta.rows_written]));
}

export async function admits(shield, key) {
  return (await shield.limit({ key })).success;
}
