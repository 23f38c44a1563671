//! Virtual tables: information_schema, performance_schema, mysql.user. Each is declared once, beside the function that
//! makes its rows: `declare`. The planner sees them as tables whose rows the session makes.

#[macro_use]
mod declare;
mod absent;
mod accounts;
mod attributes;
mod columns;
mod deeds;
mod empty;
mod events;
mod figures;
mod full_text;
pub(crate) mod help;
mod innodb;
pub(crate) mod keys;
mod locks;
mod metadata;
mod noted;
mod objects;
mod performance;
mod prepared;
mod programs;
mod ran;
mod replication;
mod runtime;
mod seen;
mod sockets;
mod spaces;
mod stages;
mod transactions;
mod usage;
mod variables;
mod views;
mod waited;
pub(crate) use runtime::{process_row, visible};
pub(crate) use usage::flush as flush_statistics;

use crate::state::State;
use declare::Written;
use gannet_catalog::Catalog;
use gannet_core::Core;
use gannet_engine::TransactionInfo;
use gannet_exec::{MadeRow, Rest};
use gannet_plan::plan::ResultColumn;
use gannet_schema::{
    CatalogSnapshot, Change, Column, ColumnDefault, RowSource, SchemaId, Table, TableId, TableOptions, TableParts,
    assemble,
};
use gannet_types::charset::Charset;
use gannet_types::members::Members;
use gannet_types::{CollationId, Result, SqlError, Value, ValueRef, Warning};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// MySQL's dictionary is in utf8mb3.
const TEXT: CollationId = CollationId::UTF8MB3_GENERAL_CI;

/// Where a table's rows go, one call a row.
type Emit<'a> = &'a mut dyn FnMut(&[Value]) -> Result<()>;
/// Where rows go in the end.
type Out<'a> = &'a mut dyn FnMut(MadeRow<'_>) -> Result<()>;
/// Makes rows. The equalities are a hint: the rows are filtered afterwards in any case.
type Rows = fn(&mut State, &Equals<'_>, Emit<'_>) -> Result<()>;

/// What TRUNCATE does to a table that may be truncated.
type Reset = fn(&Core);

/// A declared table.
struct Declared {
    schema: &'static str,
    name: &'static str,
    columns: Vec<Column>,
    rows: Rows,
    reset: &'static [Reset],
}

/// What a column is known to equal, and which columns are looked at.
pub(crate) struct Equals<'a> {
    table: &'static Declared,
    list: &'a [(u32, Value)],
    wanted: &'a [u32],
    /// What the table has left to make.
    left: RefCell<Rest>,
    /// Of this execution.
    lists: RefCell<Box<Lists>>,
    /// Rows so far.
    rows: Cell<u32>,
    /// What there is to say of rows, by their numbers.
    noted: RefCell<Vec<(u32, Warning)>>,
    /// Where the rows go.
    out: RefCell<Out<'a>>,
}

/// What several tables show, each list of one moment, read when the first of them asks for it.
#[derive(Default)]
struct Lists {
    locks: Option<Arc<locks::Listing>>,
    transactions: Option<Arc<Vec<TransactionInfo>>>,
}

