//! Domains as host names of A-labels: UTS #46 `ToASCII` with the rules of RFC 5321 §4.1.2 and RFC 1123 §2.1.

use idna::punycode;

/// Greatest length of a label in bytes (RFC 1035 §2.3.4).
const LABEL_BYTES_MAX: usize = 63;
const NAME_BYTES_MAX: usize = 253;
/// A label has one byte at least, and a dot after all but the last.
pub(crate) const LABELS_MAX: usize = NAME_BYTES_MAX.div_ceil(2);
const A_LABEL: &str = "xn--";

/// The result is in lower case; `None` if `domain` isn't a host name.
pub(crate) fn to_a_labels(domain: &str) -> Option<String> {
    if !domain.bytes().all(|b| !b.is_ascii() || b == b'.' || is_ldh(b)) {
        return None;
    }
    let mut ascii = domain.to_ascii_lowercase();
    if !ascii.is_ascii() || ascii.split('.').any(|label| label.starts_with(A_LABEL)) {
        ascii = unicode::to_ascii(&ascii)?;
    }
    // RFC 3696 §2: a top-level label is never all digits, which also excludes bare IPv4 addresses.
    let top_level = ascii.rsplit('.').next()?;
    let numeric = top_level.bytes().all(|b| b.is_ascii_digit());
    let is_host_name = ascii.len() <= NAME_BYTES_MAX && ascii.split('.').all(is_label) && !numeric;
    is_host_name.then_some(ascii)
}

const fn is_ldh(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

/// Hyphens in the third and fourth position are allowed: they are common in real host names.
fn is_label(label: &str) -> bool {
    (1..=LABEL_BYTES_MAX).contains(&label.len())
        && label.bytes().all(is_ldh)
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label.strip_prefix(A_LABEL).is_none_or(is_encoded)
}

/// A-labels are decoded.
#[cfg(any(target_arch = "wasm32", test))]
fn labels(ascii: &str) -> Vec<Vec<char>> {
    let read = |label: &str| match label.strip_prefix(A_LABEL) {
        Some(encoded) => punycode::decode(encoded).unwrap_or_default(),
        None => label.chars().collect(),
    };
    ascii.split('.').map(read).collect()
}

fn is_encoded(encoded: &str) -> bool {
    punycode::decode_to_string(encoded).is_some_and(|label| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && !label.starts_with(A_LABEL)
    })
}

#[cfg(not(target_arch = "wasm32"))]
mod unicode {
    use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};

    /// `ToASCII` of UTS #46. The caller checks the characters allowed in host names.
    pub(super) fn to_ascii(domain: &str) -> Option<String> {
        Uts46::new()
            .to_ascii(domain.as_bytes(), AsciiDenyList::URL, Hyphens::Allow, DnsLength::Ignore)
            .ok()
            .map(std::borrow::Cow::into_owned)
    }
}

/// Uses the platform's tables: our own would be a tenth of the Worker's size.
#[cfg(target_arch = "wasm32")]
mod unicode {
    use wasm_bindgen::{JsValue, prelude::wasm_bindgen};

    use super::super::bidi;

    #[wasm_bindgen]
    extern "C" {
        #[wasm_bindgen(js_name = URL)]
        type Url;
        #[wasm_bindgen(constructor, js_class = URL, catch)]
        fn new(text: &str) -> Result<Url, JsValue>;
        #[wasm_bindgen(method, getter, js_class = URL)]
        fn hostname(this: &Url) -> String;
    }

    /// A label added at the end: without it, a name that ends in a number would be parsed as an
    /// IPv4 address.
    const END: &str = ".a";

    /// `ToASCII` of UTS #46 as in the URL standard. The caller rejects ASCII characters that are special in URLs, and
    /// checks the result.
    pub(super) fn to_ascii(domain: &str) -> Option<String> {
        let url = Url::new(&["https://", domain, END].concat()).ok()?;
        let ascii = url.hostname().strip_suffix(END)?.to_owned();
        bidi::agree(&super::labels(&ascii)).then_some(ascii)
    }
}

