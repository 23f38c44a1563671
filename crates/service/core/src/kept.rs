//! Texts of statements as they may be kept and shown: in logs, process lists, samples of digests, profiles.
//!
//! A [`KeptText`] is made only here, by the rewriting that puts `<secret>` in place of passwords. Code that keeps or
//! shows a text takes this type, so that no place can forget the rewriting. The rewriting follows the manual (8.1.2.3
//! "Passwords and Logging"): statements about accounts, replication, servers and CLONE lose their literals, except
//! those that are names or comments. A text about such a statement that cannot be parsed is not kept at all, because
//! it is not known which of its words is the password.

use crate::kinds::{self, Secrets};
use gannet_parser::LexMode;
use gannet_parser::lexer::{Lexer, Tok, Token};

/// Stands for a password.
const SECRET: &[u8] = b"<secret>";

/// Stands for a text that is not kept.
const WITHHELD: &str = "<a text with an error, which may hold a password>";

/// The digests of the server, with samples that may be shown.
pub type StatementStats = gannet_telemetry::StatementStats<KeptText>;
/// The way to one of them.
pub type DigestHandle = gannet_telemetry::DigestHandle<KeptText>;

/// A text that may be kept and shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptText(Vec<u8>);

impl KeptText {
    /// What may be kept of a text, which may be several statements.
    pub fn of(text: &[u8], mode: LexMode) -> Self {
        if !has_word(text, OPENING) && !names_secret(text) {
            return Self(text.to_vec());
        }
        let (mut out, mut rest) = (Vec::with_capacity(text.len()), text);
        while !rest.is_empty() {
            match gannet_parser::parse_one(rest, mode) {
                Ok(parsed) => {
                    let (own, next) = rest.split_at(parsed.consumed.clamp(1, rest.len()));
                    hide(own, mode, kinds::of(&parsed.statement).secrets, &mut out);
                    rest = next;
                }
                Err(_) => {
                    out.extend_from_slice(if may_hold_secret(rest) { WITHHELD.as_bytes() } else { rest });
                    break;
                }
            }
        }
        Self(out)
    }

    /// A text as it came: what `log_raw` asks the general query log for, and nothing else may use.
    pub fn raw(text: &[u8]) -> Self {
        Self(text.to_vec())
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// At most `n` of the bytes, no character cut in two.
    pub fn first(mut self, n: usize) -> Self {
        let whole = |n: &usize| self.0.get(*n).is_none_or(|b| b & 0xc0 != 0x80);
        let length = (0..=self.0.len().min(n)).rev().find(whole).unwrap_or(0);
        self.0.truncate(length);
        self.0.shrink_to_fit();
        self
    }

    /// The text that stands in its place, if nothing of the text is kept: its digest is not shown either.
    pub fn withheld(&self) -> Option<&'static str> {
        (self.0 == WITHHELD.as_bytes()).then_some(WITHHELD)
    }
}

impl std::fmt::Display for KeptText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

/// Words that stand in front of a password.
const NAMING: &[&str] = &["IDENTIFIED", "PASSWORD", "CHALLENGE_RESPONSE"];

/// Words that a statement with a password begins with, first and second.
const BEGINNINGS: &[(&str, &[&str])] = &[
    ("CREATE", &["USER", "SERVER"]),
    ("ALTER", &["USER", "SERVER"]),
    ("CHANGE", &["REPLICATION", "MASTER"]),
    ("START", &["REPLICA", "SLAVE", "GROUP_REPLICATION"]),
    ("CLONE", &["INSTANCE"]),
];

/// The second words of [`BEGINNINGS`]: a text without them is none of these statements.
const OPENING: &[&str] =
    &["USER", "SERVER", "REPLICATION", "MASTER", "REPLICA", "SLAVE", "GROUP_REPLICATION", "INSTANCE", "GRANT"];

fn is_part(b: &u8) -> bool {
    b.is_ascii_alphanumeric() || *b == b'_'
}

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|b| !is_part(b)).filter(|w| !w.is_empty())
}

fn has_word(text: &[u8], list: &[&str]) -> bool {
    words(text).any(|w| list.iter().any(|l| w.eq_ignore_ascii_case(l.as_bytes())))
}

/// One of the words in front of a password is there, alone or as the end of a longer one (`SOURCE_PASSWORD`).
fn names_secret(text: &[u8]) -> bool {
    let ends = |w: &[u8], name: &&str| {
        w.len() >= name.len() && w[w.len() - name.len()..].eq_ignore_ascii_case(name.as_bytes())
    };
    words(text).any(|w| NAMING.iter().any(|name| ends(w, name)))
}

/// A text that could not be read may be one of the statements with passwords.
fn may_hold_secret(text: &[u8]) -> bool {
    let is = |w: &[u8], word: &str| w.eq_ignore_ascii_case(word.as_bytes());
    let begins = |a: &[u8], b: &[u8]| BEGINNINGS.iter().any(|(x, list)| is(a, x) && list.iter().any(|y| is(b, y)));
    names_secret(text) || words(text).zip(words(text).skip(1)).any(|(a, b)| begins(a, b))
}

