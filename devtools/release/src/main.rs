//! Parts of a release that need more than a call of a program. `tools/release` and `tools/image` run this program
//! in the repository's folder.

mod bill;
mod image;
mod readiness;

use std::{env, fs, path::Path, process::ExitCode};

use anyhow::{Context as _, Result, bail, ensure};

const HELP: &str = "\
Usage: rcpt-release ACTION

  check                       prints the version and its wire format, or everything that keeps it from being released
  image BINARY TARGET FOLDER  writes the OCI image of this static binary into FOLDER; SOURCE_DATE_EPOCH dates it
  bills FOLDER FILE...        removes the builder's folder and the random number from bills of materials
";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("[release] error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[String]) -> Result<()> {
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["check"] => check(),
        ["image", binary, target, folder] => write_image(binary.as_ref(), target, folder.as_ref()),
        ["bills", folder, ref files @ ..] => files.iter().try_for_each(|file| {
            let tidy = bill::tidy(&fs::read_to_string(file)?, folder).context(file.to_string())?;
            Ok(fs::write(file, tidy)?)
        }),
        _ => bail!("{HELP}"),
    }
}

fn check() -> Result<()> {
    let sources = readiness::Sources::read(Path::new("."))?;
    let mistakes = sources.mistakes();
    ensure!(mistakes.is_empty(), "this is no release yet:\n{}", mistakes.join("\n"));
    println!("{} {}", sources.version, sources.wire_format);
    Ok(())
}

fn write_image(binary: &Path, target: &str, folder: &Path) -> Result<()> {
    let epoch = env::var("SOURCE_DATE_EPOCH").context("SOURCE_DATE_EPOCH")?.parse()?;
    let version = readiness::version(&fs::read_to_string("Cargo.toml")?)?;
    let licences = ["LICENSE-APACHE", "LICENSE-MIT"].map(|name| Ok((name, fs::read(name)?)));
    let image = image::Image {
        binary: fs::read(binary)?,
        licences: licences.into_iter().collect::<Result<_>>()?,
        architecture: image::architecture(target)?,
        version,
        epoch,
    };
    let name = format!("rcpt-origin_{}_{}.oci.tar", image.version, image.architecture);
    let written = image.write()?;
    let path = folder.join(name);
    fs::write(&path, &written.archive)?;
    let (bytes, binary) = (written.layer_bytes, image.binary.len());
    println!("{}: {bytes} bytes compressed, binary {binary}, {}", path.display(), written.digest);
    ensure!(bytes <= image::LAYER_BYTES_MAX, "the layer is larger than {}", image::LAYER_BYTES_MAX);
    Ok(())
}
