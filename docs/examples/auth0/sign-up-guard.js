// An Auth0 Action of the trigger "Pre User Registration". Secrets: RCPT_URL, RCPT_API_KEY.

/** Time limit of a decision: longer than the deadline in the guard's policy, shorter than Auth0's own limit. */
const PATIENCE_MS = 5_000;

exports.onExecutePreUserRegistration = async (event, api) => {
  // Users without an email address sign up by phone.
  if (!event.user.email) return;
  const decision = await decide(event.secrets, event.user.email);
  if (decision?.decision !== "refuse") return;
  const meant = decision.suggestion ? ` Did you mean ${decision.suggestion}?` : "";
  api.access.deny(`sign_up_guard_${decision.reason}`, decision.message + meant);
};

/** Returns the guard's decision; undefined without a response, so that nobody is turned away. */
async function decide({ RCPT_URL, RCPT_API_KEY }, email) {
  try {
    const response = await fetch(`${RCPT_URL}/v1/guard/decide`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-API-Key": RCPT_API_KEY },
      body: JSON.stringify({ email }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    return response.ok ? await response.json() : undefined;
  } catch {
    return undefined;
  }
}
