//! The MySQL protocol: connections, login, packets, around the sessions of [`gannet_session`].
//!
//! *Invariants.* No statement is run here. A connection costs no fiber and no thread while it idles.

mod attempt;
mod client;
mod login;
mod server;
mod service;
mod transport;

pub use gannet_core::{MYSQL_VERSION, Request, ServerOptions, help};
pub use gannet_core::{accounts, check, kept, kinds, log, options, registry, vars, xa};
pub use gannet_session::{Answer, OwnSession};
pub use server::Server;
