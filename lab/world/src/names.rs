//! The simulated nameserver: each domain's mail hosts, and their addresses.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
    time::Duration,
};

use futures_util::future::BoxFuture;
use hickory_resolver::{
    lookup::Lookup,
    net::{DnsError, NetError, NoRecords},
    proto::{
        op::{Query, ResponseCode},
        rr::{
            Name, RData, Record, RecordType,
            rdata::{A, MX},
        },
    },
};
use rcpt_origin::dns::Ask;
use tokio::time::{Instant, sleep};

/// Time to live of all records, in seconds.
const TTL_S: u32 = 3_600;
/// Response time of a recursive nameserver in the same data centre.
const RESPONSE_DELAY: Duration = Duration::from_millis(8);

/// A domain's mail hosts.
#[derive(Clone, Default)]
pub struct Zone {
    /// Preference and name of each MX record.
    pub mx: Vec<(u16, Arc<str>)>,
    /// True if the domain's nameservers don't respond.
    pub is_lame: bool,
}

/// The zones and addresses of all names.
#[derive(Default)]
pub struct Names {
    pub zones: HashMap<String, Zone>,
    pub hosts: HashMap<Arc<str>, Vec<IpAddr>>,
}

impl Names {
    fn records(&self, name: &str, kind: RecordType) -> Result<Vec<RData>, ResponseCode> {
        let zone = self.zones.get(name);
        if zone.is_some_and(|zone| zone.is_lame) {
            return Err(ResponseCode::ServFail);
        }
        let host = self.hosts.get(name);
        match kind {
            _ if zone.is_none() && host.is_none() => Err(ResponseCode::NXDomain),
            RecordType::MX => {
                Ok(zone.into_iter().flat_map(|zone| &zone.mx).filter_map(mx).collect())
            }
            RecordType::A => Ok(host.into_iter().flatten().filter_map(a).collect()),
            _ => Ok(Vec::new()),
        }
    }
}

fn mx((preference, host): &(u16, Arc<str>)) -> Option<RData> {
    Some(RData::MX(MX::new(*preference, Name::from_ascii(&**host).ok()?)))
}

fn a(ip: &IpAddr) -> Option<RData> {
    let ip: Ipv4Addr = match ip {
        IpAddr::V4(ip) => *ip,
        IpAddr::V6(_) => return None,
    };
    Some(RData::A(A(ip)))
}

impl Ask for Names {
    fn lookup(&self, name: Name, kind: RecordType) -> BoxFuture<'_, Result<Lookup, NetError>> {
        let text = name.to_ascii().trim_end_matches('.').to_ascii_lowercase();
        let answer = self.records(&text, kind);
        Box::pin(async move {
            sleep(RESPONSE_DELAY).await;
            let query = Query::query(name.clone(), kind);
            match answer {
                Ok(data) if !data.is_empty() => {
                    let records =
                        data.into_iter().map(|data| Record::from_rdata(name.clone(), TTL_S, data));
                    let until = Instant::now() + Duration::from_secs(TTL_S.into());
                    Ok(Lookup::new_with_deadline(query, records, until.into_std()))
                }
                Ok(_) => Err(no_records(query, ResponseCode::NoError)),
                Err(ResponseCode::NXDomain) => Err(no_records(query, ResponseCode::NXDomain)),
                Err(code) => Err(NetError::Dns(DnsError::ResponseCode(code))),
            }
        })
    }
}

fn no_records(query: Query, code: ResponseCode) -> NetError {
    let mut none = NoRecords::new(query, code);
    none.negative_ttl = Some(300);
    NetError::Dns(DnsError::NoRecordsFound(none))
}
