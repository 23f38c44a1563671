//! Rows about schemas, tables, columns and what the server offers.

use super::declare::{
    ABSENT, BIGINT, BLOB, DATETIME, INT, LONGTEXT, MEDIUMTEXT, NAME, TEXT, UBIGINT, UINT, enumeration, timestamp,
    tinyint, varchar,
};
use super::{Emit, Equals, maybe, member, seconds, text, views, yes_no};
use crate::state::State;
use gannet_catalog::StoredTable;
use gannet_core::accounts::{Privilege, Privileges};
use gannet_core::vars::Live;
use gannet_schema::partition::Partitioning;
use gannet_schema::show::{column_default, column_extra, column_key, index_rows};
use gannet_schema::{CatalogSnapshot, ColumnDefault, IndexKind, RowSource, Table, has_generated_key};
use gannet_types::charset::CHARSETS;
use gannet_types::collation::{COLLATIONS, Pad};
use gannet_types::{ErrorCode, Level, Result, TypeId, Value};
use std::sync::Arc;

tables! {
    INFORMATION_SCHEMA in "information_schema":
    SCHEMATA by schemata {
        CATALOG_NAME: NAME.bin().not_null(), SCHEMA_NAME: NAME.bin().not_null(),
        DEFAULT_CHARACTER_SET_NAME: NAME.not_null(), DEFAULT_COLLATION_NAME: NAME.not_null(), SQL_PATH: ABSENT,
        DEFAULT_ENCRYPTION: enumeration(&["NO", "YES"]).bin().not_null(),
    }
    TABLES by tables {
        TABLE_CATALOG: NAME.bin().not_null(), TABLE_SCHEMA: NAME.bin().not_null(), TABLE_NAME: NAME.bin().not_null(),
        TABLE_TYPE: enumeration(&["BASE TABLE", "VIEW", "SYSTEM VIEW"]).bin().not_null(), ENGINE: NAME, VERSION: INT,
        ROW_FORMAT: enumeration(&["Fixed", "Dynamic", "Compressed", "Redundant", "Compact", "Paged"]).bin(),
        TABLE_ROWS: UBIGINT, AVG_ROW_LENGTH: UBIGINT, DATA_LENGTH: UBIGINT, MAX_DATA_LENGTH: UBIGINT,
        INDEX_LENGTH: UBIGINT, DATA_FREE: UBIGINT, AUTO_INCREMENT: UBIGINT, CREATE_TIME: timestamp(0).not_null(),
        UPDATE_TIME: DATETIME, CHECK_TIME: DATETIME, TABLE_COLLATION: NAME, CHECKSUM: BIGINT,
        CREATE_OPTIONS: varchar(256), TABLE_COMMENT: TEXT,
    }
    COLUMNS by columns {
        TABLE_CATALOG: NAME.bin().not_null(), TABLE_SCHEMA: NAME.bin().not_null(), TABLE_NAME: NAME.bin().not_null(),
        COLUMN_NAME: NAME, ORDINAL_POSITION: UINT.not_null(), COLUMN_DEFAULT: TEXT.bin(),
        IS_NULLABLE: varchar(3).not_null().empty(), DATA_TYPE: LONGTEXT.bin(), CHARACTER_MAXIMUM_LENGTH: BIGINT,
        CHARACTER_OCTET_LENGTH: BIGINT, NUMERIC_PRECISION: UBIGINT, NUMERIC_SCALE: UBIGINT, DATETIME_PRECISION: UINT,
        CHARACTER_SET_NAME: NAME, COLLATION_NAME: NAME, COLUMN_TYPE: MEDIUMTEXT.bin().not_null(),
        COLUMN_KEY: enumeration(&["", "PRI", "UNI", "MUL"]).bin().not_null(), EXTRA: varchar(256),
        PRIVILEGES: varchar(154), COLUMN_COMMENT: TEXT.bin().not_null(),
        GENERATION_EXPRESSION: LONGTEXT.bin().not_null(), SRS_ID: UINT,
    }
    STATISTICS by statistics {
        TABLE_CATALOG: NAME.bin().not_null(), TABLE_SCHEMA: NAME.bin().not_null(), TABLE_NAME: NAME.bin().not_null(),
        NON_UNIQUE: INT.not_null().empty(), INDEX_SCHEMA: NAME.bin().not_null(), INDEX_NAME: NAME,
        SEQ_IN_INDEX: UINT.not_null(), COLUMN_NAME: NAME, COLLATION: varchar(1), CARDINALITY: BIGINT, SUB_PART: BIGINT,
        PACKED: ABSENT, NULLABLE: varchar(3).not_null().empty(), INDEX_TYPE: varchar(11).bin().not_null().empty(),
        COMMENT: varchar(8).not_null().empty(), INDEX_COMMENT: varchar(2048).bin().not_null(),
        IS_VISIBLE: varchar(3).not_null().empty(), EXPRESSION: LONGTEXT.bin(),
    }
    KEY_COLUMN_USAGE by key_column_usage {
        CONSTRAINT_CATALOG: NAME.bin().not_null(), CONSTRAINT_SCHEMA: NAME.bin().not_null(), CONSTRAINT_NAME: NAME,
        TABLE_CATALOG: NAME.bin().not_null(), TABLE_SCHEMA: NAME.bin().not_null(), TABLE_NAME: NAME.bin().not_null(),
        COLUMN_NAME: NAME, ORDINAL_POSITION: UINT.not_null().empty(), POSITION_IN_UNIQUE_CONSTRAINT: UINT,
        REFERENCED_TABLE_SCHEMA: NAME.bin(), REFERENCED_TABLE_NAME: NAME.bin(), REFERENCED_COLUMN_NAME: NAME,
    }
    TABLE_CONSTRAINTS by table_constraints {
        CONSTRAINT_CATALOG: NAME.bin().not_null(), CONSTRAINT_SCHEMA: NAME.bin().not_null(), CONSTRAINT_NAME: NAME,
        TABLE_SCHEMA: NAME.bin().not_null(), TABLE_NAME: NAME.bin().not_null(),
        CONSTRAINT_TYPE: varchar(11).bin().not_null().empty(), ENFORCED: varchar(3).bin().not_null().empty(),
    }
    REFERENTIAL_CONSTRAINTS by referential_constraints {
        CONSTRAINT_CATALOG: NAME.bin().not_null(), CONSTRAINT_SCHEMA: NAME.bin().not_null(), CONSTRAINT_NAME: NAME,
        UNIQUE_CONSTRAINT_CATALOG: NAME.bin().not_null(), UNIQUE_CONSTRAINT_SCHEMA: NAME.bin().not_null(),
        UNIQUE_CONSTRAINT_NAME: NAME, MATCH_OPTION: enumeration(&["NONE", "PARTIAL", "FULL"]).bin().not_null(),
        UPDATE_RULE: enumeration(&["NO ACTION", "RESTRICT", "CASCADE", "SET NULL", "SET DEFAULT"]).bin().not_null(),
        DELETE_RULE: enumeration(&["NO ACTION", "RESTRICT", "CASCADE", "SET NULL", "SET DEFAULT"]).bin().not_null(),
        TABLE_NAME: NAME.bin().not_null(), REFERENCED_TABLE_NAME: NAME.bin().not_null(),
    }
    CHECK_CONSTRAINTS by check_constraints {
        CONSTRAINT_CATALOG: NAME.bin().not_null(), CONSTRAINT_SCHEMA: NAME.bin().not_null(),
        CONSTRAINT_NAME: NAME.not_null(), CHECK_CLAUSE: LONGTEXT.bin().not_null(),
    }
    CHARACTER_SETS by character_sets {
        CHARACTER_SET_NAME: NAME.not_null(), DEFAULT_COLLATE_NAME: NAME.not_null(),
        DESCRIPTION: varchar(2048).not_null(), MAXLEN: UINT.not_null(),
    }
    COLLATIONS by collations {
        COLLATION_NAME: NAME.not_null(), CHARACTER_SET_NAME: NAME.not_null(), ID: UBIGINT.not_null().empty(),
        IS_DEFAULT: varchar(3).not_null().empty(), IS_COMPILED: varchar(3).not_null().empty(), SORTLEN: UINT.not_null(),
        PAD_ATTRIBUTE: enumeration(&["PAD SPACE", "NO PAD"]).bin().not_null(),
    }
    COLLATION_CHARACTER_SET_APPLICABILITY by applicability {
        COLLATION_NAME: NAME.not_null(), CHARACTER_SET_NAME: NAME.not_null(),
    }
    ENGINES by engines {
        ENGINE: NAME.not_null().empty(), SUPPORT: varchar(8).not_null().empty(),
        COMMENT: varchar(80).not_null().empty(), TRANSACTIONS: varchar(3).empty(), XA: varchar(3).empty(),
        SAVEPOINTS: varchar(3).empty(),
    }
    PLUGINS by plugins {
        PLUGIN_NAME: NAME.not_null().empty(), PLUGIN_VERSION: varchar(20).not_null().empty(),
        PLUGIN_STATUS: varchar(10).not_null().empty(), PLUGIN_TYPE: varchar(80).not_null().empty(),
        PLUGIN_TYPE_VERSION: varchar(20).not_null().empty(), PLUGIN_LIBRARY: NAME.empty(),
        PLUGIN_LIBRARY_VERSION: varchar(20).empty(), PLUGIN_AUTHOR: NAME.empty(),
        PLUGIN_DESCRIPTION: varchar(65535).empty(), PLUGIN_LICENSE: varchar(80).empty(),
        LOAD_OPTION: NAME.not_null().empty(),
    }
    VIEWS by views {
        TABLE_CATALOG: NAME.bin().not_null(), TABLE_SCHEMA: NAME.bin().not_null(), TABLE_NAME: NAME.bin().not_null(),
        VIEW_DEFINITION: LONGTEXT.bin(), CHECK_OPTION: enumeration(&["NONE", "LOCAL", "CASCADED"]).bin(),
        IS_UPDATABLE: enumeration(&["NO", "YES"]).bin(), DEFINER: varchar(288).bin(), SECURITY_TYPE: varchar(7).bin(),
        CHARACTER_SET_CLIENT: NAME.not_null(), COLLATION_CONNECTION: NAME.not_null(),
    }
    PARTITIONS by partitions {
        TABLE_CATALOG: NAME.bin().not_null(), TABLE_SCHEMA: NAME.bin().not_null(), TABLE_NAME: NAME.bin().not_null(),
        PARTITION_NAME: NAME, SUBPARTITION_NAME: NAME, PARTITION_ORDINAL_POSITION: UINT,
        SUBPARTITION_ORDINAL_POSITION: UINT, PARTITION_METHOD: varchar(13), SUBPARTITION_METHOD: varchar(13),
        PARTITION_EXPRESSION: varchar(2048).bin(), SUBPARTITION_EXPRESSION: varchar(2048).bin(),
        PARTITION_DESCRIPTION: TEXT.bin(), TABLE_ROWS: UBIGINT, AVG_ROW_LENGTH: UBIGINT, DATA_LENGTH: UBIGINT,
        MAX_DATA_LENGTH: UBIGINT, INDEX_LENGTH: UBIGINT, DATA_FREE: UBIGINT, CREATE_TIME: timestamp(0).not_null(),
        UPDATE_TIME: DATETIME, CHECK_TIME: DATETIME, CHECKSUM: BIGINT, PARTITION_COMMENT: TEXT.bin().not_null(),
        NODEGROUP: varchar(256), TABLESPACE_NAME: varchar(268).bin(),
    }
    KEYWORDS by keywords {
        WORD: varchar(128).utf8mb4(), RESERVED: INT,
    }
    SCHEMATA_EXTENSIONS by schemata_extensions {
        CATALOG_NAME: NAME.bin().not_null(), SCHEMA_NAME: NAME.bin().not_null(), OPTIONS: varchar(256),
    }
    VIEW_TABLE_USAGE by view_table_usage {
        VIEW_CATALOG: NAME.bin().not_null(), VIEW_SCHEMA: NAME.bin().not_null(), VIEW_NAME: NAME.bin().not_null(),
        TABLE_CATALOG: NAME.bin().not_null(), TABLE_SCHEMA: NAME.bin().not_null(), TABLE_NAME: NAME.bin().not_null(),
    }
    RESOURCE_GROUPS by resource_groups {
        RESOURCE_GROUP_NAME: NAME.not_null(), RESOURCE_GROUP_TYPE: enumeration(&["SYSTEM", "USER"]).bin().not_null(),
        RESOURCE_GROUP_ENABLED: tinyint(1).not_null(), VCPU_IDS: BLOB, THREAD_PRIORITY: INT.not_null(),
    }
}

