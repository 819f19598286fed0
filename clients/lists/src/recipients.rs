//! Recipients in the form that email programs copy: `"Doe, J" <j@example.org>; ann@example.org`, on one line or
//! several.

use rcpt_shared::Address;

use crate::cell::{address, pieces};

pub(crate) fn are_recipients(text: &str) -> bool {
    text.lines().flat_map(|line| line.split('\r')).any(|line| {
        let is_bracketed = line.split_once('<').is_some_and(|(_, rest)| {
            rest.split_once('>').is_some_and(|(inner, _)| {
                inner.contains('@') && !inner.contains(char::is_whitespace)
            })
        });
        let words = line.split(|c: char| c.is_whitespace() || "<>\",;:".contains(c));
        is_bracketed || words.filter(|word| is_like_an_address(word)).count() > 1
    })
}

fn is_like_an_address(word: &str) -> bool {
    word.split_once('@').is_some_and(|(local, domain)| {
        !local.is_empty() && domain.find('.').is_some_and(|dot| dot > 0) && !domain.ends_with('.')
    })
}

pub(crate) fn to_csv(text: &str) -> String {
    let text = unfolded(text);
    let rows: Vec<_> = pieces(&text).into_iter().filter_map(row).collect();
    let has_names = rows.iter().any(|(_, name)| !name.is_empty());
    let mut csv = String::new();
    for (address, name) in rows {
        push_cell(&mut csv, &address);
        if has_names {
            csv.push(',');
            push_cell(&mut csv, &name);
        }
        csv.push_str("\r\n");
    }
    csv
}

fn push_cell(csv: &mut String, text: &str) {
    csv.push_str(&crate::copy::quoted(text, b','));
}

fn row(piece: &str) -> Option<(String, String)> {
    let piece = piece.trim();
    // A group, `Team: ann@example.org, bob@example.org;`, and headers: `To: ann@example.org`.
    let piece = match piece.split_once(':') {
        Some((group, rest)) if !group.contains(['@', '"', '<']) && !is_a_scheme(group) => {
            rest.trim()
        }
        _ => piece,
    };
    if piece.is_empty() {
        return None;
    }
    let read = address(piece);
    let address = read.as_ref().map_or(piece, Address::as_given);
    let name = piece.split('<').next().filter(|_| address.len() < piece.len()).unwrap_or_default();
    let name = name.trim().trim_matches(['"', '\'']).replace("\\\"", "\"");
    Some((address.to_owned(), name))
}

fn is_a_scheme(word: &str) -> bool {
    ["mailto", "smtp", "x500", "sip"].iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// A line that begins with an angle bracket continues the recipient before.
fn unfolded(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.split(['\r', '\n']).filter(|line| !line.trim().is_empty()) {
        match lines.last_mut() {
            Some(before) if line.trim_start().starts_with('<') && !ends_with_address(before) => {
                before.push(' ');
                before.push_str(line);
            }
            _ => lines.push(line.to_owned()),
        }
    }
    lines.join("\n")
}

fn ends_with_address(line: &str) -> bool {
    let line = line.trim_end_matches(|c: char| c.is_whitespace() || ">,;".contains(c));
    line.rsplit(char::is_whitespace).next().is_some_and(|word| word.contains('@'))
}

#[cfg(test)]
mod tests {
    use super::{are_recipients, to_csv};

    #[test]
    fn each_recipient_is_a_row() {
        for (text, rows) in [
            ("a@x.org, b@x.org", "a@x.org\r\nb@x.org\r\n"),
            (
                "\"Doe, J\" <a@x.org>;b@x.org\nc@x.org",
                "a@x.org,\"Doe, J\"\r\nb@x.org,\r\nc@x.org,\r\n",
            ),
            (
                "Ann Lee <a@x.org>; Bob <b@x.org>;\r\n 'Cy' <c@x.org>",
                "a@x.org,Ann Lee\r\nb@x.org,Bob\r\nc@x.org,Cy\r\n",
            ),
            ("Team: a@x.org, b@x.org; c@x.org", "a@x.org\r\nb@x.org\r\nc@x.org\r\n"),
            ("Ann Lee\n<a@x.org>, Nobody, b@x.org", "a@x.org,Ann Lee\r\nNobody,\r\nb@x.org,\r\n"),
        ] {
            assert!(are_recipients(text), "{text:?}");
            assert_eq!(to_csv(text), rows, "{text:?}");
        }
        assert!(!are_recipients("a@x.org\nb@x.org\nnone"));
    }
}
