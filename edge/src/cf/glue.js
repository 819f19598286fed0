//! Steps that would each take many calls from wasm to JavaScript. A call costs the same for any content.

// Returns the method, the URL and some headers of a request. The names of the headers are separated by commas.
export function headOf({ method, url, headers }, names) {
  return JSON.stringify({ method, url, headers: names.split(",").map((name) => headers.get(name)) });
}

export function answer(body, init) {
  return new Response(body, JSON.parse(init));
}

// Returns the body of a request, truncated one byte after the limit. A body is always read to its end: otherwise a
// response could overtake the rest of the body, and the connection couldn't carry further requests.
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

// Returns the text cached under a URL; nothing if no text is cached, or the cache fails or is slow.
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

// Runs statements as one transaction. Returns for each its rows, the number of changes, and the number of rows written.
export async function ask(database, statements, params) {
  const bound = JSON.parse(params).map((values, index) => statements[index].bind(...values));
  const answers = bound.length === 1 ? [await bound[0].run()] : await database.batch(bound);
  return JSON.stringify(answers.map(({ results, meta }) => [results ?? [], meta.changes, meta.rows_written]));
}

export async function admits(shield, key) {
  return (await shield.limit({ key })).success;
}

// Returns whether a signature belongs to a public key, over P-256 or RSA with PKCS #1 v1.5, both with SHA-256. Fails if
// the JWK isn't a key. The bytes are copied before anything else runs, because wasm's memory may move.
export async function verifies(jwk, signature, signed) {
  const [copy, bytes] = [signature.slice(), signed.slice()];
  const key = JSON.parse(jwk);
  const name = key.kty === "EC" ? "ECDSA" : "RSASSA-PKCS1-v1_5";
  const algorithm = { name, namedCurve: "P-256", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("jwk", key, algorithm, false, ["verify"]);
  return crypto.subtle.verify(algorithm, imported, copy, bytes);
}