pub(super) const CATALOG: &str = "def";
/// Page size, for the lengths in information_schema.TABLES.
pub(super) const PAGE_BYTES: u64 = 16 * 1024;

/// Calls `each` for the tables that the equalities on `schema` and `table` leave.
pub(super) fn each_table(
    state: &State,
    equals: &Equals<'_>,
    (schema_column, table_column): (&str, &str),
    mut each: impl FnMut(&CatalogSnapshot, &Arc<Table>) -> Result<()>,
) -> Result<()> {
    let snapshot = state.snapshot.clone();
    let (schema, table) = (equals.text(schema_column), equals.text(table_column));
    if let (Some(s), Some(t)) = (&schema, &table) {
        // Names of tables compare by case, of virtual ones not: the snapshot knows.
        let found = if state.running.shows_temporary { snapshot.table(s, t) } else { snapshot.base_table(s, t) };
        if let Some(found) = found.filter(|t| t.temporary || state.access.sees_table(&t.schema, &t.name)) {
            each(&snapshot, super::keys::shown(found))?;
        }
        return Ok(());
    }
    for s in snapshot.schemas() {
        if schema.as_ref().is_some_and(|want| !want.eq_ignore_ascii_case(&s.name)) {
            continue;
        }
        let mut seen = |t: &Arc<Table>| match state.access.sees_table(&t.schema, &t.name) {
            true => each(&snapshot, super::keys::shown(t)),
            false => Ok(()),
        };
        match &table {
            Some(name) => snapshot.base_table(&s.name, name).map_or(Ok(()), &mut seen)?,
            None => snapshot.tables(&s.name).iter().try_for_each(&mut seen)?,
        }
    }
    Ok(())
}

