//! The parts of pages that are generated, each behind a comment that names it:
//!
//! - `<!-- recorded: validateEmail "Accepted" -->`: a request and its recorded answer, from edge/data/examples.json.
//! - `<!-- operations: Account, Passkeys -->`: a table of the operations with these tags, from
//!   edge/openapi-account.json.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use serde_json::{Map, Value};

use crate::patterns::{OPERATIONS, RECORDED};

const JSON_COLUMNS_MAX: usize = 100;

pub struct Sources {
    pub description: Value,
    pub examples: Value,
}

struct Operation<'a> {
    method: String,
    path: &'a str,
    members: &'a Value,
}

impl Sources {
    pub fn expanded(&self, page: &str) -> Result<String> {
        let mut text = String::new();
        let mut lines = page.lines().peekable();
        while let Some(line) = lines.next() {
            text.push_str(line);
            text.push('\n');
            let Some(part) = self.part(line)? else { continue };
            text.push('\n');
            text.push_str(&part);
            while lines.next_if(|line| line.is_empty()).is_some() {}
            // The former part is of the same kind: code, or a table.
            if part.starts_with('|') {
                while lines.next_if(|line| line.starts_with('|')).is_some() {}
            } else if lines.next_if(|line| line.starts_with("```http")).is_some() {
                lines.by_ref().find(|line| *line == "```");
            }
            if lines.peek().is_some_and(|line| !line.is_empty()) {
                text.push('\n');
            }
        }
        Ok(text)
    }

    fn part(&self, line: &str) -> Result<Option<String>> {
        if let Some(named) = RECORDED.captures(line) {
            return self.recorded(&named[1], &named[2]).map(Some);
        }
        Ok(OPERATIONS.captures(line).map(|named| self.table(&named[1])))
    }

    fn operations(&self) -> impl Iterator<Item = Operation<'_>> {
        let paths = self.description["paths"].as_object().into_iter().flatten();
        paths.flat_map(|(path, methods)| {
            methods.as_object().into_iter().flatten().map(move |(method, members)| Operation {
                method: method.to_uppercase(),
                path,
                members,
            })
        })
    }

    fn recorded(&self, id: &str, title: &str) -> Result<String> {
        let operation = self.operations().find(|operation| operation.members["operationId"] == id);
        let operation = operation.with_context(|| format!("no operation {id}"))?;
        let examples = self.examples[id].as_array().into_iter().flatten();
        let example = examples.into_iter().find(|example| example["title"] == title);
        let example =
            example.with_context(|| format!("{id} has no recorded answer \"{title}\""))?;
        let mut text = format!("```http\n{} {}\n", operation.method, operation.path);
        if let Some(request) = example.get("request") {
            writeln!(text, "{}", json(request, 0))?;
        }
        writeln!(text, "\n{}", example["status"])?;
        match example.get("body") {
            Some(Value::String(body)) => writeln!(text, "{}", body.trim_end())?,
            Some(body) => writeln!(text, "{}", json(body, 0))?,
            None => {}
        }
        text.push_str("```\n");
        Ok(text)
    }

    fn table(&self, tags: &str) -> String {
        let tags: Vec<&str> = tags.split(", ").collect();
        let mut text = "| operation | body | answer |\n|---|---|---|\n".to_owned();
        for operation in self.operations() {
            if !operation.members["tags"][0].as_str().is_some_and(|tag| tags.contains(&tag)) {
                continue;
            }
            let path = operation.path.strip_prefix("/v1").unwrap_or(operation.path);
            let answers = operation.members["responses"].as_object();
            let (status, answer) = answers
                .and_then(|answers| answers.iter().find(|(status, _)| status.starts_with('2')))
                .map_or(("", &Value::Null), |(status, answer)| (status.as_str(), answer));
            let body = self.members(&operation.members["requestBody"]);
            let answer = format!("{status} {}", self.members(answer));
            let answer = answer.trim();
            let _ = writeln!(text, "| `{} {path}` | {body} | {answer} |", operation.method);
        }
        text
    }

    fn members(&self, holder: &Value) -> String {
        let Some(schema) = holder["content"]["application/json"].get("schema") else {
            return String::new();
        };
        let schema = schema["$ref"]
            .as_str()
            .and_then(|name| name.rsplit('/').next())
            .map_or(schema, |name| &self.description["components"]["schemas"][name]);
        let empty = Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&empty);
        let required = schema["required"].as_array();
        let is_required =
            |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
        let names = properties.keys().map(|name| match is_required(name) {
            true => format!("`{name}`"),
            false => format!("`{name}`?"),
        });
        names.collect::<Vec<_>>().join(", ")
    }
}

/// JSON in one line if it fits, else with a line for each member.
fn json(value: &Value, indent: usize) -> String {
    let flat = flat(value);
    if indent + flat.len() <= JSON_COLUMNS_MAX {
        return flat;
    }
    let inner = " ".repeat(indent + 2);
    let outer = " ".repeat(indent);
    match value {
        Value::Object(members) => {
            let lines = members.iter().map(|(name, value)| {
                format!("{inner}{}: {}", Value::from(name.as_str()), json(value, indent + 2))
            });
            format!("{{\n{}\n{outer}}}", lines.collect::<Vec<_>>().join(",\n"))
        }
        Value::Array(values) => {
            let lines = values.iter().map(|value| format!("{inner}{}", json(value, indent + 2)));
            format!("[\n{}\n{outer}]", lines.collect::<Vec<_>>().join(",\n"))
        }
        _ => flat,
    }
}

fn flat(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(name, value)| format!("{}: {}", Value::from(name.as_str()), flat(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Array(values) => {
            format!("[{}]", values.iter().map(flat).collect::<Vec<_>>().join(", "))
        }
        _ => value.to_string(),
    }
}
