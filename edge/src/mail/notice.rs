//! The events that an account's owner is notified of, and the email about each.

use serde::Deserialize;

use super::{AccountEvent, Mail, format_time};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Notice {
    PasswordChanged,
    TwoFactorOn,
    TwoFactorOff,
    RecoveryCodeUsed,
    KeyReplaced,
    RecoveryCodesReplaced,
    WrongCodes,
    WebhookChanged,
    ScanEnded,
    PlanChanged,
    EmailChangeAsked,
    EmailChanged,
    KeyMade,
    KeyEndedItself,
    PasskeyAdded,
    PasskeyRemoved,
    RecoveryPending,
    RecoveryStopped,
    AccountRecovered,
    /// Every key ends, because their secret is replaced: in thirty days, or now.
    KeysEnd,
    KeysEnded,
    AllowanceNearlyUsed,
    AllowanceUsedUp,
}

const NAMES: [(Notice, &str); 23] = [
    (Notice::PasswordChanged, "password_changed"),
    (Notice::TwoFactorOn, "two_factor_on"),
    (Notice::TwoFactorOff, "two_factor_off"),
    (Notice::RecoveryCodeUsed, "recovery_code_used"),
    (Notice::KeyReplaced, "key_replaced"),
    (Notice::RecoveryCodesReplaced, "recovery_codes_replaced"),
    (Notice::WrongCodes, "wrong_codes"),
    (Notice::WebhookChanged, "webhook_changed"),
    (Notice::ScanEnded, "scan_ended"),
    (Notice::PlanChanged, "plan_changed"),
    (Notice::EmailChangeAsked, "email_change_asked"),
    (Notice::EmailChanged, "email_changed"),
    (Notice::KeyMade, "key_made"),
    (Notice::KeyEndedItself, "key_ended_itself"),
    (Notice::PasskeyAdded, "passkey_added"),
    (Notice::PasskeyRemoved, "passkey_removed"),
    (Notice::RecoveryPending, "recovery_pending"),
    (Notice::RecoveryStopped, "recovery_stopped"),
    (Notice::AccountRecovered, "account_recovered"),
    (Notice::KeysEnd, "keys_end"),
    (Notice::KeysEnded, "keys_ended"),
    (Notice::AllowanceNearlyUsed, "allowance_nearly_used"),
    (Notice::AllowanceUsedUp, "allowance_used_up"),
];

impl TryFrom<String> for Notice {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        let found = NAMES.iter().find(|(_, each)| *each == name);
        found.map(|(kind, _)| *kind).ok_or("no kind of notice")
    }
}

impl Notice {
    pub const fn is_of_change(self) -> bool {
        matches!(
            self,
            Self::PasswordChanged
                | Self::TwoFactorOn
                | Self::TwoFactorOff
                | Self::RecoveryCodesReplaced
                | Self::PasskeyAdded
                | Self::EmailChangeAsked
        )
    }

