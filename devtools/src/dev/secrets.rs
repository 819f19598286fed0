//! The local secrets in `.dev.vars`, created once.

use std::{
    fs::OpenOptions,
    io::{Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use anyhow::{Context as _, Result};
use rcpt_tests::service::{clock, secret};

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
    for ring in secret::RINGS {
        if values_of(&present, ring).is_empty() {
            let value = secret::value()?;
            added += &format!("{}={value}\n", secret::name(ring, clock::now(), &value));
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
    Ok(Secrets { tickets: values_of(&all, "TICKET_SECRET").join(",") })
}

fn value_of<'a>(vars: &'a str, name: &str) -> Option<&'a str> {
    pairs(vars).find_map(|(key, value)| (key == name).then_some(value))
}

fn values_of<'a>(vars: &'a str, ring: &str) -> Vec<&'a str> {
    let is_of = |key: &str| key.strip_prefix(ring).is_some_and(|rest| rest.starts_with('_'));
    pairs(vars).filter_map(|(key, value)| is_of(key).then_some(value)).collect()
}

fn pairs(vars: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = vars.lines().filter_map(|line| line.split_once('='));
    let plain = pairs.map(|(key, value)| (key.trim(), value.trim().trim_matches(['"', '\''])));
    plain.filter(|(_, value)| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _, sync::Barrier, thread};

    use rcpt_tests::service::secret;

    use super::{ensure, values_of};

    #[test]
    fn secrets_are_made_once_and_kept_and_only_the_owner_reads_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".dev.vars");
        fs::write(&path, "TICKET_SECRET_A=\"abc\"\nEXTRA=1").unwrap();
        assert_eq!(ensure(&path).unwrap().tickets, "abc");
        let first = fs::read_to_string(&path).unwrap();
        assert!(first.starts_with("TICKET_SECRET_A=\"abc\"\nEXTRA=1\n"), "{first}");
        assert!(secret::RINGS.iter().all(|ring| !values_of(&first, ring).is_empty()), "{first}");
        assert_eq!(ensure(&path).unwrap().tickets, "abc");
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
            let stored_secret = values_of(&written, "TICKET_SECRET")[0];
            assert!(
                tickets.iter().all(|tickets| tickets == stored_secret),
                "{tickets:?} and in the file {written}"
            );
            assert_eq!(written.matches("TICKET_SECRET_").count(), 1, "{written}");
        }
    }
}
