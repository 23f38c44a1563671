//! The words for syntax that is still taken, but deprecated.

use gannet_parser::Notice;
use gannet_types::error::Warning;
use gannet_types::{ErrorCode, Level};

/// A deprecated construct as SHOW WARNINGS shows it.
#[cold]
pub fn deprecation(notice: Notice) -> Warning {
    let instead = |old: &str, new: &str| Warning::new(Level::Warning, ErrorCode::WarnDeprecatedSyntax, &[&old, &new]);
    let say = |code: ErrorCode, what: &str, hint: &str| {
        let text = format!("{what} deprecated and will be removed in a future release.{hint}");
        Warning::with_message(Level::Warning, code, text)
    };
    let gone = ErrorCode::WarnDeprecatedSyntaxNoReplacement;
    match notice {
        Notice::IntegerWidth => say(gone, "Integer display width is", ""),
        Notice::Zerofill => say(
            gone,
            "The ZEROFILL attribute is",
            " Use the LPAD function to zero-pad numbers, or store the formatted numbers in a CHAR column.",
        ),
        Notice::UnsignedReal => Warning::with_message(
            Level::Warning,
            gone,
            "UNSIGNED for decimal and floating point data types is deprecated and support for it will be removed in a \
             future release.",
        ),
        Notice::RealDigits => say(gone, "Specifying number of digits for floating point data types is", ""),
        Notice::BinaryAttribute => {
            instead("BINARY as attribute of a type", "a CHARACTER SET clause with _bin collation")
        }
        Notice::BinaryOperator => instead("BINARY expr", "CAST"),
        Notice::ValuesFunction => instead(
            "VALUES function",
            "an alias (INSERT INTO ... VALUES (...) AS alias) and replace VALUES(col) in the ON DUPLICATE KEY UPDATE \
             clause with alias.col",
        ),
        Notice::ValuesElsewhere => Warning::new(Level::Warning, gone, &[&"VALUES function"]),
        Notice::CharsetAttribute(word) => instead(word, "CHARACTER SET charset_name"),
        Notice::National => Warning::new(Level::Warning, ErrorCode::DeprecatedNational, &[]),
        Notice::Utf8 => Warning::new(Level::Warning, ErrorCode::DeprecatedUtf8Alias, &[]),
        Notice::OldCharset(name) => instead(name, "utf8mb4"),
        Notice::OldCollation(charset, rest) => {
            let (code, old, new) = match charset {
                "utf8mb3" => (ErrorCode::DeprecatedNationalOrCollation, "UTF8MB3", "UTF8MB4"),
                _ => (ErrorCode::WarnDeprecatedCollation, charset, "utf8mb4"),
            };
            Warning::new(Level::Warning, code, &[&format!("{charset}_{rest}"), &old, &new])
        }
        Notice::CalcFoundRows => say(
            ErrorCode::WarnDeprecatedSyntax,
            "SQL_CALC_FOUND_ROWS is",
            " Consider using two separate queries instead.",
        ),
        Notice::FoundRows => {
            say(ErrorCode::WarnDeprecatedSyntax, "FOUND_ROWS() is", " Consider using COUNT(*) instead.")
        }
        Notice::AssignInExpression => say(
            ErrorCode::WarnDeprecatedSyntax,
            "Setting user variables within expressions is",
            " Consider alternatives: 'SET variable=expression, ...', or 'SELECT expression(s) INTO variables(s)'.",
        ),
        Notice::AmpAmp => instead("&&", "AND"),
        Notice::PipePipe => instead("|| as a synonym for OR", "OR"),
        Notice::Delayed(verb) => {
            let old = format!("{verb} DELAYED");
            Warning::new(Level::Warning, ErrorCode::WarnLegacySyntaxConverted, &[&old, &verb])
        }
        Notice::InnerInto => Warning::new(Level::Warning, ErrorCode::WarnDeprecatedInnerInto, &[]),
        Notice::Bang => instead("!", "NOT"),
        Notice::NoCache => Warning::new(Level::Warning, gone, &[&"SQL_NO_CACHE"]),
        Notice::YearWidth => instead("YEAR(4)", "YEAR"),
    }
}
