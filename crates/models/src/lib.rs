//! The lock-free parts of storage under a model checker: see `tests/models`. There is nothing here to be used.