pub(super) fn schemata(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let access = &state.access;
    for s in state.snapshot.schemas().filter(|s| access.sees_schema(&s.name)) {
        let c = s.collation.get();
        emit(&[
            text(CATALOG),
            text(&s.name),
            text(c.charset.name()),
            text(c.name),
            Value::Null,
            member("SCHEMATA", "DEFAULT_ENCRYPTION", "NO"),
        ])?;
    }
    Ok(())
}

/// Figures of a table in bytes and rows.
pub(super) struct Sizes {
    pub(super) rows: u64,
    pub(super) data: u64,
    pub(super) indexes: u64,
    pub(super) auto_increment: Option<u64>,
}

pub(super) fn sizes(state: &State, t: &Table) -> Sizes {
    let engine = &state.server.engine;
    let none = Sizes { rows: 0, data: 0, indexes: 0, auto_increment: None };
    let Ok(trees) = t.trees(engine) else { return none };
    let auto_increment = t.next_auto_value(trees);
    // The optimizer's figures, once there are any: looking into ten thousand trees would read as many pages.
    let figures = t.statistics.figures();
    if figures.taken != 0 {
        let secondary = figures.indexes.iter().filter(|i| i.tree != t.row_tree);
        let indexes = secondary.map(|i| i.pages * PAGE_BYTES).sum();
        return Sizes { rows: figures.rows, data: figures.pages.max(1) * PAGE_BYTES, indexes, auto_increment };
    }
    let of = |tree| engine.tree_stats(tree).unwrap_or_default();
    let mut sizes = Sizes { auto_increment, ..none };
    for part in t.all_parts().flatten() {
        let Ok(trees) = part.trees(engine) else { continue };
        let row = of(&trees.row);
        let secondary = trees.indexes.iter().enumerate().filter(|(i, _)| t.clustered != Some(*i));
        sizes.rows += row.rows;
        sizes.data += row.pages.max(1) * PAGE_BYTES;
        sizes.indexes += secondary.map(|(_, tree)| of(tree).pages * PAGE_BYTES).sum::<u64>();
    }
    sizes
}

