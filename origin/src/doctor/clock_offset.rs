use std::{io, time::Duration};

use tokio::{net::UdpSocket, time::timeout};

use crate::{clock, config::Server};

const PATIENCE: Duration = Duration::from_secs(3);
/// RFC 5905 §7.3: version 4, client; the rest may be zero.
const ASK: u8 = 0b00_100_011;
const LENGTH: usize = 48;
/// Where the server's transmit time stands: seconds since 1900, then the fraction.
const TRANSMIT: usize = 40;
/// 1900 to 1970.
const NTP_TO_UNIX: f64 = 2_208_988_800.0;

/// Seconds by which our clock is ahead of the server's; exact to the way there and back.
pub(super) async fn measure(server: &Server) -> io::Result<f64> {
    let socket = UdpSocket::bind("0.0.0.0:0").await?;
    socket.connect((server.host.as_str(), server.port)).await?;
    let mut packet = [0; LENGTH];
    if let Some(first) = packet.first_mut() {
        *first = ASK;
    }
    socket.send(&packet).await?;
    let length = timeout(PATIENCE, socket.recv(&mut packet))
        .await
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    let now = clock::unix_now_exact();
    transmitted(packet.get(..length).unwrap_or_default())
        .map(|theirs| now - theirs)
        .ok_or_else(|| io::Error::other("not an NTP answer"))
}

/// The server's time in unix seconds. Zero stands for a server that does not know it.
fn transmitted(packet: &[u8]) -> Option<f64> {
    let word = |at: usize| packet.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
    let (seconds, fraction) = (word(TRANSMIT)?, word(TRANSMIT + 4)?);
    let known = seconds != 0;
    known.then(|| f64::from(seconds) + f64::from(fraction) / 2_f64.powi(32) - NTP_TO_UNIX)
}

#[cfg(test)]
mod tests {
    use tokio::net::UdpSocket;

    use super::{LENGTH, NTP_TO_UNIX, TRANSMIT, measure};
    use crate::{clock, config::Server};

    #[tokio::test]
    async fn measures_how_far_ahead_we_are() {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let server =
            Server { host: "127.0.0.1".to_owned(), port: socket.local_addr().unwrap().port() };
        let serving = tokio::spawn(async move {
            let mut packet = [0; LENGTH];
            let (_, from) = socket.recv_from(&mut packet).await.unwrap();
            assert_eq!(packet[0] & 7, 3, "a client asks");
            let behind = clock::unix_now_exact() + NTP_TO_UNIX - 90.0;
            packet[TRANSMIT..TRANSMIT + 4].copy_from_slice(&(behind as u32).to_be_bytes());
            socket.send_to(&packet, from).await.unwrap();
        });
        let offset = measure(&server).await.unwrap();
        serving.await.unwrap();
        assert!((89.0..95.0).contains(&offset), "{offset}");
    }
}
