//! What every service of the server stands on: the store, the dictionary, accounts, variables, connections, logs, and the listeners
//! by which clients come.
//!
//! A protocol is a crate beside this one's other users: it makes a [`Factory`](gannet_runtime::Factory) over an [`Arc<Core>`](Core) and
//! gives it to [`Instance::add_listener`]. *Invariants.* Nothing here knows a protocol's messages, or runs a statement. What is shared
//! and changes while statements run is per worker; the shared maps here change at connect, at DDL and when somebody asks.

pub mod accounts;
pub mod check;
mod instance;
pub mod kept;
pub mod kinds;
pub mod log;
pub mod names;
pub mod options;
pub mod registry;
pub mod reports;
mod shared;
mod startup;
pub mod statement_log;
pub mod statistics;
pub mod status;
pub mod timers;
pub mod tls;
pub mod user_locks;
pub mod vars;
pub mod xa;

pub use instance::Instance;
pub use options::{Request, ServerOptions, help};
pub use shared::{Core, Facts, Figures, MYSQL_VERSION};
