//! The OCI image of origin: one layer with a static binary and its licences. The same input gives the same octets: every
//! time is the release's, and every order is fixed.

use std::{collections::BTreeMap, io::Write as _};

use anyhow::{Context as _, Result, bail};
use chrono::{DateTime, SecondsFormat};
use flate2::{Compression, GzBuilder};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tar::{Builder, EntryType, Header};

pub const LAYER_BYTES_MAX: usize = 15_000_000;
/// Id of the user and group: no distribution assigns this number. The package's service uses a named user instead.
const USER: u32 = 61184;
const FOLDER: u32 = 0o755;
const FILE: u32 = 0o644;
const PROGRAM: u32 = 0o755;
const DOCUMENTS: &str = "usr/share/doc/rcpt-origin/";

/// The files and properties from which an image is built.
pub struct Image {
    pub binary: Vec<u8>,
    /// Names and texts of the licences.
    pub licences: Vec<(&'static str, Vec<u8>)>,
    pub architecture: &'static str,
    pub version: String,
    /// Unix time of all files in the image.
    pub epoch: i64,
}

/// An image as a file, with its digest.
pub struct ImageArchive {
    pub archive: Vec<u8>,
    pub layer_bytes: usize,
    /// Digest of the manifest.
    pub digest: String,
}

/// Returns the OCI name of a Rust target's architecture.
///
/// # Errors
/// If origin isn't released for that architecture.
pub fn architecture(target: &str) -> Result<&'static str> {
    Ok(match target.split('-').next() {
        Some("x86_64") => "amd64",
        Some("aarch64") => "arm64",
        _ => bail!("no image is made for {target}"),
    })
}

fn digest(data: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(data)))
}

/// A tar archive whose entries all have the same time and owner.
struct Archive {
    builder: Builder<Vec<u8>>,
    epoch: u64,
}

impl Archive {
    fn new(epoch: i64) -> Result<Self> {
        Ok(Self { builder: Builder::new(Vec::new()), epoch: epoch.try_into()? })
    }

    /// Adds a file, or a folder if the name ends with a slash.
    fn add(&mut self, name: &str, data: &[u8], mode: u32) -> Result<()> {
        let mut header = Header::new_ustar();
        let is_folder = name.ends_with('/');
        header.set_entry_type(if is_folder { EntryType::Directory } else { EntryType::Regular });
        header.set_path(name)?;
        header.set_size(data.len() as u64);
        header.set_mode(mode);
        header.set_mtime(self.epoch);
        header.set_uid(0);
        header.set_gid(0);
        header.set_cksum();
        Ok(self.builder.append(&header, data)?)
    }

    fn finish(self) -> Result<Vec<u8>> {
        Ok(self.builder.into_inner()?)
    }
}

/// The blobs of an image, by their names in its archive.
#[derive(Default)]
struct Blobs(BTreeMap<String, Vec<u8>>);

impl Blobs {
    /// Adds a blob and returns its descriptor.
    fn add(&mut self, data: Vec<u8>, kind: &str) -> Value {
        let digest = digest(&data);
        let media_type = format!("application/vnd.oci.image.{kind}");
        let descriptor = json!({ "mediaType": media_type, "digest": digest, "size": data.len() });
        self.0.insert(format!("blobs/{}", digest.replace(':', "/")), data);
        descriptor
    }
}

/// Returns the JSON with its members sorted, whatever map serde_json is built with.
fn octets(mut value: Value) -> Vec<u8> {
    value.sort_all_objects();
    value.to_string().into_bytes()
}

