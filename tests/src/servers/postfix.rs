//! A private Postfix, which neither reads nor changes the system's own configuration, queue and services.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result};
use tempfile::TempDir;
use tokio::net::TcpStream;

use super::{certificate, postgrey::Postgrey};
use crate::process::{Process, folder, port};

const START: Duration = Duration::from_secs(30);

/// The domains for which Postfix accepts mail, on both ports.
pub const DOMAINS: [&str; 2] = ["postfix.test", "tls-only.test"];

const MAILBOXES: &str = "\
known@postfix.test known/
known@tls-only.test known/
full@postfix.test full/
over-quota@postfix.test over-quota/
staff@postfix.test staff/
greylisted@postfix.test greylisted/
greylisted-once@postfix.test greylisted/
";

/// Postfix's access table. Three recipients get fixed replies, worded like those of Dovecot's quota service and
/// Exchange. The class `greylisting` queries postgrey for the other two.
const RECIPIENTS: &str = "\
full@postfix.test 552 5.2.2 Mailbox is full
staff@postfix.test 550 5.7.1 RESOLVER.RST.AuthRequired; authentication required
over-quota@postfix.test 452 4.2.2 Mailbox is over its quota
greylisted@postfix.test greylisting
greylisted-once@postfix.test greylisting
";

/// A running Postfix with its greylisting daemon; dropping it ends both.
#[derive(Debug)]
pub struct Postfix {
    pub process: Process,
    _postgrey: Postgrey,
    plain: SocketAddr,
    tls_only: SocketAddr,
}

impl Postfix {
    /// Starts Postfix and postgrey. Needs root or `sudo`, because Postfix drops root's privileges itself. A
    /// `greylisted…@postfix.test` is accepted after `greylist_delay`.
    pub async fn start(greylist_delay: Duration) -> Result<Self> {
        let postgrey = Postgrey::start(greylist_delay).await?;
        let logs = folder::scratch("postfix")?;
        // The folder isn't under target/, because the user `postfix` needs access to it, but not to the repository.
        // `RUN` removes the folder as root, which owns most of its content.
        let folder = TempDir::with_prefix("rcpt-postfix-").context("creating a folder")?.keep();
        let [plain, tls_only] =
            [(); 2].map(|()| SocketAddr::from((Ipv4Addr::LOCALHOST, port::free())));
        let at = folder.as_path();
        fs::set_permissions(at, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        for name in ["etc", "queue", "data"] {
            fs::create_dir(at.join(name))?;
        }
        certificate::write(&at.join("etc"), "mx.postfix.test")?;
        let etc = |name: &str, text: String| fs::write(at.join("etc").join(name), text);
        etc("main.cf", main_cf(at, postgrey.address()))?;
        etc("master.cf", master_cf(plain, tls_only))?;
        etc("mailboxes", MAILBOXES.to_owned())?;
        etc("recipients", RECIPIENTS.to_owned())?;

        let mut process = Process::spawn_as_root("postfix", &postfix_command(at), &logs)?;
        process
            .wait_until("open port", START, async || TcpStream::connect(plain).await.ok())
            .await?;
        Ok(Self { process, _postgrey: postgrey, plain, tls_only })
    }

    /// The address that accepts mail without TLS, and offers STARTTLS.
    pub fn plain(&self) -> SocketAddr {
        self.plain
    }

    /// The routes for origin's `RCPT_ROUTES`; Postfix accepts no mail for `elsewhere.test`.
    pub fn routes(&self) -> String {
        let (plain, tls_only) = (self.plain, self.tls_only);
        format!("postfix.test={plain},elsewhere.test={plain},tls-only.test={tls_only}")
    }

    /// The address that answers 530 to MAIL until STARTTLS; its certificate is self-signed.
    pub fn tls_only(&self) -> SocketAddr {
        self.tls_only
    }
}

/// `postfix check` creates the queue's folders. `master -d` stays in the foreground and, unlike `postfix start-fg`, in
/// our process group. `wait` returns at the signal, and again when master has ended.
const RUN: &str = r#"
chown postfix "$0/data" && /usr/sbin/postfix -c "$0/etc" check || exit
/usr/lib/postfix/sbin/master -c "$0/etc" -d &
master=$!
trap 'kill $master' TERM
wait $master
wait $master
rm -rf "$0"
"#;

fn postfix_command(folder: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", RUN]).arg(folder);
    command
}

/// Main.cf. `in_flow_delay` is 0: without a queue manager, nothing refills the budget of incoming mail, and
/// each accepted recipient would wait a second.
fn main_cf(folder: &Path, greylist: SocketAddr) -> String {
    let at = folder.display();
    format!(
        "compatibility_level = 3.6
queue_directory = {at}/queue
data_directory = {at}/data
maillog_file = /dev/stdout
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
myhostname = mx.postfix.test
mydestination =
mynetworks =
alias_maps =
alias_database =
virtual_mailbox_domains = {}
virtual_mailbox_maps = texthash:{at}/etc/mailboxes
smtpd_relay_restrictions = reject_unauth_destination
smtpd_recipient_restrictions = reject_unlisted_recipient, check_recipient_access texthash:{at}/etc/recipients
smtpd_restriction_classes = greylisting
greylisting = check_policy_service inet:{greylist}
smtpd_tls_chain_files = {at}/etc/key.pem, {at}/etc/certificate.pem
smtpd_tls_loglevel = 1
recipient_delimiter = +
in_flow_delay = 0
",
        DOMAINS.join(", "),
    )
}

fn master_cf(plain: SocketAddr, tls_only: SocketAddr) -> String {
    format!(
        "{plain} inet n - n - - smtpd
  -o smtpd_tls_security_level=may
{tls_only} inet n - n - - smtpd
  -o smtpd_tls_security_level=encrypt
rewrite unix - - n - - trivial-rewrite
proxymap unix - - n - - proxymap
anvil unix - - n - 1 anvil
tlsmgr unix - - n 1000? 1 tlsmgr
postlog unix-dgram n - n - 1 postlogd
cleanup unix n - n - 0 cleanup
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
"
    )
}
