//! Patterns of citations, links, comments and phrases. Word boundaries are ASCII, which `regex` matches faster.

use std::sync::LazyLock;

use regex::Regex;

fn pattern(text: &str) -> Regex {
    Regex::new(text).unwrap_or_else(|error| panic!("{error}"))
}

macro_rules! patterns {
    ($($(#[$comment:meta])* $name:ident = $text:expr;)*) => {
        $($(#[$comment])* pub static $name: LazyLock<Regex> = LazyLock::new(|| pattern(&$text));)*
    };
}

const PAGES: &str = "api|account-api|architecture|verdicts|security|configuration|sandbox|words";

patterns! {
    /// The path of a page, in the first group. `src/docs/…` and `pages/docs/…` are other folders.
    CITED_PAGE = r"(?:^|[^A-Za-z0-9_./-])(docs/[A-Za-z0-9_./-]*[A-Za-z0-9_])";
    BARE_CLAIM = r"(?-u:\b)(?:security|trust) [A-Z][0-9]";
    /// A word of a comment that looks like a claim, in the first group.
    NAMED_CLAIM = r"(?:^|[^A-Za-z0-9=#.:/_+-])([A-Z][0-9]{1,2})(?-u:\b)";
    /// Claims after the name of their page, in the first group.
    CITED_CLAIM = r"(?-u:\b)security(?:\.md`?\)?,)?,? +([A-Z][0-9]+(?:(?:, | and |–|-)[A-Z][0-9]+)*)";
    CLAIM = r"([A-Z])([0-9]+)";
    CLAIM_ROW = r"(?m)^\| ([A-Z][0-9]+) \|";
    SECTION = r"(?i)(?-u:\b)(?:api|architecture|verdicts|security|neighbours|scans|scale|style)(?:\.md)? §";
    BARE_PAGE = format!(
        r"(?:^|[^A-Za-z0-9_./(-])(?:{PAGES}|neighbours|scans|scale|style|service-interface)\.md(?-u:\b)"
    );
    COMMENT_LINE = r"^\s*(?://|\*|/\*)";

    HEADING = r"^#+ +(.*)$";
    LINK = r"\]\(([^)\s]+)\)";
    LINK_TEXT = r"\[([^\]]*)\]\([^)]*\)";
    OUTER_LINK = r"^(?:[a-z]+:|//)";
    NAMED_FILE = r"`((?:edge|origin|shared|clients|tests|lab|devtools|tools|dist|docs)/[A-Za-z0-9_./-]+)`";
    /// The test program and the file of a test in docs/security.md.
    NAMED_TEST = r"`T ([A-Za-z0-9_]+) ([A-Za-z0-9_]+)`";
    OPERATION = r"(?m)^(?:##+ |\| `)((?:GET|POST|PUT|DELETE|PATCH) /[^`\s]+)";

    /// The operation and the title of a recorded answer; the tags of a table of operations.
    RECORDED = r#"^<!-- recorded: (\w+) "(.+)" -->$"#;
    OPERATIONS = r"^<!-- operations: (.+) -->$";

    /// Phrases that docs/words.md lists under "In code and documents".
    PHRASE = r"(?i)(?-u:\b)(?:whoever|(?:is|are) told|of ours|comes to|so many (?:times|seconds|days)|one who|who asks)(?-u:\b)";
    COMMENT = r"^\s*(?://[/!]?|\*|/\*\*?|#)\s+(.*)";
    DOC_COMMENT = r"^\s*//[/!] (\S+)";
}
