//! The project's own jobs, as a library so that `cargo test` can run the house rules.

use std::path::PathBuf;

pub mod atomics;
pub mod bench;
pub mod clients;
pub mod crash;
pub mod diff;
pub mod dist;
mod figures;
pub mod fuzz;
pub mod instructions;
pub mod isolation;
pub mod ledger;
pub mod sim;
pub mod statements;
pub mod tidy;

/// The root of the workspace.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().map(PathBuf::from).unwrap_or_default()
}
