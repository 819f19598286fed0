//! Checks that a version can be released: the changelogs mention it, and edge/data/released-answers.json contains all
//! answers of its API.

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::{Context as _, Result};
use serde_json::Value;

#[derive(Debug, Clone)]
pub struct Sources {
    pub version: String,
    pub wire_format: String,
    changelog: String,
    debian_changelog: String,
    description: Value,
    /// Content of edge/data/released-answers.json: the members of each answer in its first release.
    released: Value,
}

pub fn version(manifest: &str) -> Result<String> {
    let manifest: toml::Table = manifest.parse()?;
    let version =
        manifest.get("workspace").and_then(|it| it.get("package")?.get("version")?.as_str());
    Ok(version.context("no version in Cargo.toml")?.to_owned())
}

fn section<'a>(changelog: &'a str, name: &str) -> Vec<&'a str> {
    let is_heading = |line: &str| {
        line.split_whitespace().nth(1).is_some_and(|word| word.trim_matches(['[', ']']) == name)
    };
    let from = changelog.lines().skip_while(|line| !(line.starts_with("## ") && is_heading(line)));
    from.skip(1).take_while(|line| !line.starts_with("## ")).collect()
}

impl Sources {
    pub fn read(root: &Path) -> Result<Self> {
        let read =
            |name: &str| fs::read_to_string(root.join(name)).with_context(|| name.to_owned());
        let library = read("shared/src/lib.rs")?;
        let wire_format = library
            .lines()
            .find_map(|line| line.strip_prefix("pub const WIRE_FORMAT: u32 = ")?.strip_suffix(';'))
            .context("no WIRE_FORMAT in shared/src/lib.rs")?;
        Ok(Self {
            version: version(&read("Cargo.toml")?)?,
            wire_format: wire_format.to_owned(),
            changelog: read("CHANGELOG.md")?,
            debian_changelog: read("dist/debian/changelog")?,
            description: serde_json::from_str(&read("edge/openapi-account.json")?)?,
            released: serde_json::from_str(&read("edge/data/released-answers.json")?)?,
        })
    }

    pub fn mistakes(&self) -> Vec<String> {
        let Self { version, wire_format, changelog, .. } = self;
        let changes = section(changelog, version);
        let says = |start: &str| changes.iter().any(|line| line.starts_with(start));
        let mut mistakes = Vec::new();
        if !says("- ") {
            mistakes.push(format!("CHANGELOG.md says nothing of {version}"));
        }
        if !says(&format!("Wire format {wire_format}.")) {
            mistakes.push(format!(
                "CHANGELOG.md does not say that {version} has wire format {wire_format}"
            ));
        }
        if section(changelog, "Unreleased").iter().any(|line| !line.is_empty()) {
            mistakes.push(format!(
                "CHANGELOG.md has changes under Unreleased: they belong to {version}"
            ));
        }
        if !changelog.lines().any(|line| line.starts_with(&format!("| {wire_format} | "))) {
            mistakes.push(format!("CHANGELOG.md does not describe wire format {wire_format}"));
        }
        if !self.debian_changelog.starts_with(&format!("rcpt-origin ({version}-1) ")) {
            mistakes.push(format!("dist/debian/changelog does not begin with {version}"));
        }
        let answers = self.new_answers();
        if !answers.is_empty() {
            let names = answers.into_iter().collect::<Vec<_>>().join(", ");
            mistakes.push(format!(
                "edge/data/released-answers.json lacks {names}: add their required members"
            ));
        }
        mistakes
    }

    /// Schemas of request bodies aren't answers.
    fn new_answers(&self) -> BTreeSet<&str> {
        let paths = self.description["paths"].as_object().into_iter().flatten();
        let operations = paths.filter_map(|(_, path)| path.as_object()).flatten();
        let bodies: String =
            operations.map(|(_, operation)| operation["requestBody"].to_string()).collect();
        let schemas = self.description["components"]["schemas"].as_object().into_iter().flatten();
        schemas
            .filter(|(name, schema)| {
                schema.get("required").is_some()
                    && self.released.get(name).is_none()
                    && !bodies.contains(&format!("schemas/{name}\""))
            })
            .map(|(name, _)| name.as_str())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Sources, section, version};

    type Change = fn(&mut Sources);

    fn ready() -> Sources {
        Sources {
            version: "1.2.0".to_owned(),
            wire_format: "2".to_owned(),
            changelog: "# Changes\n\n| 2 | what |\n\n## [Unreleased]\n\n## [1.2.0] 2026-11-01\n\nWire format 2.\n\n- More.\n\n## 1.1.0\n".to_owned(),
            debian_changelog: "rcpt-origin (1.2.0-1) stable; urgency=medium\n".to_owned(),
            description: json!({
                "paths": { "/v1/me": { "put": { "requestBody": { "schema": { "$ref": "#/components/schemas/Body" } } } } },
                "components": { "schemas": {
                    "Body": { "required": ["a"] }, "Old": { "required": ["b"] }, "Free": {}
                } },
            }),
            released: json!({ "Old": ["b"] }),
        }
    }

    #[test]
    fn each_mistake_is_named_alone_and_a_ready_version_has_none() {
        assert_eq!(ready().mistakes(), [""; 0]);
        let wrong: [(Change, &str); 6] = [
            (|it| it.changelog = it.changelog.replace("- More.", "More."), "says nothing of 1.2.0"),
            (
                |it| it.changelog = it.changelog.replace("Wire format 2.", "Wire format 1."),
                "has wire format 2",
            ),
            (
                |it| it.changelog = it.changelog.replace("d]\n", "d]\n\n- Later.\n"),
                "changes under Unreleased",
            ),
            (
                |it| it.changelog = it.changelog.replace("| 2 |", "| 1 |"),
                "does not describe wire format 2",
            ),
            (
                |it| it.debian_changelog = it.debian_changelog.replace("-1)", "-2)"),
                "dist/debian/changelog",
            ),
            (|it| it.released = json!({}), "lacks Old: "),
        ];
        for (change, message) in wrong {
            let mut sources = ready();
            change(&mut sources);
            let mistakes = sources.mistakes();
            assert!(
                mistakes.len() == 1 && mistakes[0].contains(message),
                "{message}: {mistakes:?}"
            );
        }
    }

    #[test]
    fn all_mistakes_are_named_together() {
        let mut sources = ready();
        sources.version = "1.3.0".to_owned();
        assert_eq!(sources.mistakes().len(), 3);
        assert_eq!(section(&sources.changelog, "1.1.0"), [""; 0]);
        assert_eq!(version("[workspace.package]\nversion = \"0.3.0\"\n").unwrap(), "0.3.0");
    }
}
