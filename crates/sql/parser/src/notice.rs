//! Syntax that MySQL still takes and warns of.

/// A deprecated construct of the text. The server gives each its number and its words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notice {
    /// `INT(11)`
    IntegerWidth,
    /// `ZEROFILL`
    Zerofill,
    /// `DECIMAL UNSIGNED`, `FLOAT UNSIGNED`
    UnsignedReal,
    /// `FLOAT(7,4)`
    RealDigits,
    /// `CHAR BINARY`
    BinaryAttribute,
    /// `BINARY 'a'`, the operator
    BinaryOperator,
    /// `VALUES(a)` of ON DUPLICATE KEY UPDATE
    ValuesFunction,
    /// `VALUES(a)` elsewhere: always NULL
    ValuesElsewhere,
    /// `CHAR ASCII`, `CHAR UNICODE`: the word
    CharsetAttribute(&'static str),
    /// `NCHAR` and its kin
    National,
    /// `utf8` as the name of a character set
    Utf8,
    /// The name of another character set that is to go
    OldCharset(&'static str),
    /// A collation of such a one: the character set, and what stands behind it and `_`
    OldCollation(&'static str, &'static str),
    /// `SQL_CALC_FOUND_ROWS`
    CalcFoundRows,
    /// `FOUND_ROWS()`
    FoundRows,
    /// `@a := 1`
    AssignInExpression,
    /// `&&`
    AmpAmp,
    /// `||` as OR
    PipePipe,
    /// `!`
    Bang,
    /// INTO within an operand of a set operation
    InnerInto,
    /// `SQL_NO_CACHE`
    NoCache,
    /// `YEAR(4)`
    YearWidth,
    /// `INSERT DELAYED`, `REPLACE DELAYED`: the statement.
    Delayed(&'static str),
}

/// Notices of one text at most: MySQL's diagnostics area keeps 1024 by default.
const MOST: usize = 1024;

/// Character sets that are to go.
const OLD_CHARSETS: &[&str] = &["utf8mb3", "ucs2", "macroman", "macce", "dec8", "hp8"];
/// What names of their collations end with.
const COLLATIONS: &[&str] = &[
    "general_ci",
    "bin",
    "unicode_ci",
    "unicode_520_ci",
    "general_mysql500_ci",
    "tolower_ci",
    "croatian_ci",
    "czech_ci",
    "danish_ci",
    "english_ci",
    "esperanto_ci",
    "estonian_ci",
    "german2_ci",
    "hungarian_ci",
    "icelandic_ci",
    "latvian_ci",
    "lithuanian_ci",
    "persian_ci",
    "polish_ci",
    "roman_ci",
    "romanian_ci",
    "sinhala_ci",
    "slovak_ci",
    "slovenian_ci",
    "spanish2_ci",
    "spanish_ci",
    "swedish_ci",
    "turkish_ci",
    "vietnamese_ci",
];

impl Notice {
    /// Of a character set that is to go.
    pub fn of_charset(name: &str) -> Option<Notice> {
        if name.eq_ignore_ascii_case("utf8") {
            return Some(Notice::Utf8);
        }
        OLD_CHARSETS.iter().find(|old| old.eq_ignore_ascii_case(name)).map(|old| Notice::OldCharset(old))
    }

    /// Of a collation of such a one.
    pub fn of_collation(name: &str) -> Option<Notice> {
        let lower = name.to_ascii_lowercase();
        let (charset, rest) = lower.split_once('_')?;
        let charset = if charset == "utf8" { "utf8mb3" } else { charset };
        let old = OLD_CHARSETS.iter().find(|old| **old == charset)?;
        COLLATIONS.iter().find(|end| **end == rest).map(|rest| Notice::OldCollation(old, rest))
    }
}

impl super::parser::Parser<'_> {
    /// Notes a deprecated construct.
    #[cold]
    pub(crate) fn notice(&mut self, notice: Notice) {
        if self.notices.len() < MOST {
            self.notices.push(notice);
        }
    }

    /// Notes the names of the character sets that are to go.
    pub(crate) fn notice_charset(&mut self, name: &str) {
        Notice::of_charset(name).into_iter().for_each(|n| self.notice(n));
    }

    /// Notes their collations.
    pub(crate) fn notice_collation(&mut self, name: &str) {
        Notice::of_collation(name).into_iter().for_each(|n| self.notice(n));
    }
}