pub(super) fn schemata_extensions(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let access = &state.access;
    for s in state.snapshot.schemas().filter(|s| access.sees_schema(&s.name)) {
        emit(&[text(CATALOG), text(&s.name), text(if s.read_only { "READ ONLY=1" } else { "" })])?;
    }
    Ok(())
}

/// The two groups which every server has, and those that were made.
pub(super) fn resource_groups(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let last = std::thread::available_parallelism().map_or(0, |n| n.get() - 1);
    let every = format!("0-{last}");
    let kind = |kind: &str| member("RESOURCE_GROUPS", "RESOURCE_GROUP_TYPE", kind);
    for (name, of) in crate::objects::OWN_GROUPS {
        emit(&[text(name), kind(of), Value::Int(1), Value::bytes(every.as_bytes()), Value::Int(0)])?;
    }
    let catalog = &state.server.catalog;
    for (name, fields) in crate::objects::all(catalog, catalog.resource_groups())? {
        let [of, enabled, cpus, priority] = &fields[..] else { continue };
        let cpus = if cpus.is_empty() { &every } else { cpus };
        let enabled = Value::Int(i64::from(enabled == "1"));
        let priority = Value::Int(priority.parse().unwrap_or(0));
        emit(&[text(&name), kind(of), enabled, Value::bytes(cpus.as_bytes()), priority])?;
    }
    Ok(())
}

