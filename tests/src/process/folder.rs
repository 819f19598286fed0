//! Paths of the repository, of builds and of scratch folders.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use anyhow::{Context as _, Result};

/// Lifetime of earlier runs' scratch folders, so that failures can be investigated.
const SCRATCH_LIFETIME: Duration = Duration::from_secs(3600);

/// The root of the repository.
pub fn repository() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests).to_owned()
}

/// Cargo's target folder.
pub fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository().join("target"), PathBuf::from)
}

/// The folder of `tools/install`'s builds, by the same rule as `tools/versions`.
pub fn tools() -> PathBuf {
    let home = |path: &str| env::var_os("HOME").map(|home| Path::new(&home).join(path));
    let cache = env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
    env::var_os("RCPT_TOOLS").filter(|path| !path.is_empty()).map_or_else(
        || cache.or_else(|| home(".cache")).unwrap_or_default().join("rcpt/tools"),
        PathBuf::from,
    )
}

/// Creates a folder `target/tests/<process id>-<n>-<name>`.
pub fn scratch(name: &str) -> Result<PathBuf> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let all = target().join("tests");
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = all.join(format!("{}-{count}-{name}", process::id()));
    // If the folder exists, an ended process with the same id has left it.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    if count == 0 {
        remove_old(&all, &folder);
    }
    Ok(folder)
}

fn remove_old(all: &Path, new: &Path) {
    let modified = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    let Some(now) = modified(new) else { return };
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        let age = modified(&entry.path()).and_then(|then| now.duration_since(then).ok());
        if age.is_some_and(|age| age > SCRATCH_LIFETIME) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
