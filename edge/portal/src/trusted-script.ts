// URLs of scripts in Trusted Types: each script has its own policy, which allows only its URL.

interface Policy {
  createScriptURL: (url: string) => unknown;
}

interface TrustedTypes {
  createPolicy: (name: string, rules: { createScriptURL: () => string }) => Policy;
}

const policies = new Map<string, Policy>();

/** Returns the URL of a script in the form that the browser requires. */
export function trustedScript(policyName: string, url: string): unknown {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  if (trustedTypes === undefined) return url;
  const policy =
    policies.get(policyName) ?? trustedTypes.createPolicy(policyName, { createScriptURL: () => url });
  policies.set(policyName, policy);
  return policy.createScriptURL(url);
}
