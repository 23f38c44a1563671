//! Columns that several tables of performance_schema have.

use super::declare::{BIGINT, Columns, NAME, Spec, UBIGINT, UINT, enumeration, fixed, varchar};

pub(super) const COUNT: Spec = UBIGINT.not_null();

/// What events are called: `wait/io/file/innodb/innodb_log_file`.
pub(super) const EVENT: Columns = &[("EVENT_NAME", varchar(128).not_null())];
/// Whose figures they are.
pub(super) const ACCOUNT: Columns =
    &[("USER", fixed(32).utf8mb4_bin()), ("HOST", fixed(255).ascii()), ("EVENT_NAME", varchar(128).not_null())];
pub(super) const USER: Columns = &[("USER", fixed(32).utf8mb4_bin()), ("EVENT_NAME", varchar(128).not_null())];
pub(super) const HOST: Columns = &[("HOST", fixed(255).ascii()), ("EVENT_NAME", varchar(128).not_null())];
pub(super) const THREAD: Columns = &[("THREAD_ID", COUNT), ("EVENT_NAME", varchar(128).not_null())];
/// A table, or something like it.
pub(super) const OBJECT: Columns = &[("OBJECT_TYPE", NAME), ("OBJECT_SCHEMA", NAME), ("OBJECT_NAME", NAME)];

/// A count, and sum, least, average and greatest of the times.
macro_rules! timed {
    ($($id:ident: $count:literal, $of:literal;)*) => {$(
        pub(super) const $id: Columns = &[
            ($count, COUNT),
            (concat!("SUM_TIMER_", $of), COUNT),
            (concat!("MIN_TIMER_", $of), COUNT),
            (concat!("AVG_TIMER_", $of), COUNT),
            (concat!("MAX_TIMER_", $of), COUNT),
        ];
    )*};
}

timed! {
    TIMED: "COUNT_STAR", "WAIT";
    READ_WRITE: "COUNT_READ_WRITE", "READ_WRITE";
    READ_ONLY: "COUNT_READ_ONLY", "READ_ONLY";
    READ: "COUNT_READ", "READ";
    WRITE: "COUNT_WRITE", "WRITE";
    MISC: "COUNT_MISC", "MISC";
    FETCH: "COUNT_FETCH", "FETCH";
    INSERT: "COUNT_INSERT", "INSERT";
    UPDATE: "COUNT_UPDATE", "UPDATE";
    DELETE: "COUNT_DELETE", "DELETE";
    READ_NORMAL: "COUNT_READ_NORMAL", "READ_NORMAL";
    READ_SHARED: "COUNT_READ_WITH_SHARED_LOCKS", "READ_WITH_SHARED_LOCKS";
    READ_HIGH: "COUNT_READ_HIGH_PRIORITY", "READ_HIGH_PRIORITY";
    READ_NO_INSERT: "COUNT_READ_NO_INSERT", "READ_NO_INSERT";
    READ_EXTERNAL: "COUNT_READ_EXTERNAL", "READ_EXTERNAL";
    WRITE_ALLOW: "COUNT_WRITE_ALLOW_WRITE", "WRITE_ALLOW_WRITE";
    WRITE_CONCURRENT: "COUNT_WRITE_CONCURRENT_INSERT", "WRITE_CONCURRENT_INSERT";
    WRITE_LOW: "COUNT_WRITE_LOW_PRIORITY", "WRITE_LOW_PRIORITY";
    WRITE_NORMAL: "COUNT_WRITE_NORMAL", "WRITE_NORMAL";
    WRITE_EXTERNAL: "COUNT_WRITE_EXTERNAL", "WRITE_EXTERNAL";
}

pub(super) const FILE_BYTES_READ: Columns = &[("SUM_NUMBER_OF_BYTES_READ", BIGINT.not_null())];
pub(super) const FILE_BYTES_WRITTEN: Columns = &[("SUM_NUMBER_OF_BYTES_WRITE", BIGINT.not_null())];
pub(super) const SOCKET_BYTES_READ: Columns = &[("SUM_NUMBER_OF_BYTES_READ", COUNT)];
pub(super) const SOCKET_BYTES_WRITTEN: Columns = &[("SUM_NUMBER_OF_BYTES_WRITE", COUNT)];

/// What statements did.
pub(super) const STATEMENT_SUMS: Columns = &[
    ("SUM_LOCK_TIME", COUNT),
    ("SUM_ERRORS", COUNT),
    ("SUM_WARNINGS", COUNT),
    ("SUM_ROWS_AFFECTED", COUNT),
    ("SUM_ROWS_SENT", COUNT),
    ("SUM_ROWS_EXAMINED", COUNT),
    ("SUM_CREATED_TMP_DISK_TABLES", COUNT),
    ("SUM_CREATED_TMP_TABLES", COUNT),
    ("SUM_SELECT_FULL_JOIN", COUNT),
    ("SUM_SELECT_FULL_RANGE_JOIN", COUNT),
    ("SUM_SELECT_RANGE", COUNT),
    ("SUM_SELECT_RANGE_CHECK", COUNT),
    ("SUM_SELECT_SCAN", COUNT),
    ("SUM_SORT_MERGE_PASSES", COUNT),
    ("SUM_SORT_RANGE", COUNT),
    ("SUM_SORT_ROWS", COUNT),
    ("SUM_SORT_SCAN", COUNT),
    ("SUM_NO_INDEX_USED", COUNT),
    ("SUM_NO_GOOD_INDEX_USED", COUNT),
    ("SUM_CPU_TIME", COUNT),
    ("MAX_CONTROLLED_MEMORY", COUNT),
    ("MAX_TOTAL_MEMORY", COUNT),
    ("COUNT_SECONDARY", COUNT),
];

