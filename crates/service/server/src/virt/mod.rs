//! Virtual tables: information_schema, performance_schema, mysql.user. Declared once each: columns in [`tables`], rows by
//! a function here. The planner sees them as tables whose rows the session makes.

mod accounts;
mod figures;
mod innodb;
mod metadata;
mod more_tables;
mod performance;
mod runtime;
pub(crate) use runtime::{process_row, visible};
mod tables;

use crate::session::state::State;
use gannet_catalog::{
    Catalog, Column, ColumnDefault, RowSource, SchemaId, Table, TableId, TableOptions, TableParts, assemble,
};
use gannet_plan::plan::ResultColumn;
use gannet_types::charset::Charset;
use gannet_types::members::Members;
use gannet_types::{CollationId, Result, SqlError, SqlType, TypeId, Value};
use std::sync::Arc;

/// MySQL's dictionary is in utf8mb3.
const TEXT: CollationId = CollationId(33);

/// Where a table's rows go, one call a row.
type Emit<'a> = &'a mut dyn FnMut(&[Value]) -> Result<()>;
/// Makes rows. The equalities are a hint: the rows are filtered afterwards in any case.
type Rows = fn(&mut State, &Equals<'_>, Emit<'_>) -> Result<()>;

/// A declared table.
struct Declared {
    schema: &'static str,
    name: &'static str,
    columns: Vec<Column>,
    rows: Rows,
}

/// What a column is known to equal, and which columns are looked at.
pub(crate) struct Equals<'a> {
    table: &'static Declared,
    list: &'a [(u32, Value)],
    wanted: &'a [u32],
}

impl Equals<'_> {
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

fn no_rows(_: &mut State, _: &Equals<'_>, _: Emit<'_>) -> Result<()> {
    Ok(())
}

