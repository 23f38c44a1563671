//! Tables of MySQL that are truly empty here, because nothing of what they list exists; and `servers`.

use super::declare::{
    BIGINT, DOUBLE, INT, JSON, LONGTEXT, NAME, TEXT, UBIGINT, UINT, UTINYINT, enumeration, fixed, timestamp, tinyint,
    varchar,
};
use super::{Emit, Equals};
use crate::state::State;
use gannet_types::Result;

/// What CREATE SERVER made.
fn servers(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let catalog = &state.server.catalog;
    for (name, fields) in crate::objects::all(catalog, catalog.servers())? {
        let [host, db, user, password, port, socket, wrapper, owner] = &fields[..] else { continue };
        let port = gannet_types::Value::Int(port.parse().unwrap_or(0));
        let [host, db, user, password] = [host, db, user, password].map(|t| super::text(t));
        let [socket, wrapper, owner] = [socket, wrapper, owner].map(|t| super::text(t));
        emit(&[super::text(&name), host, db, user, password, port, socket, wrapper, owner])?;
    }
    Ok(())
}

pub(super) fn no_rows(_: &mut State, _: &Equals<'_>, _: Emit<'_>) -> Result<()> {
    Ok(())
}

tables! {
    INFORMATION_SCHEMA in "information_schema":
    OPTIMIZER_TRACE by no_rows {
        QUERY: varchar(65535).not_null().empty(), TRACE: varchar(65535).not_null().empty(),
        MISSING_BYTES_BEYOND_MAX_MEM_SIZE: INT.not_null().empty(),
        INSUFFICIENT_PRIVILEGES: tinyint(1).not_null().empty(),
    }
    TABLESPACES_EXTENSIONS by no_rows {
        TABLESPACE_NAME: varchar(268).bin().not_null(), ENGINE_ATTRIBUTE: JSON,
    }
    VIEW_ROUTINE_USAGE by no_rows {
        TABLE_CATALOG: NAME.bin().not_null(), TABLE_SCHEMA: NAME.bin().not_null(), TABLE_NAME: NAME.bin().not_null(),
        SPECIFIC_CATALOG: NAME.bin().not_null(), SPECIFIC_SCHEMA: NAME.bin().not_null(), SPECIFIC_NAME: NAME.not_null(),
    }
    ST_GEOMETRY_COLUMNS by no_rows {
        TABLE_CATALOG: NAME.bin().not_null(), TABLE_SCHEMA: NAME.bin().not_null(), TABLE_NAME: NAME.bin().not_null(),
        COLUMN_NAME: NAME, SRS_NAME: varchar(80), SRS_ID: UINT, GEOMETRY_TYPE_NAME: LONGTEXT.bin(),
    }
    ST_SPATIAL_REFERENCE_SYSTEMS by no_rows {
        SRS_NAME: varchar(80).not_null(), SRS_ID: UINT.not_null(), ORGANIZATION: varchar(256),
        ORGANIZATION_COORDSYS_ID: UINT, DEFINITION: varchar(4096).bin().not_null(), DESCRIPTION: varchar(2048).bin(),
    }
    ST_UNITS_OF_MEASURE by no_rows {
        UNIT_NAME: varchar(255).utf8mb4(), UNIT_TYPE: varchar(7).utf8mb4(), CONVERSION_FACTOR: DOUBLE,
        DESCRIPTION: varchar(255).utf8mb4(),
    }
    INNODB_VIRTUAL by no_rows {
        TABLE_ID: UBIGINT.not_null(), POS: UINT.not_null(), BASE_POS: UINT.not_null(),
    }
    INNODB_SESSION_TEMP_TABLESPACES by no_rows {
        ID: UINT.not_null(), SPACE: UINT.not_null(), PATH: varchar(4001).not_null(), SIZE: UBIGINT.not_null(),
        STATE: varchar(192).not_null(), PURPOSE: varchar(192).not_null(),
    }
    INNODB_BUFFER_PAGE by no_rows {
        POOL_ID: UBIGINT.not_null(), BLOCK_ID: UBIGINT.not_null(), SPACE: UBIGINT.not_null(),
        PAGE_NUMBER: UBIGINT.not_null(), PAGE_TYPE: NAME, FLUSH_TYPE: UBIGINT.not_null(), FIX_COUNT: UBIGINT.not_null(),
        IS_HASHED: varchar(3), NEWEST_MODIFICATION: UBIGINT.not_null(), OLDEST_MODIFICATION: UBIGINT.not_null(),
        ACCESS_TIME: UBIGINT.not_null(), TABLE_NAME: varchar(1024), INDEX_NAME: varchar(1024),
        NUMBER_RECORDS: UBIGINT.not_null(), DATA_SIZE: UBIGINT.not_null(), COMPRESSED_SIZE: UBIGINT.not_null(),
        PAGE_STATE: NAME, IO_FIX: NAME, IS_OLD: varchar(3), FREE_PAGE_CLOCK: UBIGINT.not_null(), IS_STALE: varchar(3),
    }
    INNODB_BUFFER_PAGE_LRU by no_rows {
        POOL_ID: UBIGINT.not_null(), LRU_POSITION: UBIGINT.not_null(), SPACE: UBIGINT.not_null(),
        PAGE_NUMBER: UBIGINT.not_null(), PAGE_TYPE: NAME, FLUSH_TYPE: UBIGINT.not_null(), FIX_COUNT: UBIGINT.not_null(),
        IS_HASHED: varchar(3), NEWEST_MODIFICATION: UBIGINT.not_null(), OLDEST_MODIFICATION: UBIGINT.not_null(),
        ACCESS_TIME: UBIGINT.not_null(), TABLE_NAME: varchar(1024), INDEX_NAME: varchar(1024),
        NUMBER_RECORDS: UBIGINT.not_null(), DATA_SIZE: UBIGINT.not_null(), COMPRESSED_SIZE: UBIGINT.not_null(),
        COMPRESSED: varchar(3), IO_FIX: NAME, IS_OLD: varchar(3), FREE_PAGE_CLOCK: UBIGINT.not_null(),
    }
    INNODB_CACHED_INDEXES by no_rows {
        SPACE_ID: UINT.not_null(), INDEX_ID: UBIGINT.not_null(), N_CACHED_PAGES: UBIGINT.not_null(),
    }
    INNODB_CMP by no_rows {
        page_size: INT.not_null(), compress_ops: INT.not_null(), compress_ops_ok: INT.not_null(),
        compress_time: INT.not_null(), uncompress_ops: INT.not_null(), uncompress_time: INT.not_null(),
    }
    INNODB_CMP_RESET by no_rows {
        page_size: INT.not_null(), compress_ops: INT.not_null(), compress_ops_ok: INT.not_null(),
        compress_time: INT.not_null(), uncompress_ops: INT.not_null(), uncompress_time: INT.not_null(),
    }
    INNODB_CMPMEM by no_rows {
        page_size: INT.not_null(), buffer_pool_instance: INT.not_null(), pages_used: INT.not_null(),
        pages_free: INT.not_null(), relocation_ops: BIGINT.not_null(), relocation_time: INT.not_null(),
    }
    INNODB_CMPMEM_RESET by no_rows {
        page_size: INT.not_null(), buffer_pool_instance: INT.not_null(), pages_used: INT.not_null(),
        pages_free: INT.not_null(), relocation_ops: BIGINT.not_null(), relocation_time: INT.not_null(),
    }
    INNODB_CMP_PER_INDEX by no_rows {
        database_name: varchar(192).not_null(), table_name: varchar(192).not_null(),
        index_name: varchar(192).not_null(), compress_ops: INT.not_null(), compress_ops_ok: INT.not_null(),
        compress_time: INT.not_null(), uncompress_ops: INT.not_null(), uncompress_time: INT.not_null(),
    }
    INNODB_CMP_PER_INDEX_RESET by no_rows {
        database_name: varchar(192).not_null(), table_name: varchar(192).not_null(),
        index_name: varchar(192).not_null(), compress_ops: INT.not_null(), compress_ops_ok: INT.not_null(),
        compress_time: INT.not_null(), uncompress_ops: INT.not_null(), uncompress_time: INT.not_null(),
    }
    INNODB_FT_DELETED by no_rows {
        DOC_ID: UBIGINT.not_null(),
    }
    INNODB_FT_BEING_DELETED by no_rows {
        DOC_ID: UBIGINT.not_null(),
    }
    INNODB_FT_INDEX_CACHE by no_rows {
        WORD: varchar(337).not_null(), FIRST_DOC_ID: UBIGINT.not_null(), LAST_DOC_ID: UBIGINT.not_null(),
        DOC_COUNT: UBIGINT.not_null(), DOC_ID: UBIGINT.not_null(), POSITION: UBIGINT.not_null(),
    }
}

