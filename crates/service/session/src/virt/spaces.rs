//! information_schema: the file that holds all, what tables take of it, and foreign keys, as InnoDB's tables have them.
//!
//! Each table, and each part of one, is a tablespace of its own to whoever asks, as in INNODB_TABLES; their pages share
//! one file.

use super::declare::{ABSENT, BIGINT, NAME, TEXT, UBIGINT, UINT, fixed, varchar};
use super::innodb::{full_name, stored};
use super::metadata::{PAGE_BYTES, each_table, sizes};
use super::{Emit, Equals, text};
use crate::state::State;
use gannet_core::MYSQL_VERSION;
use gannet_core::accounts::Privilege;
use gannet_engine::EXTENT_PAGES;
use gannet_schema::{ForeignKey, ReferenceAction, Table};
use gannet_types::{Result, Value};

tables! {
    INFORMATION_SCHEMA in "information_schema":
    FILES by files {
        FILE_ID: BIGINT, FILE_NAME: TEXT.bin(), FILE_TYPE: varchar(256), TABLESPACE_NAME: varchar(268).bin().not_null(),
        TABLE_CATALOG: fixed(0).not_null().empty(), TABLE_SCHEMA: ABSENT, TABLE_NAME: ABSENT,
        LOGFILE_GROUP_NAME: varchar(256), LOGFILE_GROUP_NUMBER: BIGINT, ENGINE: NAME.not_null(), FULLTEXT_KEYS: ABSENT,
        DELETED_ROWS: ABSENT, UPDATE_COUNT: ABSENT, FREE_EXTENTS: BIGINT, TOTAL_EXTENTS: BIGINT, EXTENT_SIZE: BIGINT,
        INITIAL_SIZE: BIGINT, MAXIMUM_SIZE: BIGINT, AUTOEXTEND_SIZE: BIGINT, CREATION_TIME: ABSENT,
        LAST_UPDATE_TIME: ABSENT, LAST_ACCESS_TIME: ABSENT, RECOVER_TIME: ABSENT, TRANSACTION_COUNTER: ABSENT,
        VERSION: BIGINT, ROW_FORMAT: varchar(256), TABLE_ROWS: ABSENT, AVG_ROW_LENGTH: ABSENT, DATA_LENGTH: ABSENT,
        MAX_DATA_LENGTH: ABSENT, INDEX_LENGTH: ABSENT, DATA_FREE: BIGINT, CREATE_TIME: ABSENT, UPDATE_TIME: ABSENT,
        CHECK_TIME: ABSENT, CHECKSUM: ABSENT, STATUS: varchar(256), EXTRA: varchar(256),
    }
    INNODB_DATAFILES by datafiles {
        SPACE: BIGINT, PATH: varchar(512).not_null(),
    }
    INNODB_TABLESPACES by spaces {
        SPACE: UINT.not_null(), NAME: varchar(655).not_null(), FLAG: UINT.not_null(), ROW_FORMAT: varchar(22),
        PAGE_SIZE: UINT.not_null(), ZIP_PAGE_SIZE: UINT.not_null(), SPACE_TYPE: varchar(10),
        FS_BLOCK_SIZE: UINT.not_null(), FILE_SIZE: UBIGINT.not_null(), ALLOCATED_SIZE: UBIGINT.not_null(),
        AUTOEXTEND_SIZE: UBIGINT.not_null(), SERVER_VERSION: varchar(10), SPACE_VERSION: UINT.not_null(),
        ENCRYPTION: varchar(1), STATE: varchar(10),
    }
    INNODB_TABLESPACES_BRIEF by spaces_in_brief {
        SPACE: BIGINT, NAME: varchar(268).not_null(), PATH: varchar(512).not_null(), FLAG: BIGINT,
        SPACE_TYPE: varchar(7).not_null(),
    }
    INNODB_FOREIGN by foreign_keys {
        ID: varchar(129), FOR_NAME: varchar(129), REF_NAME: varchar(129), N_COLS: BIGINT.not_null(),
        TYPE: UBIGINT.not_null(),
    }
    INNODB_FOREIGN_COLS by foreign_columns {
        ID: varchar(129), FOR_COL_NAME: NAME.not_null(), REF_COL_NAME: NAME.not_null(), POS: UINT.not_null(),
    }
}

/// The data file, as the server's directory has it.
const PATH: &str = "./data.gnt";

