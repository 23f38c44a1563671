//! DDL: statements over the catalog. Each runs in a transaction of its own, which [`gannet_catalog::Catalog::ddl`]
//! commits together with the new snapshot, so a definition and its trees appear and disappear as one.
//!
//! The caller has ended the session's transaction, taken exclusive metadata locks on the tables that
//! [`locked_tables`] names, and checked privileges.

mod column_type;
mod definition;

use crate::error::from_catalog;
use definition::Definer;
use gannet_catalog::{Catalog, CatalogError, CatalogResult, CatalogSnapshot, Edit};
use gannet_engine::Txn;
use gannet_parser::ast::{
    AlterAction, AlterTable, CreateIndex, CreateTable, CreateTableBody, DatabaseOption, DropIndex, Ident, ObjectName,
    Statement, TableElement,
};
use gannet_types::{
    Collation, CollationId, ErrorCode, Level, Result, SqlError, SqlMode, TimeZone, Warnings, charset::Charset, sql_err,
};
use std::sync::Arc;

pub use column_type::column_type;

/// What DDL takes from the session.
pub struct DdlContext<'a> {
    /// Current database.
    pub database: Option<&'a str>,
    /// SQL mode.
    pub sql_mode: SqlMode,
    /// Session time zone, for defaults of TIMESTAMP columns.
    pub time_zone: &'a TimeZone,
    /// `collation_server`, for new databases.
    pub server_collation: CollationId,
    /// Seconds since 1970.
    pub now: u64,
    /// Diagnostics area.
    pub warnings: &'a mut Warnings,
}

impl DdlContext<'_> {
    /// The schema and name of an object.
    fn resolve<'n>(&'n self, name: &'n ObjectName) -> Result<(&'n str, &'n str)> {
        let schema = match &name.schema {
            Some(schema) => schema,
            None => self.database.ok_or_else(|| sql_err!(NoDb))?,
        };
        Ok((schema, &name.name))
    }

    fn note(&mut self, error: &SqlError) {
        self.warnings.push(error.to_warning(Level::Note));
    }
}

/// True for statements that [`run`] executes.
pub fn is_ddl(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::CreateDatabase { .. }
            | Statement::AlterDatabase { .. }
            | Statement::DropDatabase { .. }
            | Statement::CreateTable(_)
            | Statement::AlterTable(_)
            | Statement::DropTable { .. }
            | Statement::Truncate(_)
            | Statement::RenameTable(_)
            | Statement::CreateIndex(_)
            | Statement::DropIndex(_)
    )
}

/// The tables whose definition the statement changes: (schema as written, name).
pub fn locked_tables(statement: &Statement) -> Vec<&ObjectName> {
    match statement {
        Statement::CreateTable(create) => vec![&create.name],
        Statement::AlterTable(alter) => vec![&alter.name],
        Statement::DropTable { names, .. } => names.iter().collect(),
        Statement::Truncate(name) => vec![name],
        Statement::RenameTable(pairs) => pairs.iter().flat_map(|(a, b)| [a, b]).collect(),
        Statement::CreateIndex(create) => vec![&create.table],
        Statement::DropIndex(drop) => vec![&drop.table],
        _ => Vec::new(),
    }
}

/// Runs a DDL statement. Returns the affected rows of the OK packet and the new snapshot.
pub fn run(
    statement: &Statement,
    catalog: &Catalog,
    txn: &mut Txn,
    cx: &mut DdlContext<'_>,
) -> Result<(u64, Arc<CatalogSnapshot>)> {
    let mut outcome = Ok(0);
    let done = catalog.ddl(txn, |edit| {
        outcome = statement_in(statement, edit, cx);
        match &outcome {
            Ok(_) => Ok(()),
            Err(error) => Err(CatalogError::Sql(error.clone())),
        }
    });
    match done {
        Ok(((), snapshot)) => outcome.map(|rows| (rows, snapshot)),
        Err(error) => Err(from_catalog(error)),
    }
}

fn statement_in(statement: &Statement, edit: &mut Edit<'_>, cx: &mut DdlContext<'_>) -> Result<u64> {
    match statement {
        Statement::CreateDatabase { if_not_exists, name, options } => {
            create_database(*if_not_exists, name, options, edit, cx)
        }
        Statement::AlterDatabase { name, options } => {
            let name = match name {
                Some(name) => name.text.to_string(),
                None => cx.database.ok_or_else(|| sql_err!(NoDb))?.to_owned(),
            };
            let collation = database_collation(options, cx)?;
            sql(edit.alter_schema(&name, collation)).map(|()| 1)
        }
        Statement::DropDatabase { if_exists, name } => match sql(edit.drop_schema(name)) {
            Ok(tables) => Ok(tables as u64),
            Err(error) if *if_exists && error.code() == ErrorCode::DbDropExists => {
                cx.note(&error);
                Ok(0)
            }
            Err(error) => Err(error),
        },
        Statement::CreateTable(create) => create_table(create, edit, cx).map(|()| 0),
        Statement::AlterTable(alter) => alter_table(alter, edit, cx),
        Statement::DropTable { temporary, if_exists, names } => {
            if *temporary {
                return Err(SqlError::unsupported("TEMPORARY TABLE"));
            }
            drop_tables(*if_exists, names, edit, cx).map(|()| 0)
        }
        Statement::Truncate(name) => {
            let (schema, name) = cx.resolve(name)?;
            sql(edit.truncate_table(schema, name)).map(|_| 0)
        }
        Statement::RenameTable(pairs) => {
            for (from, to) in pairs {
                let ((schema, name), (to_schema, to_name)) = (cx.resolve(from)?, cx.resolve(to)?);
                sql(edit.rename_table(schema, name, to_schema, to_name))?;
            }
            Ok(0)
        }
        Statement::CreateIndex(create) => create_index(create, edit, cx).map(|()| 0),
        Statement::DropIndex(drop) => drop_index(drop, edit, cx).map(|()| 0),
        _ => Err(SqlError::internal("not a definition statement")),
    }
}

