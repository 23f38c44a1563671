//! MySQL's errors: numbers, SQLSTATEs, message formats, and the error value that SQL code passes around.
//!
//! `codes.rs` holds the one table. `sql_err!(NoSuchTable, db, table)` builds an error from it.

macro_rules! errors {
    ($($number:literal $state:literal $name:ident $format:literal;)*) => {
        /// A MySQL error. The variant is MySQL's symbol `ER_...` in camel case.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum ErrorCode {
            $(#[doc = concat!("`", $format, "`")] $name = $number,)*
        }

        impl ErrorCode {
            /// All rows, by number.
            pub const ALL: &'static [ErrorCode] = &[$(ErrorCode::$name),*];
            pub(super) const STATES: &'static [[u8; 5]] = &[$(state($state)),*];
            pub(super) const FORMATS: &'static [&'static str] = &[$($format),*];
        }
    };
}

const fn state(text: &str) -> [u8; 5] {
    let b = text.as_bytes();
    assert!(b.len() == 5, "an SQLSTATE has five characters");
    [b[0], b[1], b[2], b[3], b[4]]
}

mod codes;

pub use codes::ErrorCode;
use std::fmt::{self, Display, Write};

impl ErrorCode {
    pub fn number(self) -> u16 {
        self as u16
    }

    /// The row of a MySQL error number, if the table has it.
    pub fn from_number(number: u16) -> Option<ErrorCode> {
        let i = Self::ALL.binary_search_by_key(&number, |c| c.number()).ok()?;
        Some(Self::ALL[i])
    }

    fn row(self) -> usize {
        Self::ALL.binary_search(&self).unwrap_or(0)
    }

    pub fn sqlstate(self) -> [u8; 5] {
        Self::STATES[self.row()]
    }

    /// Message format, `{}` for each argument.
    pub fn format(self) -> &'static str {
        Self::FORMATS[self.row()]
    }
}

/// Result of SQL-level code.
pub type Result<T, E = SqlError> = std::result::Result<T, E>;

/// An error as a client sees it: number, SQLSTATE and text. One pointer wide, so that `Result`s stay small.
#[derive(Clone, PartialEq, Eq)]
pub struct SqlError(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    code: ErrorCode,
    number: u16,
    sqlstate: [u8; 5],
    message: Box<str>,
    items: Option<Box<Items>>,
}

/// Condition items beyond number, SQLSTATE and message, as SIGNAL and RESIGNAL set them: CLASS_ORIGIN and so on, by
/// [`Items::NAMES`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Items(pub [Option<Box<str>>; Items::NAMES.len()]);

impl Items {
    /// The names of the items, in upper case.
    pub const NAMES: [&'static str; 10] = [
        "CLASS_ORIGIN",
        "SUBCLASS_ORIGIN",
        "CONSTRAINT_CATALOG",
        "CONSTRAINT_SCHEMA",
        "CONSTRAINT_NAME",
        "CATALOG_NAME",
        "SCHEMA_NAME",
        "TABLE_NAME",
        "COLUMN_NAME",
        "CURSOR_NAME",
    ];
}

impl SqlError {
    /// Fills the message format of `code` with `args`, in order. Missing arguments print as nothing; extra ones are
    /// dropped.
    #[cold]
    pub fn new(code: ErrorCode, args: &[&dyn Display]) -> SqlError {
        SqlError::with_message(code, fill(code.format(), args))
    }

    /// An error of `code` whose text is not the table's (texts that a client sends, texts of sub-cases).
    #[cold]
    pub fn with_message(code: ErrorCode, message: impl Into<Box<str>>) -> SqlError {
        SqlError(Box::new(Inner {
            code,
            number: code.number(),
            sqlstate: code.sqlstate(),
            message: message.into(),
            items: None,
        }))
    }

