//! information_schema.INNODB_*: the storage engine's own view, where Gannet has what InnoDB has.

use super::declare::{BIGINT, DATETIME, DOUBLE, FLOAT, INT, NAME, TEXT, UBIGINT, UINT, enumeration, varchar};
use super::full_text::{config, default_stopwords, index_table};
use super::metadata::{PAGE_BYTES, each_table, sizes};
use super::{Emit, Equals, maybe, micros, text};
use crate::state::State;
use gannet_catalog::StoredTable;
use gannet_core::accounts::Privilege;
use gannet_schema::{IndexKind, RowSource, Table};
use gannet_telemetry::{Counter, total};
use gannet_types::{Result, TypeId, Value};

tables! {
    INFORMATION_SCHEMA in "information_schema":
    GANNET_RECOVERY by recovery {
        PHASE: varchar(16).not_null(), STATE: enumeration(&["waiting", "running", "done"]).not_null(),
        UNIT: varchar(16).not_null(), UNITS_DONE: UBIGINT.not_null(), UNITS_TOTAL: UBIGINT.not_null(),
        PERCENT: DOUBLE.not_null(), UNITS_PER_SECOND: DOUBLE.not_null(), SECONDS: DOUBLE.not_null(),
        ETA_SECONDS: DOUBLE,
    }
    INNODB_FT_CONFIG by config {
        KEY: varchar(193).not_null(), VALUE: varchar(193).not_null(),
    }
    INNODB_FT_DEFAULT_STOPWORD by default_stopwords {
        value: varchar(18).not_null(),
    }
    INNODB_FT_INDEX_TABLE by index_table {
        WORD: varchar(337).not_null(), FIRST_DOC_ID: UBIGINT.not_null(), LAST_DOC_ID: UBIGINT.not_null(),
        DOC_COUNT: UBIGINT.not_null(), DOC_ID: UBIGINT.not_null(), POSITION: UBIGINT.not_null(),
    }
    INNODB_TABLES by tables {
        TABLE_ID: UBIGINT.not_null(), NAME: varchar(655).not_null(), FLAG: INT.not_null(), N_COLS: INT.not_null(),
        SPACE: BIGINT.not_null(), ROW_FORMAT: varchar(12), ZIP_PAGE_SIZE: UINT.not_null(), SPACE_TYPE: varchar(10),
        INSTANT_COLS: INT.not_null(), TOTAL_ROW_VERSIONS: INT.not_null(),
    }
    INNODB_TEMP_TABLE_INFO by temporary_tables {
        TABLE_ID: UBIGINT.not_null(), NAME: NAME, N_COLS: UINT.not_null(), SPACE: UINT.not_null(),
    }
    INNODB_TABLESTATS by table_stats {
        TABLE_ID: UBIGINT.not_null(), NAME: varchar(193).not_null(), STATS_INITIALIZED: varchar(193).not_null(),
        NUM_ROWS: UBIGINT.not_null(), CLUST_INDEX_SIZE: UBIGINT.not_null(), OTHER_INDEX_SIZE: UBIGINT.not_null(),
        MODIFIED_COUNTER: UBIGINT.not_null(), AUTOINC: UBIGINT.not_null(), REF_COUNT: INT.not_null(),
    }
    INNODB_COLUMNS by columns {
        TABLE_ID: UBIGINT.not_null(), NAME: varchar(193).not_null(), POS: UBIGINT.not_null(), MTYPE: INT.not_null(),
        PRTYPE: INT.not_null(), LEN: INT.not_null(), HAS_DEFAULT: INT.not_null(), DEFAULT_VALUE: TEXT,
    }
    INNODB_INDEXES by indexes {
        INDEX_ID: UBIGINT.not_null(), NAME: varchar(193).not_null(), TABLE_ID: UBIGINT.not_null(), TYPE: INT.not_null(),
        N_FIELDS: INT.not_null(), PAGE_NO: INT.not_null(), SPACE: INT.not_null(), MERGE_THRESHOLD: INT.not_null(),
    }
    INNODB_FIELDS by fields {
        INDEX_ID: UBIGINT, NAME: NAME.not_null(), POS: UBIGINT.not_null(),
    }
    INNODB_METRICS by metrics {
        NAME: varchar(193).not_null(), SUBSYSTEM: varchar(193).not_null(), COUNT: BIGINT.not_null(), MAX_COUNT: BIGINT,
        MIN_COUNT: BIGINT, AVG_COUNT: FLOAT, COUNT_RESET: BIGINT.not_null(), MAX_COUNT_RESET: BIGINT,
        MIN_COUNT_RESET: BIGINT, AVG_COUNT_RESET: FLOAT, TIME_ENABLED: DATETIME, TIME_DISABLED: DATETIME,
        TIME_ELAPSED: BIGINT, TIME_RESET: DATETIME, STATUS: varchar(193).not_null(), TYPE: varchar(193).not_null(),
        COMMENT: varchar(193).not_null(),
    }
    INNODB_BUFFER_POOL_STATS by buffer_pool_stats {
        POOL_ID: UBIGINT.not_null(), POOL_SIZE: UBIGINT.not_null(), FREE_BUFFERS: UBIGINT.not_null(),
        DATABASE_PAGES: UBIGINT.not_null(), OLD_DATABASE_PAGES: UBIGINT.not_null(),
        MODIFIED_DATABASE_PAGES: UBIGINT.not_null(), PENDING_DECOMPRESS: UBIGINT.not_null(),
        PENDING_READS: UBIGINT.not_null(), PENDING_FLUSH_LRU: UBIGINT.not_null(),
        PENDING_FLUSH_LIST: UBIGINT.not_null(), PAGES_MADE_YOUNG: UBIGINT.not_null(),
        PAGES_NOT_MADE_YOUNG: UBIGINT.not_null(), PAGES_MADE_YOUNG_RATE: FLOAT.not_null(),
        PAGES_MADE_NOT_YOUNG_RATE: FLOAT.not_null(), NUMBER_PAGES_READ: UBIGINT.not_null(),
        NUMBER_PAGES_CREATED: UBIGINT.not_null(), NUMBER_PAGES_WRITTEN: UBIGINT.not_null(),
        PAGES_READ_RATE: FLOAT.not_null(), PAGES_CREATE_RATE: FLOAT.not_null(), PAGES_WRITTEN_RATE: FLOAT.not_null(),
        NUMBER_PAGES_GET: UBIGINT.not_null(), HIT_RATE: UBIGINT.not_null(),
        YOUNG_MAKE_PER_THOUSAND_GETS: UBIGINT.not_null(), NOT_YOUNG_MAKE_PER_THOUSAND_GETS: UBIGINT.not_null(),
        NUMBER_PAGES_READ_AHEAD: UBIGINT.not_null(), NUMBER_READ_AHEAD_EVICTED: UBIGINT.not_null(),
        READ_AHEAD_RATE: FLOAT.not_null(), READ_AHEAD_EVICTED_RATE: FLOAT.not_null(), LRU_IO_TOTAL: UBIGINT.not_null(),
        LRU_IO_CURRENT: UBIGINT.not_null(), UNCOMPRESS_TOTAL: UBIGINT.not_null(),
        UNCOMPRESS_CURRENT: UBIGINT.not_null(),
    }
}

