//! Binder, statistics, optimizer, plan cache; pure.