/// Appends one statement without its secrets. Comments between its words go too: a password may stand in one.
fn hide(text: &[u8], mode: LexMode, secrets: Secrets, out: &mut Vec<u8>) {
    let all: Vec<Token> = match secrets {
        Secrets::Never => Vec::new(),
        Secrets::Literals | Secrets::Texts => tokens(text, mode).collect(),
    };
    let hidden = |at: usize| match secrets {
        Secrets::Never => false,
        Secrets::Texts => is_literal(all[at].kind),
        Secrets::Literals => is_secret(text, &all, at),
    };
    let told = |t: &Token| is_literal(t.kind) && may_hold_secret(word(text, t));
    if secrets == Secrets::Never || secrets == Secrets::Texts && !all.iter().any(told) {
        out.extend_from_slice(text);
        return;
    }
    let mut done = 0;
    for (at, t) in all.iter().enumerate() {
        let between = &text[done..t.start as usize];
        if between.iter().all(u8::is_ascii_whitespace) {
            out.extend_from_slice(between)
        } else {
            out.push(b' ')
        }
        out.extend_from_slice(if hidden(at) { SECRET } else { word(text, t) });
        done = t.end as usize;
    }
}

fn is_literal(kind: Tok) -> bool {
    matches!(kind, Tok::Str | Tok::NStr | Tok::Hex | Tok::Bit)
}

/// In front of literals that are no passwords: names, plugins, comments, properties of certificates.
const HARMLESS: &[&str] = &[
    "USER",
    "ROLE",
    "EXISTS",
    "FOR",
    "TO",
    "FROM",
    "ON",
    "GRANT",
    "REVOKE",
    "PROXY",
    "WITH",
    "COMMENT",
    "ATTRIBUTE",
    "SUBJECT",
    "ISSUER",
    "CIPHER",
    "SERVER",
    "WRAPPER",
    "HOST",
    "DATABASE",
    "SOCKET",
    "OWNER",
    "CHANNEL",
];

/// In front of passwords, which a quoted name may be.
const TELLING: &[&str] = &["BY", "AS", "REPLACE", "PASSWORD"];

fn is_secret(text: &[u8], all: &[Token], at: usize) -> bool {
    let (t, before) = (&all[at], at.checked_sub(1).map(|b| &all[b]));
    let behind = |list: &[&str]| {
        let is =
            |b: &Token| b.kind == Tok::Word && list.iter().any(|w| word(text, b).eq_ignore_ascii_case(w.as_bytes()));
        before.is_some_and(is)
    };
    match t.kind {
        kind if is_literal(kind) => {
            let harmless = behind(HARMLESS) || before.is_some_and(|b| b.kind == Tok::Comma);
            !harmless || may_hold_secret(word(text, t))
        }
        Tok::Quoted => behind(TELLING) || before.is_some_and(|b| matches!(b.kind, Tok::Eq | Tok::Assign | Tok::LParen)),
        _ => false,
    }
}

/// The tokens of a text.
pub fn tokens(text: &[u8], mode: LexMode) -> impl Iterator<Item = Token> + '_ {
    let mut lexer = Lexer::new(text, mode);
    std::iter::from_fn(move || Some(lexer.next()).filter(|t| t.kind != Tok::End && t.end > t.start))
}

/// The bytes of a token.
pub fn word<'t>(text: &'t [u8], t: &Token) -> &'t [u8] {
    &text[t.start as usize..t.end as usize]
}