/// Row makers by table name; tables without one are truly empty here.
fn maker(schema: &str, name: &str) -> Rows {
    match (schema, name) {
        ("information_schema", "SCHEMATA") => metadata::schemata,
        ("information_schema", "TABLES") => metadata::tables,
        ("information_schema", "COLUMNS") => metadata::columns,
        ("information_schema", "STATISTICS") => metadata::statistics,
        ("information_schema", "COLUMN_STATISTICS") => figures::column_statistics,
        ("mysql", "innodb_table_stats") => figures::table_stats,
        ("mysql", "innodb_index_stats") => figures::index_stats,
        ("information_schema", "KEY_COLUMN_USAGE") => metadata::key_column_usage,
        ("information_schema", "TABLE_CONSTRAINTS") => metadata::table_constraints,
        ("information_schema", "REFERENTIAL_CONSTRAINTS") => metadata::referential_constraints,
        ("information_schema", "CHECK_CONSTRAINTS") => metadata::check_constraints,
        ("information_schema", "PARTITIONS") => metadata::partitions,
        ("information_schema", "VIEWS") => metadata::views,
        ("information_schema", "VIEW_TABLE_USAGE") => metadata::view_table_usage,
        ("information_schema", "CHARACTER_SETS") => metadata::character_sets,
        ("information_schema", "COLLATIONS") => metadata::collations,
        ("information_schema", "COLLATION_CHARACTER_SET_APPLICABILITY") => metadata::applicability,
        ("information_schema", "ENGINES") => metadata::engines,
        ("information_schema", "PLUGINS") => metadata::plugins,
        ("information_schema", "KEYWORDS") => metadata::keywords,
        ("information_schema", "USER_PRIVILEGES") => accounts::user_privileges,
        ("information_schema", "SCHEMA_PRIVILEGES") => accounts::schema_privileges,
        ("information_schema", "TABLE_PRIVILEGES") => accounts::table_privileges,
        ("information_schema", "COLUMN_PRIVILEGES") => accounts::column_privileges,
        ("information_schema", "APPLICABLE_ROLES") => accounts::applicable_roles,
        ("information_schema", "ADMINISTRABLE_ROLE_AUTHORIZATIONS") => accounts::administrable_roles,
        ("information_schema", "ENABLED_ROLES") => accounts::enabled_roles,
        ("information_schema", "ROLE_TABLE_GRANTS") => accounts::role_table_grants,
        ("information_schema", "ROLE_COLUMN_GRANTS") => accounts::role_column_grants,
        ("information_schema", "ROLE_ROUTINE_GRANTS") => accounts::role_routine_grants,
        ("information_schema", "USER_ATTRIBUTES") => accounts::user_attributes,
        ("information_schema", "PROCESSLIST") => runtime::processlist,
        ("information_schema", "PROFILING") => runtime::profiling,
        ("information_schema", "INNODB_TRX") => runtime::innodb_trx,
        ("information_schema", "INNODB_TABLES") => innodb::tables,
        ("information_schema", "INNODB_TABLESTATS") => innodb::table_stats,
        ("information_schema", "INNODB_COLUMNS") => innodb::columns,
        ("information_schema", "INNODB_INDEXES") => innodb::indexes,
        ("information_schema", "INNODB_FIELDS") => innodb::fields,
        ("information_schema", "INNODB_METRICS") => innodb::metrics,
        ("information_schema", "INNODB_BUFFER_POOL_STATS") => innodb::buffer_pool_stats,
        ("information_schema", "GANNET_RECOVERY") => innodb::recovery,
        ("information_schema", "SCHEMATA_EXTENSIONS") => metadata::schemata_extensions,
        ("information_schema", "TABLES_EXTENSIONS") => metadata::tables_extensions,
        ("information_schema", "COLUMNS_EXTENSIONS") => metadata::columns_extensions,
        ("information_schema", "TABLE_CONSTRAINTS_EXTENSIONS") => metadata::constraints_extensions,
        ("information_schema", "RESOURCE_GROUPS") => metadata::resource_groups,
        ("performance_schema", "threads") => performance::threads,
        ("performance_schema", "data_locks") => performance::data_locks,
        ("performance_schema", "data_lock_waits") => performance::data_lock_waits,
        ("performance_schema", "metadata_locks") => performance::metadata_locks,
        ("performance_schema", "setup_actors") => performance::setup_actors,
        ("performance_schema", "setup_consumers") => performance::setup_consumers,
        ("performance_schema", "setup_instruments") => performance::setup_instruments,
        ("performance_schema", "setup_objects") => performance::setup_objects,
        ("performance_schema", "accounts") => performance::accounts,
        ("performance_schema", "users") => performance::users,
        ("performance_schema", "hosts") => performance::hosts,
        ("performance_schema", "user_variables_by_thread") => performance::user_variables,
        ("performance_schema", "processlist") => runtime::processlist_ps,
        ("performance_schema", "events_statements_summary_by_digest") => runtime::digests,
        ("performance_schema", "events_waits_summary_global_by_event_name") => runtime::waits,
        ("performance_schema", "session_connect_attrs") => runtime::attributes,
        ("performance_schema", "session_account_connect_attrs") => runtime::account_attributes,
        ("performance_schema", "global_status") => runtime::global_status,
        ("performance_schema", "session_status") => runtime::session_status,
        ("performance_schema", "global_variables") => runtime::global_variables,
        ("performance_schema", "session_variables") => runtime::session_variables,
        ("performance_schema", "persisted_variables") => runtime::persisted_variables,
        ("performance_schema", "variables_info") => runtime::variables_info,
        ("mysql", "component") => accounts::components,
        ("mysql", "user") => accounts::mysql_user,
        ("mysql", "db") => accounts::mysql_db,
        ("mysql", "tables_priv") => accounts::tables_priv,
        ("mysql", "columns_priv") => accounts::columns_priv,
        ("mysql", "procs_priv") => accounts::procs_priv,
        ("mysql", "proxies_priv") => accounts::proxies_priv,
        ("mysql", "role_edges") => accounts::role_edges,
        ("mysql", "default_roles") => accounts::default_roles,
        ("mysql", "global_grants") => accounts::global_grants,
        ("mysql", "password_history") => accounts::password_history,
        _ => no_rows,
    }
}

