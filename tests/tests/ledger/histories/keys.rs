//! Named keys in a history: requests use a key with a limit, while leases of the previous key are
//! still alive.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use rcpt_tests::service::clock;
use serde_json::json;

use super::{model::LimitedKey, run::Player};

impl Player<'_> {
    pub async fn go_on_with_a_named_key(&mut self, limit: u64) -> Result<()> {
        self.end_named_key().await?;
        let terms =
            json!({ "name": "limited", "rights": ["checks", "quota"], "daily_limit": limit });
        let reply = self.account.make_key(&terms).await;
        ensure!(reply.status == 201, "no named key: {}", reply.body);
        reply.text("api_key").clone_into(&mut self.account.api_key);
        let id = reply.body["key"]["id"].as_str().context("an id")?;
        self.named_key = Some(id.to_owned());
        self.named_keys += 1;
        self.model.key =
            Some(LimitedKey { number: self.named_keys, limit, charged: BTreeMap::new() });
        // The Worker remembers no rejection of this new key.
        self.refused = false;
        Ok(())
    }

    /// Ends the named key; its checks in flight are still charged to the account. The caller uses another key for later
    /// requests.
    pub async fn end_named_key(&mut self) -> Result<()> {
        self.model.key = None;
        let Some(id) = self.named_key.take() else { return Ok(()) };
        let reply = self.account.delete(&format!("/keys/{id}"), &json!({})).await;
        ensure!(reply.status == 204, "the named key doesn't end: {}", reply.body);
        Ok(())
    }

    /// Checks that the limit includes charges and live leases, and that the key's counter agrees
    /// with the model.
    pub async fn compare_key(&self) -> Result<()> {
        let (Some(id), Some(key)) = (&self.named_key, &self.model.key) else { return Ok(()) };
        let sql = "SELECT coalesce((SELECT CASE WHEN u.value ->> 0 < ?1 THEN 0 ELSE u.value ->> 2 END
                FROM accounts a, json_each(a.key_use) u WHERE a.id = k.account_id AND u.key = k.id), 0)
              + (SELECT coalesce(sum(l.n_daily + l.n_welcome), 0) FROM leases l WHERE l.account_id = k.account_id
                 AND l.key LIKE k.id || '%' AND l.day = ?1 AND l.expires_at > ?2) AS used
            FROM keys k WHERE k.account_id = ?3 AND k.id = ?4";
        let today = self.first_day + self.model.today;
        let id = id.strip_prefix("key_").context("an id")?;
        let params = [today.into(), clock::now().into(), self.id_value(), id.into()];
        let rows = self.world.edge.sql_of(self.id(), sql, &params).await;
        let used = rows.first().and_then(|row| row["used"].as_u64()).context("no named key")?;
        ensure!(used <= key.limit, "(6) {used} of {}", key.limit);
        let expected = self.model.used_by_key();
        ensure!(used == expected, "(6) the key has {used} instead of {expected}");
        Ok(())
    }
}
