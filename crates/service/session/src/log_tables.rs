//! `mysql.general_log` and `mysql.slow_log`: stored tables that the server writes ([`gannet_core::log_tables`]) and
//! clients read, empty and rotate (manual, 7.4.1).

use super::{OwnSession, Session, Sessions};
use gannet_core::accounts::Account;
use gannet_core::vars::Live;
use gannet_exec::ddl::locked_tables;
use gannet_parser::ast::{ObjectName, Statement};
use gannet_plan::Plan;
use gannet_plan::plan::Intent;
use gannet_schema::{LOG_TABLES, is_log_beside, log_table};
use gannet_types::{Result, sql_err};
use std::sync::Arc;

/// What makes each of [`LOG_TABLES`].
const MAKE: [&str; 2] = [
    "CREATE TABLE mysql.general_log (
        event_time TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),
        user_host MEDIUMTEXT NOT NULL, thread_id BIGINT UNSIGNED NOT NULL, server_id INT UNSIGNED NOT NULL,
        command_type VARCHAR(64) NOT NULL, argument MEDIUMBLOB NOT NULL
     ) DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci COMMENT='General log'",
    "CREATE TABLE mysql.slow_log (
        start_time TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),
        user_host MEDIUMTEXT NOT NULL, query_time TIME(6) NOT NULL, lock_time TIME(6) NOT NULL,
        rows_sent INT NOT NULL, rows_examined INT NOT NULL, db VARCHAR(512) NOT NULL, last_insert_id INT NOT NULL,
        insert_id INT NOT NULL, server_id INT UNSIGNED NOT NULL, sql_text MEDIUMBLOB NOT NULL,
        thread_id BIGINT UNSIGNED NOT NULL
     ) DEFAULT CHARSET=utf8mb3 COLLATE=utf8mb3_general_ci COMMENT='Slow log'",
];

/// Makes those of the tables that are missing, unless nothing may be written. The caller may wait.
pub fn ensure(sessions: &Sessions) -> Result<()> {
    let core = sessions.core();
    if core.globals.get(Live::SuperReadOnly).as_bool() {
        return Ok(());
    }
    for (name, make) in LOG_TABLES.iter().zip(MAKE) {
        if core.catalog.snapshot().base_table("mysql", name).is_none() {
            let mut session: OwnSession =
                sessions.own_of(Arc::new(Account::unchecked()), gannet_core::registry::STARTS)?;
            let set = "SET SESSION sql_log_bin = 0, sql_require_primary_key = 0, sql_mode = DEFAULT";
            [set, make].into_iter().try_for_each(|sql| session.execute(sql).map_err(|(_, e)| e).map(drop))?;
        }
    }
    Ok(())
}

fn schema_of<'n>(session: &'n Session, name: &'n ObjectName) -> &'n str {
    name.schema.as_ref().map_or(session.state.database.as_deref().unwrap_or_default(), |s| s)
}

/// The definition is one of a log table, or of one beside it: schema mysql takes it.
pub(crate) fn defines(session: &Session, statement: &Statement, name: &ObjectName) -> bool {
    !matches!(statement, Statement::CreateView(_) | Statement::DropView { .. })
        && is_log_beside(schema_of(session, name), &name.name)
}

/// A definition of a log table that is written meanwhile. Error 1580; 1581 for RENAME that puts none in its place.
/// TRUNCATE waits for what was logged before.
pub(crate) fn check_definition(session: &Session, statement: &Statement) -> Result<()> {
    let number = |name: &ObjectName| log_table(schema_of(session, name), &name.name);
    let named: Vec<usize> = locked_tables(statement).into_iter().filter_map(number).collect();
    if named.is_empty() {
        return Ok(());
    }
    let written = session.server.logs.tables_written();
    let verb = match statement {
        Statement::Truncate(_) => {
            session.server.logs.tables.catch_up();
            return Ok(());
        }
        Statement::RenameTable { pairs, .. } => {
            for n in named.into_iter().filter(|n| written[*n]) {
                let from = pairs.iter().filter(|(from, _)| number(from) == Some(n)).count();
                let to = pairs.iter().filter(|(_, to)| number(to) == Some(n)).count();
                if from != to {
                    return Err(sql_err!(CantRenameLogTable, LOG_TABLES[n], LOG_TABLES[n]));
                }
            }
            return Ok(());
        }
        Statement::DropTable { .. } => "DROP",
        Statement::CreateTable(_) => return Ok(()),
        _ => "ALTER",
    };
    match named.into_iter().any(|n| written[n]) {
        true => Err(sql_err!(BadLogStatement, verb)),
        false => Ok(()),
    }
}

/// Error 1556 for a plan that locks rows of a log table, or changes them.
pub(crate) fn refuse_locks(plan: &Plan) -> Result<()> {
    let locks = |t: &gannet_plan::plan::PlanTable| {
        t.intent != Intent::Read && log_table(&t.table.schema, &t.table.name).is_some()
    };
    if plan.tables.iter().any(locks) { Err(sql_err!(CantLockLogTable)) } else { Ok(()) }
}

/// A plan that reads a log table sees what was logged before.
#[cold]
pub(crate) fn catch_up(session: &Session, plan: &Plan) {
    if plan.tables.iter().any(|t| log_table(&t.table.schema, &t.table.name).is_some()) {
        session.server.logs.tables.catch_up();
        // What is not durable is in no snapshot. If the log can take no more, it stays so.
        let _ = session.server.engine.sync();
    }
}
