//! The console: a web page that shows the server, served by the server itself, and its figures for Prometheus.
//!
//! It listens where `gannet_console` says. A client signs in with an account of the server that has PROCESS and may
//! read performance_schema, and sees what SQL would show it; whatever it changes it changes by SQL, with its own
//! rights.
//!
//! ```text
//!   listener ──▶ http: one request, bounded ──▶ site: host, origin, who ──▶ pages: files in the binary
//!                                                                      ──▶ api: JSON
//!                                                                      ──▶ metrics: text for Prometheus
//! ```
//!
//! *Invariant.* It is never in the way of statements: it takes no lock that they take, and all that it keeps is
//! bounded.

mod api;
mod http;
mod json;
mod metrics;
mod model;
mod pages;
mod serve;
mod sign;
mod site;
mod tree;

use gannet_core::Instance;
use gannet_core::vars::{Live, VarValue};
use gannet_runtime::Addr;
use gannet_session::Sessions;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

/// Listens where `gannet_console` says; nowhere when it says nothing. Returns the address. The error is a sentence.
pub fn start(instance: &Instance, sessions: &Arc<Sessions>) -> Result<Option<SocketAddr>, String> {
    let core = instance.core();
    let wanted = core.globals.get(Live::GannetConsole);
    let wanted = wanted.as_str();
    if wanted.is_empty() {
        return Ok(None);
    }
    let at = address(wanted)?;
    let encrypted = !at.ip().is_loopback();
    if encrypted && core.tls.acceptor().is_none() {
        return Err(format!("refusing to serve the console on {at}: beyond loopback it needs TLS, which is off"));
    }
    let site = Arc::new(site::Site::new(core.clone(), sessions.clone(), encrypted));
    let factory = Arc::new(serve::Factory::new(site));
    match instance.add_listener(&Addr::Tcp(at), factory)? {
        Addr::Tcp(at) => {
            core.globals.set(Live::GannetConsole, VarValue::text(&at.to_string()));
            Ok(Some(at))
        }
        Addr::Unix(_) => Ok(None),
    }
}

/// `HOST:PORT`; the host is an address or `localhost`.
fn address(text: &str) -> Result<SocketAddr, String> {
    let mut found = text.to_socket_addrs().map_err(|e| format!("--gannet-console={text}: HOST:PORT is wanted: {e}"))?;
    found.next().ok_or_else(|| format!("--gannet-console={text}: no such address"))
}