impl Equals<'_> {
    /// Says something of the row that comes next: whoever reads it is told.
    fn note(&self, warning: Warning) {
        self.noted.borrow_mut().push((self.rows.get(), warning));
    }

    /// What the last call has left, of a table that makes its rows from `T`; or `begin`.
    fn left<T: 'static>(&self, begin: impl FnOnce() -> T) -> T {
        self.left.take().and_then(|left| left.downcast().ok()).map_or_else(begin, |left| *left)
    }

    /// There are more rows to come.
    fn leave<T: 'static>(&self, left: T) {
        *self.left.borrow_mut() = Some(Box::new(left));
    }

    /// Locks of rows and waits for them.
    fn locks(&self, state: &State) -> Arc<locks::Listing> {
        self.lists.borrow_mut().locks.get_or_insert_with(|| Arc::new(locks::Listing::of(state))).clone()
    }

    /// The transactions that run.
    fn transactions(&self, state: &State) -> Arc<Vec<TransactionInfo>> {
        let list = || Arc::new(state.server.engine.transactions(10_000));
        self.lists.borrow_mut().transactions.get_or_insert_with(list).clone()
    }

    /// The next row.
    fn give(&self, row: MadeRow<'_>) -> Result<()> {
        let width = match row {
            MadeRow::Values(row) => row.len(),
            MadeRow::Lent(row) => row.len(),
        };
        debug_assert_eq!(width, self.table.columns.len(), "{}", self.table.name);
        self.rows.set(self.rows.get() + 1);
        (self.out.borrow_mut())(row)
    }

    /// The next row, of a table that may have thousands: as with `emit`, but texts are not copied for it.
    fn lend(&self, row: &[ValueRef<'_>]) -> Result<()> {
        self.give(MadeRow::Lent(row))
    }

    /// One of the columns is looked at.
    fn wants(&self, columns: &[&str]) -> bool {
        let name = |i: &u32| self.table.columns.get(*i as usize).map_or("", |c| &*c.name);
        self.wanted.iter().any(|i| columns.contains(&name(i)))
    }

    /// The text that the column equals, if that is known.
    fn text(&self, column: &str) -> Option<String> {
        let at = self.table.columns.iter().position(|c| &*c.name == column)? as u32;
        let (_, value) = self.list.iter().find(|(c, _)| *c == at)?;
        let mut text = Vec::new();
        value.write_text(&mut text);
        if let Value::Str(_, c) = value
            && c.charset() != Charset::Binary
        {
            text = c.charset().convert(&text, Charset::Utf8mb4).bytes.into_owned();
        }
        Some(String::from_utf8_lossy(&text).into_owned())
    }
}

fn declared() -> &'static [Declared] {
    static ALL: std::sync::OnceLock<Vec<Declared>> = std::sync::OnceLock::new();
    ALL.get_or_init(|| {
        let lists = [
            metadata::INFORMATION_SCHEMA,
            attributes::INFORMATION_SCHEMA,
            accounts::INFORMATION_SCHEMA,
            runtime::INFORMATION_SCHEMA,
            figures::INFORMATION_SCHEMA,
            innodb::INFORMATION_SCHEMA,
            spaces::INFORMATION_SCHEMA,
            programs::INFORMATION_SCHEMA,
            usage::INFORMATION_SCHEMA,
            usage::PERFORMANCE_SCHEMA,
            empty::INFORMATION_SCHEMA,
            runtime::PERFORMANCE_SCHEMA,
            events::PERFORMANCE_SCHEMA,
            events::WAITS,
            performance::PERFORMANCE_SCHEMA,
            deeds::PERFORMANCE_SCHEMA,
            transactions::PERFORMANCE_SCHEMA,
            objects::PERFORMANCE_SCHEMA,
            replication::PERFORMANCE_SCHEMA,
            seen::PERFORMANCE_SCHEMA,
            absent::PERFORMANCE_SCHEMA,
            absent::OFF,
            stages::PERFORMANCE_SCHEMA,
            ran::PERFORMANCE_SCHEMA,
            prepared::PERFORMANCE_SCHEMA,
            variables::PERFORMANCE_SCHEMA,
            waited::PERFORMANCE_SCHEMA,
            sockets::PERFORMANCE_SCHEMA,
            noted::PERFORMANCE_SCHEMA,
            empty::PERFORMANCE_SCHEMA,
            accounts::MYSQL,
            figures::MYSQL,
            help::MYSQL,
            empty::MYSQL,
            replication::MYSQL,
        ];
        let table = |w: &Written| {
            let own = own_collation(w.schema);
            let columns = w.columns.iter().copied().flatten();
            let columns = columns.map(|(name, spec)| declare::column(name, spec, own)).collect();
            Declared { schema: w.schema, name: w.name, columns, rows: w.rows, reset: w.reset }
        };
        lists.into_iter().flatten().map(table).collect()
    })
}

