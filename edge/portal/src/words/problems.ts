// Errors and advice, for people.
import type { Problem } from "../api/problem";
import { clockTimes, duration } from "./times";

export function tell(problem: Problem): string {
  const { cause } = problem;
  switch (cause.kind) {
    case "unreachable":
      return "We couldn’t reach the service. Check your connection, then try again.";
    case "slow":
      return "The service took too long to respond. Try again in a moment.";
    case "session-over":
      return "Your session has ended. Sign in again to continue.";
    case "declined":
      return cause.text;
    case "limit":
      if (cause.code === "too_many_in_flight")
        return "Too many of your checks are running right now. Try again when one has finished.";
      if (cause.code === "throttled") return `Too many checks in a short time. Try again ${when(problem)}.`;
      return `You’ve used all your ${cause.limit.limit}s for today. Your allowance resets at ${clockTimes(cause.limit.resets_at)}.`;
    case "refused":
      return REFUSALS[cause.code ?? ""]?.(problem) ?? unexpected(cause.status, cause.detail, problem);
  }
}

/** Texts by the API's stable `code`. For other codes, the API's own text says what to do. */
const REFUSALS: Record<string, (problem: Problem) => string> = {
  invalid_credentials: () => "The email or password is wrong. Check both, or reset your password.",
  wrong_password: () => "That isn’t your current password. Try again, or sign out and reset your password.",
  totp_required: () => "Two-factor authentication is on. Enter the current code from your app.",
  totp_invalid: () => "That code is wrong, too old or has been used. Enter the next one that your app shows.",
  totp_already_on: () => "Two-factor authentication is already on. Reload the page to see it.",
  totp_not_on: () => "Two-factor authentication is already off. Reload the page to see it.",
  totp_not_set_up: () => "This QR code has expired. Cancel, and start again with a new one.",
  key_deactivated: () =>
    "Your API key has been deactivated, so you can’t replace it here. Please contact us.",
  deactivated: () => "This account has been deactivated. Please contact us.",
  throttled: (problem) => `Too many attempts. Try again ${when(problem)}.`,
  invalid_webhook: () =>
    "Use an https URL on port 443 with a host name, without a user name, and with at most 500 characters.",
  webhook_not_public: () => "This URL isn’t on the public internet. Use one that everyone can reach.",
  unavailable: (problem) =>
    `The service is unavailable right now, and nothing was changed. Try again ${when(problem)}.`,
};

function when({ retryAfter }: Problem): string {
  return retryAfter === undefined ? "later" : `in ${duration(retryAfter)}`;
}

function unexpected(status: number, detail: string, problem: Problem): string {
  // Replaces the API's straight quotes and apostrophes.
  if (status < 500) return detail.replace(/'([^' ]+)'/g, "“$1”").replaceAll("'", "’");
  if (status === 502) return "We couldn’t complete this check, and it wasn’t counted. Try again in a moment.";
  const reference =
    problem.requestId === undefined ? "" : ` If you report it, please quote request ${problem.requestId}.`;
  return `Something went wrong on our side. Try again in a moment.${reference}`;
}