    /// An error of `SIGNAL`/`RESIGNAL`: any number, any SQLSTATE.
    #[cold]
    pub fn signal(number: u16, sqlstate: [u8; 5], message: impl Into<Box<str>>) -> SqlError {
        let code = ErrorCode::from_number(number).unwrap_or(ErrorCode::SignalException);
        SqlError(Box::new(Inner { code, number, sqlstate, message: message.into(), items: None }))
    }

    /// Its condition items.
    pub fn items(&self) -> Items {
        self.0.items.as_deref().cloned().unwrap_or_default()
    }

    /// The same with condition items.
    #[must_use]
    pub fn with_items(mut self, items: Items) -> SqlError {
        self.0.items = Some(Box::new(items)).filter(|i| i.0.iter().any(Option::is_some));
        self
    }

    /// The error that a condition of an area stands for.
    #[cold]
    pub fn of_condition(warning: &Warning) -> SqlError {
        let (number, sqlstate, items) = match warning.signalled.as_deref() {
            Some(s) => (s.number, s.sqlstate, Some(Box::new(s.items.clone()))),
            None => (warning.code.number(), warning.code.sqlstate(), None),
        };
        SqlError(Box::new(Inner { code: warning.code, number, sqlstate, message: warning.message.clone(), items }))
    }

    /// Error 1235 naming what is not there yet.
    #[cold]
    pub fn unsupported(what: impl Display) -> SqlError {
        SqlError::new(ErrorCode::NotSupportedYet, &[&what])
    }

    /// Error 1815, for states that should not be reachable; the text says which.
    #[cold]
    pub fn internal(what: impl Display) -> SqlError {
        SqlError::new(ErrorCode::InternalError, &[&what])
    }

    pub fn code(&self) -> ErrorCode {
        self.0.code
    }

    pub fn number(&self) -> u16 {
        self.0.number
    }

    pub fn sqlstate(&self) -> [u8; 5] {
        self.0.sqlstate
    }

    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The same condition as a diagnostics-area entry.
    pub fn to_warning(&self, level: Level) -> Warning {
        let own = self.0.number != self.0.code.number() || self.0.sqlstate != self.0.code.sqlstate();
        let signalled = (own || self.0.items.is_some()).then(|| {
            let items = self.0.items.as_deref().cloned().unwrap_or_default();
            Box::new(Signalled { number: self.0.number, sqlstate: self.0.sqlstate, items })
        });
        Warning { level, code: self.0.code, message: self.0.message.clone(), signalled }
    }
}

impl Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = String::from_utf8_lossy(&self.0.sqlstate);
        write!(f, "ERROR {} ({state}): {}", self.number(), self.message())
    }
}

impl fmt::Debug for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

impl std::error::Error for SqlError {}

/// Replaces each `{}` of `format` by the next argument.
fn fill(format: &str, args: &[&dyn Display]) -> String {
    let mut out = String::with_capacity(format.len() + 32);
    let mut args = args.iter();
    let mut rest = format;
    while let Some(at) = rest.find("{}") {
        out.push_str(&rest[..at]);
        if let Some(arg) = args.next() {
            let _ = write!(out, "{arg}");
        }
        rest = &rest[at + 2..];
    }
    out.push_str(rest);
    out
}

/// `sql_err!(BadField, column, place)`: a [`SqlError`] of the named code with its arguments.
#[macro_export]
macro_rules! sql_err {
    ($code:ident $(, $arg:expr)* $(,)?) => {
        $crate::error::SqlError::new($crate::error::ErrorCode::$code, &[$(&$arg as &dyn ::std::fmt::Display),*])
    };
}

/// Error 1436 with what is left of the stack.
#[cold]
pub(crate) fn stack_overrun(left: usize) -> SqlError {
    sql_err!(StackOverrunNeedMore, crate::STACK_RESERVE, left, crate::STACK_RESERVE)
}

/// Level of a diagnostics-area entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    Note,
    Warning,
    Error,
}

impl Level {
    /// The text of `SHOW WARNINGS`, column Level.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Note => "Note",
            Level::Warning => "Warning",
            Level::Error => "Error",
        }
    }
}

