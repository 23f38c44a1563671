//! Rows of a table that the transaction has made: they are not inserted one by one, its trees are built from all of
//! them.

use super::rows;
use crate::changes::Images;
use crate::{codec, context::Cx, error::from_catalog};
use gannet_catalog::{Load, NotLoaded};
use gannet_plan::plan::Insert;
use gannet_schema::Table;
use gannet_types::{Result, SqlError, Value};

/// Takes rows, and builds the trees when all are there.
pub(super) struct Bulk<'p> {
    table: &'p Table,
    load: Load<'p>,
    key: Vec<u8>,
    payload: Vec<u8>,
}

impl<'p> Bulk<'p> {
    /// `None`: a duplicate is not just an error, or the rows go to several parts.
    pub(super) fn begin(insert: &Insert, table: &'p Table, cx: &mut Cx<'_, 'p>) -> Result<Option<Bulk<'p>>> {
        if table.partitions.is_some() || insert.ignore || insert.replace || !insert.on_duplicate.is_empty() {
            return Ok(None);
        }
        let indexes: Vec<usize> = (0..table.indexes.len()).filter(|i| Some(*i) != table.clustered).collect();
        // Hidden row ids ascend; of keys nothing is known.
        let load = Load::begin(cx.txn.get()?, table, &indexes, table.has_hidden_key()).map_err(from_catalog)?;
        Ok(Some(Bulk { table, load, key: Vec::new(), payload: Vec::new() }))
    }

    pub(super) fn row(&mut self, values: &[Value], cx: &mut Cx<'_, 'p>) -> Result<()> {
        codec::new_row_key(self.table, values, cx.txn.get()?, &mut self.key)?;
        self.payload.clear();
        codec::encode_row(self.table, values, &mut self.payload)?;
        self.load.row(&self.key, &self.payload).map_err(|e| refused(e, self.table, cx))?;
        let mut to = cx.row_writer()?;
        let mark = to.mark();
        to.tell(mark, self.table, Images::Insert(values))
    }

    /// Error 1062 when two rows have one key.
    pub(super) fn finish(self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let tasks = cx.shared.settings.ddl_threads as usize;
        let loaded = self.load.finish(cx.txn.get()?, tasks);
        loaded.map_err(|e| refused(e, self.table, cx))
    }
}

fn refused(error: NotLoaded, table: &Table, cx: &Cx<'_, '_>) -> SqlError {
    match error {
        NotLoaded::Duplicate(row) => match codec::decode_row(table, &row) {
            Ok(values) => {
                let index = table.clustered.unwrap_or(0);
                rows::duplicate_error(table, index, &values, &cx.shared.settings.time_zone)
            }
            Err(error) => error,
        },
        NotLoaded::Other(error) => from_catalog(error),
    }
}
