//! UPDATE of performance_schema's setup tables: what is collected.
//!
//! The statement runs on a temporary copy, as for the grant tables. Then the rows that differ are switched. What cannot
//! be switched stays as it is, with a warning: the table goes on saying what is true.

use super::grant_tables::{CONSUMERS, Made, copy_table, run_on_copy};
use super::reply::{Done, Reply};
use super::{Session, grant_tables};
use gannet_core::accounts::{Privilege, Privileges};
use gannet_core::consumers::Consumer;
use gannet_parser::ast::Statement;
use gannet_types::{ErrorCode, Result, SqlError, Value, sql_err};

const SCHEMA: &str = "performance_schema";

/// A statement that changes a table of the server's own.
pub(super) fn change(session: &mut Session, statement: &Statement, reply: &mut dyn Reply) -> Result<Done> {
    match grant_tables::made_table(session, statement) {
        Some(Made::Grants(table)) => grant_tables::change_grants(session, table, statement, reply),
        Some(Made::Servers) => grant_tables::change_servers(session, statement, reply),
        Some(Made::Consumers) => change_consumers(session, statement, reply),
        Some(Made::Fixed(table, key)) => change_fixed(session, (table, key), statement, reply),
        // A dump's rows of a table that the server has by itself.
        Some(Made::Own) => Ok(Done::default()),
        None => Err(sql_err!(NonUpdatableTable, "user", "UPDATE")),
    }
}

/// MySQL says of a table of the server's schemas that is not to be changed that nobody has the right to: error 1142, or
/// 1044 in information_schema.
pub(super) fn in_own_words(session: &Session, statement: &Statement, error: SqlError) -> SqlError {
    if !matches!(error.code(), ErrorCode::NonUpdatableTable | ErrorCode::NonInsertableTable) {
        return error;
    }
    let (name, privilege) = match statement {
        Statement::Insert(insert) => (Some(&insert.table), Privilege::Insert),
        Statement::Update(update) => (grant_tables::single(&update.tables), Privilege::Update),
        Statement::Delete(delete) => (grant_tables::single(&delete.tables), Privilege::Delete),
        _ => return error,
    };
    let Some(name) = name else { return error };
    let schema = name.schema.as_ref().map(|s| &*s.text).or(session.state.database.as_deref());
    let schema = gannet_schema::names::canonical_schema(schema.unwrap_or_default());
    if grant_tables::FIXED.iter().any(|(table, _)| name.name.text.eq_ignore_ascii_case(table)) {
        return error;
    }
    match &*schema {
        SCHEMA => session.denied(privilege.into(), &name.name.text),
        "information_schema" => {
            let account = &session.state.account;
            sql_err!(DbaccessDenied, account.user, account.host, schema)
        }
        _ => error,
    }
}

/// UPDATE of the consumers.
fn change_consumers(session: &mut Session, statement: &Statement, reply: &mut dyn Reply) -> Result<Done> {
    session.require_on_table(Privileges::of(&[Privilege::Select, Privilege::Update]), SCHEMA, CONSUMERS)?;
    let values = session.running.markers.clone();
    let copy = copy_table(session, (SCHEMA, CONSUMERS), "PRIMARY KEY (NAME)", "", reply)?;
    let outcome = switch(session, statement, &values, reply);
    session.forget_temporary(&copy);
    session.discard_dropped();
    outcome
}

/// UPDATE of a table whose rows stay as they are, with a warning if it would have changed one.
fn change_fixed(
    session: &mut Session,
    (table, key): (&str, &str),
    statement: &Statement,
    reply: &mut dyn Reply,
) -> Result<Done> {
    session.require_on_table(Privileges::of(&[Privilege::Select, Privilege::Update]), SCHEMA, table)?;
    let values = session.running.markers.clone();
    let copy = copy_table(session, (SCHEMA, table), &format!("KEY ({key})"), "", reply)?;
    let outcome = run_on_copy(session, statement, &values, reply);
    session.forget_temporary(&copy);
    session.discard_dropped();
    let done = outcome?;
    if done.affected > 0 {
        let what = format!("switching rows of {SCHEMA}.{table}");
        session.running.diagnostics.warnings.warn(ErrorCode::NotSupportedYet, &[&what]);
    }
    Ok(Done { affected: 0, ..done })
}

fn switch(session: &mut Session, statement: &Statement, values: &[Value], reply: &mut dyn Reply) -> Result<Done> {
    let all = format!("SELECT NAME, ENABLED FROM {SCHEMA}.{CONSUMERS} ORDER BY NAME");
    let rows = |session: &mut Session| -> Result<Vec<(String, String)>> {
        let rows = session.own_rows(&all)?.rows;
        Ok(rows.iter().map(|row| (shown(row.first()), shown(row.get(1)))).collect())
    };
    let before = rows(session)?;
    let done = run_on_copy(session, statement, values, reply)?;
    let after = rows(session)?;
    // Their names are fixed.
    if !before.iter().map(|(name, _)| name).eq(after.iter().map(|(name, _)| name)) {
        return Err(sql_err!(WrongPerfschemaUsage));
    }
    for ((name, enabled), (_, was)) in after.iter().zip(&before) {
        match Consumer::by_name(name) {
            _ if enabled == was => {}
            Some(consumer) => session.server.registry.consumers.set(consumer, enabled == "YES"),
            None => {
                session.running.diagnostics.warnings.warn(ErrorCode::NotSupportedYet, &[&format!("switching {name}")])
            }
        }
    }
    Ok(done)
}

fn shown(value: Option<&Value>) -> String {
    let mut out = Vec::new();
    if let Some(value) = value.filter(|v| !v.is_null()) {
        value.write_text(&mut out);
    }
    String::from_utf8_lossy(&out).into_owned()
}