fn declared() -> &'static [Declared] {
    static ALL: std::sync::OnceLock<Vec<Declared>> = std::sync::OnceLock::new();
    ALL.get_or_init(|| {
        let mut all = Vec::new();
        read("information_schema", tables::INFORMATION_SCHEMA, &mut all);
        read("information_schema", more_tables::INFORMATION_SCHEMA, &mut all);
        read("performance_schema", tables::PERFORMANCE_SCHEMA, &mut all);
        read("performance_schema", more_tables::PERFORMANCE_SCHEMA, &mut all);
        read("mysql", tables::MYSQL, &mut all);
        read("mysql", more_tables::MYSQL, &mut all);
        all
    })
}

fn read(schema: &'static str, text: &'static str, all: &mut Vec<Declared>) {
    for line in text.lines().filter(|l| !l.is_empty()) {
        let Some(columns) = line.strip_prefix(' ') else {
            all.push(Declared { schema, name: line, columns: Vec::new(), rows: maker(schema, line) });
            continue;
        };
        for column in columns.split("; ") {
            let (name, rest) = column.split_once(' ').unwrap_or((column, "text"));
            let (spec, marks) = match rest.rsplit_once(' ') {
                Some((spec, marks)) if matches!(marks, "!" | "!0" | "0") => (spec, marks),
                _ => (rest, ""),
            };
            if let Some(table) = all.last_mut() {
                table.columns.push(make_column(schema, name, spec, marks));
            }
        }
    }
}

fn make_column(schema: &str, name: &str, spec: &str, marks: &str) -> Column {
    let (short, own) = spec.split_once('~').unwrap_or((spec, ""));
    let spec = tables::SHORT.iter().find(|(name, _)| *name == short).map_or(short, |(_, long)| long);
    let (spec, collation) = spec.split_once('~').unwrap_or((spec, own));
    let mut ty = parse_type(spec, collation_of(schema, collation));
    let not_null = marks.starts_with('!');
    ty.nullable = !not_null;
    let default = match marks.ends_with('0') {
        true if ty.id.is_string() => ColumnDefault::Literal(Value::Str("".into(), ty.collation)),
        true if ty.id.is_integer() => ColumnDefault::Literal(Value::Int(0)),
        true if ty.id == TypeId::Enum => {
            ty.members.clone().map_or(ColumnDefault::None, |m| ColumnDefault::Literal(Value::Enum(1, m)))
        }
        _ if not_null => ColumnDefault::None,
        _ => ColumnDefault::Null,
    };
    Column {
        name: name.into(),
        nullable: !not_null,
        default,
        on_update_now: false,
        auto_increment: false,
        generated: None,
        comment: "".into(),
        invisible: false,
        explicit_collation: false,
        hidden: false,
        ty,
    }
}

/// The collation that a mark names; without one, the schema's own.
fn collation_of(schema: &str, mark: &str) -> CollationId {
    match mark {
        "b" => CollationId(83),
        "a" => CollationId(11),
        "4b" => CollationId::UTF8MB4_BIN,
        "4" => CollationId::UTF8MB4_0900_AI_CI,
        _ if schema == "performance_schema" => CollationId::UTF8MB4_0900_AI_CI,
        _ => TEXT,
    }
}

