//! Listeners, sessions, authentication, variables, SHOW, information_schema.
//!
//! *Invariants.* Only this crate knows what a client may do. A connection costs no fiber and no thread while it idles. What
//! sessions share and change while statements run is per worker; the shared maps here change at connect, at DDL and when
//! somebody asks.

pub mod accounts;
pub mod check;
pub mod kept;
pub mod log;
mod names;
pub mod options;
pub mod registry;
mod reports;
pub mod server;
mod session;
mod statement_log;
mod statistics;
mod status;
mod timers;
mod tls;
mod user_locks;
pub mod vars;
mod virt;
pub mod xa;

pub use options::{Request, ServerOptions, help};
pub use server::{Server, Shared};
#[doc(hidden)]
pub use session::kinds;