/// One row of `SHOW WARNINGS`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    pub level: Level,
    pub code: ErrorCode,
    pub message: Box<str>,
    /// What SIGNAL said of it beyond the code.
    pub signalled: Option<Box<Signalled>>,
}

/// What SIGNAL says of a condition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signalled {
    pub number: u16,
    pub sqlstate: [u8; 5],
    pub items: Items,
}

impl Warning {
    /// Its error number.
    pub fn number(&self) -> u16 {
        self.signalled.as_ref().map_or(self.code.number(), |s| s.number)
    }

    /// Its SQLSTATE.
    pub fn sqlstate(&self) -> [u8; 5] {
        self.signalled.as_ref().map_or(self.code.sqlstate(), |s| s.sqlstate)
    }

    /// A condition of level and code with a text of its own.
    pub fn with_message(level: Level, code: ErrorCode, message: impl Into<Box<str>>) -> Warning {
        Warning { level, code, message: message.into(), signalled: None }
    }

    pub fn new(level: Level, code: ErrorCode, args: &[&dyn Display]) -> Warning {
        Warning::with_message(level, code, fill(code.format(), args))
    }
}

/// A statement's diagnostics area: all conditions are counted, the first `limit` are kept (`max_error_count`).
#[derive(Clone, Debug)]
pub struct Warnings {
    list: Vec<Warning>,
    total: u64,
    errors: u64,
    /// How many of `total` an earlier statement left.
    kept: u64,
    limit: usize,
}

/// A place among the warnings of a statement.
#[derive(Clone, Copy, Debug)]
pub struct WarningMark {
    listed: usize,
    total: u64,
    errors: u64,
}

impl WarningMark {
    /// [`Warnings::total`] there.
    pub fn total(&self) -> u64 {
        self.total
    }
}

impl Default for Warnings {
    fn default() -> Self {
        Warnings::with_limit(1024)
    }
}

impl Warnings {
    pub fn with_limit(limit: usize) -> Warnings {
        Warnings { list: Vec::new(), total: 0, errors: 0, kept: 0, limit }
    }

    /// An empty area with the same limit.
    pub fn like(&self) -> Warnings {
        Warnings::with_limit(self.limit)
    }

    /// Moves all of another area to the end of this one.
    pub fn append(&mut self, other: &mut Warnings) {
        let room = self.limit.saturating_sub(self.list.len());
        self.list.extend(other.list.drain(..).take(room));
        self.total += std::mem::take(&mut other.total);
        self.errors += std::mem::take(&mut other.errors);
        other.kept = 0;
    }

    pub fn push(&mut self, warning: Warning) {
        self.total += 1;
        self.errors += u64::from(warning.level == Level::Error);
        if self.list.len() < self.limit {
            self.list.push(warning);
        }
    }

    /// Adds a condition of level Warning. The text is built only if it is kept.
    pub fn warn(&mut self, code: ErrorCode, args: &[&dyn Display]) {
        if self.list.len() < self.limit {
            self.push(Warning::new(Level::Warning, code, args));
        } else {
            self.total += 1;
        }
    }

    pub fn note(&mut self, code: ErrorCode, args: &[&dyn Display]) {
        if self.list.len() < self.limit {
            self.push(Warning::new(Level::Note, code, args));
        } else {
            self.total += 1;
        }
    }

    /// Gives the last kept condition another code and text.
    pub(crate) fn replace_last(&mut self, code: ErrorCode, args: &[&dyn Display]) {
        if let Some(last) = self.list.last_mut() {
            *last = Warning::new(last.level, code, args);
        }
    }

    /// Where [`Warnings::back_to`] may return to.
    pub fn mark(&self) -> WarningMark {
        WarningMark { listed: self.list.len(), total: self.total, errors: self.errors }
    }

    /// Forgets what was warned of since, of an attempt that is made again.
    pub fn back_to(&mut self, mark: WarningMark) {
        self.list.truncate(mark.listed);
        (self.total, self.errors) = (mark.total, mark.errors);
    }