/// How much memory was taken and given back.
pub(super) const MEMORY: Columns = &[
    ("COUNT_ALLOC", COUNT),
    ("COUNT_FREE", COUNT),
    ("SUM_NUMBER_OF_BYTES_ALLOC", COUNT),
    ("SUM_NUMBER_OF_BYTES_FREE", COUNT),
    ("LOW_COUNT_USED", BIGINT.not_null()),
    ("CURRENT_COUNT_USED", BIGINT.not_null()),
    ("HIGH_COUNT_USED", BIGINT.not_null()),
    ("LOW_NUMBER_OF_BYTES_USED", BIGINT.not_null()),
    ("CURRENT_NUMBER_OF_BYTES_USED", BIGINT.not_null()),
    ("HIGH_NUMBER_OF_BYTES_USED", BIGINT.not_null()),
];

/// Of what kind a thing around an event is.
pub(super) const NESTING: Spec = enumeration(&["TRANSACTION", "STATEMENT", "STAGE", "WAIT"]);

/// A wait.
pub(super) const WAIT: Columns = &[
    ("THREAD_ID", COUNT),
    ("EVENT_ID", COUNT),
    ("END_EVENT_ID", UBIGINT),
    ("EVENT_NAME", varchar(128).not_null()),
    ("SOURCE", NAME),
    ("TIMER_START", UBIGINT),
    ("TIMER_END", UBIGINT),
    ("TIMER_WAIT", UBIGINT),
    ("SPINS", UINT),
    ("OBJECT_SCHEMA", NAME),
    ("OBJECT_NAME", varchar(512)),
    ("INDEX_NAME", NAME),
    ("OBJECT_TYPE", NAME),
    ("OBJECT_INSTANCE_BEGIN", COUNT),
    ("NESTING_EVENT_ID", UBIGINT),
    ("NESTING_EVENT_TYPE", NESTING),
    ("OPERATION", varchar(32).not_null()),
    ("NUMBER_OF_BYTES", BIGINT),
    ("FLAGS", UINT),
];

/// A stage of a statement.
pub(super) const STAGE: Columns = &[
    ("THREAD_ID", COUNT),
    ("EVENT_ID", COUNT),
    ("END_EVENT_ID", UBIGINT),
    ("EVENT_NAME", varchar(128).not_null()),
    ("SOURCE", NAME),
    ("TIMER_START", UBIGINT),
    ("TIMER_END", UBIGINT),
    ("TIMER_WAIT", UBIGINT),
    ("WORK_COMPLETED", UBIGINT),
    ("WORK_ESTIMATED", UBIGINT),
    ("NESTING_EVENT_ID", UBIGINT),
    ("NESTING_EVENT_TYPE", NESTING),
];

/// A transaction.
pub(super) const TRANSACTION: Columns = &[
    ("THREAD_ID", COUNT),
    ("EVENT_ID", COUNT),
    ("END_EVENT_ID", UBIGINT),
    ("EVENT_NAME", varchar(128).not_null()),
    ("STATE", enumeration(&["ACTIVE", "COMMITTED", "ROLLED BACK"])),
    ("TRX_ID", UBIGINT),
    ("GTID", varchar(90)),
    ("XID_FORMAT_ID", super::declare::INT),
    ("XID_GTRID", varchar(130)),
    ("XID_BQUAL", varchar(130)),
    ("XA_STATE", NAME),
    ("SOURCE", NAME),
    ("TIMER_START", UBIGINT),
    ("TIMER_END", UBIGINT),
    ("TIMER_WAIT", UBIGINT),
    ("ACCESS_MODE", enumeration(&["READ ONLY", "READ WRITE"])),
    ("ISOLATION_LEVEL", NAME),
    ("AUTOCOMMIT", enumeration(&["YES", "NO"]).not_null()),
    ("NUMBER_OF_SAVEPOINTS", UBIGINT),
    ("NUMBER_OF_ROLLBACK_TO_SAVEPOINT", UBIGINT),
    ("NUMBER_OF_RELEASE_SAVEPOINT", UBIGINT),
    ("OBJECT_INSTANCE_BEGIN", UBIGINT),
    ("NESTING_EVENT_ID", UBIGINT),
    ("NESTING_EVENT_TYPE", NESTING),
];
