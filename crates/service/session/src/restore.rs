//! Restoring a dump of schema mysql, as `mysqldump --all-databases` writes it.
//!
//! For each table the dump says DROP TABLE IF EXISTS, CREATE TABLE, LOCK TABLES, DISABLE KEYS, INSERT, ENABLE KEYS,
//! UNLOCK TABLES. The tables here are views of the accounts and of what the server knows, so that nothing is dropped.
//!
//! A grant table that is made again is collected in a temporary table of its name, where INSERT finds it. The accounts
//! change at once and all together when mysql.user, the last of them, has its rows and a statement follows that goes on
//! with something else, or with FLUSH PRIVILEGES. A dump that ends before changes no account. The account that restores
//! keeps its rights if the dump does not have it.
//!
//! Rows of other tables of the schema (help, time zones, statistics, plug-ins) are not taken, with a warning.

use super::Session;
use super::grant_tables::{self, GrantTable};
use super::reply::{Done, Reply};
use gannet_core::accounts::{Privilege, Privileges};
use gannet_parser::ast::{self, AlterAction, Statement};
use gannet_schema::Table;
use gannet_types::{ErrorCode, Result, sql_err};
use std::collections::BTreeMap;
use std::sync::Arc;

const SCHEMA: &str = "mysql";

/// Tables of schema mysql that the session has dropped.
#[derive(Default)]
pub(crate) struct Restoring(BTreeMap<String, Again>);