fn sql<T>(outcome: CatalogResult<T>) -> Result<T> {
    outcome.map_err(from_catalog)
}

fn database_collation(options: &[DatabaseOption], cx: &DdlContext<'_>) -> Result<CollationId> {
    let (mut charset, mut collation) = (None, None);
    for option in options {
        match option {
            DatabaseOption::Charset(name) => charset = Some(Charset::by_name(name)?),
            DatabaseOption::Collate(name) => collation = Some(Collation::by_name(name)?),
            DatabaseOption::Encryption(value) if value.eq_ignore_ascii_case("n") => {}
            DatabaseOption::Encryption(_) => return Err(SqlError::unsupported("ENCRYPTION")),
            DatabaseOption::ReadOnly(Some(1)) => return Err(SqlError::unsupported("READ ONLY databases")),
            DatabaseOption::ReadOnly(_) => {}
            DatabaseOption::Comment(_) => return Err(SqlError::unsupported("COMMENT of a database")),
        }
    }
    choose_collation(charset, collation, cx.server_collation)
}

/// The collation that CHARACTER SET and COLLATE clauses mean together.
pub(crate) fn choose_collation(
    charset: Option<Charset>,
    collation: Option<&'static Collation>,
    inherited: CollationId,
) -> Result<CollationId> {
    match (charset, collation) {
        (None, None) => Ok(inherited),
        (Some(charset), None) => Ok(Collation::default_of(charset).id),
        (None, Some(collation)) => Ok(collation.id),
        (Some(charset), Some(collation)) if collation.charset == charset => Ok(collation.id),
        (Some(charset), Some(collation)) => Err(sql_err!(CollationCharsetMismatch, collation.name, charset.name())),
    }
}

fn create_database(
    if_not_exists: bool,
    name: &Ident,
    options: &[DatabaseOption],
    edit: &mut Edit<'_>,
    cx: &mut DdlContext<'_>,
) -> Result<u64> {
    let collation = database_collation(options, cx)?;
    match sql(edit.create_schema(name, collation)) {
        Ok(()) => Ok(1),
        Err(error) if if_not_exists && error.code() == ErrorCode::DbCreateExists => {
            cx.note(&error);
            Ok(1)
        }
        Err(error) => Err(error),
    }
}

fn create_table(create: &CreateTable, edit: &mut Edit<'_>, cx: &mut DdlContext<'_>) -> Result<()> {
    if create.temporary {
        return Err(SqlError::unsupported("TEMPORARY TABLE"));
    }
    let (schema, name) = cx.resolve(&create.name)?;
    let (schema, name) = (schema.to_owned(), name.to_owned());
    if create.existence.or_replace {
        return Err(SqlError::unsupported("CREATE OR REPLACE TABLE"));
    }
    if edit.snapshot().table(&schema, &name).is_some() {
        let error = sql_err!(TableExists, name);
        if create.existence.if_exists {
            cx.note(&error);
            return Ok(());
        }
        return Err(error);
    }
    let definition = match &create.body {
        CreateTableBody::Like(other) => {
            let (other_schema, other_name) = cx.resolve(other)?;
            let other = edit.snapshot().require_table(other_schema, other_name)?.clone();
            definition::like(&other, &name)
        }
        CreateTableBody::Define { elements, options, partition, query, .. } => {
            if query.is_some() {
                return Err(SqlError::unsupported("CREATE TABLE ... SELECT"));
            }
            if partition.is_some() {
                return Err(SqlError::unsupported("PARTITION BY"));
            }
            let inherited = edit.snapshot().schema(&schema).ok_or_else(|| sql_err!(BadDb, schema))?.collation;
            Definer::new(inherited, cx).table(&name, elements, options)?
        }
    };
    let now = cx.now;
    sql(edit.create_table(&schema, &definition, now)).map(|_| ())
}

