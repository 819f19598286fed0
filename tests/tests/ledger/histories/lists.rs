//! Lists in a history: leases of several units, some of which are charged.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use super::{
    run::{KeyedRequest, MOST_HELD, Player, Waiting, answer},
    step::End,
    world::POPULAR,
};

/// Time for a charge that was under way at the deadline; no check is held for longer than ten seconds.
const LATE_CHARGE: Duration = Duration::from_secs(3);

impl Player<'_> {
    /// Sends a list that is answered completely.
    pub async fn list(&mut self, fresh: u8, broken: u8) -> Result<()> {
        let mut emails = vec![POPULAR.to_owned(), "no address".to_owned()];
        for _ in 0..fresh {
            emails.push(self.address("ok"));
        }
        emails.extend(emails.last().cloned());
        for _ in 0..broken {
            emails.push(self.address("broken"));
        }
        let units = emails.len() as u64;
        let counted = units - u64::from(broken);
        self.checks += 1;
        let number = self.checks;
        let has_room = self.model.begin(number, units);
        let (status, body) = answer(self.list_request(&json!({ "emails": emails }))).await?;
        if !has_room {
            return self.expect_refused(status, &body, &emails);
        }
        self.model.settle(number, counted);
        self.counted += if status == 200 { counted } else { 0 };
        let is_whole = status == 200 && body["counted"] == counted && body["pending"].is_null();
        ensure!(is_whole, "{status} {body} instead of {counted} counted");
        let results = body["results"].as_array().context("results")?;
        let order: Vec<_> = results.iter().filter_map(|result| result["email"].as_str()).collect();
        ensure!(order == emails, "{order:?} instead of {emails:?}");
        let unasked = results.iter().filter(|result| result["status"] == "fatal_exception").count();
        ensure!(unasked == usize::from(broken), "{body}");
        Ok(())
    }

    /// Sends a list with one address that stays in progress until a later step.
    pub async fn begin_list(&mut self, units: u8, is_pending: bool) -> Result<()> {
        if self.checks_in_flight.len() == MOST_HELD {
            self.finish(0, End::Verdict).await?;
        }
        let mut emails: Vec<_> = (1..units).map(|_| self.address("ok")).collect();
        let address = self.address("held");
        emails.push(address.clone());
        let (number, units) = (self.checks, u64::from(units));
        let has_room = self.model.begin(number, units);
        let mut body = json!({ "emails": emails });
        if is_pending {
            body["deadline_ms"] = 600.into();
        }
        let key = format!("list-{}-{number}", self.id());
        let keyed = KeyedRequest { path: "/validate_emails", key, body };
        let request = self.keyed(&keyed);
        if is_pending || !has_room {
            let (status, body) = answer(request).await?;
            if !has_room {
                return self.expect_refused(status, &body, &emails);
            }
            ensure!(status == 200 && body["pending"] == true, "{status} {body} isn't pending");
            self.world.origin.wait_for_probe(&address).await;
            self.add_in_flight(number, address, units, Waiting::Under(keyed)).await?;
            return self.pay_for_part(number, units, &body).await;
        }
        let mut list = tokio::spawn(async move { answer(request).await });
        tokio::select! {
            () = self.world.origin.wait_for_probe(&address) => {}
            answer = &mut list => bail!("{:?} before the origin was asked", answer??),
        }
        self.add_in_flight(number, address, units, Waiting::ForItsAnswer(list)).await
    }

    /// Expects a charge for what the answer at the deadline gave out. If nothing was given out, the charge may have
    /// taken until the deadline and still come; or the machine was slow and nothing had been answered, and then the
    /// list ends now, because no look at the lease could tell that none comes.
    pub(super) async fn pay_for_part(
        &mut self,
        number: u64,
        units: u64,
        body: &Value,
    ) -> Result<()> {
        let results = body["results"].as_array().context("results")?;
        let given = results.iter().filter(|result| result["pending"].is_null()).count() as u64;
        let lease = self.checks_in_flight.back().context("a list in flight")?.lease.clone();
        let sql = "SELECT n_charged FROM leases WHERE account_id = ? AND id = ?";
        let params = [self.id_value(), lease.into()];
        let limit = Instant::now() + LATE_CHARGE;
        let charged = loop {
            let rows = self.world.edge.sql_of(self.id(), sql, &params).await;
            let charged = rows.first().and_then(|row| row["n_charged"].as_u64());
            let charged = charged.context("no lease of the list")?;
            if charged > 0 || given > 0 || Instant::now() > limit {
                break charged;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        let is_paid = charged == given || (given == 0 && charged < units);
        ensure!(is_paid, "{charged} charged for {given} of {body}");
        self.model.pay(number, charged);
        self.counted += charged;
        if charged == 0 {
            let last = u8::try_from(self.checks_in_flight.len() - 1)?;
            self.finish(last, End::Verdict).await?;
        }
        Ok(())
    }

    /// Expects a rejection without any probe, because fewer units are left than the list has addresses.
    fn expect_refused(&mut self, status: u16, body: &Value, emails: &[String]) -> Result<()> {
        let is_used_up = body["code"] == "used_up" || body["code"] == "key_used_up";
        ensure!(status == 429 && is_used_up, "{status} {body} instead of 429");
        let was_asked =
            emails.iter().any(|email| email != POPULAR && self.world.origin.probes_of(email) > 0);
        ensure!(!was_asked, "an origin was asked about a list that was refused");
        self.refused = true;
        Ok(())
    }

    fn list_request(&self, body: &Value) -> reqwest::RequestBuilder {
        let url = format!("{}/v1/validate_emails", self.world.edge.direct);
        self.world.client.post(url).json(body).header("x-api-key", &self.account.api_key)
    }
}
