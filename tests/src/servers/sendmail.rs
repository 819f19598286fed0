//! A private Sendmail (Debian's `sendmail-bin`). As in the package, m4 writes its configuration.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use tokio::net::TcpStream;

use super::{certificate, chroot::Chroot};
use crate::process::{Process, folder, port};

const START: Duration = Duration::from_secs(30);
const PACKAGE: &str = "sendmail-bin";

/// Clients at 127.0.0.1 may relay, so the tests connect from another address.
pub const STRANGER: &str = "127.0.0.2";
/// Clients at this address must use encryption: before STARTTLS, MAIL gets `503 5.7.0`.
pub const TLS_ONLY: &str = "127.0.0.3";
/// Like [`TLS_ONLY`], but with a temporary refusal: `454 4.7.0`.
pub const TLS_ONLY_FOR_NOW: &str = "127.0.0.4";

/// Sendmail's access database: replies to recipients, and the encryption that clients need.
const ACCESS: &str = "\
To:full@sendmail.test|ERROR:5.2.2:552 Mailbox full
To:retired@sendmail.test|ERROR:5.2.1:550 Mailbox disabled
To:greylisted@sendmail.test|ERROR:4.7.1:451 Greylisted, please try again later
TLS_Clt:127.0.0.3|PERM+ENCR:112
TLS_Clt:127.0.0.4|ENCR:112
";

/// A running Sendmail.
#[derive(Debug)]
pub struct Sendmail {
    pub process: Process,
    address: SocketAddr,
}

impl Sendmail {
    /// Starts Sendmail; needs root or `sudo`.
    pub async fn start() -> Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port::free()));
        let chroot = Chroot {
            package: PACKAGE,
            // Sendmail's mailboxes are those of the system's users.
            users: &[("smmta", 101), ("smmsp", 102), ("mail", 8), ("known", 1001)],
            files: &[
                ("etc/mail/sendmail.cf", configuration(address.port())?),
                ("etc/mail/local-host-names", "sendmail.test\n".to_owned()),
                ("etc/mail/access", ACCESS.to_owned()),
                ("etc/mail/aliases", "postmaster: known\n".to_owned()),
                ("etc/mail/service.switch", "hosts files\naliases files\n".to_owned()),
                ("etc/nsswitch.conf", "hosts: files\n".to_owned()),
                ("etc/hosts", "127.0.0.1 localhost\n".to_owned()),
            ],
            owned: &[("var/spool/mqueue", 0), ("var/run", 0)],
            command: &["/usr/libexec/sendmail/sendmail", "-bD"],
        };
        let mut process =
            chroot.start(|root| certificate::write(&root.join("etc/mail"), "mx.sendmail.test"))?;
        process
            .wait_until("open port", START, async || TcpStream::connect(address).await.ok())
            .await?;
        Ok(Self { process, address })
    }

    /// The routes for origin's `RCPT_ROUTES`; Sendmail accepts no mail for `elsewhere.test`.
    pub fn routes(&self) -> String {
        format!("sendmail.test={0},elsewhere.test={0}", self.address)
    }
}

/// Expands the macros with m4; `access` is read as a text file instead of a database.
fn configuration(port: u16) -> Result<String> {
    let macros = folder::tools().join(PACKAGE).join("usr/share/sendmail/cf");
    let at = macros.display();
    let source = folder::scratch("sendmail-mc")?.join("sendmail.mc");
    let text = format!(
        "include(`{at}/m4/cf.m4')dnl
OSTYPE(`linux')dnl
define(`confDOMAIN_NAME', `mx.sendmail.test')dnl
define(`confPID_FILE', `/var/run/sendmail.pid')dnl
define(`confCACERT', `/etc/mail/certificate.pem')dnl
define(`confCACERT_PATH', `/etc/mail')dnl
define(`confSERVER_CERT', `/etc/mail/certificate.pem')dnl
define(`confSERVER_KEY', `/etc/mail/key.pem')dnl
FEATURE(`no_default_msa')dnl
FEATURE(`use_cw_file')dnl
FEATURE(`accept_unresolvable_domains')dnl
FEATURE(`access_db', `text -T<TMPF> -z| -k0 -v1 /etc/mail/access')dnl
FEATURE(`blocklist_recipients')dnl
DAEMON_OPTIONS(`Name=MTA, Addr=127.0.0.1, Port={port}')dnl
MAILER(`local')dnl
MAILER(`smtp')dnl
"
    );
    fs::write(&source, text)?;
    let output = Command::new("m4")
        .arg(format!("-D_CF_DIR_={at}/"))
        .arg(&source)
        .output()
        .context("running m4")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success() && errors.is_empty(), "m4: {errors}");
    Ok(String::from_utf8(output.stdout)?)
}
