//! Requests a report about a domain from the origins.

use rcpt_shared::{DomainReport, DomainRequest, Tenant, Ticket};

use super::origins::{self, Origins};
use crate::{
    cf::clock::{self, timed},
    error::Error,
    json,
    meter::Part,
};

impl Origins {
    /// Tries the origins for this domain in order until one returns a report or the deadline
    /// (milliseconds of the Worker's clock) has passed. `tenant` identifies the account.
    ///
    /// # Errors
    /// [`Error::upstream`] when no origin returned a report.
    pub async fn domain_report(
        &self,
        domain: &str,
        request_id: &str,
        tenant: Tenant<'_>,
        deadline: u64,
    ) -> Result<DomainReport, Error> {
        let body = serde_json::to_string(&DomainRequest { domain: domain.to_owned() })
            .map_err(|error| Error::internal(format!("domain request: {error}")))?;
        let now = clock::now();
        let ticket =
            Ticket::issue_for(self.tickets(), request_id, body.as_bytes(), now, Some(tenant))
                .map_err(|error| Error::internal(format!("ticket: {error}")))?;
        let order = self.in_order(domain);
        let mut failures = Vec::new();
        for (index, origin) in order.iter().enumerate() {
            let time_left = deadline.saturating_sub(clock::now_ms());
            let further = u64::try_from(order.len() - index).unwrap_or(1).max(1);
            let patience = u32::try_from(time_left / further).unwrap_or(u32::MAX);
            if patience == 0 {
                break;
            }
            let query = timed(Part::Origin, report_of(origin, &ticket, &body, patience));
            match self.unless_hung(origin, query).await {
                Ok(report) => return Ok(report),
                Err(failure) => failures.push(format!("{}: {failure}", origins::host_of(origin))),
            }
        }
        Err(Error::upstream(failures.join("; ")))
    }
}

async fn report_of(
    origin: &str,
    ticket: &str,
    body: &str,
    timeout_ms: u32,
) -> Result<DomainReport, String> {
    let url = format!("{origin}/v1/domain");
    let reply = origins::post(&url, ticket, &[], body, timeout_ms).await.ok_or("no answer")?;
    match reply.status() {
        200 => {
            let text = reply.text().await.ok_or("half an answer")?;
            json::read(text.as_bytes()).map_err(|_| "an answer that is no domain report".to_owned())
        }
        status => Err(format!("status {status}")),
    }
}
