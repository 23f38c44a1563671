//! The sources that a channel may follow when its own is gone: asynchronous_connection_failover_...

use crate::{
    def::{ArgInfo, Call, EvalContext, FunctionDef, RuleContext, Stability},
    rules::string,
};
use gannet_types::{CollationId, Result, SqlError, SqlType, Value, sql_err};

/// Adds a source.
pub const ADD_SOURCE: &str = "ASYNCHRONOUS_CONNECTION_FAILOVER_ADD_SOURCE";
/// Removes it.
pub const DELETE_SOURCE: &str = "ASYNCHRONOUS_CONNECTION_FAILOVER_DELETE_SOURCE";
/// Removes all, of all channels.
pub const RESET: &str = "ASYNCHRONOUS_CONNECTION_FAILOVER_RESET";
const ADD_MANAGED: &str = "ASYNCHRONOUS_CONNECTION_FAILOVER_ADD_MANAGED";
const DELETE_MANAGED: &str = "ASYNCHRONOUS_CONNECTION_FAILOVER_DELETE_MANAGED";

/// What a source has that says nothing else.
const USUAL_WEIGHT: i64 = 50;

fn rule(_: RuleContext, _: &[ArgInfo<'_>]) -> Result<SqlType> {
    Ok(SqlType::varchar(255, CollationId::UTF8MB4_0900_AI_CI).not_null())
}

/// Error 1123: MySQL has these as loadable functions, which look at their arguments themselves.
fn wrong(name: &str, what: &str) -> SqlError {
    sql_err!(CantInitializeUdf, name.to_ascii_lowercase(), format_args!("Wrong arguments: {what}"))
}

/// The arguments that both have: channel, host, port and network namespace.
fn place(name: &str, args: &[Value]) -> Result<Vec<Value>> {
    let is_text = |i: usize| matches!(args.get(i), Some(Value::Str(..)));
    let is_empty = |i: usize| matches!(args.get(i), Some(Value::Str(text, _)) if text.as_bytes().is_empty());
    let port = args.get(2).and_then(integer).filter(|port| (1..=65_535).contains(port));
    match port {
        _ if !is_text(0) => Err(wrong(name, "You need to specify channel name.")),
        _ if !is_text(1) || is_empty(1) => Err(wrong(name, "You need to specify hostname.")),
        None => Err(wrong(name, "You need to specify value for port.")),
        Some(_) if args.len() > 3 && !is_text(3) => {
            Err(wrong(name, "You need to specify a string value for network_namespace."))
        }
        Some(port) => Ok(vec![args[0].clone(), args[1].clone(), Value::Int(port)]),
    }
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int(n) => Some(*n),
        Value::UInt(n) => i64::try_from(*n).ok(),
        _ => None,
    }
}

fn done(cx: &mut EvalContext<'_>, call: Call<'_>, name: &'static str, given: &[Value]) -> Result<Value> {
    cx.session.server_function(name, given)?;
    Ok(string(call, format!("The UDF {}() executed successfully.", name.to_ascii_lowercase()).as_bytes()))
}

/// What a namespace of the network is warned of, which MySQL does not keep here.
fn warn_of_namespace(cx: &mut EvalContext<'_>, args: &[Value]) {
    if matches!(args.get(3), Some(Value::Str(name, _)) if !name.as_bytes().is_empty()) {
        let warning = sql_err!(WarnAsyncConnFailoverNetworkNamespace);
        cx.warnings.push(warning.to_warning(gannet_types::Level::Warning));
    }
}

fn add_source(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    match args.len() {
        0..3 => return Err(wrong(ADD_SOURCE, "You need to specify all mandatory arguments.")),
        3..=5 => {}
        _ => return Err(wrong(ADD_SOURCE, "You must specify max 5 arguments.")),
    }
    let mut given = place(ADD_SOURCE, args)?;
    let weight = args.get(4).map_or(Some(USUAL_WEIGHT), integer).filter(|weight| (1..=100).contains(weight));
    let what = "The weight argument value should be integer value between 1-100.";
    given.push(Value::Int(weight.ok_or_else(|| wrong(ADD_SOURCE, what))?));
    let answer = done(cx, call, ADD_SOURCE, &given)?;
    warn_of_namespace(cx, args);
    Ok(answer)
}

fn delete_source(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    match args.len() {
        0..3 => return Err(wrong(DELETE_SOURCE, "You need to specify all mandatory arguments.")),
        3..=4 => {}
        _ => return Err(wrong(DELETE_SOURCE, "You must specify max 4 arguments.")),
    }
    let given = place(DELETE_SOURCE, args)?;
    let answer = done(cx, call, DELETE_SOURCE, &given)?;
    warn_of_namespace(cx, args);
    Ok(answer)
}

fn reset(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value> {
    if !args.is_empty() {
        return Err(wrong(RESET, "You must not specify any argument."));
    }
    done(cx, call, RESET, &[])
}

/// Of groups, which are not there.
fn managed(name: &str) -> SqlError {
    SqlError::unsupported(format_args!("{}: group replication", name.to_ascii_lowercase()))
}

fn add_managed(_: &mut EvalContext<'_>, _: Call<'_>, _: &[Value]) -> Result<Value> {
    Err(managed(ADD_MANAGED))
}

fn delete_managed(_: &mut EvalContext<'_>, _: Call<'_>, _: &[Value]) -> Result<Value> {
    Err(managed(DELETE_MANAGED))
}

/// The declarations.
pub const FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new(
        ADD_SOURCE,
        0,
        16,
        rule,
        add_source,
        "Adds a source, by channel, host, port, network namespace and weight, which the channel may follow when its own \
         is gone.",
    )
    .sees_null()
    .is(Stability::Effect),
    FunctionDef::new(DELETE_SOURCE, 0, 16, rule, delete_source, "Removes such a source again.")
        .sees_null()
        .is(Stability::Effect),
    FunctionDef::new(RESET, 0, 16, rule, reset, "Removes all such sources.").sees_null().is(Stability::Effect),
    FunctionDef::new(ADD_MANAGED, 0, 16, rule, add_managed, "Group replication is not there: error 1235.")
        .sees_null()
        .is(Stability::Effect),
    FunctionDef::new(DELETE_MANAGED, 0, 16, rule, delete_managed, "Group replication is not there: error 1235.")
        .sees_null()
        .is(Stability::Effect),
];
