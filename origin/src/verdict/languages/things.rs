//! Machines and services that are called after mailboxes: of `user database not found` and `servidor de
//! cuenta no encontrado` the mailbox is not what is missing.

use std::{collections::HashSet, ops::Range, sync::LazyLock};

use super::super::text::{COLON, Said};

/// What a mailbox's word may stand before, or what its state may be of.
const THINGS: &[&str] = &[
    "agent",
    "authentication",
    "backend",
    "certificate",
    "client",
    "count",
    "credentials",
    "database",
    "extension",
    "family",
    "filter",
    "host",
    "input",
    "lookup",
    "manager",
    "option",
    "options",
    "parameter",
    "parameters",
    "policy",
    "protocol",
    "provider",
    "server",
    "servers",
    "service",
    "session",
    "system",
    "token",
    "verification",
    // German and Dutch
    "anbieter",
    "datenbank",
    "dienst",
    "dienstes",
    "protokoll",
    "prüfung",
    "richtlinie",
    "sitzung",
    "systeem",
    "zertifikat",
    // Turkish
    "hizmeti",
    "servisi",
    "sunucu",
    "sunucusu",
    "veritabanı",
];

/// Things that stand before the mailbox, with a word for `of` between: `base de datos de usuarios`.
const WITH_OF: &[&str] = &[
    "server",
    "dienst",
    "datenbank",
    "database", // German, Dutch, Italian
    "annuaire",
    "base",
    "données",
    "fournisseur",
    "serveur",
    "service",
    "système",
    "vérification",
    "datos",
    "proveedor",
    "servicio",
    "servidor",
    "sistema",
    "verificación", // Spanish
    "dados",
    "provedor",
    "serviço",
    "verificação", // Portuguese
    "dati",
    "fornitore",
    "servizio",
    "verifica", // Italian
];
const OF: &[&str] = &[
    "de", "des", "du", "d", "del", "de la", "de los", "de las", "de l", "do", "da", "dos", "das",
    "di", "dei", "degli", "dell", "della", "delle", "van", "van de", "der",
];

/// Things that stand right before the mailbox, in languages that need no word for `of`: `baza użytkowników`.
const WITHOUT_OF: &[&str] = &["baza", "serwer", "usługa", "база", "сервер", "сервис", "служба"];

/// In scripts without spaces, between mailbox and state.
const UNSPACED: &[&str] = &[
    "服务器",
    "伺服器",
    "数据库",
    "資料庫",
    "代理",
    "协议",
    "協議",
    "サーバ",
    "データベース",
    "서버",
    "데이터베이스",
];

/// `words` as they stand in [`Said::words`].
fn folded(words: &[&str]) -> HashSet<String> {
    words.iter().map(|word| Said::of(word).words.trim().to_owned()).collect()
}

static IS_THING: LazyLock<HashSet<String>> = LazyLock::new(|| folded(THINGS));
static IS_WITH_OF: LazyLock<HashSet<String>> = LazyLock::new(|| folded(WITH_OF));
static IS_OF: LazyLock<HashSet<String>> = LazyLock::new(|| folded(OF));
static IS_WITHOUT_OF: LazyLock<HashSet<String>> = LazyLock::new(|| folded(WITHOUT_OF));
static IS_UNSPACED: LazyLock<HashSet<String>> = LazyLock::new(|| folded(UNSPACED));

/// The word for a mailbox at `noun` names a thing, or the state at `state` is that of one.
pub(super) fn stand_between(words: &str, noun: &Range<usize>, state: &Range<usize>) -> bool {
    let (first, second) = if noun.start <= state.start { (noun, state) } else { (state, noun) };
    let between = words.get(first.end..second.start).unwrap_or_default();
    let is_thing = |word: &str| IS_THING.contains(word);
    between.split(' ').any(is_thing)
        || IS_UNSPACED.iter().any(|thing| between.contains(thing.as_str()))
        || word_behind(words, noun).is_some_and(is_thing)
        // `Account: unknown protocol`, and not `user unknown, system message`.
        || (between.contains(COLON) && word_behind(words, state).is_some_and(is_thing))
        || is_of_a_thing(words, noun)
}

/// The word behind the one that ends, or goes on, at `place`.
fn word_behind<'a>(words: &'a str, place: &Range<usize>) -> Option<&'a str> {
    let rest = words.get(place.end..)?;
    let is_whole = words.get(..place.end)?.ends_with(' ');
    let rest = if is_whole { rest } else { rest.split_once(' ')?.1 };
    rest.trim_start().split(' ').next()
}

fn is_of_a_thing(words: &str, noun: &Range<usize>) -> bool {
    let before = words.get(..=noun.start).unwrap_or_default().trim_end();
    let mut backwards = before.rsplit(' ');
    let (last, second, third) = (backwards.next(), backwards.next(), backwards.next());
    let [last, second, third] = [last, second, third].map(Option::unwrap_or_default);
    let two = format!("{second} {last}");
    IS_WITHOUT_OF.contains(last)
        // `сервер почтового ящика`
        || (IS_WITHOUT_OF.contains(second) && last.starts_with("почтов"))
        || (IS_OF.contains(last) && IS_WITH_OF.contains(second))
        || (IS_OF.contains(&two) && IS_WITH_OF.contains(third))
}