#[cfg(test)]
mod tests {
    use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};
    use proptest::prelude::*;

    use super::{super::bidi, labels, to_a_labels};

    /// Uses the `idna` crate, and adds rule V4 of UTS #46 (2024), which the crate doesn't apply: no
    /// decoded label begins with `xn--`.
    fn by_the_library(domain: &str) -> Option<String> {
        let ascii = Uts46::new().to_ascii(
            domain.as_bytes(),
            AsciiDenyList::STD3,
            Hyphens::CheckFirstLast,
            DnsLength::Verify,
        );
        let ascii = ascii.ok()?.into_owned();
        let numeric = ascii.rsplit('.').next()?.bytes().all(|b| b.is_ascii_digit());
        let is_twice = |label: &Vec<char>| label.starts_with(&['x', 'n', '-', '-']);
        (!numeric && !labels(&ascii).iter().any(is_twice)).then_some(ascii)
    }

    #[test]
    fn a_domain_is_what_the_library_says_of_it() {
        let long = "x".repeat(64);
        for domain in [
            "",
            ".",
            "a.",
            ".a",
            "a..b",
            "A.Example",
            "-a.b",
            "a-.b",
            "a--b.c",
            "xn--",
            "xn--.a",
            "xn--a.b",
            "xn--zz--.example",
            "xn--bcher-kva.example",
            "XN--BCHER-KVA.example",
            "xn--e1afmkfd",
            "1.2.3.4",
            "bücher.4",
            "bücher.0x4",
            "4.bücher",
            "a_b.c",
            "a＿b.c",
            "℀.example",
            "％.example",
            "／.example",
            "a。b",
            "a。",
            "\u{ad}",
            "\u{ad}.a",
            "é-.a",
            "-é.a",
            "xn-----8fa.a",
            "xn-----bja.a",
            "é--é.a",
            "א.a",
            "אa.b",
            "1א.b",
            "a.א1",
            "\u{200d}.a",
            "क\u{94d}\u{200d}.a",
            "faß.de",
            "σς.gr",
            &long,
            &format!("{}.a", "é".repeat(60)),
            &["y".repeat(60).as_str(); 5].join("."),
            "xn--é.org",
            "a b.c",
            "xn--fa-hia.de",
            "xn--ls8h.la",
            "xn--a-0000000000.b",
            "💌.example",
            "xn--xn--a-ecp.b",
        ] {
            assert_eq!(to_a_labels(domain), by_the_library(domain), "{domain:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn any_domain_is_what_the_library_says_of_it(
            domain in r"(xn--)?[a-zA-Zéß。.\-_0-9\u{200d}אあ\p{Han}\r%/]{0,12}(\.xn--[a-z0-9-]{0,9})?",
        ) {
            prop_assert_eq!(to_a_labels(&domain), by_the_library(&domain));
        }

        /// The letters are all allowed, so only their order can make a label invalid.
        #[test]
        fn the_order_of_letters_is_what_the_library_says_of_it(
            parts in proptest::collection::vec(r"[aé1٣אبش\u{5b0}·-]{1,5}", 1..3),
        ) {
            let encoded = parts.iter().map(|label| match label.is_ascii() {
                true => label.clone(),
                false => format!("xn--{}", idna::punycode::encode_str(label).unwrap()),
            });
            let ascii = encoded.collect::<Vec<_>>().join(".");
            let by_the_library = Uts46::new().to_ascii(
                ascii.as_bytes(), AsciiDenyList::STD3, Hyphens::Allow, DnsLength::Ignore,
            );
            let begins_with_a_mark = parts.iter().any(|label| label.starts_with('\u{5b0}'));
            if !begins_with_a_mark {
                prop_assert_eq!(bidi::agree(&labels(&ascii)), by_the_library.is_ok(), "{}", ascii);
            }
        }

        #[test]
        fn any_text_is_what_the_library_says_of_it(domain in r"\PC{0,6}") {
            prop_assert_eq!(to_a_labels(&domain), by_the_library(&domain));
        }
    }
}
