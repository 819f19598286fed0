//! `Idempotency-Key`s in a history: few keys, which every operation uses, while requests are in flight and afterwards.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::{
    run::{KeyedRequest, MOST_HELD, Player, Waiting, answer},
    step::End,
};

/// Operations of a step.
const PATHS: [&str; 3] = ["/validate_email", "/validate_emails", "/domains"];

/// The last request under a key at one operation.
#[derive(Clone)]
pub(super) struct LastRequest {
    request: KeyedRequest,
    state: KeyState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyState {
    /// The number of the check.
    InFlight(u64),
    Answered,
}

impl Player<'_> {
    /// Sends a request under one of the keys: the last one again, or another one. If the key is free at this operation,
    /// the request is a new one, and stays in flight if `is_held`.
    pub async fn under_key(
        &mut self,
        operation: u8,
        key: u8,
        is_repeat: bool,
        is_held: bool,
    ) -> Result<()> {
        let path = PATHS[usize::from(operation) % PATHS.len()];
        let name = format!("shared-key-{}-{}", self.id(), key % 2);
        let slot = (path, name.clone());
        let taken = self.keys.get(&slot).cloned().filter(|last| match last.state {
            KeyState::InFlight(number) => self.model.is_in_flight(number),
            KeyState::Answered => true,
        });
        let Some(last) = taken else {
            let is_held = is_held && path != "/domains";
            if is_held && self.checks_in_flight.len() == MOST_HELD {
                self.finish(0, End::Verdict).await?;
            }
            let body = self.new_body(path, is_held);
            let request = KeyedRequest { path, key: name, body };
            let state = if is_held {
                self.hold_under_key(&request).await?
            } else {
                self.answer_under_key(&request).await?
            };
            match state {
                Some(state) => self.keys.insert(slot, LastRequest { request, state }),
                None => self.keys.remove(&slot),
            };
            return Ok(());
        };
        let mut body = if is_repeat { last.request.body } else { self.new_body(path, false) };
        // The deadline isn't part of the request.
        body.as_object_mut().context("a body")?.remove("deadline_ms");
        let (status, body) = answer(self.keyed(&KeyedRequest { path, key: name, body })).await?;
        let expected = match (is_repeat, last.state) {
            (false, _) => (422, "idempotency_key_reused"),
            (true, KeyState::InFlight(_)) => (409, "idempotency_key_in_use"),
            (true, KeyState::Answered) => (200, ""),
        };
        let code = body["code"].as_str().unwrap_or_default();
        ensure!((status, code) == expected, "{status} {body} instead of {expected:?} at {path}");
        Ok(())
    }

    fn new_body(&mut self, path: &str, is_held: bool) -> Value {
        let address = self.address(if is_held { "held" } else { "ok" });
        let mut body = match path {
            "/validate_email" => json!({ "email": address }),
            "/validate_emails" => json!({ "emails": ["no address", address] }),
            _ => json!({ "domain": address.replace('@', ".") }),
        };
        if is_held {
            body["deadline_ms"] = 600.into();
        }
        body
    }

    /// Sends a request that is answered at once, or refused.
    async fn answer_under_key(&mut self, request: &KeyedRequest) -> Result<Option<KeyState>> {
        let units = units(request);
        let number = self.checks;
        let (status, body) = answer(self.keyed(request)).await?;
        if !self.model.begin(number, units) {
            ensure!(status == 429, "{status} {body} instead of 429");
            self.refused = true;
            return Ok(None);
        }
        ensure!(status == 200, "{status} {body} instead of 200");
        self.model.settle(number, units);
        self.counted += units;
        Ok(Some(KeyState::Answered))
    }

    /// Sends a request whose probe stays in flight, or which is refused.
    async fn hold_under_key(&mut self, request: &KeyedRequest) -> Result<Option<KeyState>> {
        let (units, number) = (units(request), self.checks);
        let (status, body) = answer(self.keyed(request)).await?;
        if !self.model.begin(number, units) {
            ensure!(status == 429, "{status} {body} instead of 429");
            self.refused = true;
            return Ok(None);
        }
        ensure!(status == 200 && body["pending"] == true, "{status} {body} isn't pending");
        let address = [&request.body["email"], &request.body["emails"][1]];
        let address = address.into_iter().find_map(Value::as_str).context("an address")?.to_owned();
        self.world.origin.wait_for_probe(&address).await;
        self.add_in_flight(number, address, units, Waiting::Under(request.clone())).await?;
        if units > 1 {
            self.pay_for_part(number, units, &body).await?;
            if !self.model.is_in_flight(number) {
                return Ok(Some(KeyState::Answered));
            }
        }
        Ok(Some(KeyState::InFlight(number)))
    }

    /// Notes that a check in flight has ended, with an answer under its key or without.
    pub(super) fn end_under_key(&mut self, number: u64, is_answered: bool) {
        let its = |last: &LastRequest| last.state == KeyState::InFlight(number);
        if is_answered {
            let last = self.keys.values_mut().find(|last| its(last));
            last.into_iter().for_each(|last| last.state = KeyState::Answered);
        } else {
            self.keys.retain(|_, last| !its(last));
        }
    }
}

fn units(request: &KeyedRequest) -> u64 {
    request.body["emails"].as_array().map_or(1, |emails| emails.len() as u64)
}