/// The collation of a schema's texts.
fn own_collation(schema: &str) -> CollationId {
    if schema == "performance_schema" { CollationId::UTF8MB4_0900_AI_CI } else { TEXT }
}

/// Numbers of virtual tables begin here. Numbers of the catalog's tables begin at 1024.
const FIRST_ID: u64 = 100;

/// Makes the tables known to the catalog.
pub fn publish(catalog: &Catalog) {
    catalog.add_virtual(tables(&catalog.snapshot()).collect());
}

/// A dictionary with the tables.
pub(crate) fn with_tables(snapshot: CatalogSnapshot) -> CatalogSnapshot {
    let tables: Vec<Table> = tables(&snapshot).collect();
    snapshot.with(tables.into_iter().map(|t| Change::PutTable(Arc::new(t))))
}

fn tables(snapshot: &CatalogSnapshot) -> impl Iterator<Item = Table> {
    let numbered = declared().iter().enumerate();
    numbered.map(|(i, d)| table_of(i as u32, d, snapshot.schema_id(Some(d.schema))))
}

fn table_of(number: u32, d: &Declared, schema_id: SchemaId) -> Table {
    let parts = TableParts {
        history: Default::default(),
        id: TableId(FIRST_ID + u64::from(number)),
        schema_id,
        row_tree: gannet_engine::TreeId(0),
        created: 0,
        options: TableOptions {
            collation: if d.schema == "mysql" { CollationId::UTF8MB3_BIN } else { own_collation(d.schema) },
            comment: "".into(),
            create_options: Box::new([]),
        },
        temporary: false,
        triggers: Box::default(),
        constraints: gannet_schema::Constraints::default(),
        source: RowSource::Virtual(number),
        partitioned: None,
    };
    assemble(parts, d.schema.into(), d.name.into(), d.columns.clone(), Vec::new(), None, Arc::default())
}

/// Produces the rows of virtual table `number`.
pub(crate) fn rows(
    state: &mut State,
    number: u32,
    (list, wanted): (&[(u32, Value)], &[u32]),
    (rest, lists): (&mut Rest, &mut Rest),
    emit: Out<'_>,
) -> Result<Vec<(u32, Warning)>> {
    let table = declared().get(number as usize).ok_or_else(|| SqlError::internal("no such virtual table"))?;
    let (left, out) = (RefCell::new(rest.take()), RefCell::new(emit));
    let known = RefCell::new(lists.take().and_then(|lists| lists.downcast().ok()).unwrap_or_default());
    let (rows, noted) = (Cell::new(0), RefCell::default());
    let equals = Equals { table, list, wanted, left, lists: known, rows, noted, out };
    (table.rows)(state, &equals, &mut |row| equals.give(MadeRow::Values(row)))?;
    *rest = equals.left.take();
    *lists = Some(equals.lists.into_inner());
    Ok(equals.noted.into_inner())
}

/// TRUNCATE of virtual table `number`; false when it cannot be truncated.
pub(crate) fn reset(server: &Core, number: u32) -> bool {
    let reset = declared().get(number as usize).map_or(&[][..], |d| d.reset);
    reset.iter().for_each(|forget| forget(server));
    !reset.is_empty()
}

/// A stored table's column as a result describes it (COM_FIELD_LIST).
pub fn result_column(table: &Table, ordinal: u32) -> ResultColumn {
    let c = &table.columns[ordinal as usize];
    use gannet_types::sqltype::flags;
    let mut bits = c.ty.column_flags();
    bits |= match gannet_schema::show::column_key(table, ordinal) {
        "PRI" => flags::PRI_KEY | flags::PART_KEY,
        "UNI" => flags::UNIQUE_KEY | flags::PART_KEY,
        "MUL" => flags::MULTIPLE_KEY | flags::PART_KEY,
        _ => 0,
    };
    if c.auto_increment {
        bits |= flags::AUTO_INCREMENT;
    }
    if !c.nullable && c.default == ColumnDefault::None && !c.auto_increment {
        bits |= flags::NO_DEFAULT_VALUE;
    }
    ResultColumn {
        name: (*c.name).into(),
        org_name: (*c.name).into(),
        table: (*table.name).into(),
        org_table: (*table.name).into(),
        schema: (*table.schema).into(),
        ty: c.ty.clone(),
        flags: bits,
        computed: false,
    }
}

