//! Accounts end to end: from registration to deletion, with everything that guards them.

mod access;
mod admin;
mod admin_actions;
mod bad_input;
mod deletion;
mod enumeration;
mod housekeeping;
mod mail_failure;
mod passwords;
mod profile;
mod recovery_codes;
mod rotation;
mod secret_rotation;
mod sessions;
mod sign_in;
mod throttling;
mod tombstones;
mod two_factor;
mod walk;
