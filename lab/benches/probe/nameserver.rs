//! A nameserver with the same mail server for every domain.

use std::{
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use anyhow::Result;
use hickory_resolver::proto::{
    op::Message,
    rr::{
        Name, RData, Record, RecordType,
        rdata::{A, MX, SOA},
    },
};

/// A domain with three mail hosts of the same preference.
pub const THREE_HOSTS: &str = "three.example.org";
/// A domain hosted by an operator to which only the default limits apply. Batches avoid a machine without an operator
/// after a few refused recipients.
pub const AT_OPERATOR: &str = "operator.example.org";

/// A nameserver that answers with `mx.` below each domain as its mail host, at 127.0.0.1. [`THREE_HOSTS`] has three
/// hosts; [`AT_OPERATOR`]'s host is Proofpoint's.
pub struct Nameserver {
    pub address: SocketAddr,
    pub questions: Arc<AtomicUsize>,
}

impl Nameserver {
    pub fn start() -> Result<Self> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        let address = socket.local_addr()?;
        let questions = Arc::new(AtomicUsize::new(0));
        let query_count = questions.clone();
        thread::spawn(move || {
            let mut query = [0; 1_500];
            while let Ok((length, from)) = socket.recv_from(&mut query) {
                query_count.fetch_add(1, Ordering::Relaxed);
                let answer = query.get(..length).and_then(answer);
                let _ = answer.map(|answer| socket.send_to(&answer, from));
            }
        });
        Ok(Self { address, questions })
    }
}

fn answer(query: &[u8]) -> Option<Vec<u8>> {
    let query = Message::from_vec(query).ok()?;
    let (name, kind) = {
        let question = query.queries.first()?;
        (question.name().clone(), question.query_type())
    };
    let mut response = query.into_response();
    let mut answers = Vec::new();
    match kind {
        RecordType::MX => {
            let domain = name.to_ascii();
            let hosts = match domain.trim_end_matches('.') {
                THREE_HOSTS => [1, 2, 3].map(|n| format!("mx{n}.{domain}")).to_vec(),
                AT_OPERATOR => vec!["mx.pphosted.com.".to_owned()],
                _ => vec![format!("mx.{domain}")],
            };
            for host in hosts {
                answers.push(RData::MX(MX::new(10, Name::from_ascii(host).ok()?)));
            }
        }
        RecordType::A => answers.push(RData::A(A(Ipv4Addr::LOCALHOST))),
        _ => {}
    }
    if answers.is_empty() {
        let soa = SOA::new(name.clone(), name.clone(), 1, 3_600, 3_600, 3_600, 3_600);
        response.add_authority(Record::from_rdata(name.clone(), 3_600, RData::SOA(soa)));
    }
    for data in answers {
        response.add_answer(Record::from_rdata(name.clone(), 3_600, data));
    }
    response.to_vec().ok()
}
