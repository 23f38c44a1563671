//! DDL: statements over the catalog. Each runs in a transaction of its own, which [`gannet_catalog::Catalog::ddl`]
//! commits together with the new snapshot, so a definition and its trees appear and disappear as one.
//!
//! The caller has ended the session's transaction, taken exclusive metadata locks on the tables that
//! [`locked_tables`] names, and checked privileges.

mod alter;
mod conditional;
mod copy;
mod definition;
mod expressions;
mod extras;
mod foreign;
mod generated_key;
mod online;
mod parting;
mod partition;
mod select;
mod text;
mod views;

pub(crate) use expressions::plan_over;
pub use select::{columns_of, insert_plan, origin, statement_of};
pub use views::view_of;

use crate::changes::ChangeSink;
use crate::context::{Session, Settings};
use crate::error::from_catalog;
use definition::Definer;
use gannet_catalog::{Catalog, CatalogError, CatalogResult, Edit, Gate, Words};
use gannet_engine::Txn;
use gannet_parser::ast::{
    AlterAction, AlterTable, CreateIndex, CreateTable, CreateTableBody, DatabaseOption, DropIndex, ForeignKeyDef,
    Ident, ObjectName, Statement, TableElement,
};
use gannet_plan::Plan;
use gannet_schema::names::{check_full_name, check_table_name, missing_schema};
use gannet_schema::{CatalogSnapshot, TableDefinition, Temporaries};
use gannet_telemetry::{Counter, During, during};
use gannet_types::{
    Collation, CollationId, ErrorCode, Level, Result, SqlError, TypeId, Value, Warnings, charset::Charset, sql_err,
};
use std::sync::Arc;

/// What DDL takes from the session.
pub struct DdlContext<'a> {
    /// Current database.
    pub database: Option<&'a str>,
    /// sql_mode, time zone and the rest; the statement's time is set.
    pub settings: &'a Settings,
    /// What expressions may ask.
    pub session: &'a mut dyn Session,
    /// `collation_server`, for new databases.
    pub server_collation: CollationId,
    /// Collation of literals.
    pub collation: CollationId,
    /// `foreign_key_checks`
    pub foreign_key_checks: bool,
    /// `restrict_fk_on_non_standard_key`
    pub restrict_non_standard_keys: bool,
    /// `sql_require_primary_key`
    pub require_primary_key: bool,
    /// `sql_generate_invisible_primary_key`
    pub generate_primary_key: bool,
    /// What consumers of the log are told where another text defines the same; `None` when there is no consumer.
    pub words_for: Option<&'a dyn Fn(&str) -> Words>,
    /// Diagnostics area.
    pub warnings: &'a mut Warnings,
    /// User and host of the account that runs the statement: DEFINER of what the statement makes.
    pub account: (&'a str, &'a str),
    /// Lets others use the table while indexes are built; `None`: the locks stay as they are.
    pub gate: Option<&'a mut dyn Gate>,
    /// What consumers of the log are told of the statement; `None` when there is no consumer.
    pub words: Option<Words>,
    /// Is told of the rows of CREATE TABLE ... SELECT, and has the words for it.
    pub changes: Option<&'a mut dyn ChangeSink>,
    /// The query of CREATE VIEW, or of CREATE TABLE ... SELECT: its plan ([`gannet_plan::plan_source`]) and the values
    /// of its parameters.
    pub select: Option<(Plan, Vec<Value>)>,
}

/// What a definition statement reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Affected rows of the OK packet.
    pub rows: u64,
    /// Its text.
    pub info: String,
    /// First generated AUTO_INCREMENT value of CREATE TABLE ... SELECT, 0 without.
    pub last_insert_id: u64,
    /// AUTO_INCREMENT value of its last row, 0 without.
    pub last_row_id: u64,
}