/// What became of one.
enum Again {
    Dropped,
    /// A grant table, with what collects its rows.
    Staged(&'static GrantTable, Arc<Table>),
    /// A table whose rows are the server's own.
    Own,
}

impl Session {
    /// The table's name, if it is in schema mysql.
    fn in_mysql<'n>(&self, name: &'n ast::ObjectName) -> Option<&'n str> {
        let schema = name.schema.as_ref().map(|s| &*s.text).or(self.state.database.as_deref());
        (schema == Some(SCHEMA)).then_some(&*name.name.text)
    }

    fn made_again(&self, name: &str) -> Option<&Again> {
        self.restoring.as_ref()?.0.get(name)
    }

    /// A table that a dump makes again: there is nothing to lock.
    pub(super) fn is_restored(&self, name: &ast::ObjectName) -> bool {
        self.restoring.is_some() && self.in_mysql(name).is_some_and(|name| self.made_again(name).is_some())
    }

    /// A table that a dump makes again, whose rows are the server's own.
    pub(super) fn takes_no_rows(&self, name: &ast::ObjectName) -> bool {
        let again = self.restoring.as_ref().and_then(|_| self.made_again(self.in_mysql(name)?));
        matches!(again, Some(Again::Own))
    }

    /// A definition that is part of a dump of schema mysql; `None`: it is not. Its privileges are checked.
    pub(super) fn restore_definition(&mut self, statement: &Statement, reply: &mut dyn Reply) -> Result<Option<Done>> {
        match statement {
            Statement::DropTable { temporary: false, if_exists: true, names, .. }
                if names.iter().all(|n| self.in_mysql(n).is_some()) =>
            {
                self.commit_implicitly()?;
                self.require_writable()?;
                let names: Vec<&str> = names.iter().filter_map(|n| self.in_mysql(n)).collect();
                for name in names {
                    if self.state.snapshot.table(SCHEMA, name).is_none() {
                        self.note(&sql_err!(BadTable, format!("{SCHEMA}.{name}")));
                    }
                    self.unstage(name);
                    self.restoring.get_or_insert_default().0.insert(name.to_owned(), Again::Dropped);
                }
                Ok(Some(Done::default()))
            }
            Statement::CreateTable(create) if !create.temporary => match self.in_mysql(&create.name) {
                Some(name) => self.restore_table(name, create, reply),
                None => Ok(None),
            },
            Statement::AlterTable(alter) if self.is_restored(&alter.name) => {
                let keys = |a: &AlterAction| matches!(a, AlterAction::DisableKeys | AlterAction::EnableKeys);
                Ok((!alter.actions.is_empty() && alter.actions.iter().all(keys)).then(Done::default))
            }
            _ => Ok(None),
        }
    }

    fn restore_table(&mut self, name: &str, create: &ast::CreateTable, reply: &mut dyn Reply) -> Result<Option<Done>> {
        if !matches!(&create.body, ast::CreateTableBody::Define { query: None, .. }) {
            return Ok(None);
        }
        let grants = grant_tables::by_name(name);
        let there = self.state.snapshot.table(SCHEMA, name).is_some();
        match self.made_again(name) {
            Some(Again::Dropped) => {}
            _ if there && create.existence.if_exists => {
                self.note(&sql_err!(TableExists, name));
                if grants.is_none() {
                    self.restoring.get_or_insert_default().0.insert(name.to_owned(), Again::Own);
                }
                return Ok(Some(Done::default()));
            }
            _ => return Ok(None),
        }
        self.commit_implicitly()?;
        self.require_writable()?;
        let again = match grants {
            Some(table) => {
                let need = [Privilege::Select, Privilege::Insert, Privilege::Delete];
                self.require_on_table(Privileges::of(&need), SCHEMA, name)?;
                Again::Staged(table, self.copy_grant_table(table, false, reply)?)
            }
            None => {
                let what = format!("restoring {SCHEMA}.{name}, whose rows are the server's own,");
                self.running.warnings.warn(ErrorCode::NotSupportedYet, &[&what]);
                Again::Own
            }
        };
        self.restoring.get_or_insert_default().0.insert(name.to_owned(), again);
        Ok(Some(Done::default()))
    }

    /// Drops what a grant table's rows were collected in.
    fn unstage(&mut self, name: &str) {
        let again = self.restoring.as_mut().and_then(|r| r.0.remove(name));
        if let Some(Again::Staged(_, copy)) = again {
            self.forget_temporary(&copy);
            self.discard_dropped();
        }
    }

    /// Before each statement that is not planned: the grant tables that were collected take effect when the statement
    /// has nothing to do with them.
    pub(super) fn go_on_restoring(&mut self, statement: &Statement) -> Result<()> {
        let is_part = |session: &Self, name: &ast::ObjectName| session.in_mysql(name).is_some();
        let asked = match statement {
            Statement::Flush(f) if f.targets.contains(&ast::FlushTarget::Privileges) => true,
            Statement::AlterTable(a) if is_part(self, &a.name) => return Ok(()),
            Statement::CreateTable(c) if is_part(self, &c.name) => return Ok(()),
            Statement::Insert(i) if is_part(self, &i.table) => return Ok(()),
            Statement::DropTable { names, .. } if names.iter().all(|n| is_part(self, n)) => return Ok(()),
            Statement::LockTables(list) if list.iter().all(|l| is_part(self, &l.table)) => return Ok(()),
            _ => false,
        };
        let staged = |name: &str| matches!(self.made_again(name), Some(Again::Staged(..)));
        let ready = staged("user") && !self.own_rows("SELECT 1 FROM mysql.user LIMIT 1")?.rows.is_empty();
        if ready || asked { self.take_grants() } else { Ok(()) }
    }

    /// The accounts become what the collected grant tables say.
    fn take_grants(&mut self) -> Result<()> {
        let mut collected = Vec::new();
        let again = self.restoring.as_mut().map(|r| std::mem::take(&mut r.0)).unwrap_or_default();
        let mut copies = Vec::new();
        let mut outcome = Ok(());
        for (name, again) in again {
            let Again::Staged(table, copy) = again else {
                self.restoring.get_or_insert_default().0.insert(name, again);
                continue;
            };
            match self.own_rows(&format!("SELECT * FROM {SCHEMA}.{name}")) {
                Ok(rows) => collected.push((table, rows)),
                Err(e) => outcome = Err(e),
            }
            copies.push(copy);
        }
        for copy in copies {
            self.forget_temporary(&copy);
        }
        self.discard_dropped();
        outcome?;
        self.replace_grants(collected)
    }
}
