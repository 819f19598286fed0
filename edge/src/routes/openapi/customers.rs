//! The part of the description that a program needs: without the portal's operations.

use serde_json::Value;

/// Tags of the operations that only the portal calls.
const PORTAL: [&str; 3] = ["Account", "Two-factor", "Passkeys"];

/// Of these, the operations that a program calls too: those of the service's specification, and the end of a key.
const SPECIFIED: [&str; 6] =
    ["register", "verifyEmail", "login", "rotateApiKey", "updateSettings", "selfRevokeKey"];

/// Removes the portal's operations, and the tags and schemas that nothing names any more.
pub fn part_of(whole: &Value) -> Value {
    let mut part = whole.clone();
    let members = part.as_object_mut().unwrap();
    for methods in members["paths"].as_object_mut().unwrap().values_mut() {
        methods.as_object_mut().unwrap().retain(|_, operation| is_for_programs(operation));
    }
    let paths = members["paths"].as_object_mut().unwrap();
    paths.retain(|_, methods| !methods.as_object().unwrap().is_empty());
    let text = Value::Object(paths.clone()).to_string();
    let is_used = |tag: &Value| text.contains(&format!("\"tags\":[{}]", tag["name"]));
    members["tags"].as_array_mut().unwrap().retain(is_used);
    remove_unused_schemas(&mut part);
    part
}

fn is_for_programs(operation: &Value) -> bool {
    let is = |names: &[&str], value: &Value| names.contains(&value.as_str().unwrap_or_default());
    !is(&PORTAL, &operation["tags"][0]) || is(&SPECIFIED, &operation["operationId"])
}

/// The event of a webhook stays although no operation names it: programs receive it.
const EVENT: &str = "WebhookEvent";

fn remove_unused_schemas(part: &mut Value) {
    loop {
        let text = part.to_string();
        let schemas = part["components"]["schemas"].as_object_mut().unwrap();
        let before = schemas.len();
        schemas.retain(|name, _| {
            name == EVENT || text.contains(&format!("\"#/components/schemas/{name}\""))
        });
        if schemas.len() == before {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{PORTAL, SPECIFIED, part_of};
    use crate::routes::openapi::document;

    #[test]
    fn a_program_finds_what_it_calls_and_nothing_of_the_portal() {
        let whole = document();
        let part = part_of(&whole);
        // Generators break on this section.
        assert_eq!((part.get("webhooks"), whole.get("webhooks")), (None, None));
        let paths = part["paths"].as_object().unwrap().values();
        let operations: Vec<&Value> =
            paths.flat_map(|methods| methods.as_object().unwrap().values()).collect();
        let of_portal = |it: &&&Value| PORTAL.contains(&it["tags"][0].as_str().unwrap());
        assert_eq!(operations.iter().filter(of_portal).count(), SPECIFIED.len());
        assert!((20..=34).contains(&operations.len()), "{}", operations.len());
        let tags: Vec<_> =
            part["tags"].as_array().unwrap().iter().map(|tag| &tag["name"]).collect();
        assert!(
            tags.contains(&&"Account".into()) && !tags.contains(&&"Passkeys".into()),
            "{tags:?}"
        );
        let schemas = part["components"]["schemas"].as_object().unwrap();
        for (name, is_there) in
            [("ValidationResult", true), ("WebhookEvent", true), ("Passkey", false)]
        {
            assert_eq!(schemas.contains_key(name), is_there, "{name}");
        }
    }
}
