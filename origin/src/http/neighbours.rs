//! The page for owners of mail servers that we connect to: who connects, for which purpose, and how
//! to opt out.

use axum::{
    Router,
    http::{HeaderName, header},
    response::{Html, IntoResponse},
    routing::get,
};
use html_escape::encode_text;

use crate::Config;

const HEADERS: [(HeaderName, &str); 3] = [
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::CACHE_CONTROL, "max-age=3600"),
];

pub fn build_neighbours(config: &Config) -> Router {
    let page = page(config);
    Router::new().route("/", get(async move || (HEADERS, Html(page)).into_response()))
}

fn page(config: &Config) -> String {
    let host = encode_text(&config.helo_name);
    let contact = match &*config.contact {
        "" => &config.mail_from,
        contact => contact,
    };
    let contact = encode_text(contact);
    let sender = match &*config.mail_from {
        "" => "the null sender, <code>&lt;&gt;</code>".to_owned(),
        sender => format!("<code>{}</code>", encode_text(sender)),
    };
    let Config { operator_sessions, machine_sessions, refused_per_hour, .. } = config;
    format!(
        r#"<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{host}: who connects to your mail server</title>
<style>body{{font:1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:2rem auto;padding:0 1rem}}</style>
<h1>{host}</h1>
<p>This machine checks whether email addresses exist. Someone asked us about an address in a domain that your mail
server accepts mail for. That’s why we connected.</p>
<h2>What we ask</h2>
<p>We connect to port 25, say <code>EHLO {host}</code>, name {sender} as the sender, and name the recipient. If your server
accepts it, we may name a second one that we made up, to see whether it accepts every name. Then we leave.</p>
<p><strong>We never send an email.</strong> We never send DATA, and we don’t use VRFY or EXPN.</p>
<h2>How much</h2>
<p>At most {operator_sessions} connections at once to one mail provider, and {machine_sessions} to any other server, from each of
our addresses. When {refused_per_hour} recipients have been refused within an hour, we don’t work through lists any more. We
slow down when you tell us to.</p>
<h2>Leave me alone</h2>
<p>Write to <a href="mailto:{contact}">{contact}</a>, from the domain or as the owner of the network, and say whether you mean
your domain, your mail servers, or your network. We then make no more connections there. You can also write to us about anything
else that we do.</p>
</html>
"#
    )
}

#[cfg(test)]
mod tests {
    use super::page;
    use crate::Config;

    fn of(contact: &str) -> String {
        let secrets = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE";
        let config = Config::parse("", &|name| {
            let value = match name {
                "RCPT_HELO_NAME" => "probe.example.com",
                "RCPT_MAIL_FROM" => "probe@example.com",
                "RCPT_NAMESERVERS" => "192.0.2.53",
                "RCPT_TICKET_SECRETS" => secrets,
                "RCPT_CONTACT" => contact,
                _ => return None,
            };
            Some(value.to_owned())
        });
        page(&config.unwrap())
    }

    #[test]
    fn the_page_says_who_we_are_and_whom_to_write_to() {
        let text = of("");
        for words in ["EHLO probe.example.com", "mailto:probe@example.com", "never send an email"] {
            assert!(text.contains(words), "{words} not in\n{text}");
        }
        assert!(of("abuse@example.net").contains("mailto:abuse@example.net"));
        // A quoted local part may contain HTML's special characters.
        let text = of("\"<b>\"@example.net");
        assert!(!text.contains("<b>"), "{text}");
    }
}
