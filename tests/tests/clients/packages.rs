//! The npm package and the wheel: generated from the served document, packed, and installed as a
//! user does.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use rcpt_tests::process::folder;
use serde_json::Value;
use tokio::sync::OnceCell;

/// The interpreter that has the tools and the Python client's dependencies.
fn tools_python() -> PathBuf {
    folder::tools().join("clients/bin/python")
}

fn output(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str], directory: &Path) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory).env_remove("NODE_OPTIONS");
    command.output().expect("the program starts")
}

pub fn run(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str], directory: &Path) {
    let output = output(program, arguments, directory);
    let (out, said) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{arguments:?}: {out}{said}");
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

/// Folders of the packages as a user has installed them, and the means to import them.
pub struct Installed {
    pub typescript: PathBuf,
    pub python: PathBuf,
    /// Python interpreter that can import `rcpt_client`.
    pub interpreter: PathBuf,
    /// Folder with `node_modules/rcpt-client`.
    pub project: PathBuf,
}

/// Packs both packages and installs them, once for all tests.
pub async fn installed() -> &'static Installed {
    static INSTALLED: OnceCell<Installed> = OnceCell::const_new();
    INSTALLED
        .get_or_init(async || tokio::task::spawn_blocking(install).await.expect("they install"))
        .await
}

fn install() -> Installed {
    let project = folder::scratch("packed").unwrap();
    let repository = folder::repository();
    run(repository.join("tools/clients"), &["packed"], &repository);
    let folder = repository.join("target/clients");
    let packed = |end: &str| {
        let mut names = files_of(&folder).into_iter().filter(|name| name.ends_with(end));
        let name = names.next().unwrap_or_else(|| panic!("nothing ends with {end}"));
        assert_eq!(names.next(), None, "one package");
        folder.join(name).to_str().unwrap().to_owned()
    };
    // Node finds the package's dependencies in the repository, a parent folder.
    let typescript = project.join("node_modules/rcpt-client");
    fs::create_dir_all(&typescript).unwrap();
    let unpacked = typescript.to_str().unwrap();
    run("tar", &["-xzf", &packed(".tgz"), "--strip-components=1", "-C", unpacked], &project);
    run(tools_python(), &["-m", "venv", "--without-pip", "venv"], &project);
    let interpreter = project.join("venv/bin/python");
    let python = modules_of(&interpreter);
    // The client's dependencies are installed with the tools.
    let tools = modules_of(&tools_python());
    fs::write(python.join("tools.pth"), tools.to_str().unwrap()).unwrap();
    let pip = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target"];
    let wheel = packed(".whl");
    run(tools_python(), &[&pip[..], &[python.to_str().unwrap(), &wheel]].concat(), &project);
    Installed { typescript, python, interpreter, project }
}

/// The folder in which an interpreter finds packages.
fn modules_of(interpreter: &Path) -> PathBuf {
    let script = "import sysconfig; print(sysconfig.get_path('purelib'), end='')";
    let printed = output(interpreter, &["-c", script], Path::new("/"));
    String::from_utf8(printed.stdout).unwrap().into()
}

fn files_of(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().flatten();
    names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[tokio::test]
async fn the_packages_hold_what_their_users_need_and_nothing_else() {
    let Installed { typescript, python, .. } = installed().await;
    let mut names = files_of(typescript);
    names.sort();
    assert_eq!(names, ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "dist", "package.json"]);
    let package = fs::read_to_string(typescript.join("package.json")).unwrap();
    let package: Value = serde_json::from_str(&package).unwrap();
    let exports = &package["exports"]["."];
    assert_eq!(exports["default"]["default"], "./dist/index.js");
    assert_eq!(exports["require"]["default"], "./dist/commonjs/index.js");
    assert_eq!((&package["scripts"], &package["publishConfig"]), (&Value::Null, &Value::Null));
    assert!(python.join("rcpt_client/py.typed").exists());
}

