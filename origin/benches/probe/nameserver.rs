//! A nameserver that leads every domain to one mail server.

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

/// Says of every domain that its mail host is `mx.` below it, at 127.0.0.1.
pub struct Nameserver {
    pub address: SocketAddr,
    pub questions: Arc<AtomicUsize>,
}

impl Nameserver {
    pub fn start() -> Result<Self> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        let address = socket.local_addr()?;
        let questions = Arc::new(AtomicUsize::new(0));
        let asked = questions.clone();
        thread::spawn(move || {
            let mut query = [0; 1_500];
            while let Ok((length, from)) = socket.recv_from(&mut query) {
                asked.fetch_add(1, Ordering::Relaxed);
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
    let data = match kind {
        RecordType::MX => {
            let host = Name::from_ascii(format!("mx.{}", name.to_ascii())).ok()?;
            Some(RData::MX(MX::new(10, host)))
        }
        RecordType::A => Some(RData::A(A(Ipv4Addr::LOCALHOST))),
        _ => None,
    };
    match data {
        Some(data) => {
            response.add_answer(Record::from_rdata(name, 3_600, data));
        }
        None => {
            let soa = SOA::new(name.clone(), name.clone(), 1, 3_600, 3_600, 3_600, 3_600);
            response.add_authority(Record::from_rdata(name, 3_600, RData::SOA(soa)));
        }
    }
    response.to_vec().ok()
}
