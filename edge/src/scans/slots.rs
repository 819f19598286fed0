//! Splits a part into messages by its content alone: a repeated part results in the same messages.

use std::collections::HashMap;

use rcpt_shared::{Malformed, read};

use super::message::WaitingAddress;

/// A full part of distinct, valid addresses has at least four messages.
const ADDRESSES_MAX: usize = 250;
/// Sealed and base64-encoded, addresses grow by a third, and the queue accepts 128,000 bytes.
const BYTES_MAX: usize = 64_000;
/// Bytes of an address beyond its own text.
const ADDRESS_OVERHEAD_BYTES: usize = 24;

#[derive(Debug)]
pub struct Slots {
    pub slots: Vec<Vec<WaitingAddress>>,
    pub malformed: Vec<(u16, Malformed)>,
}

/// Splits a part into messages. Addresses of one domain are adjacent, because they share
/// connections. A repeated address is checked once.
pub fn split(addresses: &[String]) -> Slots {
    let mut malformed = Vec::new();
    let mut index_of: HashMap<String, usize> = HashMap::new();
    let mut all: Vec<WaitingAddress> = Vec::new();
    for (position, text) in (0_u16..).zip(addresses) {
        let address = match read(text) {
            Ok(address) => address,
            Err(mistake) => {
                malformed.push((position, mistake));
                continue;
            }
        };
        let same_address = index_of.get(address.normal()).and_then(|index| all.get_mut(*index));
        if let Some(first) = same_address {
            first.positions.push(position);
        } else {
            index_of.insert(address.normal().to_owned(), all.len());
            all.push(WaitingAddress {
                address,
                positions: vec![position],
                tries: 0,
                due: 0,
                accepted: None,
            });
        }
    }
    // The sort is stable: addresses of one domain keep the list's order.
    all.sort_by(|a, b| a.address.domain().cmp(b.address.domain()));
    let mut slots: Vec<Vec<WaitingAddress>> = Vec::new();
    let mut bytes = 0;
    for waiting in all {
        let size =
            waiting.address.normal().len() + ADDRESS_OVERHEAD_BYTES + 6 * waiting.positions.len();
        match slots.last_mut() {
            Some(slot) if slot.len() < ADDRESSES_MAX && bytes + size <= BYTES_MAX => {
                bytes += size;
                slot.push(waiting);
            }
            _ => {
                bytes = size;
                slots.push(vec![waiting]);
            }
        }
    }
    Slots { slots, malformed }
}

#[cfg(test)]
mod tests {
    use super::{ADDRESSES_MAX, split};

    fn list(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn every_position_is_in_one_place() {
        let split = split(&list(&[
            "b@b.example",
            "no address",
            "Ann <a@a.example>",
            "b@B.example",
            "",
            "x@a.example",
        ]));
        let malformed: Vec<_> = split.malformed.iter().map(|(position, _)| *position).collect();
        assert_eq!(malformed, [1, 4]);
        let [slot] = &split.slots[..] else { panic!("{split:?}") };
        let positions: Vec<_> = slot.iter().map(|waiting| waiting.positions.clone()).collect();
        assert_eq!(
            positions,
            [vec![2], vec![5], vec![0, 3]],
            "by domain, a repetition with its first"
        );
    }

    #[test]
    fn messages_are_bounded_by_count_and_by_bytes() {
        let many: Vec<_> = (0..1000).map(|n| format!("p{n}@d{}.example", n % 7)).collect();
        let slots = split(&many).slots;
        assert_eq!(slots.len(), 1000 / ADDRESSES_MAX);
        let domain = "x".repeat(55);
        let long: Vec<_> =
            (0..1000).map(|n| format!("{n:064}@{domain}.{domain}.{domain}.example")).collect();
        let slots = split(&long).slots;
        assert_eq!(slots.iter().map(Vec::len).sum::<usize>(), 1000);
        for slot in &slots {
            assert!(serde_json::to_string(slot).unwrap().len() < 70_000);
        }
        // One address repeated a thousand times.
        assert_eq!(split(&vec!["a@a.example".to_owned(); 1000]).slots[0][0].positions.len(), 1000);
    }
}
