//! Rows for a table of the server's own, without SQL and without a key.

use crate::changes::RowWriter;
use crate::codec;
use crate::dml::rows::{self, Conflict};
use gannet_engine::Txn;
use gannet_schema::Table;
use gannet_types::{Result, SqlError, Value, sql_err};

/// Adds a row, whose values have its columns' types, to a table without a primary key. The caller holds the table's
/// metadata lock. Error 1062 in a unique index; the caller rolls back then.
pub fn append(table: &Table, row: &[Value], txn: &mut Txn) -> Result<()> {
    if row.len() != table.columns.len() || !table.has_hidden_key() {
        return Err(SqlError::internal("a row is appended to another table than it is for"));
    }
    let mut key = Vec::with_capacity(8);
    codec::new_row_key(table, row, txn, &mut key)?;
    let mut to = RowWriter { txn, sink: None, cascade: false, linked: false };
    match rows::insert_row(table, &key, row, false, &mut to)? {
        Conflict::None => Ok(()),
        Conflict::Duplicate { index, .. } => {
            Err(sql_err!(DupEntry, "", format_args!("{}.{}", table.name, table.indexes[index].name)))
        }
    }
}
