//! Compares the reader with the parser's own.

use std::collections::BTreeMap;

use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};

use super::{Strict, Tree, read};

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Several {
    Bare,
    Whole(u8),
    Pair(i64, f64),
    Named { list: Vec<Option<bool>> },
}

#[derive(Debug, PartialEq, Deserialize)]
struct Outer {
    inside: BTreeMap<String, Several>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct FoundRow {
    id: String,
    #[serde(default)]
    count: u64,
    at: Option<u64>,
    #[serde(default)]
    _rest: IgnoredAny,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Flat {
    own: (char, ()),
    #[serde(flatten)]
    rest: FlatPart,
}

#[derive(Debug, PartialEq, Deserialize)]
struct FlatPart {
    small: Option<i8>,
    real: f32,
    #[serde(default)]
    large: u128,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Either {
    Text(String),
    FlatPart(FlatPart),
}

fn reads_alike<T: DeserializeOwned + PartialEq + std::fmt::Debug>(text: &str) {
    let theirs = serde_json::from_str::<T>(text).ok();
    assert_eq!(read::<T>(text.as_bytes()).ok(), theirs, "{text}");
}

#[test]
fn every_type_reads_what_the_parser_reads() {
    for text in [
        r#""bare""#,
        r#"{"bare":null}"#,
        r#"{"bare":1}"#,
        r#"{"whole":7}"#,
        r#"{"whole":-7}"#,
        r#"{"whole":256}"#,
        r#""whole""#,
        r#"{"pair":[-1,0.5]}"#,
        r#"{"pair":[1]}"#,
        r#"{"named":{"list":[true,null]}}"#,
        r#"{"named":{}}"#,
        "{}",
        "7",
        "[]",
        "null",
        "\"x\"",
        r#"{"bare":null,"whole":7}"#,
    ] {
        reads_alike::<Several>(text);
        reads_alike::<Option<Several>>(text);
        reads_alike::<Outer>(&format!(r#"{{"inside":{{"a":{text}}}}}"#));
    }
    for rest in [
        r#""small":-1,"real":2"#,
        r#""real":-2.5,"large":18446744073709551615"#,
        r#""real":"x""#,
        r#""small":null,"real":1e30,"real":2"#,
        r#""small":128,"real":1"#,
        "",
    ] {
        reads_alike::<Flat>(&format!(r#"{{"own":["é",null],{rest}}}"#));
        reads_alike::<Either>(&format!("{{{rest}}}"));
    }
    for row in [
        r#""id":"a""#,
        r#""at":7,"more":[],"id":"a","count":9"#,
        r#""id":"a","count":null"#,
        r#""count":1"#,
        r#""id":null"#,
        r#""id":"a","id":"b""#,
        r#""id":"a","at":null,"_rest":7"#,
        r#""id":"a","at":"x""#,
    ] {
        reads_alike::<FoundRow>(&format!("{{{row}}}"));
    }
    reads_alike::<Either>("\"a\\u00e9\\n\"");
}

#[test]
fn a_misfit_names_the_member_wherever_it_is() {
    let misfit = |text: &str| read::<Outer>(text.as_bytes()).unwrap_err().to_string();
    for (text, sentence) in [
        (r#"{"inside":7}"#, "The 'inside' field must be an object."),
        (r#"{"insides":{}}"#, "Missing 'inside' field in request body."),
        (
            r#"{"inside":{"a":{"named":{"list":[null,1]}}}}"#,
            "The 'inside.a.named.list[1]' field must be a boolean.",
        ),
        (
            r#"{"inside":{"a":{"named":{}}}}"#,
            "Missing 'inside.a.named.list' field in request body.",
        ),
        (
            r#"{"inside":{"a":"other"}}"#,
            "The 'inside.a' field can't be 'other'. It is one of: bare, whole, pair, named.",
        ),
        (
            r#"{"inside":{"a":{"whole":256}}}"#,
            "The 'inside.a.whole' field must be a whole number, 0 or more.",
        ),
        ("7", "The '.' field must be an object."),
    ] {
        assert_eq!(misfit(text), sentence);
    }
    let row = |text: &str| FoundRow::deserialize(Strict(&Tree::parse(text.as_bytes()).unwrap()));
    let misfit = row(r#"{"id":"a","counts":1}"#).unwrap_err().to_string();
    assert_eq!(misfit, "There is no 'counts' field. Did you mean 'count'?");
    assert_eq!(row(r#"{"id":"a","count":1}"#).unwrap().count, 1);
    assert_eq!(row("{}").unwrap_err().to_string(), "Missing 'id' field in request body.");
}

#[test]
fn what_is_not_json_is_no_tree() {
    let deep = "[".repeat(1_000) + &"]".repeat(1_000);
    for text in [&b""[..], b"{", b"{} {}", b"{\"a\":\"\xff\"}", b"'a'", deep.as_bytes()] {
        assert!(Tree::parse(text).is_none());
    }
}
