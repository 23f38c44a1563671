//! INSERT, REPLACE, UPDATE, DELETE.
//!
//! A statement is atomic: the caller rolls the transaction back to the statement's mark when one of these fails. Within
//! a statement a row is atomic where the statement goes on after a failed row (IGNORE, REPLACE, ON DUPLICATE KEY
//! UPDATE): a savepoint before the row. So it is in functions and triggers, whose statements are no unit of their own:
//! rows before the one that failed stay, see `Cx::inner`.

mod bulk;
pub(crate) mod complete;
pub(crate) mod defaults;
mod delete;
mod insert;
mod load;
mod many;
mod point;
pub(crate) mod rows;
mod spread;
pub(crate) mod triggers;
mod update;

pub use delete::delete;
pub use insert::insert;
pub(crate) use insert::insert_into_new;
pub use load::{Load, check_load, load};
pub use many::{Literals, insert_rows, takes_rows};
pub use update::update;
pub(crate) use update::write;

/// What a DML statement did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Affected {
    /// Affected rows as the OK packet reports them.
    pub rows: u64,
    /// First generated AUTO_INCREMENT value, 0 without.
    pub last_insert_id: u64,
    /// AUTO_INCREMENT value of the last row that was inserted, generated or given; 0 without.
    pub last_row_id: u64,
    /// The text of the OK packet (`Records: 3  Duplicates: 0  Warnings: 0`); empty where MySQL sends none.
    pub info: String,
}
