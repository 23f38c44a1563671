//! Identifiers: comparison, limits, quoting.
//!
//! As MySQL on Linux (`lower_case_table_names` = 0): schema and table names are compared byte by byte, names of
//! columns, indexes, aliases and everything else ignore case.

pub use gannet_types::quote_text;
use gannet_types::{ErrorCode, Result, SqlError};
use std::borrow::Cow;

/// Characters of the longest identifier.
pub const MAX_IDENTIFIER_CHARS: usize = 64;
/// Characters of the longest alias.
pub const MAX_ALIAS_CHARS: usize = 256;

/// Folds an identifier whose case does not matter.
pub fn fold_name(name: &str) -> Cow<'_, str> {
    if name.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase()) {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(name.to_lowercase())
    }
}

/// The names are equal whatever their case.
#[inline]
pub fn eq_name(a: &str, b: &str) -> bool {
    a == b || if a.is_ascii() && b.is_ascii() { a.eq_ignore_ascii_case(b) } else { fold_name(a) == fold_name(b) }
}

/// `information_schema` and `performance_schema` are found in any case, as in MySQL.
pub fn canonical_schema(name: &str) -> Cow<'_, str> {
    for system in ["information_schema", "performance_schema"] {
        if name.eq_ignore_ascii_case(system) {
            return Cow::Borrowed(system);
        }
    }
    Cow::Borrowed(name)
}

fn check(name: &str, wrong: ErrorCode) -> Result<()> {
    if name.chars().count() > MAX_IDENTIFIER_CHARS {
        return Err(SqlError::new(ErrorCode::TooLongIdent, &[&name]));
    }
    if name.is_empty() || ends_with_space(name) || name.contains(['\0', '\u{FFFF}']) {
        return Err(SqlError::new(wrong, &[&name]));
    }
    Ok(())
}

/// The last character is white space, which no name of an object may end with.
pub fn ends_with_space(name: &str) -> bool {
    name.ends_with([' ', '\t', '\n', '\x0B', '\x0C', '\r'])
}

/// The error of a schema that is not there: 1059 or 1102 when none can have the name, else 1049.
pub fn missing_schema(name: &str) -> SqlError {
    check_schema_name(name).err().unwrap_or_else(|| SqlError::new(ErrorCode::BadDb, &[&name]))
}

/// Errors 1059 and 1102.
pub fn check_schema_name(name: &str) -> Result<()> {
    check(name, ErrorCode::WrongDbName)
}

/// Errors 1059 and 1103.
pub fn check_table_name(name: &str) -> Result<()> {
    check(name, ErrorCode::WrongTableName)
}

/// Errors 1059, 1103 and 1102 of a table's name with that of its database, where it is given.
pub fn check_full_name(schema: Option<&str>, name: &str) -> Result<()> {
    check_table_name(name)?;
    schema.map_or(Ok(()), check_schema_name)
}

/// Errors 1059 and 1166.
pub fn check_column_name(name: &str) -> Result<()> {
    check(name, ErrorCode::WrongColumnName)
}

/// Error 1059, of names of foreign keys and checks.
pub fn check_constraint_name(name: &str) -> Result<()> {
    if name.chars().count() > MAX_IDENTIFIER_CHARS {
        return Err(SqlError::new(ErrorCode::TooLongIdent, &[&name]));
    }
    Ok(())
}

/// Errors 1059 and 1280.
pub fn check_index_name(name: &str) -> Result<()> {
    check(name, ErrorCode::WrongNameForIndex)
}

/// Errors 1059 and 1458, of names of routines, triggers and events.
pub fn check_routine_name(name: &str) -> Result<()> {
    check(name, ErrorCode::SpWrongName)
}

/// Appends an identifier between `quote`s (a backtick, or a double quote under ANSI_QUOTES), doubling those inside.
pub fn quote_identifier(out: &mut String, name: &str, quote: char) {
    out.push(quote);
    for c in name.chars() {
        if c == quote {
            out.push(c);
        }
        out.push(c);
    }
    out.push(quote);
}
