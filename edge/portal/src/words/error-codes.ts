// What each code of an error means, for people who write programs.
import type { Schemas } from "../api/client";

type Code = NonNullable<Schemas["PlainError"]["code"] | Schemas["LimitError"]["code"]>;

export const ERROR_CODES: Readonly<Record<Code, string>> = {
  invalid_body: "The body isn’t JSON, or a field is missing or has the wrong type.",
  invalid_email: "The account’s address isn’t an email address.",
  undeliverable_email: "The domain of the account’s address doesn’t exist or accepts no email.",
  invalid_password: "The password breaks a rule; the text says which one.",
  invalid_display_name: "The name is empty, too long or has control characters.",
  invalid_token: "The emailed link is unknown, used, replaced or expired.",
  missing_credentials: "No API key or session token was sent.",
  invalid_api_key: "The API key is wrong, replaced or deactivated.",
  invalid_session: "The session token is wrong, or the session has ended.",
  invalid_credentials: "The email or password is wrong, or the address isn’t confirmed.",
  totp_required: "Two-factor authentication is on, and the code is missing.",
  totp_invalid: "The two-factor code is wrong, too old or has been used.",
  deactivated: "The account has been deactivated.",
  key_deactivated: "The API key has been deactivated, so it can’t be replaced.",
  wrong_password: "The current password is wrong.",
  no_such_session: "The account has no session of this name, or it has ended.",
  totp_already_on: "Two-factor authentication is already on.",
  totp_not_on: "Two-factor authentication isn’t on.",
  totp_not_set_up: "Two-factor setup hasn’t been started.",
  throttled: "Too many attempts. Wait as long as Retry-After says.",
  internal: "Something failed on our side.",
  unavailable: "The service is unavailable for now. Nothing has changed.",
  too_many_in_flight: "Too many checks of the account are running.",
};
