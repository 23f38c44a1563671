//! Restoring a dump of schema mysql, as `mysqldump --all-databases` writes it.
//!
//! For each table the dump says DROP TABLE IF EXISTS, CREATE TABLE, LOCK TABLES, DISABLE KEYS, INSERT, ENABLE KEYS,
//! UNLOCK TABLES. The tables here are views of the accounts and of what the server knows, so that nothing is dropped.
//!
//! A grant table that is made again is collected in a temporary table of its name, where INSERT finds it. The accounts
//! change at once and all together when mysql.user, the last of them, has its rows and a statement follows that goes on
//! with something else, or with FLUSH PRIVILEGES. A dump that ends before changes no account. The account that restores
//! keeps its rights if the dump does not have it. The rows of mysql.servers are collected in the same way, and replace
//! those that are there when a statement follows that goes on with something else.
//!
//! Rows of other tables of the schema (help, time zones, statistics, plug-ins) are not taken, with a warning.

use super::Session;
use super::grant_tables::{self, Again, SERVERS, in_mysql, is_restored, made_again};
use super::reply::{Done, Reply};
use gannet_core::accounts::{Privilege, Privileges};
use gannet_parser::ast::{self, AlterAction, Statement};
use gannet_types::{ErrorCode, Result, sql_err};
use std::sync::Arc;

const SCHEMA: &str = "mysql";

/// A definition that is part of a dump of schema mysql; `None`: it is not. Its privileges are checked.
pub(super) fn definition(session: &mut Session, statement: &Statement, reply: &mut dyn Reply) -> Result<Option<Done>> {
    match statement {
        Statement::DropTable { temporary: false, if_exists: true, names, .. }
            if names.iter().all(|n| in_mysql(session, n).is_some()) =>
        {
            session.commit_implicitly()?;
            session.require_writable()?;
            let names: Vec<&str> = names.iter().filter_map(|n| in_mysql(session, n)).collect();
            for name in names {
                if session.state.snapshot.table(SCHEMA, name).is_none() {
                    session.note(&sql_err!(BadTable, format!("{SCHEMA}.{name}")));
                }
                unstage(session, name);
                session.restoring.get_or_insert_default().0.insert(name.to_owned(), Again::Dropped);
            }
            Ok(Some(Done::default()))
        }
        Statement::CreateTable(create) if !create.temporary => match in_mysql(session, &create.name) {
            Some(name) => restore_table(session, name, create, reply),
            None => Ok(None),
        },
        Statement::AlterTable(alter) if is_restored(session, &alter.name) => {
            let keys = |a: &AlterAction| matches!(a, AlterAction::DisableKeys | AlterAction::EnableKeys);
            Ok((!alter.actions.is_empty() && alter.actions.iter().all(keys)).then(Done::default))
        }
        _ => Ok(super::owned::definition(session, statement)),
    }
}

fn restore_table(
    session: &mut Session,
    name: &str,
    create: &ast::CreateTable,
    reply: &mut dyn Reply,
) -> Result<Option<Done>> {
    if !matches!(&create.body, ast::CreateTableBody::Define { query: None, .. }) {
        return Ok(None);
    }
    let grants = grant_tables::by_name(name);
    let there = session.state.snapshot.table(SCHEMA, name).is_some();
    match made_again(session, name) {
        Some(Again::Dropped) => {}
        _ if there && create.existence.if_exists => {
            session.note(&sql_err!(TableExists, name));
            if grants.is_none() && name != SERVERS {
                session.restoring.get_or_insert_default().0.insert(name.to_owned(), Again::Own);
            }
            return Ok(Some(Done::default()));
        }
        _ => return Ok(None),
    }
    session.commit_implicitly()?;
    session.require_writable()?;
    let again = match grants {
        Some(table) => {
            let need = [Privilege::Select, Privilege::Insert, Privilege::Delete];
            session.require_on_table(Privileges::of(&need), SCHEMA, name)?;
            Again::Staged(table, super::grant_tables::copy_grant_table(session, table, false, reply)?)
        }
        None if name == SERVERS => {
            session.require_on_table(Privileges::of(&[Privilege::Insert, Privilege::Delete]), SCHEMA, name)?;
            Again::Servers(grant_tables::copy_servers(session, false, reply)?)
        }
        None => {
            let what = format!("restoring {SCHEMA}.{name}, whose rows are the server's own,");
            session.running.diagnostics.warnings.warn(ErrorCode::NotSupportedYet, &[&what]);
            Again::Own
        }
    };
    session.restoring.get_or_insert_default().0.insert(name.to_owned(), again);
    Ok(Some(Done::default()))
}

