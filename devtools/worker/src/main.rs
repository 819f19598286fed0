//! Builds the Worker in `edge/build/` from the wasm that cargo has compiled, with wasm-bindgen,
//! wasm-opt, esbuild and the entry in `edge/entry.mjs`. The Makefile runs cargo and this program.
//!
//! `rcpt-worker shipped` optimises for size and takes a minute; `rcpt-worker quick` takes seconds,
//! for `make dev` and for tests of a change. Stamp files in the folder name the kinds that
//! the last build satisfies: a shipped Worker also satisfies `quick`.
//!
//! `rcpt-worker lists shipped|quick` writes the portal's readers of lists and of workbooks to `target/lists/`, from the
//! wasm of `clients/`; the portal's build bundles them.
//!
//! `rcpt-worker table [--functions CRATE] [FILE]` prints the composition of the shipped Worker.

mod table;

use std::{
    env,
    ffi::OsStr,
    fs::{self, File},
    path::Path,
    process::Command,
};

use anyhow::{Context as _, Result, bail, ensure};
use wasm_bindgen_cli_support::Bindgen;

/// WebAssembly features that rustc emits and workerd supports. With `--all-features`, binaryen would use compact
/// imports, which workerd can't read.
const FEATURES: [&str; 7] = [
    "--enable-mutable-globals",
    "--enable-sign-ext",
    "--enable-nontrapping-float-to-int",
    "--enable-bulk-memory",
    "--enable-multivalue",
    "--enable-reference-types",
    "--enable-exception-handling",
];

/// rustc has inlined what is worth it. More of it would double the time, and the Worker would be eight percent larger
/// after gzip; changed signatures would take a fifth of the time and save nothing.
const SKIPPED: [&str; 2] = ["--skip-pass=inlining-optimizing", "--skip-pass=dae-optimizing"];

const NAMED: &str = "target/edge-with-names.wasm";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Shipped,
    Quick,
}

impl Kind {
    fn profile(self) -> &'static str {
        match self {
            Self::Shipped => "release",
            Self::Quick => "quick",
        }
    }
}

fn main() -> Result<()> {
    let repository =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).context("the repository")?;
    env::set_current_dir(repository)?;
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["shipped"] => build(Kind::Shipped),
        ["quick"] => build(Kind::Quick),
        ["lists", "shipped"] => lists(Kind::Shipped),
        ["lists", "quick"] => lists(Kind::Quick),
        ["table"] => table::print(Path::new(NAMED), None),
        ["table", "--functions", name] => table::print(Path::new(NAMED), Some(name)),
        ["table", "--functions", name, file] => table::print(Path::new(file), Some(name)),
        ["table", file] => table::print(Path::new(file), None),
        _ => bail!(
            "usage: rcpt-worker shipped|quick|lists shipped|lists quick|table [--functions CRATE] [FILE]"
        ),
    }
}

fn build(kind: Kind) -> Result<()> {
    // A lock, because both kinds use the same folder.
    let lock = File::create("target/worker-build.lock")?;
    lock.lock()?;

    let wasm = Path::new("target/wasm32-unknown-unknown").join(kind.profile());
    let wasm = wasm.join("rcpt_edge.wasm");
    let staging = Path::new("target").join(format!("worker-{}", kind.profile()));
    bind(kind, &wasm, &staging)?;
    bundle(&staging)?;
    if kind == Kind::Shipped {
        optimise(&staging.join("index_bg.wasm"), Path::new(NAMED))?;
    }
    publish(kind, &staging)
}

fn lists(kind: Kind) -> Result<()> {
    let lock = File::create("target/lists-build.lock")?;
    lock.lock()?;
    let folder = Path::new("target/lists");
    fs::create_dir_all(folder)?;
    unstamp(folder)?;
    for name in ["rcpt_lists", "rcpt_workbooks"] {
        let compiled = Path::new("target/wasm32-unknown-unknown").join(kind.profile());
        let mut bindgen = Bindgen::new();
        bindgen.web(true)?.input_path(compiled.join(name).with_extension("wasm")).out_name(name);
        bindgen.demangle(false).generate(folder).context("wasm-bindgen")?;
        if kind == Kind::Shipped {
            optimise(&folder.join(format!("{name}_bg.wasm")), &folder.join("named.wasm"))?;
        }
    }
    stamp(folder, kind)
}

/// The entry calls the exported reset function after a panic.
fn bind(kind: Kind, wasm: &Path, staging: &Path) -> Result<()> {
    if staging.exists() {
        fs::remove_dir_all(staging)?;
    }
    let mut bindgen = Bindgen::new();
    bindgen.module(true)?.input_path(wasm).out_name("index").typescript(false);
    // Readable function names, for profiles of the shipped Worker.
    bindgen.demangle(kind == Kind::Shipped);
    bindgen.reset_state_function(true).force_enable_abort_handler(true);
    bindgen.generate(staging).context("wasm-bindgen")
}

fn bundle(staging: &Path) -> Result<()> {
    fs::copy("edge/entry.mjs", staging.join("entry.mjs"))?;
    let mut esbuild = Command::new(fs::canonicalize("node_modules/.bin/esbuild")?);
    esbuild.args(["entry.mjs", "--bundle", "--format=esm", "--minify", "--log-level=warning"]);
    esbuild.args(["--outfile=bundle.js", "--external:./index_bg.wasm", "--external:cloudflare:*"]);
    run(esbuild.current_dir(staging))?;
    // workerd doesn't support source phase imports.
    let bundle =
        fs::read_to_string(staging.join("bundle.js"))?.replace("import source ", "import ");
    fs::write(staging.join("index.js"), bundle)?;
    Ok(())
}

/// Function names, a seventh of the file, go to a separate file for profiles.
fn optimise(wasm: &Path, named_build: &Path) -> Result<()> {
    wasm_opt(wasm, named_build, &[&["-Oz", "--debuginfo"], &SKIPPED[..]].concat())?;
    // By name, functions of one generic stand side by side, and gzip saves another 2.7 percent. A second optimisation
    // would save half a percent and double the time.
    wasm_opt(
        named_build,
        wasm,
        &["--reorder-functions-by-name", "--strip-debug", "--strip-producers"],
    )
}

fn wasm_opt(input: &Path, output: &Path, options: &[&str]) -> Result<()> {
    let mut command = Command::new("node_modules/.bin/wasm-opt");
    command.arg(input).args(FEATURES).args(options).arg("--output").arg(output);
    run(&mut command)
}

/// The entry is written last, because `wrangler dev` watches it.
fn publish(kind: Kind, staging: &Path) -> Result<()> {
    let build = Path::new("edge/build");
    fs::create_dir_all(build)?;
    unstamp(build)?;
    for file in ["index_bg.wasm", "index.js"] {
        fs::copy(staging.join(file), build.join(file))?;
    }
    stamp(build, kind)
}

/// A shipped Worker also serves where `quick` is enough.
fn stamp(folder: &Path, kind: Kind) -> Result<()> {
    File::create(folder.join(".quick"))?;
    if kind == Kind::Shipped {
        File::create(folder.join(".shipped"))?;
    }
    Ok(())
}

/// The stamps are missing until the folder is complete again.
fn unstamp(folder: &Path) -> Result<()> {
    for stamp in [".shipped", ".quick"] {
        let stamp = folder.join(stamp);
        if stamp.exists() {
            fs::remove_file(stamp)?;
        }
    }
    Ok(())
}

fn run(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("starting {}", command.get_program().display()))?;
    ensure!(status.success(), "{} failed", OsStr::new(command.get_program()).display());
    Ok(())
}
