// Titles of the security events.
import { counted } from "./times";

const KINDS: Record<string, string> = {
  signed_in: "Signed in",
  sign_in_failed: "Sign-in failed",
  wrong_code: "Wrong two-factor code",
  wrong_password: "Wrong password within a session",
  password_changed: "Password changed",
  two_factor_on: "Two-factor turned on",
  two_factor_off: "Two-factor turned off",
  recovery_code_used: "Recovery code used",
  recovery_codes_replaced: "Recovery codes replaced",
  key_replaced: "API key replaced",
  key_shown: "API key shown",
  key_made: "Named key made",
  key_ended_itself: "API key ended by its holder",
  passkey_added: "Passkey added",
  passkey_removed: "Passkey removed",
  passkey_failed: "Passkey refused",
  recovery_pending: "Recovery by the operator",
  recovery_stopped: "Recovery stopped",
  account_recovered: "Recovered by the operator",
  webhook_changed: "Webhook changed",
  guard_changed: "Sign-up guard changed",
  guard_secret_replaced: "Secret of the sign-up guard replaced",
  session_ended: "Session signed out",
  signed_out_everywhere: "Signed out everywhere",
  data_exported: "Data downloaded",
  email_change_asked: "New email address asked for",
  email_changed: "Email address changed",
  changes_stopped: "Changes stopped",
};

const FAILURES = ["sign_in_failed", "wrong_code", "wrong_password", "passkey_failed"];

/** Returns an event's title; an unknown kind is shown as its name. */
export function eventTitle(kind: string, count: number): string {
  const title = KINDS[kind] ?? kind.replaceAll("_", " ");
  return count === 1 ? title : `${title}, ${counted(count, "time")}`;
}

export function isFailure(kind: string): boolean {
  return FAILURES.includes(kind);
}
