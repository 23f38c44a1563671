//! The data dictionary: what `gannet-schema` describes, kept in the engine's own tree.
//!
//! [`Catalog`] opens it and publishes its states, an [`Edit`] changes it inside one engine transaction.

mod accounts;
mod alter;
mod build;
mod catalog;
mod ddl;
mod edit;
mod error;
mod fill;
mod follow;
mod keys;
mod open;
mod parts;
mod programs;
pub mod stats;
mod trees;
mod words;

pub use accounts::Accounts;
pub use alter::{Alteration, Pending};
pub use build::{Load, NotLoaded};
pub use catalog::{Catalog, uses};
pub use edit::Edit;
pub use error::{CatalogError, CatalogResult};
pub use fill::Telling;
pub use follow::Gate;
pub use parts::{PendingParts, begin_parts, exchange_part, finish_parts};
pub use programs::set_triggers;
pub use trees::{StoredTable, Trees};
pub use words::{Position, Words};
