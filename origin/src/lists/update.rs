//! `origin lists update`: replaces the lists in force by a signed bundle, or changes nothing and
//! gives the reason.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use minisign_verify::{PublicKey, Signature};

use super::{Bundle, Lists, Mistake, file, in_force};

const DOWNLOAD_TIMEOUT: Duration = Duration::from_secs(60);
/// Greatest size of a signature file in bytes; ours has about 300.
const SIGNATURE_BYTES_MAX: u64 = 16 << 10;
const SIGNATURE_END: &str = ".minisig";

/// Greatest share of a list's names that an update may remove, in percent; a small fixed number is
/// always allowed. An emptied list is a mistake or an attack, but a list of twenty names must be
/// able to lose some names.
const REMOVED_PERCENT_MAX: usize = 3;
const REMOVED_MIN: usize = 3;
/// Greatest share of names that an update may add, in percent.
const ADDED_PERCENT_MAX: usize = 20;
const ADDED_MIN: usize = 20;

/// Result of an update.
#[derive(Debug, PartialEq, Eq)]
pub enum Updated {
    /// Names of the lists that are now newer.
    Replaced(Vec<&'static str>),
    /// The bundle is already in force.
    AlreadyInForce,
}

/// Reason for rejecting an update, as a sentence.
type Reason = String;

/// Fetches the bundle at `source` (a URL or a file) with its signature, checks both, and replaces
/// the file at `into`.
///
/// # Errors
/// The reason; the file is unchanged.
pub fn update(source: &str, key: &Path, into: &Path) -> Result<Updated, Reason> {
    let key = read_key(key)?;
    let bundle = fetch(source, file::MAX_OCTETS)?;
    let signature = fetch(&[source, SIGNATURE_END].concat(), SIGNATURE_BYTES_MAX)?;
    let text = verified(&key, bundle, &signature)?;
    replace(&text, into)
}

fn read_key(path: &Path) -> Result<PublicKey, Reason> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|error| format!("no key: {shown}: {error}"))?;
    // Accepts a file in the format of `minisign -G`, or only its second line.
    PublicKey::decode(&text)
        .or_else(|_| PublicKey::from_base64(text.trim()))
        .map_err(|_| format!("no key: {shown} holds none of minisign's"))
}

fn verified(key: &PublicKey, bundle: Vec<u8>, signature: &[u8]) -> Result<String, Reason> {
    let signature = std::str::from_utf8(signature).ok().and_then(|it| Signature::decode(it).ok());
    let signature = signature.ok_or("the signature is no minisign signature")?;
    key.verify(&bundle, &signature, false)
        .map_err(|error| format!("the signature doesn't fit the bundle and the key: {error}"))?;
    String::from_utf8(bundle).map_err(|_| "the bundle is no text".to_owned())
}

/// The signature of `text` was verified.
fn replace(text: &str, into: &Path) -> Result<Updated, Reason> {
    let bundle = Bundle::parse(text).map_err(|Mistake(problem)| problem)?;
    let path = into.to_str().ok_or("the path of the lists is no text")?;
    let (current, _) = in_force(path);
    let newer = newer_lists(&bundle, &current)?;
    if newer.is_empty() {
        return Ok(Updated::AlreadyInForce);
    }
    write(text, into).map_err(|error| format!("{path}: {error}"))?;
    Ok(Updated::Replaced(newer))
}

fn newer_lists(bundle: &Bundle, current: &Lists) -> Result<Vec<&'static str>, Reason> {
    let mut newer = Vec::new();
    for ((list, header), (_, names)) in bundle.headers().into_iter().zip(bundle.entries()) {
        let in_force = current.headers.get(list).map(|it| it.date.as_str()).unwrap_or_default();
        let before = current.names(list);
        let after: HashSet<&str> = names.into_iter().collect();
        let removed = before.difference(&after).count();
        let added = after.difference(&before).count();
        if header.date.as_str() < in_force {
            return Err(format!(
                "{list}: {} is older than {in_force}, which is in force",
                header.date
            ));
        }
        if header.date == in_force && removed + added > 0 {
            return Err(format!("{list}: has the date in force, {in_force}, and other names"));
        }
        let limit = |percent: usize, least: usize| (before.len() * percent / 100).max(least);
        for (what, count, most) in [
            ("removes", removed, limit(REMOVED_PERCENT_MAX, REMOVED_MIN)),
            ("adds", added, limit(ADDED_PERCENT_MAX, ADDED_MIN)),
        ] {
            if count > most {
                let size = before.len();
                return Err(format!(
                    "{list}: {what} {count} names of {size}; {most} is the most at once"
                ));
            }
        }
        if header.date.as_str() > in_force {
            newer.push(list);
        }
    }
    Ok(newer)
}

