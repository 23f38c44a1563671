//! Functions which need the server: digests of statements, files, threads.

use super::state::State;
use super::text::lex_mode;
use gannet_core::accounts::{Name, Privilege};
use gannet_types::charset::Charset;
use gannet_types::{CollationId, Result, SqlError, SqlMode, Value, sql_err};

fn text_of(value: &Value) -> Vec<u8> {
    let mut text = Vec::new();
    value.write_text(&mut text);
    text
}

/// The text of a statement, which sessions read in utf8mb4.
fn statement_of(value: &Value) -> Vec<u8> {
    match value {
        Value::Str(text, c) if c.charset() != Charset::Binary => {
            c.charset().convert(text, Charset::Utf8mb4).bytes.into_owned()
        }
        other => text_of(other),
    }
}

/// STATEMENT_DIGEST_TEXT. Error 3676 for what does not parse.
pub(crate) fn statement_digest(state: &State, args: &[Value]) -> Result<Value> {
    let Some(text) = args.first().map(statement_of) else { return Ok(Value::Null) };
    let names = text_of(&super::variables::value(state, false, "sql_mode")?);
    let mode = lex_mode(SqlMode::parse(&String::from_utf8_lossy(&names))?);
    gannet_parser::parse(&text, mode)
        .map_err(|e| sql_err!(ParseErrorInDigestFn, super::text::parse_error(e).message()))?;
    let digest = gannet_parser::digest::digest(&text, mode);
    Ok(Value::Str(digest.text.as_str().into(), CollationId::DEFAULT))
}

/// LOAD_FILE: NULL unless the file lies below `secure_file_priv`, can be read, and fits into a packet.
pub(crate) fn load_file(state: &State, args: &[Value]) -> Result<Value> {
    let Some(name) = args.first().map(text_of) else { return Ok(Value::Null) };
    if super::files::require_file_privilege(state).is_err() {
        return Ok(Value::Null);
    }
    let limit = match super::variables::value(state, false, "max_allowed_packet")? {
        Value::UInt(n) => n,
        Value::Int(n) => n as u64,
        _ => 0,
    };
    let Ok(name) = std::str::from_utf8(&name) else { return Ok(Value::Null) };
    let Ok(file) = super::files::open(state, name) else { return Ok(Value::Null) };
    let Ok(length) = file.len() else { return Ok(Value::Null) };
    if length > limit {
        return Ok(Value::Null);
    }
    let mut bytes = vec![0; length as usize];
    match file.read_exact_at(&mut bytes, 0) {
        Ok(()) => Ok(Value::Str(bytes.into(), CollationId::BINARY)),
        Err(_) => Ok(Value::Null),
    }
}

/// PS_THREAD_ID: threads have their connections' numbers here. NULL for a connection that is not there.
pub(crate) fn thread_id(state: &State, args: &[Value]) -> Result<Value> {
    let id = match args.first() {
        Some(Value::Int(n)) => *n as u64,
        Some(Value::UInt(n)) => *n,
        Some(other) => String::from_utf8_lossy(&text_of(other)).trim().parse().unwrap_or(0),
        None => return Err(SqlError::internal("PS_THREAD_ID without an argument")),
    };
    Ok(state.server.registry.get(id).map_or(Value::Null, |entry| Value::UInt(entry.id)))
}

/// ROLES_GRAPHML: roles that are granted, as MySQL writes them; nothing but the root element without ROLE_ADMIN.
pub(crate) fn roles_graphml(state: &State) -> String {
    let may = state.privileges().has(Privilege::RoleAdmin) || state.privileges().has(Privilege::Super);
    if !may {
        return "<graphml />".into();
    }
    let escaped = |name: &Name| {
        name.ticked().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
    };
    let mut nodes: Vec<Name> = Vec::new();
    let mut number = |name: &Name| match nodes.iter().position(|n| n == name) {
        Some(n) => n,
        None => {
            nodes.push(name.clone());
            nodes.len() - 1
        }
    };
    let mut edges = String::new();
    let mut count = 0;
    for account in state.server.accounts.list().iter() {
        for granted in &account.grants.roles {
            let (from, to) = (number(&account.id()), number(&granted.role));
            let admin = u8::from(granted.admin);
            edges.push_str(&format!(
                "    <edge id=\"e{count}\" source=\"n{from}\" target=\"n{to}\">\n      <data key=\"key0\">{admin}</data>\n    </edge>\n"
            ));
            count += 1;
        }
    }
    let nodes = nodes.iter().enumerate().map(|(n, name)| {
        format!("    <node id=\"n{n}\">\n      <data key=\"key1\">{}</data>\n    </node>\n", escaped(name))
    });
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\" \
         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
         xsi:schemaLocation=\"http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd\">\n  \
         <key id=\"key0\" for=\"edge\" attr.name=\"color\" attr.type=\"int\" />\n  \
         <key id=\"key1\" for=\"node\" attr.name=\"name\" attr.type=\"string\" />\n  \
         <graph id=\"G\" edgedefault=\"directed\" parse.nodeids=\"canonical\" parse.edgeids=\"canonical\" parse.order=\"nodesfirst\">\n\
         {}{edges}  </graph>\n</graphml>\n",
        nodes.collect::<String>()
    )
}
