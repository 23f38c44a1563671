//! The only door to storage: transactions, MVCC, undo, purge, checkpoint, recovery, space.
