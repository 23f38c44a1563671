//! What all services of the server share: the store, the dictionary, accounts, variables, connections, logs, and the
//! listeners through which clients connect.
//!
//! A protocol is a crate that uses this one: it makes a [`Factory`](gannet_runtime::Factory) over an
//! [`Arc<Core>`](Core) and passes it to [`Instance::add_listener`]. *Invariants.* Nothing here knows a protocol's
//! messages, or runs a statement. State that is shared and changes while statements run is per worker; the shared
//! maps here change at connect, at DDL and on request.

pub mod accounts;
mod activity;
pub mod binlog;
pub mod check;
pub mod consumers;
pub mod deeds;
mod entry;
pub mod event_names;
pub mod history;
mod instance;
pub mod instances;
pub mod kept;
pub mod kinds;
pub mod ledger;
pub mod log;
mod log_entries;
mod log_tables;
pub mod monitors;
pub mod names;
pub mod options;
pub mod pool;
pub mod registry;
mod release;
pub mod replication;
pub mod reports;
pub mod seen;
mod settling;
pub mod setup;
mod shared;
pub mod stages;
mod staging;
mod startup;
pub mod statement_log;
pub mod statistics;
pub mod status;
mod sums;
pub mod tallies;
pub mod timers;
pub mod tls;
pub mod transacted;
pub mod user_locks;
pub mod uses;
mod usual;
pub mod vars;
pub mod waited;
pub mod work;
pub mod xa;

pub use instance::Instance;
pub use options::{Request, ServerOptions, help};
pub use shared::{Core, Facts, Figures, MYSQL_VERSION};