pub(super) fn tables(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let state = &*state;
    let counted = equals.wants(&["TABLE_ROWS", "AVG_ROW_LENGTH", "DATA_LENGTH", "INDEX_LENGTH", "AUTO_INCREMENT"]);
    let commented = equals.wants(&["TABLE_COMMENT"]);
    each_table(state, equals, ("TABLE_SCHEMA", "TABLE_NAME"), |snapshot, t| {
        if t.view().is_some() {
            let mut row = vec![Value::Null; 21];
            row[0] = text(CATALOG);
            row[1] = text(&t.schema);
            row[2] = text(&t.name);
            row[3] = member("TABLES", "TABLE_TYPE", "VIEW");
            row[14] = seconds(t.created);
            row[20] = match commented && *t.schema != *"sys" {
                true => match views::error(state, snapshot, t) {
                    None => text("VIEW"),
                    Some(e) => {
                        equals.note(e.to_warning(Level::Warning));
                        text(e.message())
                    }
                },
                false => text("VIEW"),
            };
            return emit(&row);
        }
        let stored = t.source == RowSource::Engine;
        let system_view = !stored && &*t.schema == "information_schema";
        let kind = if system_view { "SYSTEM VIEW" } else { "BASE TABLE" };
        let s = if stored && counted {
            sizes(state, t)
        } else {
            Sizes { rows: 0, data: 0, indexes: 0, auto_increment: None }
        };
        let number = |n: u64| Value::UInt(n);
        let option = |(k, v): &(Box<str>, Box<str>)| format!("{}={v}", k.to_lowercase());
        let shown = t.options.create_options.iter().filter(|(k, _)| **k != *gannet_schema::options::ENGINE);
        let mut options: Vec<String> = shown.map(option).collect();
        options.extend(t.partitions.as_ref().map(|_| "partitioned".to_owned()));
        let engine = match (stored, &*t.schema) {
            (true, _) => Some("InnoDB"),
            (false, "information_schema") => None,
            (false, "performance_schema") => Some("PERFORMANCE_SCHEMA"),
            _ => Some("InnoDB"),
        };
        emit(&[
            text(CATALOG),
            text(&t.schema),
            text(&t.name),
            member("TABLES", "TABLE_TYPE", kind),
            maybe(engine),
            Value::Int(10),
            if stored { member("TABLES", "ROW_FORMAT", t.options.row_format()) } else { Value::Null },
            number(s.rows),
            number(s.data.checked_div(s.rows).unwrap_or(0)),
            number(s.data),
            number(0),
            number(s.indexes),
            number(0),
            if t.auto_column.is_some() { s.auto_increment.map_or(Value::Null, number) } else { Value::Null },
            seconds(t.created),
            Value::Null,
            Value::Null,
            if system_view { Value::Null } else { text(t.options.collation.get().name) },
            Value::Null,
            text(&options.join(" ")),
            text(&t.options.comment),
        ])
    })
}

/// What of the table `show_gipk_in_create_table_and_information_schema` keeps back: the generated primary key, which is
/// the first of its keys, and the first column.
pub(super) fn kept_back(state: &State, t: &Table) -> usize {
    usize::from(!state.vars[Live::ShowGipk].as_bool() && has_generated_key(t))
}

pub(super) fn columns(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let state = &*state;
    let access = &state.access;
    each_table(state, equals, ("TABLE_SCHEMA", "TABLE_NAME"), |snapshot, t| {
        let whole = access.table(&t.schema, &t.name);
        let shown = column_privileges(whole);
        // Nothing changes below the views of `sys`.
        let now = match t.view().filter(|_| *t.schema != *"sys").map(|_| views::columns(state, snapshot, t)) {
            // A view that cannot be read has none.
            Some(Err(e)) if e.code() == ErrorCode::ViewInvalid => return Ok(()),
            Some(Ok(columns)) => columns,
            _ => Vec::new(),
        };
        for (i, c) in t.columns.iter().enumerate().skip(kept_back(state, t)).filter(|(_, c)| !c.hidden) {
            let own = if access.all { whole } else { access.column(&t.schema, &t.name, &c.name) };
            if own == Privileges::NONE && !matches!(t.source, RowSource::Virtual(_)) {
                continue;
            }
            let privileges = if own == whole { &shown } else { &column_privileges(own) };
            let bound = now.get(i).unwrap_or(c);
            let ty = &bound.ty;
            let textual = ty.id.is_string() || matches!(ty.id, TypeId::Enum | TypeId::Set);
            let (chars, bytes) = match ty.id {
                _ if !textual => (Value::Null, Value::Null),
                id if id.is_lob() => {
                    let bytes = i64::from(ty.length);
                    let width = ty.collation.charset().unit() as i64;
                    (Value::Int(bytes / width), Value::Int(bytes))
                }
                _ => {
                    let chars = i64::from(ty.display_chars());
                    (Value::Int(chars), Value::Int(chars * i64::from(ty.collation.charset().max_len())))
                }
            };
            let (precision, scale) = numeric(ty);
            let has_charset = textual && ty.is_text();
            emit(&[
                text(CATALOG),
                text(&t.schema),
                text(&t.name),
                text(&c.name),
                Value::UInt(i as u64 + 1),
                match &bound.default {
                    ColumnDefault::Expression(expression) => escaped(expression),
                    _ => maybe(column_default(bound).as_deref()),
                },
                yes_no(bound.nullable),
                text(ty.data_type()),
                chars,
                bytes,
                precision,
                scale,
                match ty.id {
                    TypeId::Time | TypeId::DateTime | TypeId::Timestamp => Value::UInt(ty.scale.into()),
                    _ => Value::Null,
                },
                if has_charset { text(ty.collation.charset().name()) } else { Value::Null },
                if has_charset { text(ty.collation.get().name) } else { Value::Null },
                text(&ty.to_string()),
                member("COLUMNS", "COLUMN_KEY", column_key(t, i as u32)),
                text(&column_extra(c)),
                text(privileges),
                text(&c.comment),
                escaped(c.generated.as_ref().map_or("", |g| &g.expression)),
                Value::Null,
            ])?;
        }
        Ok(())
    })
}

