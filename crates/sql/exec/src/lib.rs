//! Execution: operators over batches of columns, DML, DDL.
//!
//! [`run()`] executes a plan in a transaction and gives the rows to a [`ResultSink`]. Plans are shared and never
//! changed here; all state is in [`Cx`] and in the operators of one execution.

mod append;
pub mod batch;
mod bound;
mod calls;
pub mod changes;
pub mod check;
pub(crate) mod codec;
pub(crate) mod compare;
pub mod context;
pub(crate) mod convert;
pub(crate) mod cte;
pub mod ddl;
pub(crate) mod deprecated;
pub mod direct;
pub mod dml;
pub mod error;
pub mod eval;
pub mod file;
pub mod foreign;
mod found;
mod integers;
pub mod kv;
mod locks;
mod long;
mod lookup;
mod numbered;
pub(crate) mod ops;
pub(crate) mod order;
pub(crate) mod padding;
pub(crate) mod part;
pub(crate) mod place;
pub mod profile;
mod refused;
pub mod run;
mod search;
mod settle;
pub mod simple;
pub mod sink;
pub mod spill;
pub(crate) mod typed;
pub(crate) mod vector;
mod waiting;

pub use append::append;
pub use context::{Counts, Cx, MadeRow, Rest, Session, Settings, Shared, stopped};
pub use deprecated::deprecation;
pub use direct::DirectBuffers;
pub use dml::{Affected, Literals, Load, check_load, insert_rows, load, takes_rows};
pub use locks::Locks;
pub use place::shown_parts;
pub use profile::Profile;
pub use run::{Outcome, analyze, only_value, run, value_of};
pub use settle::{Settled, settle};
pub use sink::{ResultSink, RowSource, Rows, Stored};
pub use spill::{SessionSpace, TempSpace};
pub use waiting::waited;
