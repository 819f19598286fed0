// URLs of scripts that the pages' policy allows: each has a policy of its own that allows only this
// one.

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