fn column_privileges(p: Privileges) -> String {
    let all = [
        (Privilege::Select, "select"),
        (Privilege::Insert, "insert"),
        (Privilege::Update, "update"),
        (Privilege::References, "references"),
    ];
    all.iter().filter(|(x, _)| p.has(*x)).map(|(_, n)| *n).collect::<Vec<_>>().join(",")
}

/// NUMERIC_PRECISION and NUMERIC_SCALE.
pub(super) fn numeric(ty: &gannet_types::SqlType) -> (Value, Value) {
    let n = |n: u32| Value::UInt(n.into());
    let digits = |signed: u32, unsigned: u32| if ty.unsigned { n(unsigned) } else { n(signed) };
    match ty.id {
        TypeId::TinyInt => (digits(3, 3), n(0)),
        TypeId::SmallInt => (digits(5, 5), n(0)),
        TypeId::MediumInt => (digits(7, 7), n(0)),
        TypeId::Int => (digits(10, 10), n(0)),
        TypeId::BigInt => (digits(19, 20), n(0)),
        TypeId::Decimal => (n(ty.length), n(ty.scale.into())),
        TypeId::Float | TypeId::Double if ty.scale != gannet_types::SqlType::NOT_FIXED => {
            (n(ty.length), n(ty.scale.into()))
        }
        TypeId::Float => (n(12), Value::Null),
        TypeId::Double => (n(22), Value::Null),
        TypeId::Bit => (n(ty.length), Value::Null),
        _ => (Value::Null, Value::Null),
    }
}

pub(super) fn statistics(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let state = &*state;
    each_table(state, equals, ("TABLE_SCHEMA", "TABLE_NAME"), |_, t| {
        // The key has one part.
        for r in index_rows(t).drain(kept_back(state, t)..) {
            emit(&[
                text(CATALOG),
                text(&t.schema),
                text(r.table),
                Value::Int(r.non_unique.into()),
                text(&t.schema),
                text(r.key_name),
                Value::UInt(r.sequence.into()),
                maybe(r.column),
                maybe(r.direction),
                match r.method {
                    "HASH" => Value::Null,
                    _ => Value::Int(i64::try_from(r.cardinality).unwrap_or(i64::MAX)),
                },
                r.sub_part.map_or(Value::Null, |n| Value::Int(n.into())),
                Value::Null,
                text(if r.nullable { "YES" } else { "" }),
                text(r.method),
                text(""),
                text(r.comment),
                yes_no(r.visible),
                r.expression.map_or(Value::Null, escaped),
            ])?;
        }
        Ok(())
    })
}

pub(super) fn key_column_usage(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let state = &*state;
    each_table(state, equals, ("TABLE_SCHEMA", "TABLE_NAME"), |_, t| {
        for index in t.indexes.iter().skip(kept_back(state, t)).filter(|i| i.unique()) {
            let named = |p: &&gannet_schema::IndexPart| !t.columns[p.column as usize].hidden;
            for (n, part) in index.parts.iter().filter(named).enumerate() {
                emit(&[
                    text(CATALOG),
                    text(&t.schema),
                    text(&index.name),
                    text(CATALOG),
                    text(&t.schema),
                    text(&t.name),
                    text(&t.columns[part.column as usize].name),
                    Value::UInt(n as u64 + 1),
                    Value::Null,
                    Value::Null,
                    Value::Null,
                    Value::Null,
                ])?;
            }
        }
        for key in &t.constraints.foreign_keys {
            for (n, (column, parent)) in key.columns.iter().zip(&key.parent_columns).enumerate() {
                emit(&[
                    text(CATALOG),
                    text(&t.schema),
                    text(&key.name),
                    text(CATALOG),
                    text(&t.schema),
                    text(&t.name),
                    text(&t.columns[*column as usize].name),
                    Value::UInt(n as u64 + 1),
                    Value::UInt(n as u64 + 1),
                    text(&key.parent_schema),
                    text(&key.parent),
                    text(parent),
                ])?;
            }
        }
        Ok(())
    })
}