    /// Another condition in place of each kept one since that `f` has one for.
    pub fn replace_since(&mut self, mark: WarningMark, f: impl Fn(&Warning) -> Option<Warning>) {
        for kept in self.list.iter_mut().skip(mark.listed) {
            if let Some(other) = f(kept) {
                *kept = other;
            }
        }
    }

    /// Takes out what was warned of since.
    pub fn take_since(&mut self, mark: WarningMark) -> Warnings {
        let mut taken = self.like();
        taken.list = self.list.split_off(mark.listed.min(self.list.len()));
        taken.total = self.total - mark.total;
        taken.errors = self.errors - mark.errors;
        self.back_to(mark);
        taken
    }

    pub fn clear(&mut self) {
        self.list.clear();
        self.total = 0;
        self.errors = 0;
        self.kept = 0;
    }

    /// A statement begins that shows the conditions of the one before: they are not its own.
    pub fn keep(&mut self) {
        self.kept = self.total;
    }

    /// The statement has raised something: the conditions of the one before go.
    pub fn forget_kept(&mut self) {
        let raised = self.raised();
        self.forget_first(usize::try_from(self.kept).unwrap_or(usize::MAX));
        (self.total, self.kept) = (raised, 0);
    }

    /// They are the statement's own after all: what a program has left is its CALL's.
    pub fn own(&mut self) {
        self.kept = 0;
    }

    /// Conditions that the statement raised itself, kept or not: what the end of its answer tells.
    pub fn raised(&self) -> u64 {
        self.total - self.kept
    }

    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Forgets a condition: of equal ones the last.
    pub fn remove_last(&mut self, gone: &Warning) {
        if let Some(at) = self.list.iter().rposition(|w| w == gone) {
            self.list.remove(at);
            self.total -= 1;
            self.errors -= u64::from(gone.level == Level::Error);
            self.kept = self.kept.min(self.total);
        }
    }

    /// Forgets the first `n` kept conditions, which belong to a handler that has ended.
    pub fn forget_first(&mut self, n: usize) {
        for gone in self.list.drain(..n.min(self.list.len())) {
            self.total -= 1;
            self.errors -= u64::from(gone.level == Level::Error);
        }
        self.kept = self.kept.min(self.total);
    }

    /// All conditions since the last `clear`, kept or not (`@@warning_count`).
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Conditions of level Error (`@@error_count`).
    pub fn errors(&self) -> u64 {
        self.errors
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Warning> {
        self.list.iter()
    }

    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Takes the kept conditions and forgets the counts.
    pub fn take(&mut self) -> Vec<Warning> {
        self.total = 0;
        self.errors = 0;
        self.kept = 0;
        std::mem::take(&mut self.list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_fill_in_order() {
        let e = sql_err!(NoSuchTable, "db", "t");
        assert_eq!(e.number(), 1146);
        assert_eq!(&e.sqlstate(), b"42S02");
        assert_eq!(e.message(), "Table 'db.t' doesn't exist");
        assert_eq!(std::mem::size_of::<SqlError>(), 8);
        assert_eq!(sql_err!(NoSuchTable, "db").message(), "Table 'db.' doesn't exist");
    }

    #[test]
    fn table_is_sorted_and_well_formed() {
        let mut last = 0;
        for code in ErrorCode::ALL {
            assert!(code.number() > last, "{code:?} out of order");
            last = code.number();
            assert!(code.sqlstate().iter().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase()));
            assert_eq!(ErrorCode::from_number(code.number()), Some(*code));
        }
        assert_eq!(ErrorCode::from_number(999), None);
    }

    #[test]
    fn warnings_are_bounded() {
        let mut w = Warnings::with_limit(2);
        for _ in 0..5 {
            w.warn(ErrorCode::DivisionByZero, &[]);
        }
        assert_eq!((w.iter().count(), w.total(), w.errors()), (2, 5, 0));
    }
}