fn n(n: u64) -> Value {
    Value::UInt(n)
}

/// Calls `each` for every stored table.
pub(super) fn stored(
    state: &mut State,
    equals: &Equals<'_>,
    mut each: impl FnMut(&State, &Table) -> Result<()>,
) -> Result<()> {
    state.privileges().require(Privilege::Process)?;
    let state = &*state;
    each_table(state, equals, ("", ""), |_, t| match t.source {
        // Each part is a table of its own to InnoDB.
        RowSource::Engine => t.all_parts().try_for_each(|part| each(state, part?)),
        _ => Ok(()),
    })
}

pub(super) fn full_name(t: &Table) -> String {
    let part = t.part_of.as_ref().map_or("", |part| &part.file_name);
    format!("{}/{}{part}", t.schema, t.name)
}

pub(super) fn tables(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    stored(state, equals, |_, t| {
        // InnoDB counts three columns of its own.
        let columns = t.columns.len() as i64 + 3;
        let flag = match t.options.row_format() {
            "Redundant" => 0,
            "Compact" => 1,
            "Compressed" => 41,
            _ => 33,
        };
        let (flag, space) = (Value::Int(flag), Value::Int(t.row_tree.0 as i64));
        let row =
            [n(t.id.0), text(&full_name(t)), flag, Value::Int(columns), space, text(t.options.row_format()), n(0)];
        let rest = [text("Single"), Value::Int(0), Value::Int(t.history.number.into())];
        emit(&[&row[..], &rest].concat())
    })
}