/// Without the blanks and semicolons around it.
pub fn trimmed(text: &[u8]) -> &[u8] {
    let blank = |b: &u8| b.is_ascii_whitespace() || *b == b';' || *b == 0;
    let start = text.iter().position(|b| !blank(b)).unwrap_or(text.len());
    let end = text.iter().rposition(|b| !blank(b)).map_or(start, |e| e + 1);
    &text[start..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str) -> String {
        KeptText::of(text.as_bytes(), LexMode::default()).to_string()
    }

    /// Each text holds `hush` where a password may stand, and `seen` where none may.
    #[test]
    fn no_password_is_kept() {
        let statements = [
            "CREATE USER seen IDENTIFIED BY 'hush'",
            "CREATE USER IF NOT EXISTS 'seen'@'seen' IDENTIFIED BY 'hush', 'seen'@'%' IDENTIFIED BY \"hush\"",
            "CREATE USER seen IDENTIFIED BY 'a' COMMENT 'seen'",
            "create user seen identified with 'mysql_native_password' as 'hush' attribute '{\"a\": \"seen\"}'",
            "CREATE USER seen IDENTIFIED WITH mysql_native_password AS 0x68757368 REQUIRE SUBJECT 'seen'",
            "ALTER USER seen IDENTIFIED BY 'hush' REPLACE 'hush' RETAIN CURRENT PASSWORD",
            "ALTER USER USER() IDENTIFIED BY 'hush'",
            "SET PASSWORD = 'hush' /* hush */",
            "SET PASSWORD FOR seen = 'hush'",
            "SET PASSWORD FOR 'seen'@'%' = 'hush' REPLACE 'hush'",
            "GRANT SELECT ON *.* TO 'seen' IDENTIFIED BY 'hush'",
            "CHANGE REPLICATION SOURCE TO SOURCE_PORT=3, SOURCE_PASSWORD='hush'",
            "CHANGE MASTER TO MASTER_PASSWORD='hush'",
            "START REPLICA USER='a' PASSWORD='hush'",
            "CREATE SERVER seen FOREIGN DATA WRAPPER mysql OPTIONS (USER 'seen', PASSWORD 'hush')",
            "CLONE INSTANCE FROM 'seen'@'seen':3306 IDENTIFIED BY 'hush'",
            "/*!80000 CREATE USER seen IDENTIFIED BY 'hush' */",
            "CREATE USER seen /*!80000 IDENTIFIED BY 'hush' */",
            "CREATE USER seen /*!99999 IDENTIFIED BY 'hush' */",
            "CREATE USER seen IDENTIFIED /* 'hush' */ BY 'hush' -- hush",
            "/* CREATE USER a IDENTIFIED BY 'hush' */",
            "CREATE USER seen IDENTIFIED BY 'a' 'hush'",
            "PREPARE seen FROM 'ALTER USER a IDENTIFIED BY ''hush'''",
            "SET @seen = 'CREATE USER a IDENTIFIED BY ''hush'''",
            "SET @seen = CONCAT('CREATE USER a IDENTIFIED BY ''', 'hush', '''')",
            "SET STATEMENT max_error_count = 1 FOR SET @seen = 'CREATE USER a IDENTIFIED BY ''hush'''",
            "EXECUTE IMMEDIATE 'SET PASSWORD = ''hush'''",
            "SELECT 'seen'; CREATE USER a IDENTIFIED BY 'hush'; SELECT 'seen'",
            // What cannot be read.
            "CREATE USER a IDENTIFIED BY hush",
            "CREATE USER a IDENTIFED BY 'hush'",
            "ALTER USER a IDENTIFIED BY 'hush",
            "SET PASSWORD FOR = 'hush'",
            "SELECT 'seen'; CREATE USER a IDENTIFIED WITH BY 'hush'",
            "START REPLICA PASWORD='hush'",
        ];
        for text in statements {
            let shown = kept(text);
            assert!(!shown.contains("hush") && !shown.contains("68757368"), "{text}: {shown}");
            let withheld = shown.ends_with(WITHHELD);
            assert!(withheld || shown.contains("seen") || !text.contains("seen"), "{text}: {shown}");
        }
    }

    #[test]
    fn other_texts_are_kept_as_they_came() {
        for text in [
            "SELECT id FROM users WHERE password = 'x'",
            "SELECT /* of the user */ 'IDENTIFIED BY'",
            "UPDATE user SET password = MD5('x')",
            "CREATE USER a",
            "DROP USER 'a'@'b'",
            "SELEC * FROM user",
            "INSERT INTO t VALUES ('CREATE USER a')",
            "SET @a = 'user'",
            "GRANT SELECT ON *.* TO 'a'@'b' WITH GRANT OPTION",
            "",
        ] {
            assert_eq!(kept(text), text);
        }
    }

    #[test]
    fn what_is_kept_reads_well() {
        for (given, written) in [
            ("CREATE USER a@'%' IDENTIFIED BY 'x'", "CREATE USER a@'%' IDENTIFIED BY <secret>"),
            (
                "ALTER USER USER() IDENTIFIED BY \"new\" REPLACE 'old'",
                "ALTER USER USER() IDENTIFIED BY <secret> REPLACE <secret>",
            ),
            ("SET PASSWORD FOR a@b = 'x'", "SET PASSWORD FOR a@b = <secret>"),
            ("PREPARE s FROM 'ALTER USER a IDENTIFIED BY ''x'''", "PREPARE s FROM <secret>"),
            ("CREATE USER a IDENTIFIED /* 'y' */ BY 'x'", "CREATE USER a IDENTIFIED BY <secret>"),
        ] {
            assert_eq!(kept(given), written);
        }
        assert_eq!(KeptText::of("SELECT 'ä'".as_bytes(), LexMode::default()).first(9).to_string(), "SELECT '");
    }

    #[test]
    fn double_quotes_may_be_names() {
        let ansi = LexMode { ansi_quotes: true, ..LexMode::default() };
        let shown = KeptText::of(b"CREATE USER a IDENTIFIED BY \"hush\"", ansi).to_string();
        assert!(!shown.contains("hush"), "{shown}");
    }
}