tables! {
    PERFORMANCE_SCHEMA in "performance_schema":
    keyring_keys by no_rows {
        KEY_ID: varchar(255).utf8mb4_bin().not_null(), KEY_OWNER: varchar(255).utf8mb4_bin(),
        BACKEND_KEY_ID: varchar(255).utf8mb4_bin(),
    }
    replication_group_member_stats by no_rows {
        CHANNEL_NAME: fixed(64).not_null(), VIEW_ID: fixed(60).utf8mb4_bin().not_null(),
        MEMBER_ID: fixed(36).utf8mb4_bin().not_null(),
        COUNT_TRANSACTIONS_IN_QUEUE: UBIGINT.not_null(), COUNT_TRANSACTIONS_CHECKED: UBIGINT.not_null(),
        COUNT_CONFLICTS_DETECTED: UBIGINT.not_null(), COUNT_TRANSACTIONS_ROWS_VALIDATING: UBIGINT.not_null(),
        TRANSACTIONS_COMMITTED_ALL_MEMBERS: LONGTEXT.not_null(), LAST_CONFLICT_FREE_TRANSACTION: TEXT.not_null(),
        COUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE: UBIGINT.not_null(),
        COUNT_TRANSACTIONS_REMOTE_APPLIED: UBIGINT.not_null(), COUNT_TRANSACTIONS_LOCAL_PROPOSED: UBIGINT.not_null(),
        COUNT_TRANSACTIONS_LOCAL_ROLLBACK: UBIGINT.not_null(),
    }
    replication_group_members by no_rows {
        CHANNEL_NAME: fixed(64).not_null(), MEMBER_ID: fixed(36).utf8mb4_bin().not_null(),
        MEMBER_HOST: fixed(255).ascii().not_null(), MEMBER_PORT: INT, MEMBER_STATE: fixed(64).utf8mb4_bin().not_null(),
        MEMBER_ROLE: fixed(64).utf8mb4_bin().not_null(), MEMBER_VERSION: fixed(64).utf8mb4_bin().not_null(),
        MEMBER_COMMUNICATION_STACK: fixed(64).utf8mb4_bin().not_null(),
    }
    clone_status by no_rows {
        ID: INT, PID: INT, STATE: fixed(16), BEGIN_TIME: timestamp(3), END_TIME: timestamp(3), SOURCE: varchar(512),
        DESTINATION: varchar(512), ERROR_NO: INT, ERROR_MESSAGE: varchar(512), BINLOG_FILE: varchar(512),
        BINLOG_POSITION: BIGINT, GTID_EXECUTED: varchar(4096),
    }
}

