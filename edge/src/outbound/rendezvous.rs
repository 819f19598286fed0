//! Order of the origins for a domain.

use sha2::{Digest as _, Sha256};

/// The origins in the order for a recipient's domain. Rendezvous hashing keeps one domain's connections and caches at
/// one origin, and an added or removed origin affects only its own domains.
pub fn in_order<'a>(origins: &'a [String], domain: &str) -> Vec<&'a str> {
    if let [only] = origins {
        return vec![only];
    }
    let weighted = origins.iter().map(|origin| (weight(origin, domain), origin.as_str()));
    let mut heaviest_first: Vec<_> = weighted.collect();
    heaviest_first.sort_unstable_by(|a, b| b.cmp(a));
    heaviest_first.into_iter().map(|(_, origin)| origin).collect()
}

fn weight(origin: &str, domain: &str) -> [u8; 32] {
    Sha256::new().chain_update(origin).chain_update([0]).chain_update(domain).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::in_order;

    fn origins(count: usize) -> Vec<String> {
        (0..count).map(|n| format!("https://origin-{n}.example")).collect()
    }

    #[test]
    fn a_domain_keeps_its_origin_and_domains_are_spread_evenly() {
        let origins = origins(4);
        let mut counts = [0; 4];
        for n in 0..4000 {
            let domain = format!("domain-{n}.example");
            let order = in_order(&origins, &domain);
            assert_eq!(order, in_order(&origins, &domain));
            assert_eq!(order.len(), 4);
            counts[origins.iter().position(|origin| origin == order[0]).unwrap()] += 1;
        }
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_lost_origin_moves_only_its_own_domains() {
        let all = origins(4);
        let remaining = &all[..3];
        for n in 0..1000 {
            let domain = format!("domain-{n}.example");
            let before = in_order(&all, &domain);
            let after = in_order(remaining, &domain);
            let survivors: Vec<_> = before.into_iter().filter(|o| *o != all[3]).collect();
            assert_eq!(survivors, after);
        }
    }
}
