//! The subset of CBOR (RFC 8949) that passkeys use: definite lengths and shortest forms only, as CTAP2 prescribes.

const DEPTH_MAX: u8 = 4;

/// Reads items in order. Each method returns `None` for another type or form, and for a truncated item.
#[derive(Debug, Clone, Copy)]
pub struct CborReader<'a>(pub &'a [u8]);

impl<'a> CborReader<'a> {
    fn head(&mut self) -> Option<(u8, u64)> {
        let (first, rest) = self.0.split_first()?;
        let (major, short) = (first >> 5, first & 31);
        let (length, least) = match short {
            0..=23 => (0, 0),
            24 => (1, 24),
            25 => (2, 1 << 8),
            26 => (4, 1 << 16),
            27 => (8, 1 << 32),
            // A reserved or an indefinite length.
            _ => return None,
        };
        let (bytes, rest) = rest.split_at_checked(length)?;
        let long = bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
        // Major type 7 includes floats, whose bits can't be shortened.
        let is_shortest = long >= least || major == 7;
        self.0 = rest;
        is_shortest.then_some((major, if length == 0 { short.into() } else { long }))
    }

    fn of(&mut self, major: u8) -> Option<u64> {
        self.head().filter(|(found, _)| *found == major).map(|(_, argument)| argument)
    }

    fn string(&mut self, major: u8) -> Option<&'a [u8]> {
        let length = usize::try_from(self.of(major)?).ok()?;
        let (string, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(string)
    }

    pub fn int(&mut self) -> Option<i64> {
        let (major, argument) = self.head()?;
        let argument = i64::try_from(argument).ok()?;
        match major {
            0 => Some(argument),
            1 => Some(-1 - argument),
            _ => None,
        }
    }

    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        self.string(2)
    }

    pub fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.string(3)?).ok()
    }

    pub fn map(&mut self) -> Option<u64> {
        self.of(5)
    }

    pub fn skip(&mut self) -> Option<()> {
        self.skip_within(DEPTH_MAX)
    }

    fn skip_within(&mut self, depth: u8) -> Option<()> {
        let mut ahead = *self;
        let (major, argument) = ahead.head()?;
        let items = match major {
            2 | 3 => return self.string(major).map(drop),
            4 => argument,
            5 => argument.checked_mul(2)?,
            // A tag: passkeys use none.
            6 => return None,
            _ => 0,
        };
        *self = ahead;
        let depth = if items > 0 { depth.checked_sub(1)? } else { depth };
        // Each item takes at least a byte, so the end of the input ends the loop.
        for _ in 0..items {
            self.skip_within(depth)?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::CborReader;

    fn bytes(hex: &str) -> Vec<u8> {
        hex::decode(hex).unwrap()
    }

    #[test]
    fn numbers_read_in_their_shortest_form_only() {
        for (hex, expected) in [
            ("00", Some(0)),
            ("17", Some(23)),
            ("1818", Some(24)),
            ("26", Some(-7)),
            ("390100", Some(-257)),
            ("1b7fffffffffffffff", Some(i64::MAX)),
            ("1bffffffffffffffff", None),
            ("1817", None),
            ("190018", None),
            ("1a0000ffff", None),
            ("1f", None),
            ("18", None),
            ("40", None),
            ("", None),
        ] {
            assert_eq!(CborReader(&bytes(hex)).int(), expected, "{hex}");
        }
    }

    #[test]
    fn whole_items_are_passed_over_and_nothing_else() {
        for (hex, rest) in [
            ("a16161820102ff", Some("ff")),
            ("4301020300", Some("00")),
            ("f4", Some("")),
            ("f97e00", Some("")),
            ("80", Some("")),
            ("8181818100", Some("")),
            ("818181818100", None),
            ("9f01ff", None),
            ("c000", None),
            ("9bffffffffffffffff00", None),
            ("bbffffffffffffffff00", None),
            ("5bffffffffffffffff00", None),
            ("4301", None),
        ] {
            let bytes = bytes(hex);
            let mut reader = CborReader(&bytes);
            let passed = reader.skip().map(|()| hex::encode(reader.0));
            assert_eq!(passed.as_deref(), rest, "{hex}");
        }
    }
}
