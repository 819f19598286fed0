import type { Problem } from "../api/problem";
import { clockTimes, duration } from "./times";

/** What happened and what to do, for people. */
export function tell(problem: Problem): string {
  const { cause } = problem;
  switch (cause.kind) {
    case "unreachable":
      return "The service could not be reached. Check your connection, then try again.";
    case "slow":
      return "The service did not answer in time. Try again in a moment.";
    case "session-over":
      return "Your session is over. Sign in again to go on.";
    case "limit":
      return `You have used all your ${cause.limit.limit}s for today. There will be new ones at ${clockTimes(cause.limit.resets_at)}.`;
    case "refused":
      return REFUSALS[cause.code ?? ""]?.(problem) ?? unexpected(cause.status, cause.detail, problem);
  }
}

/** By the stable `code` of the API; the others' own texts already say what to do. */
const REFUSALS: Record<string, (problem: Problem) => string> = {
  invalid_credentials: () => "The email address or the password is wrong. Check both, or set a new password.",
  wrong_password: () =>
    "This is not your current password. Try again, or sign out and set a new one by mail.",
  totp_required: () => "Two-factor authentication is on. Enter the current code of your authenticator app.",
  totp_invalid: () =>
    "This code is wrong, too old or was used before. Wait for the next code of your authenticator app and enter that.",
  totp_already_on: () => "Two-factor authentication is already on. Load the page again to see it.",
  totp_not_on: () => "Two-factor authentication is already off. Load the page again to see it.",
  totp_not_set_up: () => "This QR code is no longer valid. Cancel, and start again with a new one.",
  key_deactivated: () =>
    "Your API key was deactivated by the operator, so it cannot be replaced here. Please contact the operator.",
  deactivated: () => "This account was deactivated by the operator. Please contact the operator.",
  throttled: (problem) =>
    `Too many attempts. Try again ${problem.retryAfter === undefined ? "later" : `in ${duration(problem.retryAfter)}`}.`,
  unavailable: (problem) =>
    `The service is unavailable at the moment, and nothing was changed. Try again ${problem.retryAfter === undefined ? "later" : `in ${duration(problem.retryAfter)}`}.`,
};

function unexpected(status: number, detail: string, problem: Problem): string {
  if (status < 500) return detail;
  if (status === 502)
    return "The address could not be checked just now, and the check was not counted. Try again in a moment.";
  const reference =
    problem.requestId === undefined ? "" : ` When you report it, quote request ${problem.requestId}.`;
  return `Something went wrong on our side. Try again in a moment.${reference}`;
}
