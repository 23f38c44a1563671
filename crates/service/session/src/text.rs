//! The text of statements: how it is read, and how logs show it.

use super::Session;
use gannet_core::vars::Live;
use gannet_parser::{ErrorKind, LexMode, ParseError};
use gannet_schema::show::ShowOptions;
use gannet_types::{ErrorCode, SqlError, SqlMode, sql_err};

/// Characters of a statement's digest text in the log.
const MAX_LOGGED: usize = 2048;

/// The bits of `sql_mode` which the lexer needs.
pub fn lex_mode(mode: SqlMode) -> LexMode {
    LexMode {
        ansi_quotes: mode.contains(SqlMode::ANSI_QUOTES),
        pipes_as_concat: mode.contains(SqlMode::PIPES_AS_CONCAT),
        no_backslash_escapes: mode.contains(SqlMode::NO_BACKSLASH_ESCAPES),
        ignore_space: mode.contains(SqlMode::IGNORE_SPACE),
        high_not_precedence: mode.contains(SqlMode::HIGH_NOT_PRECEDENCE),
    }
}

/// A parser's error as the client sees it.
pub fn parse_error(e: ParseError) -> SqlError {
    match e.kind {
        ErrorKind::Syntax => SqlError::with_message(ErrorCode::Parse, e.to_string()),
        ErrorKind::Empty => sql_err!(EmptyQuery),
        ErrorKind::TooDeep => SqlError::with_message(ErrorCode::StackOverrunNeedMore, e.to_string()),
        ErrorKind::MisplacedInto => sql_err!(MisplacedInto),
        ErrorKind::MultipleInto => sql_err!(MultipleIntoClauses),
        ErrorKind::Supplementary => sql_err!(InvalidCharacterString, "utf8mb3", e.near),
        ErrorKind::InvalidUtf8 => sql_err!(InvalidCharacterString, "utf8mb4", e.near),
        ErrorKind::TooManyParams => sql_err!(PsManyParam),
        ErrorKind::Stopped => sql_err!(QueryInterrupted),
        _ => SqlError::with_message(ErrorCode::Parse, e.to_string()),
    }
}

/// A statement as the error log shows it: its digest text, and its digest.
pub fn in_log(statement: &[u8], mode: gannet_parser::LexMode) -> String {
    let digest = gannet_parser::digest::digest(statement, mode);
    let text: String = digest.text.chars().take(MAX_LOGGED).collect();
    format!("its statement: {text} (digest {})", shown_digest(&digest.text))
}

/// The digest of a normalised text as it is shown everywhere, 64 hexadecimal digits: STATEMENT_DIGEST() of the
/// statement.
pub fn shown_digest(normal: &str) -> String {
    gannet_functions::sha256_hex(normal.as_bytes())
}

/// How SHOW CREATE quotes names in the session.
pub(crate) fn show_options(session: &Session) -> ShowOptions {
    quoted_by(session, session.settings.exec.sql_mode)
}

/// The options of another `sql_mode` than the session's: a program is shown with the quotes of its own.
pub(crate) fn quoted_by(session: &Session, mode: SqlMode) -> ShowOptions {
    ShowOptions {
        quote: if mode.contains(SqlMode::ANSI_QUOTES) { '"' } else { '`' },
        standard: mode.contains(SqlMode::ANSI),
        is_keyword: |word| gannet_parser::keyword::lookup(word.as_bytes()) != gannet_parser::keyword::Kw::NoKeyword,
        always_quote: session.state.vars[Live::SqlQuoteShowCreate].as_bool(),
        without_generated_key: !session.state.vars[Live::ShowGipk].as_bool(),
        ..ShowOptions::default()
    }
}
