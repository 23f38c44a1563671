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
    /// `utf8mb3` as the name of a character set
    Utf8mb3,
    /// `ucs2` as the name of a character set
    Ucs2,
    /// A collation of utf8mb3
    Utf8mb3Collation(&'static str),
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

/// Collations of utf8mb3 that are worth naming.
const UTF8MB3: &[&str] = &["utf8mb3_general_ci", "utf8mb3_bin", "utf8mb3_unicode_ci", "utf8mb3_unicode_520_ci"];

impl super::parser::Parser<'_> {
    /// Notes a deprecated construct.
    #[cold]
    pub(crate) fn notice(&mut self, notice: Notice) {
        if self.notices.len() < MOST {
            self.notices.push(notice);
        }
    }

    /// Notes the names of the character set that is to go.
    pub(crate) fn notice_charset(&mut self, name: &str) {
        if name.eq_ignore_ascii_case("utf8") {
            self.notice(Notice::Utf8);
        } else if name.eq_ignore_ascii_case("utf8mb3") {
            self.notice(Notice::Utf8mb3);
        } else if name.eq_ignore_ascii_case("ucs2") {
            self.notice(Notice::Ucs2);
        }
    }

    /// Notes its collations.
    pub(crate) fn notice_collation(&mut self, name: &str) {
        let lower = name.to_ascii_lowercase();
        let Some(rest) = lower.strip_prefix("utf8mb3_").or_else(|| lower.strip_prefix("utf8_")) else { return };
        if let Some(known) = UTF8MB3.iter().find(|c| c.strip_prefix("utf8mb3_") == Some(rest)) {
            self.notice(Notice::Utf8mb3Collation(known));
        }
    }
}
