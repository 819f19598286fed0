//! Ports of the loopback interface that no other program uses.

use std::{
    env,
    fs::File,
    net::Ipv4Addr,
    sync::{
        LazyLock,
        atomic::{AtomicU16, Ordering},
    },
};

use tokio::net::TcpSocket;

/// First port of all blocks: below Linux's ephemeral range (32768–60999), so that no outgoing connection takes a port
/// before a program listens on it.
const FIRST: u16 = 20_000;
/// Number of ports for each test program.
const BLOCK: u16 = 1_000;
/// Number of test programs that may run in parallel.
const BLOCKS: u16 = 12;

/// Lock and first port of this process's block. The kernel releases the lock when the process ends in any way.
static OURS: LazyLock<(File, u16)> = LazyLock::new(|| {
    (0..BLOCKS).find_map(lock).expect("at most 12 test programs at the same time")
});

/// Locks the block of this number, unless another program has locked it.
fn lock(number: u16) -> Option<(File, u16)> {
    let path = env::temp_dir().join(format!("rcpt-ports-{number}.lock"));
    let file = File::options().write(true).create(true).truncate(false).open(path).ok()?;
    file.try_lock().ok()?;
    Some((file, FIRST + number * BLOCK))
}

/// A port that no program listens on, on any loopback address. No other process gets the same port, and this
/// process gets it again only after trying the others. Only TCP is checked: our nameservers use a port
/// for both protocols.
///
/// # Panics
/// If all 1,000 ports are in use, or twelve other test programs are running.
pub fn free() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let (_, first) = &*OURS;
    let mut candidates = (0..BLOCK).map(|_| first + NEXT.fetch_add(1, Ordering::Relaxed) % BLOCK);
    candidates.find(|port| is_free(*port)).expect("a free port among 1,000")
}

/// True if no program listens on the port. The probing socket doesn't listen: a process started now briefly
/// inherits a copy, and a listening copy would block the port.
fn is_free(port: u16) -> bool {
    TcpSocket::new_v4().is_ok_and(|socket| {
        // Binding the wildcard address fails while any program listens on a specific address.
        let any = (Ipv4Addr::UNSPECIFIED, port).into();
        socket.set_reuseaddr(true).is_ok() && socket.bind(any).is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, FIRST, OURS, free, lock};

    #[test]
    fn a_program_has_its_ports_for_itself() {
        let (_, first) = &*OURS;
        assert!(lock((first - FIRST) / BLOCK).is_none());
        for _ in 0..2 * BLOCK {
            assert!((*first..first + BLOCK).contains(&free()));
        }
    }
}