/// Those of all sessions, with names that the server might have made, as in MySQL.
pub(super) fn temporary_tables(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    state.privileges().require(Privilege::Process)?;
    let tables = state.server.catalog.temporary_tables().map_err(gannet_exec::error::from_catalog)?;
    let process = std::process::id();
    for t in tables {
        let name = format!("#sql{process:x}_{:x}", t.id.0);
        emit(&[n(t.id.0), text(&name), n(t.columns.len() as u64 + 3), n(t.row_tree.0 & u64::from(u32::MAX))])?;
    }
    Ok(())
}

pub(super) fn table_stats(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    stored(state, equals, |state, t| {
        let s = sizes(state, t);
        let opened = t.opened_trees().is_some();
        emit(&[
            n(t.id.0),
            text(&full_name(t)),
            text("Initialized"),
            n(s.rows),
            n(s.data / PAGE_BYTES),
            n(s.indexes / PAGE_BYTES),
            n(0),
            n(s.auto_increment.unwrap_or(0)),
            Value::Int(opened.into()),
        ])
    })
}

/// InnoDB's main types: 1 VARCHAR, 2 CHAR, 3 FIXBINARY, 4 BINARY, 5 BLOB, 6 INT, 9 FLOAT, 10 DOUBLE, 12 VARMYSQL, 13
/// MYSQL.
fn main_type(id: TypeId, binary: bool) -> i64 {
    match id {
        TypeId::VarChar => 12,
        TypeId::Char => 13,
        TypeId::VarBinary => 4,
        TypeId::Float => 9,
        TypeId::Double => 10,
        id if id.is_lob() => 5,
        TypeId::Decimal | TypeId::Bit | TypeId::Binary | TypeId::Time | TypeId::DateTime | TypeId::Timestamp => 3,
        _ if binary => 3,
        _ => 6,
    }
}

pub(super) fn columns(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    stored(state, equals, |_, t| {
        for (i, c) in t.columns.iter().enumerate() {
            let precise = i64::from(!c.nullable) << 8 | i64::from(c.ty.unsigned) << 9;
            emit(&[
                n(t.id.0),
                text(&c.name),
                n(i as u64),
                Value::Int(main_type(c.ty.id, false)),
                Value::Int(precise),
                Value::Int(c.ty.length.into()),
                Value::Int(0),
                Value::Null,
            ])?;
        }
        Ok(())
    })
}

pub(super) fn indexes(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    stored(state, equals, |_, t| {
        if t.clustered.is_none() {
            let row =
                [n(t.row_tree.0), text("GEN_CLUST_INDEX"), n(t.id.0), Value::Int(1), Value::Int(0), Value::Int(-1)];
            emit(&[&row[..], &[Value::Int(t.row_tree.0 as i64), Value::Int(50)]].concat())?;
        }
        for (i, index) in t.indexes.iter().enumerate() {
            // 1: clustered and generated, 2: unique, 3: primary.
            let kind = match (index.kind, t.clustered == Some(i)) {
                (IndexKind::Primary, _) => 3,
                (_, true) => 3,
                (IndexKind::Unique, _) => 2,
                _ => 0,
            };
            emit(&[
                n(index.tree.0),
                text(&index.name),
                n(t.id.0),
                Value::Int(kind),
                Value::Int(index.parts.len() as i64),
                // Root pages move here: none to name.
                Value::Int(-1),
                Value::Int(t.row_tree.0 as i64),
                Value::Int(50),
            ])?;
        }
        Ok(())
    })
}

pub(super) fn fields(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    stored(state, equals, |_, t| {
        for index in &t.indexes {
            for (i, part) in index.parts.iter().enumerate() {
                emit(&[n(index.tree.0), text(&t.columns[part.column as usize].name), n(i as u64)])?;
            }
        }
        Ok(())
    })
}

