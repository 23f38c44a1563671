//! What a foreign key refuses.

use gannet_plan::foreign::serving;
use gannet_schema::{ForeignKey, Table};

/// A row that a foreign key refuses, recorded for SHOW ENGINE INNODB STATUS.
pub struct Refused<'a> {
    /// The transaction, zero if it has not written.
    pub trx: gannet_base::TrxId,
    /// The referring table.
    pub child: &'a Table,
    /// Its key.
    pub key: &'a ForeignKey,
    /// The row referred to is to go or to change; else the referring row came or changed.
    pub parent_goes: bool,
    /// The referring columns' values, as an index has them.
    pub tuple: Vec<Vec<u8>>,
}

impl Refused<'_> {
    /// Name of the referring table's index that serves the key.
    pub fn child_index(&self) -> &str {
        serving(self.child, &self.key.columns).map_or("", |i| &self.child.indexes[i].name)
    }
}
