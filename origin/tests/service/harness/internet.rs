//! Mail servers on all of 127/8 at one port, and a nameserver whose answers come from a function.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

use axum::Router;
use hickory_resolver::proto::{
    op::{Message, ResponseCode},
    rr::{
        Name, RData, Record, RecordType,
        rdata::{A, MX},
    },
};
use rcpt_origin::{State, build};
use tokio::{
    net::TcpStream,
    task::{AbortHandle, JoinHandle},
};

use super::{elsewhere, listener, socket, state};

pub struct Internet {
    port: u16,
    nameserver: SocketAddr,
    running: Vec<AbortHandle>,
}

impl Drop for Internet {
    fn drop(&mut self) {
        self.running.iter().for_each(AbortHandle::abort);
    }
}

impl Internet {
    /// Starts the servers. `zone` returns the records of a name without the final dot; `serve` gets
    /// each connection with its local address.
    pub async fn start<F>(
        zone: impl Fn(&str, RecordType) -> Vec<RData> + Send + 'static,
        serve: impl Fn(TcpStream, IpAddr) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (address, listener) = listener("0.0.0.0");
        let accepting = elsewhere(async move {
            let listener = listener();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                stream.set_nodelay(true).unwrap();
                let dialled = stream.local_addr().unwrap().ip();
                tokio::spawn(serve(stream, dialled));
            }
        });
        let (nameserver, answering) = nameserver(zone);
        let running = vec![accepting.abort_handle(), answering.abort_handle()];
        Self { port: address.port(), nameserver, running }
    }

    /// An origin in this simulated Internet.
    pub fn origin(&self, environment: &[(&str, &str)]) -> Router {
        build(self.state(environment))
    }

    pub fn state(&self, environment: &[(&str, &str)]) -> Arc<State> {
        let own = self.environment();
        let own = own.each_ref().map(|(name, value)| (*name, value.as_str()));
        state(&[&own[..], environment].concat())
    }

    /// The environment of an origin in this simulated Internet.
    pub fn environment(&self) -> [(&'static str, String); 3] {
        [
            ("RCPT_NAMESERVERS", self.nameserver.to_string()),
            ("RCPT_SMTP_PORT", self.port.to_string()),
            ("RCPT_ALLOW_NETWORKS", "127.0.0.0/8".to_owned()),
        ]
    }
}

fn nameserver(
    zone: impl Fn(&str, RecordType) -> Vec<RData> + Send + 'static,
) -> (SocketAddr, JoinHandle<()>) {
    let (address, socket) = socket();
    let answering = elsewhere(async move {
        let socket = socket();
        let mut query = [0; 1_500];
        loop {
            let (length, from) = socket.recv_from(&mut query).await.unwrap();
            let query = Message::from_vec(&query[..length]).unwrap();
            let name = query.queries[0].name().clone();
            let kind = query.queries[0].query_type();
            let mut response = query.into_response();
            // The name with which origin tests its nameservers.
            if name.to_ascii().starts_with("rcpt-") {
                response.metadata.response_code = ResponseCode::NXDomain;
                socket.send_to(&response.to_vec().unwrap(), from).await.unwrap();
                continue;
            }
            for data in zone(name.to_ascii().trim_end_matches('.'), kind) {
                response.add_answer(Record::from_rdata(name.clone(), 60, data));
            }
            socket.send_to(&response.to_vec().unwrap(), from).await.unwrap();
        }
    });
    (address, answering)
}

pub fn mx(preference: u16, host: &str) -> RData {
    RData::MX(MX::new(preference, Name::from_ascii(format!("{host}.")).unwrap()))
}

pub fn a(address: &str) -> RData {
    RData::A(A(address.parse::<Ipv4Addr>().unwrap()))
}

/// A zone in which every domain has its own host, all at `address`.
pub fn one_machine(address: &'static str) -> impl Fn(&str, RecordType) -> Vec<RData> + Send {
    move |name, kind| match kind {
        RecordType::MX => vec![mx(10, &format!("mx.{name}"))],
        RecordType::A => vec![a(address)],
        _ => vec![],
    }
}
