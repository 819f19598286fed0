//! A private OpenSMTPD.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use anyhow::Result;
use tokio::net::TcpStream;

use super::{certificate, chroot::Chroot};
use crate::process::{Process, port};

const START: Duration = Duration::from_secs(30);

const ROOT: u32 = 0;
/// Debian's users of these names, and the owner of the mailboxes; the ids are those inside the server's root.
const USERS: [(&str, u32); 3] = [("opensmtpd", 101), ("opensmtpq", 102), ("vmail", 103)];

const MAILBOXES: &str = "\
known@opensmtpd.test vmail
known@tls-only.opensmtpd.test vmail
full@opensmtpd.test vmail
retired@opensmtpd.test vmail
greylisted@opensmtpd.test vmail
";

/// A running OpenSMTPD.
#[derive(Debug)]
pub struct OpenSmtpd {
    pub process: Process,
    plain: SocketAddr,
    tls_only: SocketAddr,
}

impl OpenSmtpd {
    /// Starts OpenSMTPD; needs root or `sudo`.
    pub async fn start() -> Result<Self> {
        let [plain, tls_only] =
            [(); 2].map(|()| SocketAddr::from((Ipv4Addr::LOCALHOST, port::free())));
        let chroot = Chroot {
            package: "opensmtpd",
            users: &USERS,
            files: &[
                ("etc/smtpd.conf", configuration(plain, tls_only)),
                ("etc/mailboxes", MAILBOXES.to_owned()),
            ],
            // OpenSMTPD creates its queue in the spool.
            owned: &[
                ("var/spool", ROOT),
                ("var/run", ROOT),
                ("var/lib/opensmtpd/empty", ROOT),
                ("var/mail", USERS[2].1),
            ],
            command: &["/usr/sbin/smtpd", "-d"],
        };
        let mut process =
            chroot.start(|root| certificate::write(&root.join("etc"), "mx.opensmtpd.test"))?;
        process
            .wait_until("open port", START, async || TcpStream::connect(plain).await.ok())
            .await?;
        Ok(Self { process, plain, tls_only })
    }

    /// The routes for origin's `RCPT_ROUTES`; OpenSMTPD accepts no mail for `elsewhere.test`. The port of
    /// `tls-only.opensmtpd.test` answers 530 to MAIL until STARTTLS.
    pub fn routes(&self) -> String {
        let (plain, tls_only) = (self.plain, self.tls_only);
        format!("opensmtpd.test={plain},elsewhere.test={plain},tls-only.opensmtpd.test={tls_only}")
    }
}

/// Smtpd.conf, whose filters (smtpd.conf(5), MAIL FILTERING) give the replies that no setting can cause.
fn configuration(plain: SocketAddr, tls_only: SocketAddr) -> String {
    let [plain, tls_only] = [plain, tls_only].map(|address| address.port());
    format!(
        r#"pki mx.opensmtpd.test cert "/etc/certificate.pem"
pki mx.opensmtpd.test key "/etc/key.pem"
table domains {{ "opensmtpd.test", "tls-only.opensmtpd.test" }}
table mailboxes file:/etc/mailboxes
table greylisted {{ "greylisted@opensmtpd.test" }}
table full {{ "full@opensmtpd.test" }}
table retired {{ "retired@opensmtpd.test" }}
filter greylisting phase rcpt-to match rcpt-to <greylisted> reject "451 4.7.1 Greylisted, try again later"
filter full phase rcpt-to match rcpt-to <full> reject "452 4.2.2 Mailbox is full"
filter retired phase rcpt-to match rcpt-to <retired> reject "550 5.2.1 This account has been disabled"
filter recipients chain {{ greylisting, full, retired }}
listen on 127.0.0.1 port {plain} tls pki mx.opensmtpd.test hostname mx.opensmtpd.test filter recipients
listen on 127.0.0.1 port {tls_only} tls-require pki mx.opensmtpd.test hostname mx.opensmtpd.test
action deliver maildir "/var/mail/%{{dest.user}}" virtual <mailboxes>
match from any for domain <domains> action deliver
"#
    )
}