impl Image {
    /// Writes the image as an OCI archive.
    ///
    /// # Errors
    /// If the time isn't a valid date, or a name is too long for an archive.
    pub fn write(&self) -> Result<ImageArchive> {
        let Self { architecture, version, epoch, .. } = self;
        let created =
            DateTime::from_timestamp(*epoch, 0).context("SOURCE_DATE_EPOCH is no date")?;
        let created = created.to_rfc3339_opts(SecondsFormat::Secs, true);
        let layer = self.layer()?;
        let mut packed = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
        packed.write_all(&layer)?;
        let packed = packed.finish()?;
        let layer_bytes = packed.len();
        let labels = json!({
            "org.opencontainers.image.title": "rcpt-origin",
            "org.opencontainers.image.version": version,
            "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
            "org.opencontainers.image.created": created,
        });
        let config = json!({
            "architecture": architecture,
            "os": "linux",
            "created": created,
            "config": {
                "User": format!("{USER}:{USER}"),
                "Entrypoint": ["/usr/bin/origin"],
                "Env": ["RCPT_LISTEN=0.0.0.0:8080", "RCPT_ADMIN_LISTEN=127.0.0.1:9090"],
                "ExposedPorts": { "8080/tcp": {} },
                "StopSignal": "SIGTERM",
                "Labels": labels,
            },
            "rootfs": { "type": "layers", "diff_ids": [digest(&layer)] },
            "history": [{ "created": created, "created_by": "tools/image" }],
        });
        let mut blobs = Blobs::default();
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": blobs.add(octets(config), "config.v1+json"),
            "layers": [blobs.add(packed, "layer.v1.tar+gzip")],
            "annotations": labels,
        });
        let mut reference = blobs.add(octets(manifest), "manifest.v1+json");
        let digest = reference["digest"].as_str().unwrap_or_default().to_owned();
        reference["annotations"] =
            json!({ "org.opencontainers.image.ref.name": format!("rcpt-origin:{version}") });
        let index = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": [reference],
        });
        let mut archive = Archive::new(*epoch)?;
        archive.add("blobs/", &[], FOLDER)?;
        archive.add("blobs/sha256/", &[], FOLDER)?;
        for (name, data) in &blobs.0 {
            archive.add(name, data, FILE)?;
        }
        archive.add("index.json", &octets(index), FILE)?;
        archive.add("oci-layout", &octets(json!({ "imageLayoutVersion": "1.0.0" })), FILE)?;
        Ok(ImageArchive { archive: archive.finish()?, layer_bytes, digest })
    }

    /// Returns the root file system as an archive.
    fn layer(&self) -> Result<Vec<u8>> {
        let mut archive = Archive::new(self.epoch)?;
        archive.add("etc/", &[], FOLDER)?;
        let user = format!("origin:x:{USER}:{USER}:rcpt origin:/:/sbin/nologin\n");
        archive.add("etc/passwd", user.as_bytes(), FILE)?;
        archive.add("etc/group", format!("origin:x:{USER}:\n").as_bytes(), FILE)?;
        for folder in ["etc/rcpt/", "usr/", "usr/bin/", "usr/share/", "usr/share/doc/", DOCUMENTS] {
            archive.add(folder, &[], FOLDER)?;
        }
        archive.add("usr/bin/origin", &self.binary, PROGRAM)?;
        for (name, text) in &self.licences {
            archive.add(&format!("{DOCUMENTS}{name}"), text, FILE)?;
        }
        archive.finish()
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, io::Read as _};

    use flate2::read::GzDecoder;
    use serde_json::Value;

    use super::{Image, architecture, digest};

    fn image() -> Image {
        Image {
            binary: b"\x7fELF".repeat(300),
            licences: vec![("LICENSE-MIT", b"Permission".to_vec())],
            architecture: "amd64",
            version: "1.2.0".to_owned(),
            epoch: 1_790_000_000,
        }
    }

    /// Returns the files of an archive; asserts that they have the image's time and belong to root.
    fn files(archive: &[u8]) -> BTreeMap<String, (u32, Vec<u8>)> {
        let mut archive = tar::Archive::new(archive);
        let files = archive.entries().unwrap().map(|entry| {
            let mut entry = entry.unwrap();
            let header = entry.header();
            assert_eq!((header.mtime().unwrap(), header.uid().unwrap()), (1_790_000_000, 0));
            let (mode, name) =
                (header.mode().unwrap(), entry.path().unwrap().display().to_string());
            let mut data = Vec::new();
            entry.read_to_end(&mut data).unwrap();
            (name, (mode, data))
        });
        files.collect()
    }

    #[test]
    fn every_blob_is_found_by_its_digest_from_the_index_to_the_binary() {
        let written = image().write().unwrap();
        let archive = files(&written.archive);
        let json = |data: &[u8]| serde_json::from_slice::<Value>(data).unwrap();
        let blob = |descriptor: &Value| {
            let name = descriptor["digest"].as_str().unwrap();
            let (_, data) = &archive[&format!("blobs/{}", name.replace(':', "/"))];
            assert_eq!(
                (digest(data).as_str(), data.len() as u64),
                (name, descriptor["size"].as_u64().unwrap())
            );
            data.clone()
        };
        let index = json(&archive["index.json"].1);
        let reference = &index["manifests"][0];
        assert_eq!(reference["digest"], written.digest);
        assert_eq!(
            reference["annotations"]["org.opencontainers.image.ref.name"],
            "rcpt-origin:1.2.0"
        );
        let manifest = json(&blob(reference));
        let config = json(&blob(&manifest["config"]));
        let mut layer = Vec::new();
        let packed = blob(&manifest["layers"][0]);
        assert_eq!(packed.len(), written.layer_bytes);
        GzDecoder::new(&packed[..]).read_to_end(&mut layer).unwrap();
        assert_eq!(config["rootfs"]["diff_ids"][0], digest(&layer));
        assert_eq!(config["created"], "2026-09-21T14:13:20Z");
        assert_eq!(config["config"]["User"], "61184:61184");
        let root = files(&layer);
        assert_eq!(root["usr/bin/origin"], (0o755, image().binary));
        assert_eq!(root["usr/share/doc/rcpt-origin/LICENSE-MIT"], (0o644, b"Permission".to_vec()));
        assert!(root["etc/passwd"].1.starts_with(b"origin:x:61184:61184:"));
        assert_eq!(root["etc/rcpt/"].0, 0o755);
    }

    #[test]
    fn the_same_input_gives_the_same_octets_and_another_binary_another_digest() {
        let (one, again) = (image().write().unwrap(), image().write().unwrap());
        assert!(one.archive == again.archive);
        let other = Image { binary: vec![0], ..image() }.write().unwrap();
        assert_ne!(one.digest, other.digest);
    }

    #[test]
    fn a_target_without_an_image_is_named() {
        assert_eq!(architecture("aarch64-unknown-linux-musl").unwrap(), "arm64");
        assert!(
            architecture("riscv64gc-unknown-linux-musl")
                .unwrap_err()
                .to_string()
                .contains("riscv64gc")
        );
    }
}
