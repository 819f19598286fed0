//! Bytes in unpadded base32 (RFC 4648 §6), in which authenticators and recovery codes are typed.

/// Lengths that are a multiple of five bytes need no padding; what is left over of another is dropped.
pub fn encode(bytes: &[u8]) -> String {
    let bits: Vec<u8> =
        bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| (byte >> bit) & 1)).collect();
    let digits =
        bits.chunks_exact(5).map(|five| five.iter().fold(0, |digit, bit| (digit << 1) | bit));
    let letters = digits.map(|digit| match digit {
        0..26 => b'A' + digit,
        _ => b'2' + (digit - 26),
    });
    letters.map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::encode;

    #[test]
    fn rfc_4648_vectors_and_every_letter_pass() {
        for (bytes, text) in [("", ""), ("fooba", "MZXW6YTB"), ("foobafooba", "MZXW6YTBMZXW6YTB")] {
            assert_eq!(encode(bytes.as_bytes()), text);
        }
        let all: [u8; 20] = [
            0x00, 0x44, 0x32, 0x14, 0xc7, 0x42, 0x54, 0xb6, 0x35, 0xcf, 0x84, 0x65, 0x3a, 0x56,
            0xd7, 0xc6, 0x75, 0xbe, 0x77, 0xdf,
        ];
        assert_eq!(encode(&all), "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567");
    }
}
