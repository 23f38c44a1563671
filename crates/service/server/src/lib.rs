//! The MySQL protocol: connections, login, packets, around the sessions of [`gannet_session`].
//!
//! *Invariants.* No statement is run here. A connection costs no fiber and no thread while it idles.

mod attempt;
mod client;
mod cursor;
mod dump;
mod exchange;
mod login;
mod prepared;
mod server;
mod service;
mod transport;
mod wire;

pub use gannet_core::{MYSQL_VERSION, Request, ServerOptions, help};
pub use gannet_core::{accounts, check, kept, kinds, log, options, registry, vars, xa};
pub use gannet_session::{Answer, OwnSession, Sessions};
pub use server::Server;
