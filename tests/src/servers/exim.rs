//! A private Exim (Debian's `exim4-daemon-light`).

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use anyhow::Result;
use tokio::net::TcpStream;

use super::{certificate, chroot::Chroot, postgrey::Postgrey};
use crate::process::{Process, port};

const START: Duration = Duration::from_secs(30);

/// Debian's user for Exim, with its id inside the root.
const EXIM: (&str, u32) = ("Debian-exim", 101);
const MAIL: (&str, u32) = ("mail", 8);

const MAILBOXES: &str = "\
known: known
full: full
greylisted: greylisted
greylisted-once: greylisted
staff: staff
";
const ALIASES: &str = "retired: :fail: This account has been disabled\n";
/// Bytes of a mailbox that exceeds the quota in `configuration`.
const FULL: usize = 20_000;

/// A running Exim with its greylisting daemon; dropping it ends both.
#[derive(Debug)]
pub struct Exim {
    pub process: Process,
    _postgrey: Postgrey,
    plain: SocketAddr,
    tls_only: SocketAddr,
}

impl Exim {
    /// Starts Exim and postgrey; root or `sudo` is needed. A `greylisted…@exim.test` is accepted after
    /// `greylist_delay`.
    pub async fn start(greylist_delay: Duration) -> Result<Self> {
        let postgrey = Postgrey::start(greylist_delay).await?;
        let [plain, tls_only] =
            [(); 2].map(|()| SocketAddr::from((Ipv4Addr::LOCALHOST, port::free())));
        let chroot = Chroot {
            package: "exim4-daemon-light",
            users: &[EXIM, MAIL],
            files: &[
                // Exim's built-in path: with another configuration file, Exim gives up its root privileges.
                ("etc/exim4/exim4.conf", configuration(plain, tls_only, postgrey.address())),
                ("etc/aliases", ALIASES.to_owned()),
                ("etc/mailboxes", MAILBOXES.to_owned()),
                ("var/mail/full", "x".repeat(FULL)),
            ],
            owned: &[
                ("etc/key.pem", EXIM.1),
                ("var/spool/exim4", EXIM.1),
                ("var/log/exim4", EXIM.1),
                ("var/mail", MAIL.1),
            ],
            command: &["/usr/sbin/exim4", "-bdf"],
        };
        let mut process =
            chroot.start(|root| certificate::write(&root.join("etc"), "mx.exim.test"))?;
        process
            .wait_until("open port", START, async || TcpStream::connect(plain).await.ok())
            .await?;
        Ok(Self { process, _postgrey: postgrey, plain, tls_only })
    }

    /// The routes for origin's `RCPT_ROUTES`; Exim accepts no mail for `elsewhere.test`. The port of
    /// `tls-only.exim.test` answers 530 to MAIL until STARTTLS.
    pub fn routes(&self) -> String {
        let (plain, tls_only) = (self.plain, self.tls_only);
        format!("exim.test={plain},elsewhere.test={plain},tls-only.exim.test={tls_only}")
    }
}

/// Exim4.conf, whose ACL for recipients follows Debian's own `acl_check_rcpt`, including its texts.
/// `verify = recipient/quota` asks the transport, which runs as another user, whether the mailbox has room; the
/// refusals have the texts of Exim's log. Postgrey is queried with Postfix's protocol.
fn configuration(plain: SocketAddr, tls_only: SocketAddr, postgrey: SocketAddr) -> String {
    const TEXT: &str = r"
primary_hostname = mx.exim.test
domainlist local_domains = exim.test : tls-only.exim.test
local_interfaces = 127.0.0.1
daemon_smtp_ports = PLAIN : TLS_ONLY
spool_directory = /var/spool/exim4
log_file_path = /var/log/exim4/%slog
keep_environment =
host_lookup =
smtputf8_advertise_hosts = *
tls_advertise_hosts = *
tls_certificate = /etc/certificate.pem
tls_privatekey = /etc/key.pem
acl_smtp_mail = acl_check_mail
acl_smtp_rcpt = acl_check_rcpt

begin acl

acl_check_mail:
  deny
    message = 530 5.7.0 Must issue a STARTTLS command first
    condition = ${if eq{$received_port}{TLS_ONLY}}
    !encrypted = *
  accept

acl_check_rcpt:
  require
    message = relay not permitted
    domains = +local_domains
  require
    verify = recipient
  deny
    message = 550 5.7.133 RESOLVER.RST.SenderNotAuthenticatedForGroup; authentication required
    local_parts = staff
  require
    message = Over quota
    verify = recipient/quota=no_cache
  defer
    local_parts = greylisted : greylisted-once
    set acl_m_grey = ${readsocket{inet:POSTGREY}\
      {request=smtpd_access_policy\nprotocol_state=RCPT\nclient_name=$sender_helo_name\n\
       client_address=$sender_host_address\nsender=$sender_address\n\
       recipient=$local_part@$domain\n\n}{5s}{\n}{action=DUNNO}}
    condition = ${if match{$acl_m_grey}{\N^action=DEFER\N}}
    message = ${sg{$acl_m_grey}{\N^action=\S+\s+|\s+$\N}{}}
  accept

begin routers

system_aliases:
  driver = redirect
  domains = +local_domains
  allow_fail
  data = ${lookup{$local_part}lsearch{/etc/aliases}}

local_user:
  driver = accept
  domains = +local_domains
  local_parts = lsearch;/etc/mailboxes
  transport = mail_spool
  cannot_route_message = Unknown user

begin transports

mail_spool:
  driver = appendfile
  file = /var/mail/$local_part_data
  user = mail
  quota = 10K
";
    TEXT.replace("TLS_ONLY", &tls_only.port().to_string())
        .replace("PLAIN", &plain.port().to_string())
        .replace("POSTGREY", &postgrey.to_string())
}