impl Done {
    fn rows(rows: u64) -> Done {
        Done { rows, ..Done::default() }
    }
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

/// The tables whose definition the statement changes: (schema as written, name).
pub fn locked_tables(statement: &Statement) -> Vec<&ObjectName> {
    match statement {
        Statement::CreateTable(create) => vec![&create.name],
        Statement::AlterTable(alter) => {
            let exchanged = alter.actions.iter().filter_map(|a| match a {
                AlterAction::ExchangePartition { table, .. } => Some(table),
                _ => None,
            });
            std::iter::once(&alter.name).chain(exchanged).collect()
        }
        Statement::DropTable { names, .. } => names.iter().collect(),
        Statement::Truncate(name) => vec![name],
        Statement::RenameTable { pairs, .. } => pairs.iter().flat_map(|(a, b)| [a, b]).collect(),
        Statement::CreateIndex(create) => vec![&create.table],
        Statement::DropIndex(drop) => vec![&drop.table],
        Statement::CreateView(create) => vec![&create.name],
        Statement::DropView { names, .. } => names.iter().collect(),
        _ => Vec::new(),
    }
}

/// Errors 1059, 1102 and 1103: the tables that a definition statement names must have names such as could exist.
pub fn check_names(statement: &Statement) -> Result<()> {
    let more: Vec<&ObjectName> = match statement {
        Statement::CreateTable(create) => match &create.body {
            CreateTableBody::Like(other) => vec![other],
            _ => Vec::new(),
        },
        Statement::AlterTable(alter) => {
            let renamed = alter.actions.iter().filter_map(|a| match a {
                AlterAction::Rename(to) => Some(to),
                _ => None,
            });
            renamed.collect()
        }
        _ => Vec::new(),
    };
    let mut all = locked_tables(statement).into_iter().chain(more);
    all.try_for_each(|n| check_full_name(n.schema.as_ref().map(|s| &*s.text), &n.name))
}

/// What the gauges of ALTER TABLE, CREATE INDEX and DROP INDEX show while the statement runs: such a statement, and how
/// many indexes it makes.
fn under_way(statement: &Statement) -> Option<[During; 2]> {
    let is_index = |e: &TableElement| matches!(e, TableElement::Index(_));
    let made = match statement {
        Statement::AlterTable(alter) => alter.actions.iter().fold(0, |sum, action| match action {
            AlterAction::AddElement(element) => sum + usize::from(is_index(element)),
            AlterAction::AddElements(list) => sum + list.iter().filter(|e| is_index(e)).count(),
            _ => sum,
        }),
        Statement::CreateIndex(_) => 1,
        Statement::DropIndex(_) => 0,
        _ => return None,
    };
    Some([during(Counter::DdlPendingAlterTable, 1), during(Counter::DdlOnlineCreateIndex, made as u64)])
}

/// Foreign keys that a definition statement makes.
pub fn new_foreign_keys(statement: &Statement) -> Vec<&ForeignKeyDef> {
    let mut elements: Vec<&TableElement> = Vec::new();
    match statement {
        Statement::CreateTable(create) => {
            if let CreateTableBody::Define { elements: list, .. } = &create.body {
                elements.extend(list);
            }
        }
        Statement::AlterTable(alter) => {
            for action in &alter.actions {
                match action.plain() {
                    AlterAction::AddElement(element) => elements.push(element),
                    AlterAction::AddElements(list) => elements.extend(list),
                    _ => {}
                }
            }
        }
        _ => {}
    }
    let keys = elements.into_iter().filter_map(|e| match e {
        TableElement::ForeignKey(key) => Some(key),
        _ => None,
    });
    keys.collect()
}

/// Tables that a definition statement reads or changes because of foreign keys: (schema, name).
pub fn related_tables(statement: &Statement, snapshot: &CatalogSnapshot, database: &str) -> Vec<(String, String)> {
    let mut related = Vec::new();
    let own = locked_tables(statement).first().and_then(|n| n.schema.as_ref()).map_or(database, |s| s);
    for key in new_foreign_keys(statement) {
        let parent = &key.references.table;
        let schema = parent.schema.as_ref().map_or(own, |s| s);
        related.push((schema.to_owned(), parent.name.text.to_string()));
    }
    for name in locked_tables(statement) {
        let schema = name.schema.as_ref().map_or(database, |s| &s.text);
        let children = snapshot.children(schema, &name.name);
        related.extend(children.iter().map(|t| (t.schema.to_string(), t.name.to_string())));
        if let Some(table) = snapshot.table(schema, &name.name) {
            let parents = table.constraints.foreign_keys.iter();
            related.extend(parents.map(|k| (k.parent_schema.to_string(), k.parent.to_string())));
        }
    }
    related
}

/// Runs a DDL statement. Returns what the OK packet says and the new snapshot, with the session's temporary tables,
/// which are `temporaries` before. Those that are gone afterwards keep their trees until
/// [`Catalog::discard_temporary`].
pub fn run(
    statement: &Statement,
    catalog: &Catalog,
    txn: &mut Txn,
    temporaries: Option<Temporaries>,
    cx: &mut DdlContext<'_>,
) -> Result<(Done, Arc<CatalogSnapshot>)> {
    let _under_way = under_way(statement);
    let (mut outcome, words) = (Ok(Done::default()), cx.words.take());
    let done = catalog.ddl_with(txn, words, temporaries, |edit| {
        outcome = statement_in(statement, edit, cx);
        match &outcome {
            Ok(_) => Ok(()),
            Err(error) => Err(CatalogError::Sql(error.clone())),
        }
    });
    match done {
        Ok(((), snapshot)) => outcome.map(|done| (done, snapshot)),
        Err(error) => Err(from_catalog(error)),
    }
}

fn statement_in(statement: &Statement, edit: &mut Edit<'_>, cx: &mut DdlContext<'_>) -> Result<Done> {
    edit.workers = cx.settings.ddl_threads as usize;
    let rows = match statement {
        Statement::CreateDatabase { if_not_exists, name, options } => {
            create_database(*if_not_exists, name, options, edit, cx)?
        }
        Statement::AlterDatabase { name, options } => {
            let name = match name {
                Some(name) => name.text.to_string(),
                None => cx.database.ok_or_else(|| sql_err!(NoDb))?.to_owned(),
            };
            alter_database(&name, options, edit, cx)?
        }
        Statement::DropDatabase { if_exists, name } => {
            if cx.foreign_key_checks {
                refuse_parents(&schema_names(name, edit), edit)?;
            }
            match sql(edit.drop_schema(name)) {
                Ok(tables) => tables as u64,
                Err(error) if *if_exists && error.code() == ErrorCode::DbDropExists => {
                    cx.note(&error);
                    0
                }
                Err(error) => return Err(error),
            }
        }
        Statement::CreateTable(create) => return create_table(create, edit, cx),
        Statement::AlterTable(alter) => return alter::alter_table(alter, edit, cx),
        Statement::DropTable { temporary, if_exists, names } => {
            drop_tables(*temporary, *if_exists, names, edit, cx)?;
            0
        }
        Statement::Truncate(name) => {
            let (schema, name) = cx.resolve(name)?;
            truncate(schema, name, edit, cx)?;
            0
        }
        Statement::RenameTable { if_exists, pairs } => {
            for (from, to) in pairs {
                let ((schema, name), (to_schema, to_name)) = (cx.resolve(from)?, cx.resolve(to)?);
                if *if_exists && edit.snapshot().table(schema, name).is_none() {
                    cx.note(&sql_err!(NoSuchTable, schema, name));
                    continue;
                }
                if edit.snapshot().temporary_table(schema, name).is_some() {
                    return Err(match edit.snapshot().base_table(schema, name) {
                        None => sql_err!(NoSuchTable, schema, name),
                        Some(_) => SqlError::unsupported("RENAME TABLE of a table that a temporary one hides"),
                    });
                }
                sql(edit.rename_table(schema, name, to_schema, to_name))?;
            }
            0
        }
        Statement::CreateIndex(create) => return create_index(create, edit, cx),
        Statement::DropIndex(drop) => return drop_index(drop, edit, cx),
        Statement::CreateView(create) => {
            views::create(create, edit, cx)?;
            0
        }
        Statement::DropView { if_exists, names } => {
            views::drop(*if_exists, names, edit, cx)?;
            0
        }
        _ => return Err(SqlError::internal("not a definition statement")),
    };
    Ok(Done::rows(rows))
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
            DatabaseOption::ReadOnly(_) => {}
            DatabaseOption::Comment(_) => return Err(SqlError::unsupported("COMMENT of a database")),
        }
    }
    choose_collation(charset, collation, cx.server_collation, cx.settings.utf8mb4)
}