    pub fn as_str(self) -> &'static str {
        NAMES.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    /// The email may be up to a day late and cover several events of one kind; `last` is the latest, if known.
    /// `stop_token` is for the link of a change that is open.
    pub fn mail(
        self,
        portal_url: &str,
        last: Option<&AccountEvent>,
        stop_token: Option<&str>,
    ) -> Mail {
        let (subject, text) = match self {
            Self::PasswordChanged => (
                "Your password has been changed",
                "The password of your rcpt account has been changed, and every session has ended. If someone else may \
                 know your API key, replace it on the API key page.",
            ),
            Self::TwoFactorOn => (
                "Two-factor authentication is on",
                "Two-factor authentication has been turned on for your rcpt account.",
            ),
            Self::TwoFactorOff => (
                "Two-factor authentication is off",
                "Two-factor authentication has been turned off for your rcpt account.",
            ),
            Self::RecoveryCodeUsed => (
                "A recovery code has been used",
                "A recovery code has been used instead of an authenticator code for your rcpt account. \
                 It won't work again. You can make new ones in the settings.",
            ),
            Self::KeyReplaced => (
                "Your API key has been replaced",
                "The API key of your rcpt account has been replaced. The old one has stopped working.",
            ),
            Self::RecoveryCodesReplaced => (
                "Your recovery codes have been replaced",
                "The recovery codes of your rcpt account have been replaced. The old ones have stopped \
                 working.",
            ),
            Self::WrongCodes => (
                "Wrong two-factor codes were entered",
                "Ten two-factor codes in a row were wrong for your rcpt account. Anyone who enters them \
                 knows its password or reads this mailbox. Two-factor authentication has kept them out.",
            ),
            Self::WebhookChanged => (
                "Your webhook has been changed",
                "The webhook of your rcpt account has been set, changed or removed. When a scan ends, the webhook gets \
                 its counts, and no address.",
            ),
            Self::EmailChangeAsked => (
                "A new email address was asked for",
                "Someone who is signed in to your rcpt account asked for another email address and gave its password. The \
                 account gets it three days after this email, if someone opens the link at the new address and enters the \
                 account's password.",
            ),
            Self::EmailChanged => (
                "Your email address has been changed",
                "Your rcpt account has this address now. Its password, sessions and API key stay as they are.",
            ),
            Self::KeyMade => (
                "A new API key has been made",
                "Another API key has been made for your rcpt account. You can see your keys, and end any \
                 of them, on the API key page.",
            ),
            Self::KeyEndedItself => (
                "An API key of yours has been ended",
                "Someone who has an API key of your rcpt account has ended it, as we ask finders of a \
                 leaked key to do. It has stopped working. Make a new one on the API key \
                 page, and find out where the old one was.",
            ),
            Self::PasskeyAdded => (
                "A passkey has been added",
                "A passkey has been added to your rcpt account. It can sign in without the password. You can see \
                 and remove your passkeys in the settings.",
            ),
            Self::PasskeyRemoved => (
                "A passkey has been removed",
                "A passkey of your rcpt account has been removed. You can't sign in with it any more. \
                 Your password still works.",
            ),
            Self::RecoveryStopped => (
                "The recovery of your account has ended",
                "Someone signed in to your rcpt account, or ended its recovery in a session or by asking us. Nothing has \
                 changed: two-factor authentication is still on.",
            ),
            Self::AccountRecovered => (
                "Set a new password for your recovered account",
                "Three days have passed since we were asked to recover your rcpt account. Two-factor authentication is off, \
                 its password and recovery codes are void, and every session has ended. Set a new password to sign in, and \
                 then turn two-factor authentication on again.",
            ),
            Self::AllowanceNearlyUsed => (
                "Most of your daily checks are used",
                "80 % of the daily checks of your rcpt account are used, and no welcome checks are left. When all are used, \
                 further checks are refused until 00:00 UTC.",
            ),
            Self::AllowanceUsedUp => (
                "Your daily checks are used up",
                "All daily checks of your rcpt account are used, and no welcome checks are left. Until 00:00 UTC, \
                 further checks are refused with `used_up`, and the sign-up guard asks no mail server.",
            ),
            // Functions of their own build these emails instead.
            Self::RecoveryPending
            | Self::ScanEnded
            | Self::PlanChanged
            | Self::KeysEnd
            | Self::KeysEnded => ("", ""),
        };
        let mail = Mail::new(subject, portal_url).text(text);
        let mail = match last {
            Some(event) => mail.paragraph(event.facts()),
            None => mail,
        };
        if let Some(stop_token) = stop_token {
            return mail.unless_you_stop(stop_token);
        }
        match self {
            // The advice to set a new password is left out: a new password ends no key.
            Self::KeyEndedItself => mail.button("See your keys", format!("{portal_url}/api-key")),
            Self::AllowanceNearlyUsed | Self::AllowanceUsedUp => mail
                .text(
                    "You get this email at most once a week. You can turn it off in the settings.",
                )
                .button("See your checks", format!("{portal_url}/overview")),
            _ => mail.unless_you(),
        }
    }
}

/// Sent at the start and then daily until the recovery takes effect at `due_at` (Unix seconds).
pub fn recovery_pending(portal_url: &str, due_at: i64) -> Mail {
    let due = format_time(due_at).unwrap_or_default();
    Mail::new("Your account is being recovered", portal_url)
        .text(format!(
            "Someone who can't produce a two-factor code, hopefully you, asked us to recover your rcpt account. On {due} \
             two-factor authentication will be turned off, the password will be void and every session will end. You then \
             set a new password by a link to this mailbox."
        ))
        .text(
            "If it wasn't you, sign in with your password and a code, or with a passkey: that stops it. In a session that is \
             open you can stop it in the settings. You can also ask us to.",
        )
        .button("Stop it: sign in", format!("{portal_url}/sign-in"))
}
