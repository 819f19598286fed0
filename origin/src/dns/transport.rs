//! Transport of queries: UDP sockets that belong to one nameserver, so that the system reports a closed port
//! immediately.

use std::{
    future::Future,
    io,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use hickory_resolver::net::runtime::{
    DnsUdpSocket, RuntimeProvider, TokioHandle, TokioRuntimeProvider, TokioTime,
};
use parking_lot::Mutex;
use tokio::{
    io::{Interest, ReadBuf},
    net::UdpSocket,
};

type Waiting<'f, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'f>>;

/// Error kind that clears the readiness of a socket without an error.
const NOTHING: io::ErrorKind = io::ErrorKind::WouldBlock;

/// The library's own transport, except for UDP.
#[derive(Clone, Default)]
pub(super) struct Transport(TokioRuntimeProvider);

impl RuntimeProvider for Transport {
    type Handle = TokioHandle;
    type Timer = TokioTime;
    type Udp = ConnectedSocket;
    type Tcp = <TokioRuntimeProvider as RuntimeProvider>::Tcp;

    fn create_handle(&self) -> Self::Handle {
        self.0.create_handle()
    }

    fn connect_tcp(
        &self,
        nameserver: SocketAddr,
        from: Option<SocketAddr>,
        within: Option<Duration>,
    ) -> Waiting<'static, Self::Tcp> {
        self.0.connect_tcp(nameserver, from, within)
    }

    fn bind_udp(&self, from: SocketAddr, nameserver: SocketAddr) -> Waiting<'static, Self::Udp> {
        Box::pin(async move {
            let socket = UdpSocket::bind(from).await?;
            // An unconnected socket wouldn't receive a "port unreachable", and would wait.
            socket.connect(nameserver).await?;
            Ok(ConnectedSocket { socket, nameserver, query: Mutex::default() })
        })
    }
}

pub(super) struct ConnectedSocket {
    socket: UdpSocket,
    nameserver: SocketAddr,
    query: Mutex<Vec<u8>>,
}

impl DnsUdpSocket for ConnectedSocket {
    type Time = TokioTime;

    fn poll_recv_from(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        let mut room = ReadBuf::new(buffer);
        ready!(self.socket.poll_recv(cx, &mut room))?;
        Poll::Ready(Ok((room.filled().len(), self.nameserver)))
    }

    /// Receives a response. Unlike the trait's default, also wakes on errors: an error doesn't make
    /// a socket readable, and would wake no task.
    fn recv_from<'s, 'b, 'f>(&'s self, buffer: &'b mut [u8]) -> Waiting<'f, (usize, SocketAddr)>
    where
        's: 'f,
        'b: 'f,
        Self: 'f,
    {
        Box::pin(async move {
            loop {
                self.socket.ready(Interest::READABLE | Interest::ERROR).await?;
                match self.socket.try_recv(buffer) {
                    Ok(length) => {
                        let length = with_question(buffer, length, &self.query.lock());
                        return Ok((length, self.nameserver));
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => return Err(error),
                }
                let socket_error = || Err(self.socket.take_error()?.unwrap_or(NOTHING.into()));
                match self.socket.try_io(Interest::ERROR, socket_error) {
                    Err(error) if error.kind() == NOTHING => {}
                    socket_error => return socket_error,
                }
            }
        })
    }

    fn poll_send_to(
        &self,
        cx: &mut Context<'_>,
        message: &[u8],
        _nameserver: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        message.clone_into(&mut self.query.lock());
        self.socket.poll_send(cx, message)
    }
}

const HEADER_BYTES: usize = 12;
/// Position of the question count in a header.
const QUESTIONS: std::ops::Range<usize> = 4..6;

/// Appends the query's question (`query`) to a response that consists of a header only, as nameservers without EDNS
/// send with FORMERR (RFC 6891 §7). The library ignores a response without the question as a forgery, and would keep
/// waiting. Returns the new length.
fn with_question(buffer: &mut [u8], length: usize, query: &[u8]) -> usize {
    let header_alone = length == HEADER_BYTES && buffer.get(QUESTIONS) == Some(&[0, 0]);
    let Some(question) = question(query).filter(|_| header_alone) else { return length };
    let end = HEADER_BYTES + question.len();
    let Some(room) = buffer.get_mut(HEADER_BYTES..end) else { return length };
    room.copy_from_slice(question);
    if let Some(count) = buffer.get_mut(QUESTIONS) {
        count.copy_from_slice(&[0, 1]);
    }
    end
}

/// Our messages have one question: labels up to the root, type, class.
fn question(message: &[u8]) -> Option<&[u8]> {
    let mut end = HEADER_BYTES;
    loop {
        let label = usize::from(*message.get(end)?);
        end += 1 + label;
        if label == 0 {
            return message.get(HEADER_BYTES..end + 4);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{HEADER_BYTES, question, with_question};

    /// A question for the MX of `a.bc`, with an OPT record behind it.
    const QUERY: &[u8] =
        b"\x12\x34\x01\0\0\x01\0\0\0\0\0\x01\x01a\x02bc\0\0\x0f\0\x01\0\0\x29\x04\xd0\0\0\0\0\0\0";
    const QUESTION: &[u8] = b"\x01a\x02bc\0\0\x0f\0\x01";

    #[test]
    fn an_answer_that_is_a_header_alone_gets_its_question_back() {
        let mut buffer = [0; 64];
        buffer[..HEADER_BYTES].copy_from_slice(b"\x12\x34\x81\x01\0\0\0\0\0\0\0\0");
        let length = with_question(&mut buffer, HEADER_BYTES, QUERY);
        assert_eq!(&buffer[..4], b"\x12\x34\x81\x01");
        assert_eq!(&buffer[4..HEADER_BYTES], b"\0\x01\0\0\0\0\0\0");
        assert_eq!(&buffer[HEADER_BYTES..length], QUESTION);
    }

    #[test]
    fn any_other_answer_stays_as_it_is() {
        let whole = [&QUERY[..HEADER_BYTES], QUESTION].concat();
        for (answer, query) in
            [(&whole[..], QUERY), (&whole[..7], QUERY), (&[0; HEADER_BYTES], b"")]
        {
            let mut buffer = [7; 64];
            buffer[..answer.len()].copy_from_slice(answer);
            assert_eq!(with_question(&mut buffer, answer.len(), query), answer.len());
            assert_eq!(&buffer[..answer.len()], answer);
        }
        let mut too_small = [0; HEADER_BYTES + 3];
        assert_eq!(with_question(&mut too_small, HEADER_BYTES, QUERY), HEADER_BYTES);
    }

    #[test]
    fn a_message_that_ends_early_has_no_question() {
        assert_eq!(question(QUERY), Some(QUESTION));
        for end in 0..HEADER_BYTES + QUESTION.len() {
            assert_eq!(question(&QUERY[..end]), None, "{end}");
        }
    }
}