/// ALTER DATABASE. One that is read only takes no other option unless the statement ends that (error 3989).
fn alter_database(name: &str, options: &[DatabaseOption], edit: &mut Edit<'_>, cx: &DdlContext<'_>) -> Result<u64> {
    let old = edit.snapshot().schema(name).cloned().ok_or_else(|| gannet_schema::names::missing_schema(name))?;
    let mut all = options.iter().filter_map(|option| match option {
        DatabaseOption::ReadOnly(n) => Some(n.unwrap_or(0)),
        _ => None,
    });
    let asked = all.next();
    if let (Some(first), Some(other)) = (asked, all.find(|n| Some(*n) != asked)) {
        return Err(sql_err!(ConflictingDeclarations, "READ ONLY=", first, "READ ONLY=", other));
    }
    let read_only = match asked {
        None => old.read_only,
        Some(n @ 0..=1) => n == 1,
        Some(n) => return Err(SqlError::unsupported(format_args!("READ ONLY = {n}"))),
    };
    if old.read_only && asked != Some(0) && options.iter().any(|o| !matches!(o, DatabaseOption::ReadOnly(_))) {
        return Err(sql_err!(SchemaReadOnly, name));
    }
    let named = |o: &DatabaseOption| matches!(o, DatabaseOption::Charset(_) | DatabaseOption::Collate(_));
    let given = database_collation(options, cx)?;
    let collation = if options.iter().any(named) { given } else { old.collation };
    sql(edit.alter_schema(name, collation, read_only))?;
    Ok(1)
}

