//! Numbers of the protocol (MySQL 8.4 internals manual, "Protocol::CapabilityFlags" and siblings).

/// Capability bits of the handshake.
pub mod cap {
    /// Use the improved version of old password authentication; always set.
    pub const LONG_PASSWORD: u32 = 1;
    /// `affected rows` counts found rather than changed rows.
    pub const FOUND_ROWS: u32 = 1 << 1;
    /// Longer flags in column definitions.
    pub const LONG_FLAG: u32 = 1 << 2;
    /// A database name is in the handshake response.
    pub const CONNECT_WITH_DB: u32 = 1 << 3;
    /// `database.table.column` is refused.
    pub const NO_SCHEMA: u32 = 1 << 4;
    /// zlib compression.
    pub const COMPRESS: u32 = 1 << 5;
    /// LOAD DATA LOCAL.
    pub const LOCAL_FILES: u32 = 1 << 7;
    /// Spaces before `(` of function calls are allowed.
    pub const IGNORE_SPACE: u32 = 1 << 8;
    /// The 4.1 protocol; required.
    pub const PROTOCOL_41: u32 = 1 << 9;
    /// `interactive_timeout` instead of `wait_timeout`.
    pub const INTERACTIVE: u32 = 1 << 10;
    /// TLS.
    pub const SSL: u32 = 1 << 11;
    /// Status flags in EOF packets.
    pub const TRANSACTIONS: u32 = 1 << 13;
    /// 4.1 authentication.
    pub const SECURE_CONNECTION: u32 = 1 << 15;
    /// Several statements in one COM_QUERY.
    pub const MULTI_STATEMENTS: u32 = 1 << 16;
    /// Several result sets for COM_QUERY.
    pub const MULTI_RESULTS: u32 = 1 << 17;
    /// Several result sets for COM_STMT_EXECUTE.
    pub const PS_MULTI_RESULTS: u32 = 1 << 18;
    /// Authentication plugins.
    pub const PLUGIN_AUTH: u32 = 1 << 19;
    /// Connection attributes.
    pub const CONNECT_ATTRS: u32 = 1 << 20;
    /// Length-encoded authentication data in the handshake response.
    pub const PLUGIN_AUTH_LENENC: u32 = 1 << 21;
    /// Expired passwords are handled by the client.
    pub const CAN_HANDLE_EXPIRED_PASSWORDS: u32 = 1 << 22;
    /// Session state in OK packets.
    pub const SESSION_TRACK: u32 = 1 << 23;
    /// OK instead of EOF packets.
    pub const DEPRECATE_EOF: u32 = 1 << 24;
    /// Metadata of result sets may be left out.
    pub const OPTIONAL_RESULTSET_METADATA: u32 = 1 << 25;
    /// zstd compression.
    pub const ZSTD_COMPRESSION: u32 = 1 << 26;
    /// Query attributes.
    pub const QUERY_ATTRIBUTES: u32 = 1 << 27;
}

/// Server status bits in OK and EOF packets.
pub mod status {
    /// A transaction is open.
    pub const IN_TRANS: u16 = 1;
    /// autocommit is on.
    pub const AUTOCOMMIT: u16 = 1 << 1;
    /// Another result follows.
    pub const MORE_RESULTS: u16 = 1 << 3;
    /// The statement used no good index.
    pub const NO_GOOD_INDEX_USED: u16 = 1 << 4;
    /// The statement used no index.
    pub const NO_INDEX_USED: u16 = 1 << 5;
    /// A cursor is open.
    pub const CURSOR_EXISTS: u16 = 1 << 6;
    /// The cursor has given its last row.
    pub const LAST_ROW_SENT: u16 = 1 << 7;
    /// A database was dropped.
    pub const DB_DROPPED: u16 = 1 << 8;
    /// NO_BACKSLASH_ESCAPES is set.
    pub const NO_BACKSLASH_ESCAPES: u16 = 1 << 9;
    /// Statement metadata changed since prepare.
    pub const METADATA_CHANGED: u16 = 1 << 10;
    /// The row has the OUT parameters of a prepared CALL.
    pub const PS_OUT_PARAMS: u16 = 1 << 12;
    /// The open transaction is read only.
    pub const IN_TRANS_READONLY: u16 = 1 << 13;
    /// Session state follows in the OK packet.
    pub const SESSION_STATE_CHANGED: u16 = 1 << 14;
}

/// Column types on the wire.
#[expect(missing_docs, reason = "the names are MySQL's type names")]
pub mod ty {
    pub const DECIMAL: u8 = 0;
    pub const TINY: u8 = 1;
    pub const SHORT: u8 = 2;
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const NULL: u8 = 6;
    pub const TIMESTAMP: u8 = 7;
    pub const LONGLONG: u8 = 8;
    pub const INT24: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const YEAR: u8 = 13;
    pub const NEWDATE: u8 = 14;
    pub const VARCHAR: u8 = 15;
    pub const BIT: u8 = 16;
    pub const JSON: u8 = 245;
    pub const NEWDECIMAL: u8 = 246;
    pub const ENUM: u8 = 247;
    pub const SET: u8 = 248;
    pub const TINY_BLOB: u8 = 249;
    pub const MEDIUM_BLOB: u8 = 250;
    pub const LONG_BLOB: u8 = 251;
    pub const BLOB: u8 = 252;
    pub const VAR_STRING: u8 = 253;
    pub const STRING: u8 = 254;
    pub const GEOMETRY: u8 = 255;
}

/// Command bytes.
#[expect(missing_docs, reason = "the names are MySQL's command names")]
pub mod com {
    pub const SLEEP: u8 = 0;
    pub const QUIT: u8 = 1;
    pub const INIT_DB: u8 = 2;
    pub const QUERY: u8 = 3;
    pub const FIELD_LIST: u8 = 4;
    pub const CREATE_DB: u8 = 5;
    pub const DROP_DB: u8 = 6;
    pub const REFRESH: u8 = 7;
    pub const SHUTDOWN: u8 = 8;
    pub const STATISTICS: u8 = 9;
    pub const PROCESS_INFO: u8 = 10;
    pub const CONNECT: u8 = 11;
    pub const PROCESS_KILL: u8 = 12;
    pub const DEBUG: u8 = 13;
    pub const PING: u8 = 14;
    pub const TIME: u8 = 15;
    pub const DELAYED_INSERT: u8 = 16;
    pub const CHANGE_USER: u8 = 17;
    pub const BINLOG_DUMP: u8 = 18;
    pub const TABLE_DUMP: u8 = 19;
    pub const CONNECT_OUT: u8 = 20;
    pub const REGISTER_SLAVE: u8 = 21;
    pub const STMT_PREPARE: u8 = 22;
    pub const STMT_EXECUTE: u8 = 23;
    pub const STMT_SEND_LONG_DATA: u8 = 24;
    pub const STMT_CLOSE: u8 = 25;
    pub const STMT_RESET: u8 = 26;
    pub const SET_OPTION: u8 = 27;
    pub const STMT_FETCH: u8 = 28;
    pub const DAEMON: u8 = 29;
    pub const BINLOG_DUMP_GTID: u8 = 30;
    pub const RESET_CONNECTION: u8 = 31;
    pub const CLONE: u8 = 32;
}
