//! Links for customers: contact, terms, status page, and checkout pages.

const REFERENCE: &str = "{reference}";

/// Links that the operator publishes, all of them optional.
#[derive(Debug, Default)]
pub struct Site {
    pub contact_url: Option<String>,
    pub contact_email: Option<String>,
    pub terms_url: Option<String>,
    pub status_url: Option<String>,
    pub checkouts: Vec<Checkout>,
}

impl Site {
    /// The contact: the URL, or else the email address.
    pub fn contact(&self) -> Option<&str> {
        self.contact_url.as_deref().or(self.contact_email.as_deref())
    }

    /// URL of the page that sells this plan to the account with this reference.
    pub fn checkout(&self, plan: &str, reference: &str) -> Option<String> {
        let checkout = self.checkouts.iter().find(|checkout| checkout.plan == plan)?;
        Some(checkout.url.replace(REFERENCE, reference))
    }
}

/// A payment provider's page that sells a plan.
#[derive(Debug, PartialEq, Eq)]
pub struct Checkout {
    pub plan: String,
    /// Contains `{reference}` once.
    url: String,
}

impl Checkout {
    /// Parses `pro=https://buy.example/x?client_reference_id={reference}`; entries are separated by
    /// spaces.
    ///
    /// # Errors
    /// All mistakes, without the name of the setting.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, Vec<String>> {
        let mut checkouts: Vec<Self> = Vec::new();
        let mut mistakes = Vec::new();
        for pair in text.split_ascii_whitespace() {
            let Some((plan, url)) = pair.split_once('=').filter(|(plan, _)| !plan.is_empty())
            else {
                mistakes.push(format!("{pair}: expected a plan, = and a URL"));
                continue;
            };
            if !url.starts_with("https://") {
                mistakes.push(format!("{plan}: expected an https URL"));
            }
            if url.matches(REFERENCE).count() != 1 {
                mistakes.push(format!("{plan}: expected {REFERENCE} once in the URL"));
            }
            if checkouts.iter().any(|other| other.plan == plan) {
                mistakes.push(format!("{plan}: named twice"));
            }
            checkouts.push(Self { plan: plan.to_owned(), url: url.to_owned() });
        }
        if mistakes.is_empty() { Ok(checkouts) } else { Err(mistakes) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Checkout, Site};

    #[test]
    fn a_checkout_carries_the_reference_and_nothing_else_of_the_account() {
        let text = "pro=https://buy.example/x?client_reference_id={reference}&plan=pro  \
                    unlimited=https://buy.example/{reference}";
        let site = Site { checkouts: Checkout::parse_all(text).unwrap(), ..Site::default() };
        assert_eq!(
            site.checkout("pro", "acct_1").as_deref(),
            Some("https://buy.example/x?client_reference_id=acct_1&plan=pro")
        );
        assert_eq!(site.checkout("unlimited", "a").as_deref(), Some("https://buy.example/a"));
        assert_eq!(site.checkout("free", "a"), None);
        assert_eq!(Checkout::parse_all(" "), Ok(Vec::new()));
    }

    #[test]
    fn every_mistake_of_the_checkouts_is_named() {
        for (text, mistake) in [
            ("pro", "pro: expected a plan, = and a URL"),
            ("=https://a.example/{reference}", "expected a plan, = and a URL"),
            ("pro=http://a.example/{reference}", "pro: expected an https URL"),
            ("pro=https://a.example/", "pro: expected {reference} once in the URL"),
            ("pro=https://a.example/{reference}{reference}", "pro: expected {reference} once"),
            ("p=https://a.example/{reference} p=https://b.example/{reference}", "p: named twice"),
        ] {
            let mistakes = Checkout::parse_all(text).unwrap_err();
            assert!(mistakes.iter().any(|named| named.contains(mistake)), "{text}: {mistakes:?}");
        }
    }

    #[test]
    fn the_contact_is_the_url_before_the_email() {
        let email = Site { contact_email: Some("help@example.org".into()), ..Site::default() };
        assert_eq!(email.contact(), Some("help@example.org"));
        let both = Site { contact_url: Some("https://example.org/help".into()), ..email };
        assert_eq!(both.contact(), Some("https://example.org/help"));
        assert_eq!(Site::default().contact(), None);
    }
}