tables! {
    MYSQL in "mysql":
    func by no_rows {
        name: fixed(64).not_null(), ret: tinyint(0).not_null(), dl: fixed(128).not_null(),
        type: enumeration(&["function", "aggregate"]).not_null(),
    }
    plugin by no_rows {
        name: NAME.not_null(), dl: varchar(128).not_null(),
    }
    servers by servers {
        Server_name: fixed(64).not_null(), Host: fixed(255).ascii().not_null(), Db: fixed(64).not_null(),
        Username: fixed(64).not_null(), Password: fixed(64).not_null(), Port: INT.not_null(),
        Socket: fixed(64).not_null(), Wrapper: fixed(64).not_null(), Owner: fixed(64).not_null(),
    }
    time_zone by no_rows {
        Time_zone_id: UINT.not_null(), Use_leap_seconds: enumeration(&["Y", "N"]).not_null(),
    }
    time_zone_leap_second by no_rows {
        Transition_time: BIGINT.not_null(), Correction: INT.not_null(),
    }
    time_zone_name by no_rows {
        Name: fixed(64).not_null(), Time_zone_id: UINT.not_null(),
    }
    time_zone_transition by no_rows {
        Time_zone_id: UINT.not_null(), Transition_time: BIGINT.not_null(), Transition_type_id: UINT.not_null(),
    }
    time_zone_transition_type by no_rows {
        Time_zone_id: UINT.not_null(), Transition_type_id: UINT.not_null(), Offset: INT.not_null(),
        Is_DST: UTINYINT.not_null(), Abbreviation: fixed(8).not_null(),
    }
}
