//! Reduces the spellings of a mailbox to one, for providers that document their rules. They're recognised by domain,
//! never by mail host: a company at a provider chooses its own rules.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spelling {
    /// `ann+shop@` delivers to `ann@`.
    Tags,
    /// Like [`Self::Tags`]; in addition, `a.nn@` delivers to `ann@`.
    TagsAndDots,
}

const PROVIDERS: [(&str, &str, Spelling); 21] = [
    // https://support.google.com/mail/answer/7436150 and /answer/22370
    ("gmail.com", "gmail.com", Spelling::TagsAndDots),
    ("googlemail.com", "gmail.com", Spelling::TagsAndDots),
    // https://learn.microsoft.com/en-us/exchange/recipients-in-exchange-online/plus-addressing-in-exchange-online
    ("outlook.com", "outlook.com", Spelling::Tags),
    ("hotmail.com", "hotmail.com", Spelling::Tags),
    ("live.com", "live.com", Spelling::Tags),
    // https://support.apple.com/en-us/102529
    ("icloud.com", "icloud.com", Spelling::Tags),
    ("me.com", "me.com", Spelling::Tags),
    ("mac.com", "mac.com", Spelling::Tags),
    // https://www.fastmail.help/hc/en-us/articles/360060591053
    ("fastmail.com", "fastmail.com", Spelling::Tags),
    // https://proton.me/support/addresses-and-aliases
    ("proton.me", "proton.me", Spelling::Tags),
    ("protonmail.com", "protonmail.com", Spelling::Tags),
    ("pm.me", "pm.me", Spelling::Tags),
    // https://yandex.com/support/yandex-360/customers/mail/en/web/preferences/aliases: one mailbox in all domains.
    ("yandex.ru", "yandex.ru", Spelling::Tags),
    ("yandex.com", "yandex.ru", Spelling::Tags),
    ("yandex.by", "yandex.ru", Spelling::Tags),
    ("yandex.kz", "yandex.ru", Spelling::Tags),
    ("yandex.ua", "yandex.ru", Spelling::Tags),
    ("yandex.uz", "yandex.ru", Spelling::Tags),
    ("yandex.az", "yandex.ru", Spelling::Tags),
    ("yandex.com.tr", "yandex.ru", Spelling::Tags),
    ("ya.ru", "yandex.ru", Spelling::Tags),
];

/// Canonical form of a mailbox; `folded` is the folded address, whose local part isn't quoted.
pub fn canonical(folded: &str) -> String {
    let Some((local, domain)) = folded.rsplit_once('@') else { return folded.to_owned() };
    let provider = PROVIDERS.iter().find(|(name, ..)| *name == domain);
    let Some((_, domain, spelling)) = provider else { return folded.to_owned() };
    let (name, _) = local.split_once('+').unwrap_or((local, ""));
    let name = match spelling {
        Spelling::Tags => name.to_owned(),
        Spelling::TagsAndDots => name.replace('.', ""),
    };
    // A local part that is only a tag isn't a spelling of any mailbox.
    if name.is_empty() { folded.to_owned() } else { format!("{name}@{domain}") }
}

#[cfg(test)]
mod tests {
    use super::{PROVIDERS, Spelling, canonical};

    #[test]
    fn spellings_of_one_mailbox_are_one() {
        for spelling in ["a.nn@gmail.com", "ann+shop@gmail.com", "a.n.n+b+c@googlemail.com"] {
            assert_eq!(canonical(spelling), "ann@gmail.com", "{spelling}");
        }
        for domain in ["yandex.com", "yandex.com.tr", "ya.ru"] {
            assert_eq!(canonical(&format!("ann+x@{domain}")), "ann@yandex.ru");
        }
        assert_eq!(canonical("a.nn+x@outlook.com"), "a.nn@outlook.com");
    }

    #[test]
    fn every_provider_ignores_tags_and_one_ignores_dots() {
        for (domain, stands_for, spelling) in PROVIDERS {
            let name = if spelling == Spelling::TagsAndDots { "ann" } else { "a.nn" };
            assert_eq!(canonical(&format!("a.nn+tag@{domain}")), format!("{name}@{stands_for}"));
        }
    }

    #[test]
    fn nothing_is_stripped_elsewhere() {
        for folded in [
            "a.nn+tag@example.org",
            "ann+tag@mail.gmail.com",
            "ann+tag@notgmail.com",
            "ann-tag@fastmail.com",
            "+tag@gmail.com",
            "ann",
        ] {
            assert_eq!(canonical(folded), folded);
        }
    }
}
