//! The API description's examples: recorded responses of a running service, which a test repeats
//! (`tests/tests/edge/examples.rs`).

use serde_json::{Map, Value, json};

const FILE: &str = include_str!("../../../data/examples.json");

fn load_calls() -> Map<String, Value> {
    serde_json::from_str(FILE).unwrap()
}

/// Adds each recorded call to its operation, and each event to their schema.
pub fn add(document: &mut Value) {
    for (name, calls) in load_calls() {
        if name.contains('.') {
            let event = &mut document["components"]["schemas"]["WebhookEvent"];
            let examples = event.as_object_mut().unwrap().entry("examples").or_insert(json!([]));
            examples.as_array_mut().unwrap().push(calls[0]["request"].clone());
            continue;
        }
        let operation = operation(document, &name).unwrap_or_else(|| panic!("{name}"));
        for call in calls.as_array().unwrap() {
            add_call(operation, call);
        }
    }
}

fn operation<'a>(document: &'a mut Value, name: &str) -> Option<&'a mut Value> {
    let paths = document["paths"].as_object_mut()?.values_mut();
    let mut operations = paths.flat_map(|path| path.as_object_mut().unwrap().values_mut());
    operations.find(|operation| operation["operationId"] == name)
}

fn add_call(operation: &mut Value, call: &Value) {
    let (title, status) = (call["title"].as_str().unwrap(), call["status"].as_u64().unwrap());
    // The request of a failed call isn't shown as an example.
    if let Some(request) = call.get("request").filter(|_| status < 300) {
        add_example(&mut operation["requestBody"], "application/json", title, request);
    }
    if let Some(body) = call.get("body") {
        let response = &mut operation["responses"][status.to_string()];
        assert!(response.is_object(), "{title}: {status} isn't described");
        add_example(response, call["type"].as_str().unwrap(), title, body);
    }
}

fn add_example(holder: &mut Value, kind: &str, title: &str, value: &Value) {
    let content = &mut holder["content"][kind];
    assert!(content.is_object(), "{title}: {kind} isn't described");
    let words = title.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    content["examples"][words.join("-")] = json!({ "summary": title, "value": value });
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::load_calls;
    use crate::routes::openapi::document;

    /// These operations' responses would be the API descriptions.
    const WITHOUT: [&str; 2] = ["showDescription", "showWholeDescription"];

    #[test]
    fn every_body_and_every_answer_of_success_has_a_recorded_example() {
        let document = document();
        let paths = document["paths"].as_object().unwrap().values();
        let mut operations = 0;
        for operation in paths.flat_map(|path| path.as_object().unwrap().values()) {
            operations += 1;
            let id = operation["operationId"].as_str().unwrap();
            if WITHOUT.contains(&id) {
                continue;
            }
            assert!(load_calls().contains_key(id), "{id} is recorded");
            let responses = operation["responses"].as_object().unwrap();
            let successes = responses.iter().filter(|(status, _)| status.starts_with('2'));
            let bodies = successes.map(|(_, response)| response);
            for body in bodies.chain(operation.get("requestBody")) {
                for content in body["content"].as_object().into_iter().flat_map(|all| all.values())
                {
                    assert!(content["examples"].is_object(), "{id}: {content}");
                }
            }
        }
        assert!(operations > 30, "{operations}");
        let event = &document["components"]["schemas"]["WebhookEvent"];
        let recorded = event["examples"].as_array().unwrap().iter().map(|event| &event["type"]);
        let mut recorded: Vec<_> = recorded.collect();
        let mut kinds: Vec<_> =
            event["properties"]["type"]["x-extensible-enum"].as_array().unwrap().iter().collect();
        recorded.sort_by_key(|kind| kind.to_string());
        kinds.sort_by_key(|kind| kind.to_string());
        assert_eq!(recorded, kinds);
    }

    #[test]
    fn the_example_of_a_member_is_a_value_that_was_recorded() {
        let recorded = Value::Object(load_calls());
        let document = document();
        let mut examples = 0;
        for schema in document["components"]["schemas"].as_object().unwrap().values() {
            let shapes = schema["allOf"].as_array().cloned().unwrap_or_default();
            for shape in shapes.iter().chain([schema]) {
                for (name, member) in shape["properties"].as_object().into_iter().flatten() {
                    for example in member
                        .get("example")
                        .into_iter()
                        .chain(member["examples"].as_array().into_iter().flatten())
                    {
                        assert!(has(&recorded, name, example), "{name} was never {example}");
                        examples += 1;
                    }
                }
            }
        }
        assert!(examples > 5, "{examples}");
    }

    fn has(recorded: &Value, name: &str, value: &Value) -> bool {
        match recorded {
            Value::Object(members) => members
                .iter()
                .any(|(member, inner)| member == name && inner == value || has(inner, name, value)),
            Value::Array(values) => values.iter().any(|inner| has(inner, name, value)),
            _ => false,
        }
    }
}
