//! Layout of emails: the same text as plain text and as HTML, which loads no external content.

use super::{LANGUAGE, Paragraph};

const SENDER: &str = "rcpt checks whether an email address can receive mail.";

const OPT_OUT: &str = "Don't send me this for 30 days";

const QUESTIONS: &str = "Questions?";

/// Programs without style sheets show plain HTML.
const STYLE: &str = "\
body{margin:0;padding:24px 16px;background:#fbfaf8;color:#1a1917;\
font:16px/1.6 system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif;overflow-wrap:anywhere}\
header,main,footer{max-width:32rem;margin:0 auto}\
main{padding:24px;border:1px solid #e5e2db;border-radius:14px;background:#fff}\
h1{margin:0 0 16px;font-size:22px;line-height:1.3;letter-spacing:-.02em}\
p{margin:0 0 16px}\
a{color:#2348c7}\
header{padding-bottom:16px;font-weight:650;font-size:18px;letter-spacing:-.03em}\
.button{display:inline-block;padding:10px 18px;border-radius:8px;background:#1a1917;color:#fff;\
font-weight:600;text-decoration:none}\
.small,footer{color:#5f5b53;font-size:13px}\
footer{padding-top:16px}\
table{margin:0 0 16px;border-spacing:0;font-size:14px}\
th{padding:2px 16px 2px 0;color:#5f5b53;font-weight:400;text-align:left;vertical-align:top}\
td{padding:2px 0}\
@media(prefers-color-scheme:dark){body{background:#121110;color:#edebe7}\
main{background:#1a1917;border-color:#33302c}a{color:#9db4ff}\
.button{background:#f2f0ec;color:#1a1917}.small,footer,th{color:#aea99f}}";

pub(super) struct Footer<'a> {
    pub portal_url: &'a str,
    pub opt_out_link: Option<&'a str>,
    pub contact: Option<&'a str>,
}

pub(super) fn text(paragraphs: &[Paragraph], footer: &Footer<'_>) -> String {
    let mut parts: Vec<String> = paragraphs
        .iter()
        .map(|paragraph| match paragraph {
            Paragraph::Text(text) => text.clone(),
            Paragraph::Button { link, .. } => link.clone(),
            Paragraph::Facts(facts) => {
                let lines: Vec<_> =
                    facts.iter().map(|(name, value)| format!("{name}: {value}")).collect();
                lines.join("\n")
            }
        })
        .collect();
    let Footer { portal_url, opt_out_link, contact } = footer;
    let opt_out = opt_out_link.map(|link| format!("\n{OPT_OUT}:\n{link}")).unwrap_or_default();
    let contact = contact.map(|contact| format!("\n{QUESTIONS} {contact}")).unwrap_or_default();
    parts.push(format!("-- \n{SENDER}\n{portal_url}{opt_out}{contact}"));
    parts.join("\n\n") + "\n"
}

pub(super) fn html(subject: &str, paragraphs: &[Paragraph], footer: &Footer<'_>) -> String {
    let body: String = paragraphs.iter().map(paragraph).collect();
    let contact = footer.contact.map(contact_line).unwrap_or_default();
    let opt_out =
        footer.opt_out_link.map(|link| format!("<br><a href=\"{}\">{OPT_OUT}</a>", escaped(link)));
    let (opt_out, portal_url) = (opt_out.unwrap_or_default(), escaped(footer.portal_url));
    format!(
        "<!doctype html>\n<html lang=\"{LANGUAGE}\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{subject}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <header>rcpt</header>\n<main>\n<h1>{subject}</h1>\n{body}</main>\n\
         <footer>{SENDER}<br><a href=\"{portal_url}\">{portal_url}</a>{opt_out}{contact}</footer>\n</body>\n</html>\n"
    )
}

fn contact_line(contact: &str) -> String {
    let scheme = if contact.contains("://") { "" } else { "mailto:" };
    let contact = escaped(contact);
    format!("<br>{QUESTIONS} <a href=\"{scheme}{contact}\">{contact}</a>")
}

fn paragraph(paragraph: &Paragraph) -> String {
    match paragraph {
        Paragraph::Text(text) => format!("<p>{}</p>\n", escaped(text)),
        Paragraph::Button { label, link } => {
            let link = escaped(link);
            format!(
                "<p><a class=\"button\" href=\"{link}\">{label}</a></p>\n\
                 <p class=\"small\">Or paste this into your browser: {link}</p>\n"
            )
        }
        Paragraph::Facts(facts) => {
            let rows: String = facts
                .iter()
                .map(|(name, value)| {
                    format!("<tr><th>{name}</th><td>{}</td></tr>\n", escaped(value))
                })
                .collect();
            format!("<table>\n{rows}</table>\n")
        }
    }
}

fn escaped(text: &str) -> String {
    html_escape::encode_double_quoted_attribute(text).into_owned()
}
