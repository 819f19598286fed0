//! A message of the queue: its position in the clear, and the waiting addresses, sealed.

use rcpt_shared::{Address, KeyRing};
use serde::{Deserialize, Serialize};

use super::results::StoredResult;
use crate::{
    account::AccountId,
    cf::queue::OutgoingMessage,
    credentials::{
        random,
        sealed::{self, SCANS, SealError},
    },
    error::Error,
    json,
};

/// An address and its positions within the part; a repeated address has several.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WaitingAddress {
    #[serde(rename = "a")]
    pub address: Address,
    #[serde(rename = "p")]
    pub positions: Vec<u16>,
    #[serde(rename = "t", default)]
    pub tries: u8,
    #[serde(rename = "d", default)]
    pub due: u64,
    /// The acceptance that stands whatever later attempts, which look for its evidence, don't learn.
    #[serde(rename = "k", default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<StoredResult>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessagePosition {
    #[serde(serialize_with = "as_text")]
    pub account: AccountId,
    pub scan: String,
    pub part: u32,
    pub slot: u32,
    pub round: u32,
    pub since: u64,
}

fn as_text<S: serde::Serializer>(account: &AccountId, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(account)
}

impl MessagePosition {
    /// Associated data of the seal: the addresses decrypt only in this position.
    fn about(&self) -> String {
        let Self { account, scan, part, slot, round, since } = self;
        format!("{account}/{scan}/{part}/{slot}/{round}/{since}")
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub struct ScanMessage {
    #[serde(rename = "place")]
    pub position: MessagePosition,
    /// Consecutive rounds in which no mail server was contacted.
    #[serde(default)]
    pub misses: u32,
    sealed: String,
}

impl ScanMessage {
    pub fn seal(
        keys: &KeyRing,
        position: MessagePosition,
        misses: u32,
        waiting: &[WaitingAddress],
    ) -> Result<Self, Error> {
        let text = serde_json::to_string(waiting)
            .map_err(|_| Error::internal("the addresses of a message do not serialise"))?;
        let sealed =
            sealed::seal(keys, SCANS, &position.about(), text.as_bytes(), random::bytes()?)
                .map_err(|_| Error::internal("a message cannot be sealed"))?;
        Ok(Self { position, misses, sealed })
    }

    /// Fails if the text was sealed for another position, or its secret was removed.
    pub fn open(&self, keys: &KeyRing) -> Result<Vec<WaitingAddress>, SealError> {
        let text = sealed::open(keys, SCANS, &self.position.about(), &self.sealed)?;
        let text = std::str::from_utf8(&text).map_err(|_| SealError)?;
        json::read(text.as_bytes()).map_err(|_| SealError)
    }

    /// To be delivered after `delay` seconds.
    pub fn outgoing(&self, delay: u64) -> Result<OutgoingMessage, Error> {
        let text = serde_json::to_string(self)
            .map_err(|_| Error::internal("a message does not serialise"))?;
        Ok(OutgoingMessage { text, delay: u32::try_from(delay).unwrap_or(u32::MAX) })
    }

    pub fn parse(text: &str) -> Option<Self> {
        json::read(text.as_bytes()).ok()
    }
}

#[cfg(test)]
mod tests {
    use rcpt_shared::{Address, KeyRing};

    use super::{MessagePosition, ScanMessage, WaitingAddress};
    use crate::account::AccountId;

    #[test]
    fn a_message_shows_its_place_and_no_address_and_opens_in_its_place_only() {
        let keys = KeyRing::parse(&"w".repeat(43)).unwrap();
        let position = MessagePosition {
            account: AccountId::from_u64(7),
            scan: "scan_1".into(),
            part: 1,
            slot: 2,
            round: 0,
            since: 9,
        };
        let address = Address::parse("ann@example.org").unwrap();
        let waiting =
            [WaitingAddress { address, positions: vec![3, 5], tries: 0, due: 0, accepted: None }];
        let message = ScanMessage::seal(&keys, position, 0, &waiting).unwrap();
        let text = message.outgoing(5).unwrap().text;
        assert!(text.contains("scan_1") && !text.contains("ann") && !text.contains("example"));
        let read = ScanMessage::parse(&text).unwrap();
        assert_eq!(read.position, message.position);
        assert_eq!(read.open(&keys).unwrap()[0].positions, [3, 5]);
        for (from, to) in [("\"slot\":2", "\"slot\":3"), ("\"round\":0", "\"round\":1")] {
            let moved_message = ScanMessage::parse(&text.replace(from, to)).unwrap();
            assert!(moved_message.open(&keys).is_err(), "{to}");
        }
        assert!(ScanMessage::parse("{}").is_none());
    }
}
