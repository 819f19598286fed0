//! The npm package and the wheel: generated from the document that is served, packed, and installed as a
//! user would install them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use rcpt_tests::process::folder;
use serde_json::Value;
use tokio::sync::OnceCell;

/// The interpreter that has what the Python client stands on.
pub fn python() -> PathBuf {
    folder::tools().join("clients/bin/python")
}

fn run(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str], directory: &Path) {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory).env_remove("NODE_OPTIONS");
    let output = command.output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
}

fn files(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let (name, path) = (entry.file_name().to_string_lossy().into_owned(), entry.path());
        if name == "__pycache__" {
            continue;
        }
        if path.is_dir() {
            let below = files(&path).into_iter();
            found.extend(below.map(|(file, text)| (format!("{name}/{file}"), text)));
        } else {
            found.push((name, fs::read_to_string(path).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn the_clients_are_generated_from_the_document_of_today() {
    let scratch = folder::scratch("generated").unwrap();
    let repository = folder::repository();
    let generated = ["generate", scratch.to_str().unwrap()];
    run(repository.join("tools/clients"), &generated, &repository);
    for part in ["typescript/src/schema.ts", "python/src/rcpt_client/generated"] {
        let (old, new) = (repository.join("clients").join(part), scratch.join(part));
        let read = |path: &Path| match path.is_dir() {
            true => files(path),
            false => vec![(String::new(), fs::read_to_string(path).unwrap())],
        };
        let (old, new) = (read(&old), read(&new));
        assert!(!new.is_empty());
        let names = |files: &[(String, String)]| {
            files.iter().map(|file| file.0.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(&old), names(&new), "clients/{part}: run tools/clients generate");
        for (old, new) in old.iter().zip(&new) {
            assert!(
                old == new,
                "clients/{part}/{} is out of date: run tools/clients generate",
                old.0
            );
        }
    }
}

#[test]
fn all_clients_have_the_version_of_the_workspace() {
    let package = include_str!("../../../clients/typescript/package.json");
    let package: Value = serde_json::from_str(package).unwrap();
    assert_eq!(package["version"], env!("CARGO_PKG_VERSION"));
    let project = include_str!("../../../clients/python/pyproject.toml");
    let version = format!("version = \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(project.contains(&version), "{project}");
}

/// The folders in which the npm package and the wheel are installed.
pub struct Installed {
    pub typescript: PathBuf,
    pub python: PathBuf,
}

/// Packs both and installs them, once for all tests.
pub async fn installed() -> &'static Installed {
    static INSTALLED: OnceCell<Installed> = OnceCell::const_new();
    let install = || {
        let scratch = folder::scratch("packed").unwrap();
        let repository = folder::repository();
        run(repository.join("tools/clients"), &["pack", scratch.to_str().unwrap()], &repository);
        let packed = |end: &str| {
            let mut names = files_of(&scratch).into_iter().filter(|name| name.ends_with(end));
            let name = names.next().unwrap_or_else(|| panic!("nothing ends with {end}"));
            assert_eq!(names.next(), None, "one package");
            name
        };
        run("tar", &["-xzf", &packed(".tgz")], &scratch);
        let modules = scratch.join("python");
        let wheel = packed(".whl");
        let target = modules.to_str().unwrap();
        let install = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
            "--target",
            target,
            &wheel,
        ];
        run(python(), &install, &scratch);
        Installed { typescript: scratch.join("package"), python: modules }
    };
    INSTALLED
        .get_or_init(async || tokio::task::spawn_blocking(install).await.expect("they install"))
        .await
}

fn files_of(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().flatten();
    names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[tokio::test]
async fn the_packages_hold_what_their_users_need_and_nothing_else() {
    let Installed { typescript, python } = installed().await;
    let mut names = files_of(typescript);
    names.sort();
    assert_eq!(names, ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "dist", "package.json"]);
    assert!(
        typescript.join("dist/index.d.ts").exists() && typescript.join("dist/schema.d.ts").exists()
    );
    assert!(python.join("rcpt_client/generated/client.py").exists());
}