/// Drops all tables or none. Missing ones are named together in error 1051, or noted with IF EXISTS.
fn drop_tables(if_exists: bool, names: &[ObjectName], edit: &mut Edit<'_>, cx: &mut DdlContext<'_>) -> Result<()> {
    let mut missing = Vec::new();
    let mut present = Vec::new();
    for name in names {
        let (schema, name) = cx.resolve(name)?;
        if edit.snapshot().table(schema, name).is_some() {
            present.push((schema.to_owned(), name.to_owned()));
        } else {
            missing.push(format!("{schema}.{name}"));
        }
    }
    if !missing.is_empty() {
        if !if_exists {
            return Err(sql_err!(BadTable, missing.join(",")));
        }
        for name in &missing {
            cx.note(&sql_err!(BadTable, name));
        }
    }
    for (schema, name) in present {
        sql(edit.drop_table(&schema, &name))?;
    }
    Ok(())
}

fn create_index(create: &CreateIndex, edit: &mut Edit<'_>, cx: &mut DdlContext<'_>) -> Result<()> {
    if create.existence.or_replace || create.existence.if_exists {
        return Err(SqlError::unsupported("OR REPLACE and IF NOT EXISTS of CREATE INDEX"));
    }
    let (schema, name) = cx.resolve(&create.table)?;
    let (schema, name) = (schema.to_owned(), name.to_owned());
    let index = definition::index(&create.index)?;
    sql(edit.create_index(&schema, &name, &[index])).map(|_| ())
}

fn drop_index(drop: &DropIndex, edit: &mut Edit<'_>, cx: &mut DdlContext<'_>) -> Result<()> {
    let (schema, name) = cx.resolve(&drop.table)?;
    let (schema, name) = (schema.to_owned(), name.to_owned());
    match sql(edit.drop_index(&schema, &name, &drop.name)) {
        Err(error) if drop.if_exists && error.code() == ErrorCode::CantDropFieldOrKey => {
            cx.note(&error);
            Ok(())
        }
        outcome => outcome.map(|_| ()),
    }
}

/// The actions of ALTER TABLE that change indexes and the name; others are refused by name.
fn alter_table(alter: &AlterTable, edit: &mut Edit<'_>, cx: &mut DdlContext<'_>) -> Result<u64> {
    let (schema, name) = cx.resolve(&alter.name)?;
    let (mut schema, mut name) = (schema.to_owned(), name.to_owned());
    if alter.partition.is_some() {
        return Err(SqlError::unsupported("PARTITION BY"));
    }
    edit.snapshot().require_table(&schema, &name)?;
    for action in &alter.actions {
        match action {
            AlterAction::AddElement(element) => add_element(element, &schema, &name, edit)?,
            AlterAction::AddElements(elements) => {
                for element in elements {
                    add_element(element, &schema, &name, edit)?;
                }
            }
            AlterAction::DropIndex { name: index, if_exists } => match sql(edit.drop_index(&schema, &name, index)) {
                Err(error) if *if_exists && error.code() == ErrorCode::CantDropFieldOrKey => cx.note(&error),
                outcome => outcome.map(|_| ())?,
            },
            AlterAction::Rename(to) => {
                let (to_schema, to_name) = cx.resolve(to)?;
                let to = (to_schema.to_owned(), to_name.to_owned());
                sql(edit.rename_table(&schema, &name, &to.0, &to.1))?;
                (schema, name) = to;
            }
            // InnoDB takes these without doing anything: its indexes are always kept.
            AlterAction::DisableKeys | AlterAction::EnableKeys => {}
            AlterAction::Algorithm(_) | AlterAction::Lock(_) | AlterAction::Validation(_) => {}
            other => return Err(SqlError::unsupported(format_args!("ALTER TABLE: {}", action_name(other)))),
        }
    }
    Ok(0)
}

fn add_element(element: &TableElement, schema: &str, name: &str, edit: &mut Edit<'_>) -> Result<()> {
    match element {
        TableElement::Index(index) => sql(edit.create_index(schema, name, &[definition::index(index)?])).map(|_| ()),
        TableElement::Column(_) => Err(SqlError::unsupported("ALTER TABLE: ADD COLUMN")),
        TableElement::ForeignKey(_) => Err(SqlError::unsupported("FOREIGN KEY")),
        TableElement::Check(_) => Err(SqlError::unsupported("CHECK constraints")),
    }
}

fn action_name(action: &AlterAction) -> &'static str {
    match action {
        AlterAction::AddColumn { .. } => "ADD COLUMN",
        AlterAction::DropColumn { .. } => "DROP COLUMN",
        AlterAction::ChangeColumn { .. } => "CHANGE COLUMN",
        AlterAction::ModifyColumn { .. } => "MODIFY COLUMN",
        AlterAction::RenameColumn { .. } => "RENAME COLUMN",
        AlterAction::SetDefault { .. } | AlterAction::DropDefault(_) => "ALTER COLUMN",
        AlterAction::DropPrimaryKey => "DROP PRIMARY KEY",
        AlterAction::RenameIndex { .. } => "RENAME INDEX",
        AlterAction::OrderBy(_) => "ORDER BY",
        AlterAction::ConvertCharset { .. } => "CONVERT TO CHARACTER SET",
        AlterAction::Options(_) => "table options",
        AlterAction::Force => "FORCE",
        _ => "this action",
    }
}
