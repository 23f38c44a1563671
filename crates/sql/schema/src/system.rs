//! The server's own schemas.

use crate::snapshot::{CatalogSnapshot, Change};
use crate::table::{Schema, SchemaId, Table};
use gannet_types::CollationId;
use std::sync::Arc;

/// Numbers below are the server's own.
pub const FIRST_USER_ID: u64 = 1024;

/// The server's own schemas: name, number.
pub const SYSTEM_SCHEMAS: [(&str, SchemaId); 4] = [
    ("mysql", SchemaId(1)),
    ("information_schema", SchemaId(2)),
    ("performance_schema", SchemaId(3)),
    ("sys", SchemaId(4)),
];

/// The tables of `log_output=TABLE`, in schema mysql.
pub const LOG_TABLES: [&str; 2] = ["general_log", "slow_log"];

/// What the table is if it is one of [`LOG_TABLES`]: its place there.
pub fn log_table(schema: &str, name: &str) -> Option<usize> {
    if schema == "mysql" { LOG_TABLES.iter().position(|log| *log == name) } else { None }
}

/// The table is one of [`LOG_TABLES`], or has the name of one with more behind it: when they are rotated, older logs
/// and new ones stand beside them, and are a user's.
pub fn is_log_beside(schema: &str, name: &str) -> bool {
    schema == "mysql" && LOG_TABLES.iter().any(|log| name.starts_with(log))
}

/// Utf8mb4 with its binary or default collation is what the server's own schemas use, as in MySQL.
fn system_collation(name: &str) -> CollationId {
    match name {
        "information_schema" => CollationId::UTF8MB3_GENERAL_CI,
        _ => CollationId::UTF8MB4_0900_AI_CI,
    }
}

/// The state of a fresh dictionary: the system schemas alone.
pub fn base_snapshot() -> CatalogSnapshot {
    let schema = |(name, id): (&str, SchemaId)| {
        Change::PutSchema(Schema {
            id,
            name: name.into(),
            collation: system_collation(name),
            system: true,
            read_only: false,
        })
    };
    CatalogSnapshot::default().with(SYSTEM_SCHEMAS.into_iter().map(schema))
}

/// A snapshot without an engine, for tests of what lies above: the system schemas plus the given tables and their
/// schemas.
pub fn fixture_snapshot(schemas: &[&str], tables: Vec<Table>) -> CatalogSnapshot {
    let schema = |(i, name): (usize, &&str)| {
        let id = SchemaId(FIRST_USER_ID as u32 + i as u32);
        Change::PutSchema(Schema {
            id,
            name: (*name).into(),
            collation: CollationId::DEFAULT,
            system: false,
            read_only: false,
        })
    };
    let schemas = schemas.iter().enumerate().map(schema);
    base_snapshot().with(schemas.chain(tables.into_iter().map(|t| Change::PutTable(Arc::new(t)))))
}
