//! Additions to the API description that the handlers' attributes lack.

use std::collections::{BTreeMap, BTreeSet};

use rcpt_shared::{Deliverability, Status};
use serde_json::{Map, Value, json};

use crate::ledger::tally::Class;

pub fn complete(document: &mut Value) {
    open_lists(&mut document["components"]["schemas"]);
    require_members_of_answers(document);
    let released = serde_json::from_str(RELEASED).unwrap();
    require_no_later_members(&mut document["components"]["schemas"], released);
    for (pointer, limits) in limits() {
        let schema = document.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}"));
        merge(schema, &limits);
    }
    common_answers(document);
}

fn merge(into: &mut Value, from: &Value) {
    let members = into.as_object_mut().unwrap();
    members.extend(from.as_object().unwrap().clone());
}

/// Members that may have new values in a later version. With a closed list, validating programs
/// would reject these values.
const OPEN_MEMBERS: [&str; 5] = ["code", "reason", "problem", "kind", "source"];

fn open_lists(schemas: &mut Value) {
    for schema in schemas.as_object_mut().unwrap().values_mut() {
        let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
            continue;
        };
        for (_, member) in
            properties.iter_mut().filter(|(name, _)| OPEN_MEMBERS.contains(&name.as_str()))
        {
            let member = member.as_object_mut().unwrap();
            if let Some(values) = member.remove("enum") {
                member.insert("x-extensible-enum".to_owned(), values);
            }
        }
    }
}

/// A schema whose members are all present or all absent.
const OPTIONAL: &str = "ScanEvidence";

/// Nullable members of responses are always present; optional members are never null.
fn require_members_of_answers(document: &mut Value) {
    let requests = names_of_requests(document);
    let schemas = document["components"]["schemas"].as_object_mut().unwrap();
    let is_answer = |name: &String| *name != OPTIONAL && !requests.contains(name);
    for (_, schema) in schemas.iter_mut().filter(|(name, _)| is_answer(name)) {
        let Some(properties) = schema["properties"].as_object() else { continue };
        let nullable = properties.iter().filter(|(_, member)| is_nullable(member));
        let mut required: Vec<String> = nullable.map(|(name, _)| name.clone()).collect();
        let before = schema["required"].as_array().into_iter().flatten();
        required.extend(before.filter_map(Value::as_str).map(str::to_owned));
        required.sort();
        required.dedup();
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
    }
}

/// For each released response schema, the members that its first release always sends.
const RELEASED: &str = include_str!("../../../data/released-answers.json");

/// Makes members optional that were added after their schema: a program generated from this
/// description may call an earlier release, which doesn't send them.
fn require_no_later_members(schemas: &mut Value, released: BTreeMap<String, BTreeSet<String>>) {
    for (name, members) in released {
        let schema = schemas.get_mut(&name).unwrap_or_else(|| panic!("{name} is gone"));
        let own = own_part(schema).unwrap_or_else(|| panic!("{name} has no members of its own"));
        let required =
            own["required"].as_array_mut().unwrap_or_else(|| panic!("{name} requires nothing"));
        let is_released = |member: &Value| members.contains(member.as_str().unwrap());
        let later = required.extract_if(.., |member| !is_released(member)).collect::<Vec<_>>();
        assert_eq!(required.len(), members.len(), "{name} no longer has all of {members:?}");
        if !later.is_empty() {
            own[ADDED_LATER] = Value::Array(later);
        }
    }
}

/// Extension that lists the members of a response that this release always sends, but an earlier
/// release doesn't.
const ADDED_LATER: &str = "x-added-later";

fn own_part(schema: &mut Value) -> Option<&mut Value> {
    let is_whole = schema.get("required").is_some();
    if is_whole { Some(schema) } else { schema["allOf"].as_array_mut()?.last_mut() }
}

fn is_nullable(member: &Value) -> bool {
    let types = member["type"].as_array().into_iter().flatten();
    let shapes = member["oneOf"].as_array().into_iter().flatten();
    types.chain(shapes.map(|shape| &shape["type"])).any(|kind| kind == "null")
}

