//! A server's words as they are searched, names of hosts among them, and letters.

use super::{Said, fold, is_host_name, is_of_blocklist, unquoted};

#[test]
fn what_the_server_quotes_is_not_what_it_says() {
    for (text, words) in [
        ("User Unknown", " user unknown "),
        ("<spamhaus@example.org>: Recipient\nrejected", " : recipient rejected "),
        ("no such user spamhaus@example.org here", " no such user here "),
        (r#"<"blocked using spamhaus"@example.org>... unknown"#, " ... unknown "),
        ("Client IP address [192.0.2.1] rejected", " client ip address rejected "),
        ("[192.0.2.1]: 2001:db8::1, see https://a.example/b?c=d e", " see e "),
        ("5.4.1 a: b", " 5.4.1 a: b "),
        ("a < b", " a b "),
        ("see <https://www.example.org/q>.", " see . "),
        ("<<< Blocked by RBL >>>", " << blocked by rbl >> "),
        ("host=callback.example.org[192.0.2.1]: no", " host=[192.0.2.1]: no "),
        ("(ess.barracudanetworks.com) x", " () x "),
        ("see:http://reputation.example/x, or not", " see: or not "),
        ("(see http://a.example/x)unknown \"https://a.example/y\"user", " (see )unknown \"\"user "),
        ("用户a@example.org不存在", " 用户不存在 "),
        ("a@mx.example.org...User unknown", " user unknown "),
        ("a@example.org....", " "),
        ("a@example.org:no..user", " :no user "),
        ("Empf=C3=A4nger UNBEKANNT", " empfanger unbekannt "),
        ("", " "),
    ] {
        assert_eq!(Said::of(text).text, words, "{text}");
    }
}

#[test]
fn words_far_back_are_read_and_folding_has_a_bound() {
    let filler = "lorem ipsum ".repeat(75);
    assert!(Said::of(&format!("{filler}user unknown")).text.ends_with(" user unknown "));
    // Each of these letters becomes eighteen.
    let folded = Said::of(&"\u{fdfa} ".repeat(256)).text;
    assert!((1_024..=4_096 + 256).contains(&folded.len()), "{}", folded.len());
}

#[test]
fn words_have_no_punctuation_and_sentences_have_ends() {
    for (text, words) in [
        ("User (a@b.example) unknown.", " user unknown | "),
        ("mailbox: not-found; bye", " mailbox : not found | bye "),
        ("address 192.0.2.1 not found", " address * not found "),
        ("Empf?nger unbekannt? 5.1.1", " empf\u{fffd}nger unbekannt 5 1 1 "),
        ("L'adresse n'existe pas", " l adresse n'existe pas "),
        ("user doesn't exist", " user doesn't exist "),
    ] {
        assert_eq!(Said::of(text).words, words, "{text}");
    }
}

#[test]
fn the_site_of_a_blocklist_is_noticed_where_it_is_a_host() {
    for (text, named) in [
        ("see https://www.spamhaus.org/query/ip/192.0.2.1", true),
        ("blocked using zen.spamhaus.org;", true),
        ("<http://www.sorbs.net/lookup.shtml?192.0.2.1>", true),
        ("see https://example.org/spamhaus.org", false),
        ("<zen@spamhaus.org> unknown", false),
    ] {
        assert_eq!(Said::of(text).names_blocklist, named, "{text}");
    }
}

#[test]
fn names_of_hosts_are_told_from_words() {
    for name in [
        "example.org",
        "EXAMPLE.COM",
        "ess.barracudanetworks.com",
        "AM0EUR02FT014.eop-EUR02.prod.protection.outlook.com",
        "_dmarc.example.de",
        "mx.xn--80a.xn--p1ai",
        "zen.spamhaus.org.",
    ] {
        assert!(is_host_name(name), "{name}");
    }
    for word in [
        "unknown",
        "5.7.1",
        "rejected.Your",
        "unknown.please",
        "RESOLVER.ADR.RecipientNotFound",
        "STOREDRV.Deliver",
        "192.0.2.1",
        "e.g",
        "...",
        "",
    ] {
        assert!(!is_host_name(word), "{word}");
    }
}

#[test]
fn a_site_and_the_names_below_it_and_nothing_like_it() {
    for host in ["zen.spamhaus.org", "SPAMHAUS.org", "www.sorbs.net", "bl.example.net"] {
        assert!(is_of_blocklist(host), "{host}");
    }
    for host in ["notspamhaus.org", "spamhaus.org.example.com", "ess.barracudanetworks.com", ""] {
        assert!(!is_of_blocklist(host), "{host}");
    }
}

#[test]
fn letters_lose_case_accents_and_width() {
    for (text, folded) in [
        ("User Unknown", "user unknown"),
        ("EMPFÄNGER", "empfanger"),
        ("Empfa\u{308}nger", "empfanger"),
        ("Straße", "strasse"),
        ("GEÇERSİZ ALICI", "gecersiz alici"),
        ("Alıcı", "alici"),
        ("СКРЫТЫЙ Ё", "скрытыи е"),
        ("Nadawca zablokował", "nadawca zablokowal"),
        ("ＩＰアドレス", "ipアトレス"),
        ("n’existe", "n'existe"),
        ("un\u{200b}known", "unknown"),
        ("Empf\u{fffd}nger", "empf\u{fffd}nger"),
    ] {
        assert_eq!(fold(text), folded, "{text}");
    }
}

#[test]
fn quoted_printable_is_read_and_other_equal_signs_stay() {
    for (text, read) in [
        ("Empf=C3=A4nger", "Empfänger"),
        ("a=b ip=12 q=AZ c==", "a=b ip=12 q=AZ c=="),
        ("Empf=E4nger", "Empf=E4nger"),
        ("=C3=A4=x", "ä=x"),
        ("host=callback", "host=callback"),
        ("=D0=BD=D0=B5=D1=82 =D1=82=D0=B0=D0=BA", "нет так"),
        ("=", "="),
    ] {
        assert_eq!(unquoted(text), read);
    }
}
