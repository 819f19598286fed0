//! `rcpt-worker table` prints the composition of the Worker's wasm: bytes of code by crate and of data, before
//! compression.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write},
    path::Path,
};

use anyhow::{Context as _, Result};
use wasmparser::{KnownCustom, Name, Parser, Payload, TypeRef};

/// Smaller functions are summed up in one row.
const LEAST: usize = 1_000;

const FUNCTIONS: usize = 60;

pub(crate) fn print(file: &Path, functions_of: Option<&str>) -> Result<()> {
    let wasm = fs::read(file).with_context(|| file.display().to_string())?;
    let text = Sizes::read(&wasm)?.table(functions_of);
    match io::stdout().write_all(text.as_bytes()) {
        // `| head` closes the pipe early.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

#[derive(Default)]
struct Sizes {
    imported: u32,
    bodies: Vec<usize>,
    names: BTreeMap<u32, String>,
    data: usize,
}

impl Sizes {
    fn read(wasm: &[u8]) -> Result<Self> {
        let mut sizes = Self::default();
        for payload in Parser::new(0).parse_all(wasm) {
            match payload? {
                Payload::ImportSection(imports) => {
                    for import in imports.into_imports() {
                        if matches!(import?.ty, TypeRef::Func(_) | TypeRef::FuncExact(_)) {
                            sizes.imported += 1;
                        }
                    }
                }
                Payload::CodeSectionEntry(body) => sizes.bodies.push(body.range().len()),
                Payload::DataSection(data) => sizes.data = data.range().len(),
                Payload::CustomSection(custom) => {
                    if let KnownCustom::Name(names) = custom.as_known() {
                        for name in names {
                            if let Name::Function(functions) = name? {
                                for function in functions {
                                    let function = function?;
                                    sizes.names.insert(function.index, function.name.to_owned());
                                }
                            }
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(sizes)
    }

    fn functions(&self) -> impl Iterator<Item = (&str, usize)> {
        (self.imported..).zip(&self.bodies).map(|(index, size)| {
            (self.names.get(&index).map_or("(unnamed)", String::as_str), *size)
        })
    }

    fn table(&self, functions_of: Option<&str>) -> String {
        if let Some(name) = functions_of {
            let its = self.functions().filter(|(function, _)| crate_of(function) == name);
            let rows = largest_first(its).into_iter().take(FUNCTIONS);
            return rows.map(|(function, size)| format!("{size:>8}  {function}\n")).collect();
        }
        let crates = self.functions().map(|(function, size)| (crate_of(function), size));
        let rows =
            largest_first(crates.chain([("(data: strings, tables, openapi.json)", self.data)]));
        let total: usize = rows.iter().map(|(_, size)| size).sum();
        let row = |size: usize, name: &str| {
            let share = 100.0 * size as f64 / total.max(1) as f64;
            format!("{size:>8}  {share:>5.1} %  {name}\n")
        };
        let (large, small): (Vec<_>, Vec<_>) = rows.iter().partition(|(_, size)| *size >= LEAST);
        let mut text: String = large.into_iter().map(|(name, size)| row(size, name)).collect();
        let small = small.into_iter().map(|(_, size)| size).sum();
        text.push_str(&row(small, &format!("(each below {LEAST} bytes)")));
        text + &format!("\n{total:>8}\n")
    }
}

fn largest_first<'n>(sizes: impl Iterator<Item = (&'n str, usize)>) -> Vec<(&'n str, usize)> {
    let mut sums = BTreeMap::new();
    for (name, size) in sizes {
        *sums.entry(name).or_default() += size;
    }
    let mut rows: Vec<_> = sums.into_iter().collect();
    rows.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
    rows
}

/// The type's crate for `<a::B as c::D>::e`, otherwise the first path's crate.
fn crate_of(function: &str) -> &str {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    for (at, _) in function.match_indices("::") {
        let before = &function[..at];
        // In `core[1a2b]::fmt`, the brackets contain the crate's hash.
        let before = before
            .strip_suffix(']')
            .and_then(|before| before.rsplit_once('['))
            .filter(|(_, hash)| hash.bytes().all(|b| b.is_ascii_hexdigit()) && !hash.is_empty())
            .map_or(before, |(name, _)| name);
        let name = &before[before.trim_end_matches(is_part).len()..];
        let follows_letter = before[..before.len() - name.len()].ends_with(char::is_alphanumeric);
        if name.starts_with(|c: char| !c.is_ascii_digit()) && !follows_letter {
            return name;
        }
    }
    "(no crate)"
}

#[cfg(test)]
mod tests {
    use super::{Sizes, crate_of};

    #[test]
    fn a_function_belongs_to_the_crate_of_its_type() {
        for (function, expected) in [
            ("core::fmt::write", "core"),
            ("core[1a2b3c]::fmt::write", "core"),
            ("<rcpt_edge::app::App as core::ops::Drop>::drop", "rcpt_edge"),
            ("<&T as core::fmt::Debug>::fmt", "core"),
            ("Vec::push", "(no crate)"),
            ("rust_alloc", "(no crate)"),
        ] {
            assert_eq!(crate_of(function), expected, "{function}");
        }
    }

    /// The module imports one function and defines two, of 2 and 1,205 bytes. The second has a
    /// name.
    #[test]
    fn code_is_counted_by_crate() {
        let mut wasm = b"\0asm\x01\0\0\0".to_vec();
        wasm.extend([1, 4, 1, 0x60, 0, 0]);
        wasm.extend([2, 7, 1, 1, b'm', 1, b'f', 0, 0]);
        wasm.extend([3, 3, 2, 0, 0]);
        // Function bodies of 2 and 1,205 (0xb5 0x09) bytes: 1 + 1 + 2 + 2 + 1,205 bytes (0xbb
        // 0x09).
        wasm.extend([10, 0xbb, 0x09, 2, 2, 0, 0x0b, 0xb5, 0x09, 0]);
        wasm.extend([1; 1_203]);
        wasm.push(0x0b);
        wasm.extend([0, 18, 4, b'n', b'a', b'm', b'e', 1, 11, 1, 2, 8]);
        wasm.extend(b"big::fun");
        let sizes = Sizes::read(&wasm).unwrap();
        assert_eq!(
            sizes.table(None),
            "    1205   99.8 %  big\n       2    0.2 %  (each below 1000 bytes)\n\n    1207\n"
        );
        assert_eq!(sizes.table(Some("big")), "    1205  big::fun\n");
    }
}
