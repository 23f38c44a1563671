//! What decides how a full-text index takes texts apart: variables at the time of its definition.

use super::DdlContext;
use gannet_parser::ast::{IndexDef, IndexOption, KeySource};
use gannet_schema::Method;
use gannet_text::{Definition, Stopwords, Tokens};
use gannet_types::{ErrorCode, Result, SqlError, Value, sql_err};

/// The method of a full-text key. The collation is its columns', which the definition of the table tells.
pub(super) fn method(index: &IndexDef, cx: &mut DdlContext<'_>) -> Result<Method> {
    if index.parts.iter().any(|p| matches!(p.source, KeySource::Expr(_))) {
        return Err(sql_err!(FulltextFunctionalIndex));
    }
    let mut parser = None;
    for option in &index.options {
        if let IndexOption::WithParser(name) = option {
            parser = Some(name);
        }
    }
    let mut definition = Definition::new(cx.collation);
    definition.tokens = match parser {
        None => {
            Tokens::Words { min: number("innodb_ft_min_token_size", cx)?, max: number("innodb_ft_max_token_size", cx)? }
        }
        Some(name) if name.text.eq_ignore_ascii_case("ngram") => {
            Tokens::Ngrams { size: number("ngram_token_size", cx)?.max(1) }
        }
        Some(name) => return Err(sql_err!(CantFindFunction, name.text)),
    };
    if number("innodb_ft_enable_stopword", cx)? == 0 {
        definition.stopwords = Stopwords::None;
    } else {
        for (global, variable) in [(false, "innodb_ft_user_stopword_table"), (true, "innodb_ft_server_stopword_table")]
        {
            if let Value::Str(table, _) = cx.session.system_variable(global, variable)?
                && !table.is_empty()
            {
                match cx.session.stopwords(&String::from_utf8_lossy(&table)) {
                    Ok(words) => definition.stopwords = Stopwords::Own(words.into()),
                    // The table has gone since the variable was set: InnoDB takes the list of its own then.
                    Err(e) if e.code() == ErrorCode::WrongValueForVar => {}
                    Err(e) => return Err(e),
                }
                break;
            }
        }
    }
    Ok(Method::full_text(definition))
}

fn number(variable: &str, cx: &mut DdlContext<'_>) -> Result<u8> {
    let value = match cx.session.system_variable(false, variable)? {
        Value::Int(n) => u8::try_from(n).ok(),
        Value::UInt(n) => u8::try_from(n).ok(),
        _ => None,
    };
    value.ok_or_else(|| SqlError::internal(format_args!("{variable} is no small number")))
}
