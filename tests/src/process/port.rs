//! Free ports.

use std::{
    net::Ipv4Addr,
    process,
    sync::atomic::{AtomicU16, Ordering},
};

use tokio::net::TcpSocket;

/// Below Linux's ephemeral range (32768–60999), so that no outgoing connection takes a port between
/// the moment it is handed out and the moment it is listened on.
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// A port that no program listens on, on any loopback address. Never the same one twice in a process; other
/// processes start looking elsewhere. UDP is not looked at: our nameservers take both.
///
/// # Panics
/// All 12,000 candidates are taken.
pub fn free() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = process::id().wrapping_mul(61) % u32::from(COUNT);
    for _ in 0..COUNT {
        let offset = start + u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = FIRST + u16::try_from(offset % u32::from(COUNT)).expect("below COUNT");
        if is_free(port) {
            return port;
        }
    }
    panic!("no free port in {FIRST}..{}", FIRST + COUNT);
}

/// Whether no program listens on it. The socket that finds out doesn't listen: a process that is started in this
/// moment holds a copy of it for a while, and one that listens would keep the port from its owner.
fn is_free(port: u16) -> bool {
    TcpSocket::new_v4().is_ok_and(|socket| {
        // The wildcard address is refused while anyone listens on a specific one.
        let any = (Ipv4Addr::UNSPECIFIED, port).into();
        socket.set_reuseaddr(true).is_ok() && socket.bind(any).is_ok()
    })
}
