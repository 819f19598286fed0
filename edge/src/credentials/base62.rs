//! Numbers in base62, in which API keys are written. A crate for base62 would add a table of 8 KB to the Worker.

const BASE: u128 = 62;

pub fn push(text: &mut String, mut value: u128, width: usize) {
    let mut digits = vec![0; width];
    for digit in digits.iter_mut().rev() {
        *digit = u8::try_from(value % BASE).unwrap_or_default();
        value /= BASE;
    }
    text.extend(digits.into_iter().map(|digit| {
        char::from(match digit {
            0..10 => b'0' + digit,
            10..36 => b'A' + (digit - 10),
            _ => b'a' + (digit - 36),
        })
    }));
}

pub fn parse(text: &str) -> Option<u128> {
    text.bytes().try_fold(0_u128, |value, byte| {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'A'..=b'Z' => byte - b'A' + 10,
            b'a'..=b'z' => byte - b'a' + 36,
            _ => return None,
        };
        value.checked_mul(BASE)?.checked_add(digit.into())
    })
}

#[cfg(test)]
mod tests {
    use super::{parse, push};

    #[test]
    fn numbers_are_written_and_read_as_by_the_crate() {
        let bits = (0..128).map(|bit| 1_u128 << bit);
        let mixed = (0..128).map(|bit| (u128::MAX / 0xb5) >> bit);
        for number in bits.chain(mixed).chain([0, 61, 62, u128::MAX]) {
            let mut text = String::new();
            push(&mut text, number, 22);
            assert_eq!(text, format!("{:0>22}", base62::encode(number)));
            assert_eq!(parse(&text), Some(number));
        }
    }

    #[test]
    fn what_is_no_number_of_128_bits_is_not_read() {
        // 62^22 - 1, and 2^128.
        for wrong in ["zzzzzzzzzzzzzzzzzzzzzz", "7n42DGM5Tflk9n8mt7Fhc8", "-1", "é", " 1", "1_0"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
        assert_eq!(parse("7n42DGM5Tflk9n8mt7Fhc7"), Some(u128::MAX));
    }
}