pub(super) fn referential_constraints(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let snapshot = state.snapshot.clone();
    each_table(state, equals, ("CONSTRAINT_SCHEMA", "TABLE_NAME"), |_, t| {
        for key in &t.constraints.foreign_keys {
            let parent = snapshot.table(&key.parent_schema, &key.parent);
            let unique = parent.and_then(|p| {
                let columns: Option<Vec<u32>> = key.parent_columns.iter().map(|c| p.column(c)).collect();
                let columns = columns?;
                p.indexes.iter().find(|i| i.unique() && gannet_schema::define::serves(i, &columns)).map(|i| &*i.name)
            });
            emit(&[
                text(CATALOG),
                text(&t.schema),
                text(&key.name),
                text(CATALOG),
                text(&key.parent_schema),
                maybe(unique),
                member("REFERENTIAL_CONSTRAINTS", "MATCH_OPTION", "NONE"),
                member("REFERENTIAL_CONSTRAINTS", "UPDATE_RULE", key.on_update.words()),
                member("REFERENTIAL_CONSTRAINTS", "DELETE_RULE", key.on_delete.words()),
                text(&t.name),
                text(&key.parent),
            ])?;
        }
        Ok(())
    })
}

/// The text of an expression: information_schema shows it as it stands in the dictionary, with quotes and backslashes
/// escaped.
fn escaped(expression: &str) -> Value {
    text(&expression.replace('\\', "\\\\").replace('\'', "\\'"))
}

pub(super) fn check_constraints(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    each_table(state, equals, ("CONSTRAINT_SCHEMA", ""), |_, t| {
        for check in &t.constraints.checks {
            emit(&[text(CATALOG), text(&t.schema), text(&check.name), escaped(&check.expression)])?;
        }
        Ok(())
    })
}

pub(super) fn table_constraints(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let state = &*state;
    each_table(state, equals, ("TABLE_SCHEMA", "TABLE_NAME"), |_, t| {
        for index in t.indexes.iter().skip(kept_back(state, t)).filter(|i| i.unique()) {
            let kind = if index.kind == IndexKind::Primary { "PRIMARY KEY" } else { "UNIQUE" };
            emit(&[
                text(CATALOG),
                text(&t.schema),
                text(&index.name),
                text(&t.schema),
                text(&t.name),
                text(kind),
                text("YES"),
            ])?;
        }
        let foreign = t.constraints.foreign_keys.iter().map(|k| (&k.name, "FOREIGN KEY", true));
        for (name, kind, enforced) in foreign.chain(t.constraints.checks.iter().map(|c| (&c.name, "CHECK", c.enforced)))
        {
            let enforced = text(if enforced { "YES" } else { "NO" });
            emit(&[text(CATALOG), text(&t.schema), text(name), text(&t.schema), text(&t.name), text(kind), enforced])?;
        }
        Ok(())
    })
}

pub(super) fn views(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let state = &*state;
    let access = &state.access;
    let bound = equals.wants(&["IS_UPDATABLE"]);
    each_table(state, equals, ("TABLE_SCHEMA", "TABLE_NAME"), |snapshot, t| {
        let Some(view) = t.view() else { return Ok(()) };
        let mut updatable = view.updatable;
        if bound && *t.schema != *"sys" {
            updatable = views::updatable(state, snapshot, view).unwrap_or(updatable);
            if let Some(e) = views::error(state, snapshot, t) {
                equals.note(e.to_warning(Level::Warning));
            }
        }
        let own = access.table(&t.schema, &t.name);
        let told = own.has(Privilege::ShowView);
        let check = match view.check {
            None => "NONE",
            Some(gannet_schema::CheckOption::Local) => "LOCAL",
            Some(gannet_schema::CheckOption::Cascaded) => "CASCADED",
        };
        let collation = view.collation.get();
        emit(&[
            text(CATALOG),
            text(&t.schema),
            text(&t.name),
            text(if told { &view.query } else { "" }),
            member("VIEWS", "CHECK_OPTION", check),
            member("VIEWS", "IS_UPDATABLE", if updatable { "YES" } else { "NO" }),
            text(&format!("{}@{}", view.definer.0, view.definer.1)),
            text(if view.invoker { "INVOKER" } else { "DEFINER" }),
            text(collation.charset.name()),
            text(collation.name),
        ])
    })
}

pub(super) fn view_table_usage(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let access = &state.access;
    each_table(state, equals, ("VIEW_SCHEMA", "VIEW_NAME"), |_, t| {
        let Some(view) = t.view() else { return Ok(()) };
        for (schema, name) in gannet_plan::view_tables(&view.query)? {
            if access.sees_table(&schema, &name) {
                emit(&[text(CATALOG), text(&t.schema), text(&t.name), text(CATALOG), text(&schema), text(&name)])?;
            }
        }
        Ok(())
    })
}

