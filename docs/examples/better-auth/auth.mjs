// Better Auth with the sign-up guard. Environment: RCPT_URL, RCPT_API_KEY.
import { betterAuth } from "better-auth";
import { APIError, createAuthMiddleware } from "better-auth/api";

/** Time limit of a decision: longer than the deadline in the guard's policy. */
const PATIENCE_MS = 5_000;

export const auth = betterAuth({
  emailAndPassword: { enabled: true },
  hooks: {
    before: createAuthMiddleware(async (ctx) => {
      if (ctx.path !== "/sign-up/email" || !ctx.body?.email) return;
      const decision = await decide(ctx.body.email);
      if (decision?.decision !== "refuse") return;
      const meant = decision.suggestion ? ` Did you mean ${decision.suggestion}?` : "";
      throw new APIError("BAD_REQUEST", { message: decision.message + meant });
    }),
  },
});

/** Returns the guard's decision; undefined without a response, so that nobody is turned away. */
async function decide(email) {
  try {
    const response = await fetch(`${process.env.RCPT_URL}/v1/guard/decide`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-API-Key": process.env.RCPT_API_KEY },
      body: JSON.stringify({ email }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    return response.ok ? await response.json() : undefined;
  } catch {
    return undefined;
  }
}
