//! The local secrets in `.dev.vars`, created once.

use std::{
    fs::OpenOptions,
    io::{Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use anyhow::{Context as _, Result};
use rcpt_tests::service::secret;

use super::say;

/// URLs with the ports of a plain `npx wrangler dev`; `make dev` passes its own as arguments.
const PLAIN: [(&str, &str); 2] =
    [("ORIGINS", "http://127.0.0.1:8788"), ("PORTAL_URL", "http://127.0.0.1:8787")];

/// Values of `.dev.vars` that other programs also need.
#[derive(Debug)]
pub(super) struct Secrets {
    pub tickets: String,
}

/// Changes no existing secrets. A concurrent `make dev` waits for the lock and uses the existing values.
pub(super) fn ensure(path: &Path) -> Result<Secrets> {
    let opened = OpenOptions::new().create(true).read(true).append(true).mode(0o600).open(path);
    let mut file = opened.with_context(|| format!("opening {}", path.display()))?;
    file.lock().with_context(|| format!("locking {}", path.display()))?;
    let mut present = String::new();
    file.read_to_string(&mut present).with_context(|| format!("reading {}", path.display()))?;
    let mut added = String::new();
    for (name, value) in PLAIN {
        if value_of(&present, name).is_none() {
            added += &format!("{name}={value}\n");
        }
    }
    for name in secret::EDGE {
        if value_of(&present, name).is_none() {
            added += &format!("{name}={}\n", secret::key_ring()?);
        }
    }
    if value_of(&present, secret::ADMIN).is_none() {
        added += &format!("{}={}\n", secret::ADMIN, secret::value()?);
    }
    if !added.is_empty() {
        say(&format!("writing fresh local secrets to {}", path.display()));
        let broken_line = !present.is_empty() && !present.ends_with('\n');
        let added = format!("{}{added}", if broken_line { "\n" } else { "" });
        file.write_all(added.as_bytes()).with_context(|| format!("writing {}", path.display()))?;
    }
    let all = format!("{present}\n{added}");
    let tickets = value_of(&all, "TICKET_SECRETS").context("TICKET_SECRETS is empty")?;
    Ok(Secrets { tickets: tickets.to_owned() })
}

fn value_of<'a>(vars: &'a str, name: &str) -> Option<&'a str> {
    vars.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        (key.trim() == name && !value.is_empty()).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _, sync::Barrier, thread};

    use rcpt_tests::service::secret;

    use super::{ensure, value_of};

    #[test]
    fn secrets_are_made_once_and_kept_and_only_the_owner_reads_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".dev.vars");
        fs::write(&path, "TICKET_SECRETS=\"mine:abc\"\nEXTRA=1").unwrap();
        assert_eq!(ensure(&path).unwrap().tickets, "mine:abc");
        let first = fs::read_to_string(&path).unwrap();
        assert!(first.starts_with("TICKET_SECRETS=\"mine:abc\"\nEXTRA=1\n"), "{first}");
        assert!(secret::EDGE.iter().all(|name| value_of(&first, name).is_some()), "{first}");
        assert_eq!(ensure(&path).unwrap().tickets, "mine:abc");
        assert_eq!(fs::read_to_string(&path).unwrap(), first);

        let fresh = folder.path().join("fresh");
        ensure(&fresh).unwrap();
        assert_eq!(fs::metadata(&fresh).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn all_that_start_at_the_same_moment_have_the_same_secrets() {
        let folder = tempfile::tempdir().unwrap();
        for round in 0..50 {
            let path = &folder.path().join(format!("fresh-{round}"));
            let together = &Barrier::new(8);
            let tickets: Vec<_> = thread::scope(|scope| {
                let start = || {
                    together.wait();
                    ensure(path).unwrap().tickets
                };
                let started: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
                started.into_iter().map(|one| one.join().unwrap()).collect()
            });
            let written = fs::read_to_string(path).unwrap();
            let stored_secret = value_of(&written, "TICKET_SECRETS").unwrap();
            assert!(
                tickets.iter().all(|tickets| tickets == stored_secret),
                "{tickets:?} and in the file {written}"
            );
            assert_eq!(written.matches("TICKET_SECRETS").count(), 1, "{written}");
        }
    }
}
