//! Steps that would be many crossings each, done from wasm. A crossing costs the same whatever it carries.

// The method, URL and some headers of a request, whose names have commas between them.
export function headOf({ method, url, headers }, names) {
  return JSON.stringify({ method, url, headers: names.split(",").map((name) => headers.get(name)) });
}

export function answer(body, init) {
  return new Response(body, JSON.parse(init));
}

// The whole body of a request, cut off one byte behind the limit. A body is always read to its end: a connection on which
// an answer overtakes the rest of a body cannot carry a further request, and what shares it fails.
export async function bodyOf(request, limit) {
  const length = Number(request.headers.get("content-length") ?? Infinity);
  if (length <= limit || request.body === null) return request.arrayBuffer();
  const kept = new Uint8Array(limit + 1);
  let size = 0;
  for await (const chunk of request.body) {
    kept.set(chunk.subarray(0, kept.length - size), size);
    size += Math.min(chunk.length, kept.length - size);
  }
  return kept.buffer.slice(0, size);
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

// Whether a signature is that of a public key, over P-256 or RSA with PKCS #1 v1.5, with SHA-256. Fails for what is no key. The
// bytes are copied before anything else runs: the memory that they lie in may move.
export async function verifies(jwk, signature, signed) {
  const [copy, bytes] = [signature.slice(), signed.slice()];
  const key = JSON.parse(jwk);
  const name = key.kty === "EC" ? "ECDSA" : "RSASSA-PKCS1-v1_5";
  const algorithm = { name, namedCurve: "P-256", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("jwk", key, algorithm, false, ["verify"]);
  return crypto.subtle.verify(algorithm, imported, copy, bytes);
}