fn names_of_requests(document: &Value) -> Vec<String> {
    operations(document)
        .filter_map(|operation| {
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            schema["$ref"].as_str()?.rsplit('/').next().map(str::to_owned)
        })
        .collect()
}

fn operations(document: &Value) -> impl Iterator<Item = &Value> {
    let paths = document["paths"].as_object().unwrap().values();
    paths.flat_map(|path| path.as_object().unwrap().values())
}

/// A domain has no @, and a dot with something before and behind it; dots of other scripts count.
const DOMAIN: &str = r"^[^@]*[^@.\u3002\uFF0E\uFF61][.\u3002\uFF0E\uFF61][^@]+$";

/// By JSON pointer of the schema.
fn limits() -> Vec<(&'static str, Value)> {
    let key = json!({ "type": "string", "minLength": 16, "maxLength": 255, "pattern": "^[!-~]+$" });
    let domain = json!({ "minLength": 3, "pattern": DOMAIN });
    vec![
        ("/paths/~1v1~1validate_email/post/parameters/0/schema", key.clone()),
        ("/paths/~1v1~1validate_emails/post/parameters/0/schema", key.clone()),
        ("/paths/~1v1~1domains/post/parameters/0/schema", key.clone()),
        ("/paths/~1v1~1guard~1decide/post/parameters/0/schema", key.clone()),
        (
            "/components/schemas/DomainQuestion/properties/domain",
            json!({ "minLength": 3, "pattern": DOMAIN }),
        ),
        ("/components/schemas/GuardSettings/properties/allow_domains/items", domain.clone()),
        ("/components/schemas/GuardSettings/properties/block_domains/items", domain),
        ("/components/schemas/CheckRequest/properties/details", json!({ "default": false })),
        ("/components/schemas/ListRequest/properties/details", json!({ "default": false })),
        ("/paths/~1v1~1scans/post/parameters/0/schema", key),
        ("/components/schemas/CheckRequest/properties/email", json!({ "minLength": 1 })),
        (
            "/components/schemas/NewScanRequest/properties/addresses",
            json!({ "minItems": 1, "maxItems": 1_000 }),
        ),
        ("/components/schemas/NewScanRequest/properties/total", json!({ "minimum": 1 })),
        ("/components/schemas/NewScanRequest/properties/name", json!({ "maxLength": 100 })),
        (
            "/components/schemas/PartRequest/properties/addresses",
            json!({ "minItems": 1, "maxItems": 1_000 }),
        ),
        (
            "/components/schemas/Settings/properties/display_name",
            json!({ "minLength": 1, "maxLength": 100 }),
        ),
        (
            "/components/schemas/Credentials/properties/password",
            json!({ "minLength": 8, "maxLength": 128 }),
        ),
        (
            "/components/schemas/Change/properties/new_password",
            json!({ "minLength": 8, "maxLength": 128 }),
        ),
        (
            "/components/schemas/Reset/properties/password",
            json!({ "minLength": 8, "maxLength": 128 }),
        ),
    ]
}

/// By operation and name.
const QUERY_LIMITS: [(&str, &str, u32, u32); 3] = [
    ("listScans", "limit", 1, 100),
    ("scanResults", "limit", 1, 10_000),
    ("scanResults", "after", 0, u32::MAX),
];

fn query_patterns() -> [(&'static str, &'static str, String); 4] {
    [
        ("listScans", "before", "^scan_".to_owned()),
        ("listEvents", "after", r"^[0-9]{1,15}\.[0-9A-Za-z_]*$".to_owned()),
        ("scanResults", "status", one_of::<Status>()),
        ("scanResults", "verdict", one_of::<Deliverability>()),
    ]
}

fn one_of<C: Class>() -> String {
    let names: Vec<_> = C::ALL.iter().map(|class| class.name()).collect();
    format!("^({})$", names.join("|"))
}

