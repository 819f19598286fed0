// The addresses of scripts that the policy of the pages allows: each under a policy of its own name, which allows that one only.

interface Policy {
  createScriptURL: (url: string) => unknown;
}

interface TrustedTypes {
  createPolicy: (name: string, rules: { createScriptURL: () => string }) => Policy;
}

const policies = new Map<string, Policy>();

/** The address of a script, in the form that the browser asks for. */
export function trustedScript(policyName: string, url: string): unknown {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  if (trustedTypes === undefined) return url;
  const policy =
    policies.get(policyName) ?? trustedTypes.createPolicy(policyName, { createScriptURL: () => url });
  policies.set(policyName, policy);
  return policy.createScriptURL(url);
}
