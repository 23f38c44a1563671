//! The data dictionary: schemas, tables, columns, indexes, kept in the engine's own tree.
//!
//! * [`Catalog`] opens and changes it; [`CatalogSnapshot`] is one immutable state, found by one version number.
//! * [`Table`] describes a table and holds the codecs between values and the engine's bytes.
//! * [`define`] checks definitions with MySQL's rules; [`show`] prints them as MySQL does.

mod accounts;
mod alter;
mod build;
mod catalog;
mod codec;
pub mod define;
mod edit;
mod error;
pub mod histogram;
mod model;
pub mod names;
mod serial;
pub mod show;
mod snapshot;
pub mod stats;
#[cfg(test)]
mod tests;
mod words;

pub use accounts::Accounts;
pub use alter::{Alteration, Pending};
pub use catalog::{Catalog, FIRST_USER_ID, SYSTEM_SCHEMAS, fixture_snapshot};
pub use codec::{IndexKey, ROW_ID_BYTES};
pub use define::{ColumnDefinition, ForeignKeyDefinition, IndexDefinition, TableDefinition};
pub use edit::Edit;
pub use error::{CatalogError, CatalogResult};
pub use histogram::{Bucket, Histogram, KeyCut, Shape};
pub use model::{
    Check, CheckOption, Column, ColumnDefault, Constraints, ForeignKey, Generated, Index, IndexKind, IndexPart,
    ReferenceAction, RowSource, Schema, SchemaId, Table, TableId, TableOptions, Trees, Using, View, ViewAlgorithm,
};
pub use serial::{TableParts, assemble, decode_table, encode_table};
pub use snapshot::{CatalogSnapshot, Temporaries};
pub use stats::{Figures, IndexFigures, TableStatistics};
pub use words::Words;
