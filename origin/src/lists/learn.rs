//! `origin lists learn`: prints mail servers shared by many listed domains, for people to review. Nothing is listed
//! automatically, because anybody can point a domain at any server.

use std::{collections::BTreeMap, sync::Arc};

use futures_util::{StreamExt as _, stream};
use rcpt_pool::operators::Operators;

use super::Lists;

const CONCURRENT_MAX: usize = 50;

/// A mail server, and the number of listed domains that use it.
pub type Proposal = (Arc<str>, usize);

impl Lists {
    /// Looks up the mail hosts of each disposable domain, and returns those that at least `least`
    /// domains use, the most used first. Hosts of known operators and hosts on the lists are left out.
    /// Failed lookups are ignored.
    pub async fn learn<F>(
        &self,
        mail_hosts: impl Fn(String) -> F,
        operators: &Operators,
        least: usize,
    ) -> Vec<Proposal>
    where
        F: Future<Output = Vec<Arc<str>>>,
    {
        let domains: Vec<String> = self.disposable.iter().cloned().collect();
        let mut answers = stream::iter(domains).map(mail_hosts).buffer_unordered(CONCURRENT_MAX);
        let mut counts: BTreeMap<Arc<str>, usize> = BTreeMap::new();
        while let Some(mut hosts) = answers.next().await {
            hosts.sort();
            hosts.dedup();
            for host in hosts {
                *counts.entry(host).or_default() += 1;
            }
        }
        let is_new = |host: &str| operators.of_host(host).is_none() && !self.knows_server(host);
        let mut servers: Vec<_> =
            counts.into_iter().filter(|(host, count)| *count >= least && is_new(host)).collect();
        servers.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        servers
    }
}

#[cfg(test)]
mod tests {
    use rcpt_pool::operators::Operators;

    use super::Lists;

    #[tokio::test]
    async fn servers_behind_many_listed_domains_are_proposed_and_known_ones_are_not() {
        let operators = Operators::with("").unwrap();
        let hosts = |domain: String| async move {
            let hosts: &[&str] = match domain.len() % 4 {
                0 => &["mx.rotating.example", "mx.rotating.example", "aspmx.l.google.com"],
                1 => &["mail.wabblywabble.com", "mail.h-email.net"],
                2 if domain == "mailinator.com" => &["mx.rare.example"],
                _ => &[],
            };
            hosts.iter().map(|host| (*host).into()).collect()
        };
        let lists = Lists::built_in();
        let servers = lists.learn(hosts, &operators, 2).await;
        let expected = lists.disposable.iter().filter(|domain| domain.len() % 4 == 0).count();
        assert_eq!(servers, [("mx.rotating.example".into(), expected)]);
    }
}