/// One row a table without parts, and one a part.
pub(super) fn partitions(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let state = &*state;
    each_table(state, equals, ("TABLE_SCHEMA", "TABLE_NAME"), |_, t| {
        if t.source != RowSource::Engine {
            return Ok(());
        }
        let begin = || vec![text(CATALOG), text(&t.schema), text(&t.name)];
        let end = |s: &Sizes, comment: &str| {
            let sizes = [s.rows, s.data.checked_div(s.rows).unwrap_or(0), s.data, 0, s.indexes, 0].map(Value::UInt);
            let times = [seconds(t.created), Value::Null, Value::Null, Value::Null, text(comment)];
            sizes.into_iter().chain(times).collect::<Vec<_>>()
        };
        let Some(parts) = &t.partitions else {
            let mut row = begin();
            row.resize(12, Value::Null);
            row.extend(end(&sizes(state, t), ""));
            row.extend([Value::Null, Value::Null]);
            return emit(&row);
        };
        for leaf in 0..parts.len() {
            let mut row = begin();
            let comment = describe_part(parts.definition(), leaf, &mut row);
            row.extend(end(&part_sizes(state, t, leaf as u32), &comment));
            row.extend([text("default"), Value::Null]);
            emit(&row)?;
        }
        Ok(())
    })
}

/// What PARTITIONS says of a part's place, and its comment.
fn describe_part(of: &Partitioning, leaf: usize, row: &mut Vec<Value>) -> String {
    let maybe = |t: Option<String>| t.map_or(Value::Null, |t| text(&t));
    let Some((partition, sub)) = of.leaf(leaf) else { return String::new() };
    let number = |n: usize| Value::UInt(n as u64 + 1);
    row.extend([
        text(&partition.name),
        maybe(sub.map(|s| s.name.to_string())),
        number(leaf / of.subs()),
        sub.map_or(Value::Null, |_| number(leaf % of.subs())),
        text(&of.spread.method_name()),
        maybe(of.sub.as_ref().map(|s| s.method_name())),
        maybe(of.spread.expression_text()),
        maybe(of.sub.as_ref().and_then(|s| s.expression_text())),
        maybe(of.description(&partition.values)),
    ]);
    let own = sub.map_or("", |s| &s.options.comment);
    if own.is_empty() { partition.options.comment.to_string() } else { own.to_owned() }
}

/// Sizes of one part.
fn part_sizes(state: &State, t: &Table, leaf: u32) -> Sizes {
    let engine = &state.server.engine;
    let none = Sizes { rows: 0, data: 0, indexes: 0, auto_increment: None };
    let Some(trees) = t.part(leaf).ok().and_then(|part| part.trees(engine).ok()) else { return none };
    let of = |tree| engine.tree_stats(tree).unwrap_or_default();
    let row = of(&trees.row);
    let secondary = trees.indexes.iter().enumerate().filter(|(i, _)| t.clustered != Some(*i));
    let indexes = secondary.map(|(_, tree)| of(tree).pages * PAGE_BYTES).sum();
    Sizes { rows: row.rows, data: row.pages.max(1) * PAGE_BYTES, indexes, auto_increment: None }
}

pub(super) fn character_sets(_: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for c in CHARSETS {
        emit(&[text(c.name), text(c.default_collation), text(c.description), Value::UInt(c.max_len.into())])?;
    }
    Ok(())
}

pub(super) fn collations(_: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for c in COLLATIONS {
        let pad = if c.pad == Pad::NoPad { "NO PAD" } else { "PAD SPACE" };
        emit(&[
            text(c.name),
            text(c.charset.name()),
            Value::UInt(c.id.0.into()),
            text(if c.is_default { "Yes" } else { "" }),
            text("Yes"),
            Value::UInt(c.sortlen.into()),
            member("COLLATIONS", "PAD_ATTRIBUTE", pad),
        ])?;
    }
    Ok(())
}

pub(super) fn applicability(_: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    COLLATIONS.iter().try_for_each(|c| emit(&[text(c.name), text(c.charset.name())]))
}

pub(super) fn engines(_: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    emit(&[
        text("InnoDB"),
        text("DEFAULT"),
        text("Supports transactions, row-level locking, and foreign keys"),
        text("YES"),
        text("YES"),
        text("YES"),
    ])?;
    emit(&[text("PERFORMANCE_SCHEMA"), text("YES"), text("Performance Schema"), text("NO"), text("NO"), text("NO")])
}

pub(super) fn plugins(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let version = state.server.facts.version.clone();
    for (name, kind, about) in crate::components::PLUGINS {
        emit(&[
            text(name),
            text("1.0"),
            text("ACTIVE"),
            text(kind),
            text(&version),
            Value::Null,
            Value::Null,
            text("Gannet"),
            text(about),
            text("Apache-2.0"),
            text("FORCE"),
        ])?;
    }
    Ok(())
}

pub(super) fn keywords(_: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    for (word, reserved) in gannet_parser::keyword::list() {
        emit(&[text(word), Value::from(reserved)])?;
    }
    Ok(())
}