#[tokio::test]
async fn a_program_of_commonjs_requires_the_package() {
    let Installed { project, .. } = installed().await;
    let script = "const { Rcpt, RcptError } = require('rcpt-client'); \
                  console.log(typeof Rcpt, new RcptError('x', 0) instanceof Error, \
                  new Rcpt({ url: 'https://x.example', apiKey: 'key' }).rateLimit)";
    let ran = output("node", &["--input-type=commonjs", "--eval", script], project);
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "function true undefined\n", "{said}");
    // Type checkers of CommonJS find the types too.
    let folder = project.join("commonjs");
    fs::create_dir_all(&folder).unwrap();
    let text = "import { Rcpt } from 'rcpt-client';\nexport const check = (rcpt: Rcpt) => rcpt.check('a@b.example');\n";
    fs::write(folder.join("program.cts"), text).unwrap();
    let options = r#"{ "compilerOptions": { "target": "es2022", "module": "node16", "types": [], "strict": true,
        "lib": ["es2022", "dom", "dom.iterable"], "noEmit": true }, "files": ["program.cts"] }"#;
    fs::write(folder.join("tsconfig.json"), options).unwrap();
    let tsc = folder::repository().join("node_modules/.bin/tsc");
    tokio::task::spawn_blocking(move || run(tsc, &["--project", "."], &folder)).await.unwrap();
}

/// Converts `listScans` to Python's spelling.
fn snake(name: &str) -> String {
    let letters = name.chars().flat_map(|letter| {
        let before = letter.is_ascii_uppercase().then_some('_');
        before.into_iter().chain([letter.to_ascii_lowercase()])
    });
    letters.collect()
}

#[tokio::test]
async fn the_packages_have_every_operation_of_the_document_of_today() {
    let Installed { typescript, python, .. } = installed().await;
    let document = fs::read_to_string(folder::repository().join("edge/openapi.json")).unwrap();
    let document: Value = serde_json::from_str(&document).unwrap();
    let schema = fs::read_to_string(typescript.join("dist/schema.d.ts")).unwrap();
    let mut count = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        assert!(schema.contains(&format!("\"{path}\": {{")), "{path}");
        for operation in methods.as_object().unwrap().values() {
            let Some(name) = operation["operationId"].as_str() else { continue };
            let tag = operation["tags"][0].as_str().unwrap().to_lowercase().replace('-', "_");
            let module = format!("rcpt_client/generated/api/{tag}/{}.py", snake(name));
            assert!(python.join(&module).exists(), "{module}");
            count += 1;
        }
    }
    assert!(count >= 30, "{count}");
}