/// Dictionary text.
fn text(s: &str) -> Value {
    Value::Str(s.into(), TEXT)
}

/// Dictionary text that is lent ([`Equals::lend`]).
fn lent(s: &str) -> ValueRef<'_> {
    ValueRef::Str(s.as_bytes(), TEXT)
}

/// The same of text that there may be none of.
fn lent_or_null(s: Option<&str>) -> ValueRef<'_> {
    s.map_or(ValueRef::Null, lent)
}

fn maybe(s: Option<&str>) -> Value {
    s.map_or(Value::Null, text)
}

fn yes_no(b: bool) -> Value {
    text(if b { "YES" } else { "NO" })
}

/// The members of an enumerated or set column of a virtual table.
fn members_of(table: &'static str, column: &'static str) -> Option<&'static Arc<Members>> {
    type Index = std::collections::HashMap<(&'static str, &'static str), Arc<Members>>;
    static INDEX: std::sync::OnceLock<Index> = std::sync::OnceLock::new();
    let index = INDEX.get_or_init(|| {
        let of = |d: &'static Declared| {
            let with = |c: &'static Column| Some(((d.name, &*c.name), c.ty.members.clone()?));
            d.columns.iter().filter_map(with)
        };
        declared().iter().flat_map(of).collect()
    });
    index.get(&(table, column))
}

/// The member of an enumerated column of a virtual table.
fn member(table: &'static str, column: &'static str, name: &str) -> Value {
    let Some(members) = members_of(table, column) else { return Value::Null };
    match members.names.iter().position(|n| &**n == name) {
        Some(i) => Value::Enum(i as u16 + 1, members.clone()),
        None => Value::Null,
    }
}

/// The members of a set column of a virtual table, in any case.
fn members(table: &'static str, column: &'static str, names: &[String]) -> Value {
    let Some(members) = members_of(table, column) else { return Value::Null };
    let chosen = |m: &str| names.iter().any(|n| n.eq_ignore_ascii_case(m));
    let bits = members.names.iter().enumerate().filter(|(_, m)| chosen(m)).fold(0u64, |b, (i, _)| b | 1 << i);
    Value::Set(bits, members.clone())
}

/// Seconds since 1970 as TIMESTAMP; NULL for 0.
fn seconds(n: u64) -> Value {
    micros(n.saturating_mul(1_000_000), 0)
}

fn micros(us: u64, fsp: u8) -> Value {
    let stamp = i64::try_from(us).ok().filter(|n| *n > 0).and_then(gannet_types::Timestamp::from_unix_micros);
    stamp.map_or(Value::Null, |t| Value::Timestamp(t, fsp))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_well_formed() {
        for d in declared() {
            assert!(!d.columns.is_empty(), "{}", d.name);
            for c in &d.columns {
                assert!(
                    c.ty.id != gannet_types::TypeId::Enum || c.ty.members.as_ref().is_some_and(|m| m.names.len() > 1),
                    "{} {}",
                    d.name,
                    c.name
                );
            }
        }
        let find = |n: &str| declared().iter().find(|d| d.name == n).unwrap().columns.len();
        assert_eq!((find("TABLES"), find("COLUMNS"), find("STATISTICS"), find("SCHEMATA")), (21, 22, 18, 6));
        assert_eq!((find("user"), find("events_statements_summary_by_digest"), find("INNODB_TRX")), (51, 39, 25));
        let Value::Enum(2, _) = member("TABLES", "TABLE_TYPE", "VIEW") else { panic!() };
    }
}