/// Drops what a grant table's rows were collected in.
fn unstage(session: &mut Session, name: &str) {
    let again = session.restoring.as_mut().and_then(|r| r.0.remove(name));
    if let Some(Again::Staged(_, copy) | Again::Servers(copy)) = again {
        session.forget_temporary(&copy);
        session.discard_dropped();
    }
}

/// Before each statement that is not planned: the grant tables that were collected take effect when the statement
/// has nothing to do with them.
pub(super) fn go_on(session: &mut Session, statement: &Statement) -> Result<()> {
    if session.restoring.is_none() {
        return Ok(());
    }
    let is_part = |session: &Session, name: &ast::ObjectName| in_mysql(session, name).is_some();
    let asked = match statement {
        Statement::Flush(f) if f.targets.contains(&ast::FlushTarget::Privileges) => true,
        Statement::AlterTable(a) if is_part(session, &a.name) => return Ok(()),
        Statement::CreateTable(c) if is_part(session, &c.name) => return Ok(()),
        Statement::Insert(i) if is_part(session, &i.table) => return Ok(()),
        Statement::DropTable { names, .. } if names.iter().all(|n| is_part(session, n)) => return Ok(()),
        Statement::LockTables(list) if list.iter().all(|l| is_part(session, &l.table)) => return Ok(()),
        _ => false,
    };
    let staged = |name: &str| matches!(made_again(session, name), Some(Again::Staged(..)));
    let ready = staged("user") && !session.own_rows("SELECT 1 FROM mysql.user LIMIT 1")?.rows.is_empty();
    if ready || asked {
        return take_grants(session);
    }
    match made_again(session, SERVERS) {
        Some(Again::Servers(copy)) => take_servers(session, &copy.clone(), false),
        _ => Ok(()),
    }
}

/// The servers become those that were collected; `even_none`: also if there are none.
fn take_servers(session: &mut Session, copy: &Arc<gannet_schema::Table>, even_none: bool) -> Result<()> {
    let rows = session.own_rows(grant_tables::ALL_SERVERS)?;
    if rows.rows.is_empty() && !even_none {
        return Ok(());
    }
    if let Some(restoring) = &mut session.restoring {
        restoring.0.remove(SERVERS);
    }
    session.forget_temporary(copy);
    session.discard_dropped();
    session.commit_implicitly()?;
    session.require_writable()?;
    super::lists::alone(session, |session| super::objects::replace_servers(session, &rows))
}

/// The accounts become what the collected grant tables say, and the servers.
fn take_grants(session: &mut Session) -> Result<()> {
    if let Some(Again::Servers(copy)) = made_again(session, SERVERS) {
        take_servers(session, &copy.clone(), true)?;
    }
    let mut collected = Vec::new();
    let again = session.restoring.as_mut().map(|r| std::mem::take(&mut r.0)).unwrap_or_default();
    let mut copies = Vec::new();
    let mut outcome = Ok(());
    for (name, again) in again {
        let Again::Staged(table, copy) = again else {
            session.restoring.get_or_insert_default().0.insert(name, again);
            continue;
        };
        match session.own_rows(&format!("SELECT * FROM {SCHEMA}.{name}")) {
            Ok(rows) => collected.push((table, rows)),
            Err(e) => outcome = Err(e),
        }
        copies.push(copy);
    }
    for copy in copies {
        session.forget_temporary(&copy);
    }
    session.discard_dropped();
    outcome?;
    super::lists::alone(session, |session| grant_tables::replace_grants(session, collected))
}
