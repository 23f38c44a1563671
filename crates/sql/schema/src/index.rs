//! Indexes.

use crate::column::EngineAttributes;
use crate::method::{FullText, Method};
use gannet_base::TreeId;
use gannet_types::SqlType;
use std::sync::Arc;

/// Indexes of a table.
pub const MAX_INDEXES: usize = 64;
/// Parts of an index.
pub const MAX_KEY_PARTS: usize = 16;

/// An index.
#[derive(Clone, Debug)]
pub struct Index {
    /// Name; "PRIMARY" for the primary key.
    pub name: Arc<str>,
    /// Kind.
    pub kind: IndexKind,
    /// How it finds rows.
    pub method: Method,
    /// Its parts in order.
    pub parts: Box<[IndexPart]>,
    /// Its tree; the table's row tree for the clustered index.
    pub tree: TreeId,
    /// COMMENT
    pub comment: Box<str>,
    /// ENGINE_ATTRIBUTE and SECONDARY_ENGINE_ATTRIBUTE
    pub attributes: EngineAttributes,
    /// KEY_BLOCK_SIZE: a hint for other engines, kept and shown where it is not the table's; 0: the table's.
    pub block_size: u64,
    /// INVISIBLE: maintained, but not used by the optimizer.
    pub invisible: bool,
    /// USING BTREE/HASH was written (SHOW CREATE TABLE repeats it).
    pub using: Option<Using>,
    /// Made for a foreign key, not asked for: goes when another index serves.
    pub generated: bool,
}

/// `USING` of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Using {
    /// BTREE
    Btree,
    /// HASH (kept in the text; a B+tree is built, as InnoDB does).
    Hash,
}

/// Kinds of index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IndexKind {
    /// PRIMARY KEY
    Primary,
    /// UNIQUE
    Unique,
    /// Plain.
    Plain,
}

/// A part of an index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexPart {
    /// Column ordinal.
    pub column: u32,
    /// Prefix length: characters of a character column, bytes of a binary one.
    pub prefix: Option<u32>,
    /// DESC
    pub descending: bool,
}

impl Index {
    /// At most one entry per key (NULLs apart).
    pub fn unique(&self) -> bool {
        !matches!(self.kind, IndexKind::Plain)
    }
}

impl Index {
    /// Entries have the order of the columns' values, one for each row: foreign keys, AUTO_INCREMENT and all accesses
    /// but a search may use it.
    #[inline]
    pub fn is_ordered(&self) -> bool {
        matches!(self.method, Method::Ordered)
    }

    /// The definition of a full-text index.
    #[inline]
    pub fn text(&self) -> Option<&FullText> {
        match &self.method {
            Method::Ordered | Method::Array(_) => None,
            Method::FullText(text) => Some(text),
        }
    }

    /// The type of the elements in a multi-valued index.
    #[inline]
    pub fn element(&self) -> Option<&SqlType> {
        match &self.method {
            Method::Ordered | Method::FullText(_) => None,
            Method::Array(ty) => Some(ty),
        }
    }
}
