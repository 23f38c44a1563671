//! Keys of the dictionary.
//!
//! One row tree holds it all (its id is the engine's meta number 0). A key is a kind byte and names, each ended by a
//! zero byte:
//!
//! ```text
//! 1 schema          → schema row
//! 2 schema, table   → table row
//! 3 account         → the server's bytes
//! 4 XA branch       → the server's bytes
//! 5 table number    → table row of a temporary table: what a crash leaves of it is freed after the next start
//! 6 table number    → statistics of the table
//! 7 table number, column → histogram of the column
//! 8 schema, kind, name → routine: kind is `f` or `p`, name is folded; the value begins with its name as written
//! 9 schema, name    → event, likewise
//! 10 server         → the server's bytes: CREATE SERVER
//! 11 group          → the server's bytes: CREATE RESOURCE GROUP
//! ```

use gannet_schema::names::fold_name;
use gannet_schema::{Routine, RoutineKind, Table};

pub(crate) const KIND_SCHEMA: u8 = 1;
pub(crate) const KIND_TABLE: u8 = 2;
pub(crate) const KIND_ACCOUNT: u8 = 3;
pub(crate) const KIND_BRANCH: u8 = 4;
pub(crate) const KIND_TEMPORARY: u8 = 5;
pub(crate) const KIND_FIGURES: u8 = 6;
pub(crate) const KIND_HISTOGRAM: u8 = 7;
pub(crate) const KIND_ROUTINE: u8 = 8;
pub(crate) const KIND_EVENT: u8 = 9;
pub(crate) const KIND_SERVER: u8 = 10;
pub(crate) const KIND_GROUP: u8 = 11;
pub(crate) const KIND_REPLICATION: u8 = 12;

/// Key of a dictionary row.
pub(crate) fn dictionary_key(kind: u8, names: &[&str]) -> Vec<u8> {
    let mut key = vec![kind];
    for name in names {
        key.extend_from_slice(name.as_bytes());
        key.push(0);
    }
    key
}

/// Key of a table's row.
pub(crate) fn table_key(table: &Table) -> Vec<u8> {
    if table.temporary {
        dictionary_key(KIND_TEMPORARY, &[&table.id.0.to_string()])
    } else {
        dictionary_key(KIND_TABLE, &[&table.schema, &table.name])
    }
}

fn letter(kind: RoutineKind) -> &'static str {
    match kind {
        RoutineKind::Function => "f",
        RoutineKind::Procedure => "p",
    }
}

/// Key of a routine's row.
pub(crate) fn routine_key(routine: &Routine) -> Vec<u8> {
    dictionary_key(KIND_ROUTINE, &[&routine.schema, letter(routine.kind), &fold_name(&routine.name)])
}

/// Key of an event's row.
pub(crate) fn event_key(schema: &str, name: &str) -> Vec<u8> {
    dictionary_key(KIND_EVENT, &[schema, &fold_name(name)])
}

/// The names in a key.
pub(crate) fn key_names(key: &[u8]) -> impl Iterator<Item = &str> {
    let rest = key.get(1..).unwrap_or_default();
    rest.split(|b| *b == 0).map(|name| std::str::from_utf8(name).unwrap_or_default())
}
