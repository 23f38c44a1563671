//! What the session and the server are.

use crate::{
    def::{ArgInfo, Call, EvalContext, FunctionDef, RuleContext, Stability},
    rules,
};
use gannet_types::{CollationId, Result, SqlType, Value};

const IDENTIFIER_CHARS: u32 = 64;
/// A name of 32 characters, `@`, a host of 255.
const ACCOUNT_CHARS: u32 = 288;
/// The server may be given a version of its own, of so many characters at most.
const VERSION_CHARS: u32 = 60;

/// Text of so many characters in the system's collation.
fn name_rule<const CHARS: u32>(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType::varchar(CHARS, CollationId::UTF8MB3_GENERAL_CI))
}

fn version_rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType::varchar(VERSION_CHARS, CollationId::UTF8MB3_GENERAL_CI).not_null())
}

fn name(text: &str) -> Value {
    Value::Str(text.into(), CollationId::UTF8MB3_GENERAL_CI)
}

fn database(cx: &mut EvalContext<'_>, _: Call<'_>, _: &[Value]) -> Result<Value> {
    Ok(cx.session.database().map_or(Value::Null, name))
}

fn user(cx: &mut EvalContext<'_>, _: Call<'_>, _: &[Value]) -> Result<Value> {
    Ok(name(cx.session.user()))
}

fn current_user(cx: &mut EvalContext<'_>, _: Call<'_>, _: &[Value]) -> Result<Value> {
    Ok(name(cx.session.current_user()))
}

fn version(cx: &mut EvalContext<'_>, _: Call<'_>, _: &[Value]) -> Result<Value> {
    Ok(name(cx.session.version()))
}

fn connection_id(cx: &mut EvalContext<'_>, _: Call<'_>, _: &[Value]) -> Result<Value> {
    Ok(Value::UInt(cx.session.connection_id()))
}

fn last_insert_id(cx: &mut EvalContext<'_>, _: Call<'_>, args: &[Value]) -> Result<Value> {
    match args.first() {
        None => Ok(Value::UInt(cx.session.last_insert_id())),
        Some(Value::Null) => {
            cx.session.set_last_insert_id(0);
            Ok(Value::Null)
        }
        Some(value) => {
            let id = rules::int_arg(cx, value)? as u64;
            cx.session.set_last_insert_id(id);
            Ok(Value::UInt(id))
        }
    }
}

fn row_count(cx: &mut EvalContext<'_>, _: Call<'_>, _: &[Value]) -> Result<Value> {
    Ok(Value::Int(cx.session.row_count()))
}

fn found_rows(cx: &mut EvalContext<'_>, _: Call<'_>, _: &[Value]) -> Result<Value> {
    Ok(Value::Int(cx.session.found_rows() as i64))
}

pub(crate) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("DATABASE", 0, 0, name_rule::<IDENTIFIER_CHARS>, database, "The default database.")
        .also(&["SCHEMA"])
        .any_text()
        .is(Stability::Statement),
    FunctionDef::new("USER", 0, 0, name_rule::<ACCOUNT_CHARS>, user, "User name and host as the client gave them.")
        .also(&["SESSION_USER", "SYSTEM_USER"])
        .any_text()
        .is(Stability::Statement),
    FunctionDef::new("CURRENT_USER", 0, 0, name_rule::<ACCOUNT_CHARS>, current_user, "The account in use.")
        .any_text()
        .is(Stability::Statement),
    FunctionDef::new("VERSION", 0, 0, version_rule, version, "The server's version.").is(Stability::Statement),
    FunctionDef::new("CONNECTION_ID", 0, 0, rules::uint, connection_id, "The connection's number.")
        .is(Stability::Statement),
    FunctionDef::new(
        "LAST_INSERT_ID",
        0,
        1,
        rules::uint,
        last_insert_id,
        "The first AUTO_INCREMENT value of the last INSERT; with an argument: sets it.",
    )
    .numbers_at(&[0])
    .sees_null()
    .is(Stability::Effect),
    FunctionDef::new("ROW_COUNT", 0, 0, rules::int, row_count, "Rows changed by the statement before.")
        .is(Stability::Statement),
    FunctionDef::new(
        "FOUND_ROWS",
        0,
        0,
        rules::int,
        found_rows,
        "Rows the SELECT before would have had without LIMIT.",
    )
    .is(Stability::Statement),
];