/// The types that occur in [`tables`].
fn parse_type(spec: &str, collation: CollationId) -> SqlType {
    let (base, args) = match spec.split_once('(') {
        Some((base, rest)) => (base, rest.trim_end_matches(')')),
        None => (spec, ""),
    };
    let n: u32 = args.parse().unwrap_or(0);
    match base {
        "varchar" => SqlType::varchar(n, collation),
        "char" => SqlType::char(n, collation),
        "binary" => SqlType { length: n, ..SqlType::new(TypeId::Binary) },
        "bigint" => SqlType::BIGINT,
        "bigint unsigned" => SqlType::bigint_unsigned(),
        "int" => SqlType::new(TypeId::Int),
        "int unsigned" => SqlType::new(TypeId::Int).unsigned(),
        "smallint" => SqlType::new(TypeId::SmallInt),
        "smallint unsigned" => SqlType::new(TypeId::SmallInt).unsigned(),
        "tinyint" => SqlType { length: n, ..SqlType::new(TypeId::TinyInt) },
        "tinyint unsigned" => SqlType::new(TypeId::TinyInt).unsigned(),
        "longtext" => SqlType::new(TypeId::LongText).with_collation(collation),
        "mediumtext" => SqlType::new(TypeId::MediumText).with_collation(collation),
        "text" => SqlType::new(TypeId::Text).with_collation(collation),
        "blob" => SqlType::new(TypeId::Blob),
        "mediumblob" => SqlType::new(TypeId::MediumBlob),
        "longblob" => SqlType::new(TypeId::LongBlob),
        "float" => SqlType::new(TypeId::Float),
        "double" => SqlType::new(TypeId::Double),
        "decimal" => SqlType { length: 9, scale: 6, ..SqlType::new(TypeId::Decimal) },
        "json" => SqlType::new(TypeId::Json),
        "time" => SqlType::temporal(TypeId::Time, n as u8),
        "datetime" => SqlType::temporal(TypeId::DateTime, n as u8),
        "timestamp" => SqlType::temporal(TypeId::Timestamp, n as u8),
        _ => {
            let names = args.split(',').map(|m| m.trim_matches('\'').into()).collect();
            let id = if base == "set" { TypeId::Set } else { TypeId::Enum };
            SqlType::enumeration(id, Arc::new(Members::new(names, collation)))
        }
    }
}

/// Numbers of virtual tables begin here; the catalog gives its own from 1024 on.
const FIRST_ID: u64 = 100;

/// Makes the tables known to the catalog.
pub(crate) fn publish(catalog: &Catalog) {
    let tables = declared().iter().enumerate().map(|(i, d)| {
        let schema_id = catalog.snapshot().schema_id(Some(d.schema));
        table_of(i as u32, d, schema_id)
    });
    catalog.add_virtual(tables.collect());
}

fn table_of(number: u32, d: &Declared, schema_id: SchemaId) -> Table {
    let own = if d.schema == "mysql" { "b" } else { "" };
    let parts = TableParts {
        id: TableId(FIRST_ID + u64::from(number)),
        schema_id,
        row_tree: gannet_engine::TreeId(0),
        created: 0,
        options: TableOptions {
            collation: collation_of(d.schema, own),
            comment: "".into(),
            create_options: Box::new([]),
        },
        temporary: false,
        replaced: 0,
        constraints: gannet_catalog::Constraints::default(),
        source: RowSource::Virtual(number),
    };
    assemble(parts, d.schema.into(), d.name.into(), d.columns.clone(), Vec::new(), None, Arc::default())
}

/// Gives the rows of virtual table `number`.
pub(crate) fn rows(
    state: &mut State,
    number: u32,
    equals: &[(u32, Value)],
    wanted: &[u32],
    emit: Emit<'_>,
) -> Result<()> {
    let table = declared().get(number as usize).ok_or_else(|| SqlError::internal("no such virtual table"))?;
    let width = table.columns.len();
    let mut checked = |row: &[Value]| {
        debug_assert_eq!(row.len(), width, "{}", table.name);
        emit(row)
    };
    (table.rows)(state, &Equals { table, list: equals, wanted }, &mut checked)
}

/// A stored table's column as a result describes it (COM_FIELD_LIST).
pub(crate) fn result_column(table: &Table, ordinal: u32) -> ResultColumn {
    let c = &table.columns[ordinal as usize];
    use gannet_types::sqltype::flags;
    let mut bits = c.ty.column_flags();
    bits |= match gannet_catalog::show::column_key(table, ordinal) {
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
    }
}

/// Dictionary text.
fn text(s: &str) -> Value {
    Value::Str(s.into(), TEXT)
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
                    c.ty.id != TypeId::Enum || c.ty.members.as_ref().is_some_and(|m| m.names.len() > 1),
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