#[test]
fn a_folder_without_its_generated_part_says_how_to_make_a_package() {
    let scratch = folder::scratch("bare").unwrap();
    let repository = folder::repository();
    let listed = output("git", &["ls-files", "clients"], &repository);
    for name in String::from_utf8(listed.stdout).unwrap().lines() {
        assert!(!name.contains("generated") && !name.ends_with("schema.ts"), "{name}");
        let copy = scratch.join(name);
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(repository.join(name), copy).unwrap();
    }
    let (node, wheel) = (scratch.join("clients/typescript"), scratch.join("clients/python"));
    let user = scratch.join("user");
    fs::create_dir_all(user.join("node_modules")).unwrap();
    fs::write(user.join("package.json"), r#"{"name": "user", "private": true}"#).unwrap();
    let says = |program: &Path, arguments: &[&str], directory: &Path| {
        let ended = output(program, arguments, directory);
        let stderr = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(!ended.status.success(), "{arguments:?}");
        assert!(stderr.contains("Run `make clients` in the repository"), "{arguments:?}: {stderr}");
    };
    let install = ["install", "--offline", "--no-audit", node.to_str().unwrap()];
    says("npm".as_ref(), &install, &user);
    let _ = fs::remove_file(user.join("node_modules/rcpt-client"));
    std::os::unix::fs::symlink(&node, user.join("node_modules/rcpt-client")).unwrap();
    let import = ["--input-type=module", "--eval", "import 'rcpt-client'"];
    says("node".as_ref(), &import, &user);
    says(&tools_python(), &["-m", "hatchling", "build", "--target", "wheel"], &wheel);
    says(&tools_python(), &["-c", "import rcpt_client"], &wheel.join("src"));
}

/// The blocks of a README in this language.
pub fn examples(readme: &str, language: &str) -> Vec<String> {
    let start = format!("```{language}\n");
    let blocks = readme.split(&start).skip(1);
    let blocks: Vec<_> =
        blocks.map(|block| block.split("\n```").next().unwrap().to_owned() + "\n").collect();
    assert!(!blocks.is_empty());
    blocks
}

/// Creates a file for each example.
pub fn write_examples(folder: &Path, typescript: &[String], python: &[String]) {
    fs::create_dir_all(folder).unwrap();
    for (texts, end) in [(typescript, "mts"), (python, "py")] {
        for (n, text) in texts.iter().enumerate() {
            fs::write(folder.join(format!("example_{n}.{end}")), text).unwrap();
        }
    }
}

pub const TYPESCRIPT: &str = include_str!("../../../clients/typescript/README.md");
pub const PYTHON: &str = include_str!("../../../clients/python/README.md");

#[tokio::test]
async fn the_examples_fit_the_types_of_the_packages_and_a_mistake_does_not() {
    let Installed { project, interpreter, .. } = installed().await;
    let folder = project.join("typed");
    write_examples(&folder, &examples(TYPESCRIPT, "ts"), &examples(PYTHON, "python"));
    // The repository has no package with Node's own types.
    let node = "declare module 'node:http';\n\
                declare const process: { env: Record<string, string | undefined> };\n\
                declare const Buffer: { concat(chunks: Uint8Array[]): Uint8Array };\n";
    fs::write(folder.join("node.d.ts"), node).unwrap();
    let options = r#"{ "compilerOptions": { "target": "es2022", "module": "nodenext", "types": [], "strict": true,
        "lib": ["es2022", "dom", "dom.iterable"], "noEmit": true, "noImplicitAny": false, "moduleDetection": "force" } }"#;
    fs::write(folder.join("tsconfig.json"), options).unwrap();
    let mistake = folder.join("mistake");
    fs::create_dir(&mistake).unwrap();
    let wrong = "from rcpt_client import Rcpt\nprint(Rcpt('', '').check('').nothing)\n\
                 print(Rcpt('', '').check('').status == 'blocked_by_providr')\n";
    fs::write(mistake.join("wrong.py"), wrong).unwrap();
    let tsc = folder::repository().join("node_modules/.bin/tsc");
    let interpreter = interpreter.to_str().unwrap();
    let check = tokio::task::spawn_blocking(move || {
        run(tsc, &["--project", "."], &folder);
        let files = (0..examples(PYTHON, "python").len()).map(|n| format!("example_{n}.py"));
        let files: Vec<_> = files.collect();
        let mypy =
            ["-m", "mypy", "--strict", "--no-incremental", "--python-executable", interpreter];
        let files = files.iter().map(String::as_str);
        run(tools_python(), &mypy.into_iter().chain(files).collect::<Vec<_>>(), &folder);
        let refused = output(tools_python(), &[&mypy[..], &["wrong.py"]].concat(), &mistake);
        let stdout = String::from_utf8_lossy(&refused.stdout).into_owned();
        assert!(stdout.contains("\"ValidationResult\" has no attribute \"nothing\""), "{stdout}");
        assert!(stdout.contains("Non-overlapping equality check"), "{stdout}");
    });
    check.await.unwrap();
}

#[tokio::test]
async fn the_hand_written_part_of_the_python_client_has_types() {
    let Installed { python, .. } = installed().await;
    let project = folder::repository().join("clients/python/pyproject.toml");
    let check = tokio::task::spawn_blocking(move || {
        let project = project.to_str().unwrap();
        let mypy =
            ["-m", "mypy", "--config-file", project, "--no-incremental", "-p", "rcpt_client"];
        run(tools_python(), &mypy, python);
    });
    check.await.unwrap();
}
