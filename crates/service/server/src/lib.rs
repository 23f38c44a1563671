//! The MySQL protocol on the core: connections, sessions, statements, SHOW, information_schema.
//!
//! *Invariants.* What a client may do is decided here, by what the core's accounts say. A connection costs no fiber and no thread while
//! it idles.

mod scheduler;
mod server;
mod session;
mod virt;

pub use gannet_core::{MYSQL_VERSION, Request, ServerOptions, help};
pub use gannet_core::{accounts, check, kept, kinds, log, options, registry, vars, xa};
pub use server::Server;
pub use session::own::{Answer, OwnSession};
