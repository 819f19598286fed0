/** The remaining allowance, from the headers `RateLimit` and `RateLimit-Policy`. */
export interface RateLimit {
  /** `daily` or `welcome` for checks, `scans` or `credits` for scans. New ones may be added. */
  name: string;
  left: number;
  /** Seconds until the allowance is renewed; undefined if it never is. */
  seconds: number | undefined;
  /** Size of the allowance. */
  allowance: number | undefined;
}

/** Returns the first allowance in a response's headers, if they name one. */
export function rateLimitOf(headers: Headers): RateLimit | undefined {
  const [limit = ""] = (headers.get("RateLimit") ?? "").split(",");
  const [name, left] = [nameOf(limit), numberOf(limit, "r")];
  if (name === undefined || left === undefined) return undefined;
  const policies = (headers.get("RateLimit-Policy") ?? "").split(",");
  const policy = policies.find((policy) => nameOf(policy) === name) ?? "";
  return { name, left, seconds: numberOf(limit, "t"), allowance: numberOf(policy, "q") };
}

function nameOf(item: string): string | undefined {
  return /^\s*"([^"]*)"/.exec(item)?.[1];
}

function numberOf(item: string, parameter: string): number | undefined {
  const digits = new RegExp(`;\\s*${parameter}=(\\d+)\\s*(;|$)`).exec(item)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
