//! What the data dictionary describes: schemas, tables, columns, indexes, views, as immutable values.
//!
//! * [`Table`] describes a table and codes its rows and keys; [`CatalogSnapshot`] is one state of all of them.
//! * [`define`] checks definitions with MySQL's rules; [`show`] prints them as MySQL does.
//! * [`encode_table`] and [`decode_table`] are the rows which the dictionary keeps.
//!
//! Nothing here reads, writes or waits: the store over the engine is `gannet-catalog`.

pub mod array;
mod codec;
mod column;
mod constraint;
pub mod define;
mod fields;
mod fixture;
pub mod fuzzing;
pub mod histogram;
mod history;
mod index;
mod method;
pub mod names;
pub mod options;
mod own;
mod part;
pub mod partition;
pub mod program;
mod row_log;
mod rows;
mod serial;
pub mod show;
mod snapshot;
mod statistics;
mod system;
mod table;
#[cfg(test)]
mod tests;
mod values;
mod view;

pub use column::{Column, ColumnDefault, ColumnFormat, ColumnStorage, EngineAttributes, Generated, MAX_COLUMNS};
pub use constraint::{Check, Constraints, ForeignKey, ReferenceAction};
pub use define::{ColumnDefinition, ForeignKeyDefinition, IndexDefinition, TableDefinition};
pub use histogram::{Bucket, Histogram, KeyCut, Shape};
pub use history::History;
pub use index::{Index, IndexKind, IndexPart, MAX_INDEXES, MAX_KEY_PARTS, Using};
pub use method::{FullText, Method};
pub use own::{Own, OwnObjects};
pub use partition::{MAX_PARTS, PartTrees, Partitioned, Partitioning, Parts};
pub use program::{DataAccess, Event, EventSchedule, EventStatus, Made, Routine, RoutineKind, Trigger, TriggerEvent};
pub use row_log::{RowLog, Touched};
pub use rows::{EntryPlaces, IndexKey, ROW_ID, ROW_ID_BYTES};
pub use serial::{decode_schema, decode_table, encode_schema, encode_table};
pub use snapshot::{CatalogSnapshot, Change, Temporaries, TemporaryTables};
pub use statistics::{Figures, IndexFigures, TableStatistics, UNKNOWN_ROWS};
pub use system::{
    FIRST_USER_ID, LOG_TABLES, SYSTEM_SCHEMAS, base_snapshot, fixture_snapshot, is_log_beside, log_table,
};
pub use table::{
    GENERATED_KEY, RowSource, Schema, SchemaId, Table, TableId, TableOptions, TableParts, assemble, has_generated_key,
    is_generated_key_type,
};
pub use view::{CheckOption, View, ViewAlgorithm};
