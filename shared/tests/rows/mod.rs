//! The rows of `texts.tsv`, whose head explains them.

pub struct Row {
    pub text: String,
    pub is_address: bool,
    pub suggestion: Option<String>,
}

pub fn rows() -> Vec<Row> {
    let lines =
        include_str!("../texts.tsv").lines().skip_while(|line| line.starts_with('#')).skip(1);
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [text, expected, suggestion, _, source] = cells[..] else { panic!("{line}") };
        assert!(!source.is_empty(), "{line}");
        Row {
            text: serde_json::from_str(&format!("\"{text}\"")).unwrap(),
            is_address: match expected {
                "valid_format" | "domain-level" => true,
                "invalid_format" => false,
                _ => panic!("{line}"),
            },
            suggestion: Some(suggestion.to_owned()).filter(|text| !text.is_empty()),
        }
    };
    lines.map(row).collect()
}