/// Writes a temporary file and renames it, so that readers see either the old or the new lists,
/// even after a crash.
fn write(text: &str, into: &Path) -> io::Result<()> {
    let mut beside = into.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    let written = (|| {
        let mut file = File::create(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, into)
    })();
    if written.is_err() {
        // The file may not exist.
        let _ = fs::remove_file(&beside);
    }
    written?;
    let folder = into.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// More than `most` bytes are an error.
fn fetch(source: &str, most: u64) -> Result<Vec<u8>, Reason> {
    let failed = |error: &dyn std::fmt::Display| format!("{source}: {error}");
    let mut octets = Vec::new();
    if source.starts_with("https://") || source.starts_with("http://") {
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(DOWNLOAD_TIMEOUT))
            .max_redirects(0)
            .max_redirects_will_error(true)
            .build()
            .new_agent();
        let mut response = agent.get(source).call().map_err(|error| failed(&error))?;
        let mut body = response.body_mut().as_reader().take(most + 1);
        body.read_to_end(&mut octets).map_err(|error| failed(&error))?;
    } else {
        let file = File::open(source).map_err(|error| failed(&error))?;
        file.take(most + 1).read_to_end(&mut octets).map_err(|error| failed(&error))?;
    }
    if octets.len() as u64 > most {
        return Err(failed(&format!("larger than {most} octets")));
    }
    Ok(octets)
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Cursor, path::PathBuf};

    use minisign::KeyPair;

    use super::{super::BUILT_IN, Updated, update};
    use crate::lists::in_force;

    /// A folder with a key, a signed bundle, and the lists in force.
    struct World {
        folder: PathBuf,
        keys: KeyPair,
    }

    impl World {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("rcpt-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).unwrap();
            let keys = KeyPair::generate_unencrypted_keypair().unwrap();
            fs::write(folder.join("key"), keys.pk.to_box().unwrap().to_string()).unwrap();
            Self { folder, keys }
        }

        fn sign(&self, text: &str) {
            let signed = Cursor::new(text.as_bytes());
            let signature =
                minisign::sign(None, &self.keys.sk, signed, Some("rcpt lists"), None).unwrap();
            fs::write(self.folder.join("bundle"), text).unwrap();
            fs::write(self.folder.join("bundle.minisig"), signature.to_string()).unwrap();
        }

        fn update(&self) -> Result<Updated, String> {
            let at = |name: &str| self.folder.join(name);
            update(at("bundle").to_str().unwrap(), &at("key"), &at("lists.toml"))
        }

        fn offer(&self, text: &str) -> Result<Updated, String> {
            self.sign(text);
            self.update()
        }

        fn lists(&self) -> Option<String> {
            fs::read_to_string(self.folder.join("lists.toml")).ok()
        }

        fn refuses(&self, text: &str, reason: &str) {
            let before = self.lists();
            let refused = self.offer(text).unwrap_err();
            assert!(refused.contains(reason), "{refused}");
            assert_eq!(self.lists(), before, "{reason}");
            assert!(!self.folder.join("lists.toml.new").exists());
        }
    }

    impl Drop for World {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }

    fn of_day(day: &str) -> String {
        BUILT_IN.replacen("2026-11-09", day, 1)
    }

    fn with_more(text: &str, count: usize) -> String {
        let names: String = (0..count).map(|n| format!("\"more-{n}.example\", ")).collect();
        text.replacen("\"mailinator.com\"", &format!("{names}\"mailinator.com\""), 1)
    }

    fn with_fewer(text: &str, count: usize) -> String {
        let (head, rest) = text.split_once("names = [\n").unwrap();
        let (names, tail) = rest.split_once(']').unwrap();
        let names = names.split_whitespace().skip(count).collect::<Vec<_>>().join(" ");
        format!("{head}names = [\n{names}\n]{tail}")
    }

    #[test]
    fn a_signed_newer_bundle_is_in_force_and_the_same_one_again_changes_nothing() {
        let world = World::new("newer");
        let newer = with_more(&of_day("2099-01-02"), 5);
        assert_eq!(world.offer(&newer), Ok(Updated::Replaced(vec!["disposable"])));
        assert_eq!(world.lists().as_deref(), Some(newer.as_str()));
        let (lists, note) = in_force(world.folder.join("lists.toml").to_str().unwrap());
        assert!(lists.is_disposable("more-4.example") && note.is_none());
        assert_eq!(world.update(), Ok(Updated::AlreadyInForce));
        // Older bundles, and other names with the same date.
        world.refuses(&of_day("2099-01-01"), "older than 2099-01-02");
        world.refuses(BUILT_IN, "older than 2099-01-02");
        world.refuses(&with_more(&of_day("2099-01-02"), 6), "and other names");
    }

    #[test]
    fn what_breaks_a_rule_is_refused_and_changes_nothing() {
        let world = World::new("rules");
        let newer = of_day("2099-01-02");
        world.refuses(&newer[..newer.len() / 2], "line");
        world.refuses("", "missing field");
        world.refuses(&newer.replacen("[suggested]", "[suggestions]", 1), "unknown field");
        world.refuses(&newer.replacen("\"mailinator.com\"", "\"gmail.com\"", 1), "contradicts");
        world.refuses(&newer.replacen("\"mailinator.com\"", "\"no domain\"", 1), "no domain name");
        world.refuses(&newer.replacen("licence = \"CC0-1.0\"", "", 1), "missing field");
        world.refuses(&with_fewer(&newer, 306), "removes 306 names of 10174; 305 is the most");
        world.refuses(&with_more(&newer, 2_035), "adds 2035 names of 10174; 2034 is the most");
        let small = of_day("2099-01-02").replacen("2026-11-20", "2099-01-02", 9);
        let fewer = small.replace("\"h-email.net\",", "").replace("\"m1bp.com\",", "");
        let fewer = fewer.replace("\"m2bp.com\",", "").replace("\"mb1p.com\",", "");
        world.refuses(&fewer, "parked_server: removes 4 names of 14; 3 is the most");
        assert_eq!(world.lists(), None);
        let most = with_fewer(&newer, 305);
        assert_eq!(world.offer(&most), Ok(Updated::Replaced(vec!["disposable"])));
        assert!(world.offer(&with_more(&of_day("2099-01-03"), 100)).is_ok());
    }

    #[test]
    fn a_signature_is_for_this_bundle_this_key_and_its_trusted_comment() {
        let world = World::new("signature");
        let newer = of_day("2099-01-02");
        world.sign(&newer);
        let refused = |reason: &str| {
            let refusal = world.update().unwrap_err();
            assert!(refusal.contains(reason), "{reason}: {refusal}");
            assert_eq!(world.lists(), None);
        };
        let path = |name: &str| world.folder.join(name);
        let signature = fs::read_to_string(path("bundle.minisig")).unwrap();
        fs::write(path("bundle.minisig"), signature.replace("rcpt lists", "rcpt other")).unwrap();
        refused("doesn't fit");
        fs::write(path("bundle.minisig"), "untrusted comment: none\n").unwrap();
        refused("no minisign signature");
        fs::remove_file(path("bundle.minisig")).unwrap();
        refused("bundle.minisig");
        fs::write(path("bundle.minisig"), &signature).unwrap();
        fs::write(path("bundle"), newer.replacen("mailinator", "nailinator", 1)).unwrap();
        refused("doesn't fit");
        fs::write(path("bundle"), &newer).unwrap();
        let key = fs::read_to_string(path("key")).unwrap();
        let other = KeyPair::generate_unencrypted_keypair().unwrap();
        fs::write(path("key"), other.pk.to_box().unwrap().to_string()).unwrap();
        refused("doesn't fit");
        fs::write(path("key"), "").unwrap();
        refused("no key");
        fs::remove_file(path("key")).unwrap();
        refused("no key");
        fs::write(path("key"), key).unwrap();
        assert!(world.update().is_ok());
    }

    #[test]
    fn a_folder_that_takes_no_file_changes_nothing() {
        let world = World::new("folder");
        world.sign(&of_day("2099-01-02"));
        // A folder exists with the temporary file's name.
        fs::create_dir_all(world.folder.join("lists.toml.new")).unwrap();
        assert!(world.update().unwrap_err().contains("lists.toml"));
        assert_eq!(world.lists(), None);
    }
}
