//! The results of a scan as CSV (RFC 4180).

use super::{ScanEvidence, ScanResult};

const HEADER: &str = "position,status,verdict,confidence,reason,operator,smtp_code,enhanced_code,\
    catch_all,disposable,role_account,free_provider,retry_after,problem,final";
const PLAIN_HEADER: &str = "position,status,verdict,final";

/// Names of the columns, then one line per result.
pub fn text(results: &[ScanResult], details: bool) -> String {
    let mut text = if details { HEADER } else { PLAIN_HEADER }.to_owned();
    text += "\r\n";
    for result in results {
        let mut cells = vec![
            result.position.to_string(),
            result.status.as_str().to_owned(),
            result.verdict.as_str().to_owned(),
        ];
        if details {
            cells.extend(evidence(result.evidence.as_ref()));
        }
        cells.push(result.is_final.to_string());
        text += &cells.join(",");
        text += "\r\n";
    }
    text
}

fn evidence(evidence: Option<&ScanEvidence>) -> [String; 11] {
    let Some(evidence) = evidence else { return Default::default() };
    let ScanEvidence { confidence, reason, problem, operator, enhanced_code, .. } = evidence;
    let text = |value: &Option<String>| value.as_deref().map(field).unwrap_or_default();
    let truth = |value: Option<bool>| value.map(|value| value.to_string()).unwrap_or_default();
    [
        text(confidence),
        text(reason),
        text(operator),
        evidence.smtp_code.map(|code| code.to_string()).unwrap_or_default(),
        text(enhanced_code),
        text(&evidence.catch_all),
        truth(evidence.disposable),
        truth(evidence.role_account),
        truth(evidence.free_provider),
        evidence.retry_after.map(|seconds| seconds.to_string()).unwrap_or_default(),
        text(problem),
    ]
}

/// A spreadsheet reads some first characters as the start of a formula; a leading apostrophe makes the field a text.
fn field(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = format!("{}{text}", if formula { "'" } else { "" });
    let is_plain = !text.contains([',', '"', '\r', '\n']);
    if is_plain { text } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn a_field_is_quoted_where_it_must_be_and_is_no_formula() {
        assert_eq!(field("There is a space in it."), "There is a space in it.");
        assert_eq!(field("\" isn't allowed, so"), "\"\"\" isn't allowed, so\"");
        assert_eq!(field("= isn't allowed after the @."), "'= isn't allowed after the @.");
    }
}
