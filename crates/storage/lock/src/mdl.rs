//! Metadata locks: who uses which table while its definition must not change.
//!
//! A statement names the tables it uses in its session's own slot (plain stores and a fence); DDL raises a flag on the
//! table, then waits until no slot names it.

use gannet_base::sync::Arc;

use crate::{LockError, LockOwner, Wait};

/// How a session uses a table. Ordered by strength.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum MdlMode {
    /// Reads rows or the definition.
    Read = 1,
    /// Changes rows.
    Write = 2,
    /// LOCK TABLES ... READ, FLUSH TABLES ... WITH READ LOCK, a DDL phase that allows reads: no writers.
    NoWrite = 3,
    /// Announces DDL: readers and writers go on, other DDL waits.
    Upgradable = 4,
    /// LOCK TABLES ... WRITE and the last phase of DDL: nobody else.
    Exclusive = 5,
}

/// When a use ends by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MdlDuration {
    /// With [`LockOwner::mdl_end_statement`].
    Statement,
    /// With [`LockOwner::mdl_end_transaction`].
    Transaction,
    /// With [`LockOwner::mdl_release_explicit`] (LOCK TABLES).
    Explicit,
}

/// The lockable side of one table (or schema, or the global read lock): kept in the catalog's object for it.
pub struct MdlObject {}

impl crate::LockTable {
    /// The object with that number, the same for all callers. `name` is what introspection shows.
    pub fn mdl_object(&self, _id: u64, _name: &str) -> Arc<MdlObject> {
        unimplemented!()
    }
}

impl LockOwner {
    /// Takes a metadata lock, or raises one this owner has on the object to a stronger mode.
    pub fn mdl_lock(
        &self,
        _object: &Arc<MdlObject>,
        _mode: MdlMode,
        _duration: MdlDuration,
        _wait: Wait,
    ) -> Result<(), LockError> {
        unimplemented!()
    }

    /// Lowers an [`MdlMode::Exclusive`] lock to a weaker mode.
    pub fn mdl_downgrade(&self, _object: &Arc<MdlObject>, _mode: MdlMode) {
        unimplemented!()
    }

    /// Ends all uses of statement duration.
    pub fn mdl_end_statement(&self) {
        unimplemented!()
    }

    /// Ends all uses of statement and transaction duration.
    pub fn mdl_end_transaction(&self) {
        unimplemented!()
    }

    /// Ends all uses of explicit duration (UNLOCK TABLES).
    pub fn mdl_release_explicit(&self) {
        unimplemented!()
    }
}