/// Pages of the file that have blocks, and such of them as are free.
fn files(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    state.privileges().require(Privilege::Process)?;
    let usage = state.server.engine.space();
    let pages = usage.named.owned + usage.others.owned + usage.free;
    let extents = |pages: u64| Value::Int((pages / EXTENT_PAGES) as i64);
    let bytes = |pages: u64| Value::Int((pages * PAGE_BYTES) as i64);
    let mut row = vec![Value::Int(0), text(PATH), text("TABLESPACE"), text("innodb_system"), text("")];
    row.resize(9, Value::Null);
    row.push(text("InnoDB"));
    row.resize(13, Value::Null);
    row.extend([extents(usage.free), extents(pages), bytes(EXTENT_PAGES)]);
    // Its first size is not kept, and it has no greatest; it grows by an extent.
    row.extend([Value::Null, Value::Null, bytes(EXTENT_PAGES)]);
    row.resize(31, Value::Null);
    row.push(bytes(usage.free));
    row.resize(36, Value::Null);
    row.extend([text("NORMAL"), Value::Null]);
    emit(&row)
}

/// InnoDB's flags of a tablespace with a table of this format.
fn flag(t: &Table) -> u64 {
    if t.options.row_format() == "Dynamic" { 16_417 } else { 16_384 }
}

fn datafiles(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    stored(state, equals, |_, t| emit(&[Value::Int(t.row_tree.0 as i64), text(PATH)]))
}

fn spaces(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let n = Value::UInt;
    stored(state, equals, |state, t| {
        let size = sizes(state, t);
        let size = n(size.data + size.indexes);
        let format = match t.options.row_format() {
            "Redundant" | "Compact" => "Compact or Redundant",
            format => format,
        };
        emit(&[
            n(t.row_tree.0 & u64::from(u32::MAX)),
            text(&full_name(t)),
            n(flag(t)),
            text(format),
            n(PAGE_BYTES),
            n(0),
            text("Single"),
            n(4096),
            size.clone(),
            size,
            n(0),
            text(MYSQL_VERSION),
            n(1),
            text("N"),
            text("normal"),
        ])
    })
}

fn spaces_in_brief(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let row = |space: u64, name: &str, flag: u64, kind: &str| {
        [Value::Int(space as i64), text(name), text(PATH), Value::Int(flag as i64), text(kind)]
    };
    state.privileges().require(Privilege::Process)?;
    emit(&row(0, "innodb_system", 16_384, "System"))?;
    stored(state, equals, |_, t| emit(&row(t.row_tree.0, &full_name(t), flag(t), "Single")))
}

/// Bits of INNODB_FOREIGN.TYPE.
fn kind(on_delete: ReferenceAction, on_update: ReferenceAction) -> u64 {
    let bits = |action: ReferenceAction| match action {
        ReferenceAction::Restrict | ReferenceAction::SetDefault => [0, 0],
        ReferenceAction::Cascade => [1, 4],
        ReferenceAction::SetNull => [2, 8],
        ReferenceAction::NoAction => [16, 32],
    };
    bits(on_delete)[0] | bits(on_update)[1]
}

/// Calls `each` for every foreign key of a stored table.
fn each_key(
    state: &mut State,
    equals: &Equals<'_>,
    mut each: impl FnMut(&Table, &ForeignKey) -> Result<()>,
) -> Result<()> {
    state.privileges().require(Privilege::Process)?;
    each_table(state, equals, ("", ""), |_, t| t.constraints.foreign_keys.iter().try_for_each(|key| each(t, key)))
}

fn foreign_keys(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    each_key(state, equals, |t, key| {
        emit(&[
            text(&format!("{}/{}", t.schema, key.name)),
            text(&format!("{}/{}", t.schema, t.name)),
            text(&format!("{}/{}", key.parent_schema, key.parent)),
            Value::Int(key.columns.len() as i64),
            Value::UInt(kind(key.on_delete, key.on_update)),
        ])
    })
}

fn foreign_columns(state: &mut State, equals: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    each_key(state, equals, |t, key| {
        let id = text(&format!("{}/{}", t.schema, key.name));
        let pairs = key.columns.iter().zip(&key.parent_columns);
        pairs.enumerate().try_for_each(|(at, (own, parent))| {
            let own = &t.columns[*own as usize].name;
            emit(&[id.clone(), text(own), text(parent), Value::UInt(at as u64 + 1)])
        })
    })
}