/// The collation that CHARACTER SET and COLLATE clauses mean together, with this `default_collation_for_utf8mb4`.
pub(crate) fn choose_collation(
    charset: Option<Charset>,
    collation: Option<&'static Collation>,
    inherited: CollationId,
    utf8mb4: CollationId,
) -> Result<CollationId> {
    match (charset, collation) {
        (None, None) => Ok(inherited),
        (Some(charset), None) => Collation::implied_for(charset, utf8mb4),
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
    if options.iter().any(|o| matches!(o, DatabaseOption::ReadOnly(_))) {
        return Err(SqlError::unsupported("CREATE DATABASE ... READ ONLY; use ALTER DATABASE"));
    }
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

/// Errors 1562 and 1796: what a temporary table may not have.
fn check_temporary(definition: &TableDefinition) -> Result<()> {
    if definition.partitioning.is_some() {
        return Err(sql_err!(PartitionNoTemporary));
    }
    if definition.indexes.iter().any(|i| matches!(i.method, gannet_schema::Method::FullText(_))) {
        return Err(sql_err!(InnodbNoFtTempTable));
    }
    Ok(())
}

/// Temporary tables and others have their names apart.
fn is_taken(edit: &Edit<'_>, schema: &str, name: &str, temporary: bool) -> bool {
    if temporary {
        edit.snapshot().temporary_table(schema, name).is_some()
    } else {
        edit.snapshot().base_table(schema, name).is_some()
    }
}

/// Warning 1831 for each new index that finds the same rows by the same columns as one before it.
fn warn_of_duplicates(table: &gannet_schema::Table, new: impl Fn(usize) -> bool, cx: &mut DdlContext<'_>) {
    for (i, index) in table.indexes.iter().enumerate().filter(|(i, index)| new(*i) && !index.generated) {
        let alike = |other: &gannet_schema::Index| {
            other.kind == index.kind && other.method == index.method && other.parts == index.parts
        };
        if table.indexes[..i].iter().any(alike) {
            cx.warnings.warn(ErrorCode::DupIndex, &[&index.name, &table.schema, &table.name]);
        }
    }
}

fn create_table(create: &CreateTable, edit: &mut Edit<'_>, cx: &mut DdlContext<'_>) -> Result<Done> {
    let (schema, name) = cx.resolve(&create.name).map(|(schema, name)| (schema.to_owned(), name.to_owned()))?;
    if create.existence.or_replace {
        return Err(SqlError::unsupported("CREATE OR REPLACE TABLE"));
    }
    // Both names stand in one list of tables: whether they exist comes later.
    if let CreateTableBody::Like(other) = &create.body {
        let (other_schema, other_name) = cx.resolve(other)?;
        if (other_schema, other_name) == (&schema[..], &name[..]) {
            return Err(sql_err!(NonuniqTable, name));
        }
        edit.snapshot().require_table(other_schema, other_name)?;
    }
    if is_taken(edit, &schema, &name, create.temporary) {
        let error = sql_err!(TableExists, name);
        if !create.existence.if_exists {
            return Err(error);
        }
        cx.note(&error);
        // Its rows are nowhere: elsewhere it may not exist.
        edit.words.take_if(|_| cx.changes.is_some());
        return Ok(Done::default());
    }
    let (definition, generated) = new_definition(create, (&schema, &name), edit, cx)?;
    if cx.require_primary_key && !definition.indexes.iter().any(|i| i.kind == gannet_schema::IndexKind::Primary) {
        return Err(sql_err!(TableWithoutPk));
    }
    if create.temporary {
        check_temporary(&definition)?;
    }
    let now = (cx.settings.now_us / 1_000_000) as u64;
    if create.temporary {
        // Its rows are the session's transaction's: the caller fills it.
        let table = sql(edit.create_temporary(&schema, &definition, now))?;
        if !matches!(create.body, CreateTableBody::Like(_)) {
            warn_of_duplicates(&table, |_| true, cx);
        }
        return Ok(Done::default());
    }
    let table = sql(edit.create_table(&schema, &definition, now))?;
    if !matches!(create.body, CreateTableBody::Like(_)) {
        warn_of_duplicates(&table, |_| true, cx);
    }
    if let (true, true, Some(words_for)) = (generated, edit.words.is_some(), cx.words_for) {
        // Who reads it generates none.
        edit.words = Some(words_for(&select::statement_of(&table, cx.database)));
    }
    foreign::check_new(&table, None, edit.snapshot(), cx)?;
    foreign::check_waiting(&table, edit.snapshot(), cx)?;
    match (cx.select.take(), &create.body) {
        (Some((plan, params)), CreateTableBody::Define { on_duplicate, .. }) => {
            let plan = select::insert_plan(&table, plan, *on_duplicate, edit.snapshot())?;
            select::fill(&plan, &params, edit, cx)
        }
        _ => Ok(Done::default()),
    }
}

/// The definition of a new table, and whether its primary key was generated.
fn new_definition(
    create: &CreateTable,
    (schema, name): (&str, &str),
    edit: &mut Edit<'_>,
    cx: &mut DdlContext<'_>,
) -> Result<(TableDefinition, bool)> {
    match &create.body {
        CreateTableBody::Like(other) => {
            let (other_schema, other_name) = cx.resolve(other)?;
            let other = edit.snapshot().require_table(other_schema, other_name)?.clone();
            if other.view().is_some() {
                return Err(sql_err!(WrongObject, other_schema, other_name, "BASE TABLE"));
            }
            let mut definition = definition::like(&other, name);
            let generated = cx.generate_primary_key && generated_key::add_to(&mut definition)?;
            for column in &definition.columns {
                definition::deprecated_type(&column.column, cx);
            }
            Ok((definition, generated))
        }
        CreateTableBody::Define { elements, options, partition, .. } => {
            if create.temporary && elements.iter().any(|e| matches!(e, TableElement::ForeignKey(_))) {
                return Err(sql_err!(CannotAddForeign));
            }
            let inherited = edit.snapshot().schema(schema).ok_or_else(|| missing_schema(schema))?.collation;
            let selected = select::columns(cx)?;
            selected.iter().for_each(|c| definition::deprecated_type(&c.column, cx));
            let definer = Definer::new(inherited, cx);
            let about = definition::About { name, schema, partitioned: partition.is_some() };
            let (mut made, generated) = definer.table(&about, elements, selected, options, edit.snapshot())?;
            partition::add((partition.as_deref(), options), schema, &mut made, edit, cx)?;
            Ok((made, generated))
        }
    }
}

/// Drops all tables or none. Missing ones are named together in error 1051, or noted with IF EXISTS.
fn drop_tables(
    temporary: bool,
    if_exists: bool,
    names: &[ObjectName],
    edit: &mut Edit<'_>,
    cx: &mut DdlContext<'_>,
) -> Result<()> {
    let mut missing = Vec::new();
    let mut present: Vec<(String, String)> = Vec::new();
    for name in names {
        let (schema, name) = cx.resolve(name)?;
        // A view is no table, and is told of as one that is missing.
        if edit.snapshot().table(schema, name).is_some_and(|t| t.view().is_none() && (t.temporary || !temporary)) {
            let named = (schema.to_owned(), name.to_owned());
            if present.contains(&named) {
                return Err(sql_err!(NonuniqTable, name));
            }
            present.push(named);
        } else {
            check_table_name(name)?;
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
    if cx.foreign_key_checks {
        refuse_parents(&present, edit)?;
    }
    for (schema, name) in present {
        sql(edit.drop_table(&schema, &name))?;
    }
    Ok(())
}

fn schema_names(schema: &str, edit: &Edit<'_>) -> Vec<(String, String)> {
    edit.snapshot().tables(schema).iter().map(|t| (t.schema.to_string(), t.name.to_string())).collect()
}

/// Error 3730 for a table that goes while one that stays refers to it.
fn refuse_parents(going: &[(String, String)], edit: &Edit<'_>) -> Result<()> {
    for (schema, name) in going {
        if edit.snapshot().temporary_table(schema, name).is_some() {
            continue;
        }
        for child in edit.snapshot().children(schema, name) {
            if going.iter().any(|(s, n)| *s == *child.schema && *n == *child.name) {
                continue;
            }
            let key =
                child.constraints.foreign_keys.iter().find(|k| *k.parent == **name && *k.parent_schema == **schema);
            if let Some(key) = key {
                return Err(sql_err!(FkCannotDropParent, name, key.name, child.name));
            }
        }
    }
    Ok(())
}

fn truncate(schema: &str, name: &str, edit: &mut Edit<'_>, cx: &DdlContext<'_>) -> Result<()> {
    if edit.snapshot().require_table(schema, name)?.view().is_some() {
        return Err(sql_err!(NoSuchTable, schema, name));
    }
    if cx.foreign_key_checks && edit.snapshot().temporary_table(schema, name).is_none() {
        for child in edit.snapshot().children(schema, name) {
            if *child.schema == *schema && *child.name == *name {
                continue;
            }
            let key = child.constraints.foreign_keys.iter().find(|k| *k.parent == *name && *k.parent_schema == *schema);
            if let Some(key) = key {
                let text = format!("`{}`.`{}`, CONSTRAINT `{}`", child.schema, child.name, key.name);
                return Err(sql_err!(TruncateIllegalFk, text));
            }
        }
    }
    sql(edit.truncate_table(schema, name)).map(|_| ())
}

/// CREATE INDEX and DROP INDEX are ALTER TABLE with one action.
fn create_index(create: &CreateIndex, edit: &mut Edit<'_>, cx: &mut DdlContext<'_>) -> Result<Done> {
    if create.existence.or_replace {
        return Err(SqlError::unsupported("OR REPLACE of CREATE INDEX"));
    }
    if create.existence.if_exists
        && let Some(index) = &create.index.name
    {
        let (schema, name) = cx.resolve(&create.table)?;
        if edit.snapshot().require_table(schema, name)?.index(index).is_some() {
            cx.note(&sql_err!(DupKeyname, index));
            return Ok(Done::default());
        }
    }
    let mut actions = vec![AlterAction::AddElement(Box::new(TableElement::Index(create.index.clone())))];
    actions.extend(create.online.iter().cloned());
    let alter = AlterTable { name: create.table.clone(), if_exists: false, actions, partition: None };
    alter::alter_table(&alter, edit, cx)
}

fn drop_index(drop: &DropIndex, edit: &mut Edit<'_>, cx: &mut DdlContext<'_>) -> Result<Done> {
    let mut actions = vec![AlterAction::DropIndex { name: drop.name.clone(), if_exists: drop.if_exists }];
    actions.extend(drop.online.iter().cloned());
    let alter = AlterTable { name: drop.table.clone(), if_exists: false, actions, partition: None };
    alter::alter_table(&alter, edit, cx)
}

/// The binary type that CHARACTER SET binary makes of a text type.
fn binary_twin(id: TypeId) -> TypeId {
    match id {
        TypeId::Char => TypeId::Binary,
        TypeId::VarChar => TypeId::VarBinary,
        TypeId::TinyText => TypeId::TinyBlob,
        TypeId::Text => TypeId::Blob,
        TypeId::MediumText => TypeId::MediumBlob,
        TypeId::LongText => TypeId::LongBlob,
        other => other,
    }
}