/// No handler declares the responses 405 and 500.
fn common_answers(document: &mut Value) {
    document["components"]["headers"] = json!({
        "RequestId": {
            "description": "The request's id. Quote it when you report a problem",
            "schema": { "type": "string", "pattern": "^[0-9a-f]{32}$" },
        },
    });
    let error = json!({ "application/json": {
        "schema": { "$ref": "#/components/schemas/PlainError" },
    } });
    document["components"]["responses"] = json!({
        "NoSuchMethod": {
            "description": "The path doesn't take this method",
            "headers": {
                "Allow": {
                    "description": "The methods it takes",
                    "schema": { "type": "string" },
                },
                "X-Request-Id": REQUEST_ID.clone(),
            },
            "content": error,
        },
        "Fault": {
            "description": "A fault on our side (`internal`), in our log under the request's id",
            "headers": { "X-Request-Id": REQUEST_ID.clone() },
            "content": error,
        },
    });
    let paths = document["paths"].as_object_mut().unwrap();
    for operation in paths.values_mut().flat_map(|path| path.as_object_mut().unwrap().values_mut())
    {
        let id = operation["operationId"].as_str().unwrap().to_owned();
        let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
        let mut is_repeatable = false;
        for parameter in parameters.into_iter().flatten() {
            limit_query(&id, parameter);
            is_repeatable |= parameter["name"] == "Idempotency-Key";
        }
        let responses = operation["responses"].as_object_mut().unwrap();
        for (status, response) in responses.iter_mut() {
            complete_headers(&id, is_repeatable, status, response);
        }
        for (status, name) in [("405", "NoSuchMethod"), ("500", "Fault")] {
            responses
                .entry(status)
                .or_insert_with(|| json!({ "$ref": format!("#/components/responses/{name}") }));
        }
        responses.sort_keys();
    }
}

fn limit_query(operation: &str, parameter: &mut Value) {
    let limit = QUERY_LIMITS.iter().find(|(id, name, ..)| {
        *id == operation && parameter["name"] == *name && parameter["in"] == "query"
    });
    if let Some((_, _, least, most)) = limit {
        let limits = json!({ "minimum": least, "maximum": most, "format": "int64" });
        merge(&mut parameter["schema"], &limits);
    }
    let patterns = query_patterns();
    let pattern =
        patterns.iter().find(|(id, name, _)| *id == operation && parameter["name"] == *name);
    if let Some((.., pattern)) = pattern {
        parameter["schema"]["pattern"] = pattern.as_str().into();
    }
}

fn complete_headers(operation: &str, is_repeatable: bool, status: &str, response: &mut Value) {
    let mut headers = response["headers"].as_object().cloned().unwrap_or_default();
    headers.insert("X-Request-Id".to_owned(), REQUEST_ID.clone());
    let text =
        |description: &str| json!({ "description": description, "schema": { "type": "string" } });
    match (operation, status) {
        ("createScan", "201") => {
            headers.insert("Location".to_owned(), text("Path of the scan"));
        }
        (_, "409") if is_repeatable => {
            let seconds = json!({
                "description": "Seconds after which to try again, where the first request is under way",
                "schema": { "type": "integer" },
            });
            headers.insert("Retry-After".to_owned(), seconds);
        }
        ("scanResults", "200") => {
            headers.insert("Link".to_owned(), text("The next page, of CSV and NDJSON"));
        }
        (_, "401") => {
            headers.insert("WWW-Authenticate".to_owned(), text("Which credentials would do"));
        }
        _ => {}
    }
    response["headers"] = Value::Object(Map::from_iter(headers));
}

static REQUEST_ID: std::sync::LazyLock<Value> =
    std::sync::LazyLock::new(|| json!({ "$ref": "#/components/headers/RequestId" }));

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::require_no_later_members;

    #[test]
    fn a_member_that_a_released_answer_did_not_have_is_optional() {
        let new = json!({ "required": ["at"] });
        let mut schemas = json!({ "Old": { "required": ["id", "later"] }, "New": new });
        let released = serde_json::from_value(json!({ "Old": ["id"] })).unwrap();
        require_no_later_members(&mut schemas, released);
        let old = json!({ "required": ["id"], "x-added-later": ["later"] });
        assert_eq!(schemas, json!({ "Old": old, "New": new }));
    }
}