pub(super) fn metrics(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    state.privileges().require(Privilege::Process)?;
    let zone = state.server.facts.system_zone.clone();
    let at = |us: Option<u64>| match us.map(|us| micros(us, 0)) {
        Some(Value::Timestamp(t, _)) => Value::DateTime(t.to_local(&zone), 0),
        _ => Value::Null,
    };
    let count = |n: i64| Value::Int(n);
    let maybe_count = |n: Option<i64>| n.map_or(Value::Null, Value::Int);
    let average = |n: Option<f64>| n.map_or(Value::Null, |n| Value::Float(n as f32));
    for m in state.server.monitors.read(&state.server) {
        emit(&[
            text(m.name),
            text(m.subsystem),
            count(m.since_enabled.count),
            maybe_count(m.since_enabled.max),
            maybe_count(m.since_enabled.min),
            average(m.since_enabled.average),
            count(m.since_reset.count),
            maybe_count(m.since_reset.max),
            maybe_count(m.since_reset.min),
            average(m.since_reset.average),
            at(m.enabled_us),
            at(m.disabled_us),
            maybe_count(m.elapsed_s),
            at(m.reset_us),
            text(if m.is_on { "enabled" } else { "disabled" }),
            text(m.kind),
            text(m.comment),
        ])?;
    }
    Ok(())
}

pub(super) fn buffer_pool_stats(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    state.privileges().require(Privilege::Process)?;
    let s = state.server.engine.status();
    let uptime = state.server.uptime_s().max(1) as f64;
    let (read, made, written) =
        (total(Counter::InnodbPagesRead), total(Counter::InnodbPagesCreated), total(Counter::InnodbPagesWritten));
    let gets = total(Counter::InnodbBufferPoolReadRequests);
    let hits = 1000 - (read.saturating_mul(1000)).checked_div(gets).unwrap_or(0).min(1000);
    let rate = |n: u64| Value::Float((n as f64 / uptime) as f32);
    let mut row = vec![n(0), n(s.pool_pages), n(s.pool_free()), n(s.pool_resident), n(0), n(s.pool_dirty)];
    // No compressed pages, no young and old sublists.
    row.extend([0, total(Counter::OsPendingReads), 0, 0, 0, 0].map(n));
    row.extend([rate(0), rate(0), n(read), n(made), n(written), rate(read), rate(made), rate(written)]);
    row.extend([n(gets), n(hits), n(0), n(0), n(total(Counter::InnodbBufferPoolReadAhead)), n(0)]);
    row.extend([rate(total(Counter::InnodbBufferPoolReadAhead)), rate(0), n(0), n(0), n(0), n(0)]);
    emit(&row)
}

/// How far recovery is: a row for each of its steps.
pub(super) fn recovery(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    state.privileges().require(Privilege::Process)?;
    for step in state.server.engine.recovery_steps() {
        let at = match (step.begun, step.ended) {
            (_, true) => "done",
            (true, false) => "running",
            (false, false) => "waiting",
        };
        emit(&[
            text(step.name),
            super::member("GANNET_RECOVERY", "STATE", at),
            text(step.unit),
            n(step.done),
            n(step.total),
            Value::Double(step.percent()),
            Value::Double(step.rate()),
            Value::Double(step.seconds),
            step.eta_seconds().map_or(Value::Null, Value::Double),
        ])?;
    }
    Ok(())
}

/// The table and the index that a tree belongs to.
pub(super) fn tree_names(state: &State) -> std::collections::HashMap<u64, (Value, Value, Value)> {
    let mut names = std::collections::HashMap::new();
    for s in state.snapshot.schemas() {
        for t in state.snapshot.tables(&s.name).iter().filter(|t| t.source == RowSource::Engine) {
            let entry = |index: Option<&str>| (text(&t.schema), text(&t.name), maybe(index));
            let clustered = t.clustered_index().map_or("GEN_CLUST_INDEX", |i| &i.name);
            names.insert(t.row_tree.0, entry(Some(clustered)));
            for i in t.indexes.iter().filter(|i| i.tree != t.row_tree) {
                names.insert(i.tree.0, entry(Some(&i.name)));
            }
            for part in t.partitions.iter().flat_map(|p| p.shared().trees.iter()) {
                for (i, tree) in t.indexes.iter().zip(&part.indexes) {
                    names.insert(tree.0, entry(Some(&i.name)));
                }
                names.insert(part.row.0, entry(Some(clustered)));
            }
        }
    }
    names
}
