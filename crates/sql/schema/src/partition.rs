//! Tables whose rows are spread over parts.
//!
//! A part has a row tree and index trees of its own. The leaves of a definition are the parts: the partitions, or the
//! subpartitions of all of them in order. The table's own trees hold no rows: their counters number hidden rows and the
//! AUTO_INCREMENT column, for all parts together, so that a row may move and a part may go.
//!
//! A part is read and written as a `Table` of its own (`Table::part`), made when it is first used: memory grows with
//! the parts in use, and what reads or writes rows needs to know nothing of parts but which one it is about.

mod hash;
mod locate;
pub(crate) mod serial;
mod show;

pub use locate::{Level, Locator, Numbers, Span};
pub(crate) use serial::{decode_parts, encode_parts};
pub(crate) use show::write_partitioning;

use crate::column::Column;
use crate::names::eq_name;
use gannet_base::{Attached, TreeId};
use gannet_types::Value;
use gannet_types::key::KeyPart;
use std::sync::Arc;

/// Most parts of a table, subpartitions included.
pub const MAX_PARTS: usize = 8192;

/// How a row's place is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// Below a bound.
    Range,
    /// One of some values.
    List,
    /// A number modulo the number of parts.
    Hash,
    /// A hash of columns modulo the number of parts.
    Key,
}

/// What decides about the place.
#[derive(Clone, Debug, PartialEq)]
pub enum By {
    /// The text of an integer expression, as the dictionary keeps texts.
    Expression(Box<str>),
    /// Columns, by name.
    Columns(Box<[Arc<str>]>),
    /// KEY (): the primary key's columns.
    Primary,
}

/// The version of how HASH and KEY make a place of values. A table keeps its own until all its rows are written anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Placement {
    /// Until December 2026: NULL is 0 for HASH, and unsigned numbers stay so; KEY hashes DECIMAL in this server's form,
    /// DATE byte by byte, TIME below zero by a positive fraction, SET of 17 to 24 members in four bytes, -0 unlike 0,
    /// and texts as `hash_into`.
    #[default]
    First,
    /// MySQL's.
    Mysql,
}

/// A PARTITION BY or SUBPARTITION BY clause.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// Its kind.
    pub method: Method,
    /// LINEAR: powers of two.
    pub linear: bool,
    /// KEY: ALGORITHM, 1 or 2.
    pub algorithm: u8,
    /// HASH and KEY; the first one for others.
    pub placement: Placement,
    /// What decides.
    pub by: By,
}

/// A bound of a RANGE; none is MAXVALUE.
pub type Bound = Option<Value>;

/// Values of a partition, in the types of the columns, or integers for an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// None: HASH, KEY.
    None,
    /// VALUES LESS THAN: one for each column.
    LessThan(Box<[Bound]>),
    /// VALUES IN: rows of one value for each column.
    In(Box<[Box<[Value]>]>),
}

/// Options of a partition or subpartition.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct PartOptions {
    /// COMMENT
    pub comment: Box<str>,
    /// MAX_ROWS, MIN_ROWS and the like, as (NAME, text), which only SHOW repeats.
    pub others: Box<[(Box<str>, Box<str>)]>,
}

/// A subpartition.
#[derive(Clone, Debug, PartialEq)]
pub struct SubPartition {
    /// Its name, unique in the table.
    pub name: Arc<str>,
    /// Its options.
    pub options: PartOptions,
}

/// A partition.
#[derive(Clone, Debug, PartialEq)]
pub struct Partition {
    /// Its name, unique in the table.
    pub name: Arc<str>,
    /// Its values.
    pub values: Values,
    /// Its options.
    pub options: PartOptions,
    /// Its subpartitions; as many in each partition.
    pub subs: Box<[SubPartition]>,
}

/// How a table is spread.
#[derive(Clone, Debug, PartialEq)]
pub struct Partitioning {
    /// PARTITION BY
    pub spread: Spread,
    /// SUBPARTITION BY
    pub sub: Option<Spread>,
    /// The partitions were counted, not written out.
    pub counted: bool,
    /// So were the subpartitions.
    pub subs_counted: bool,
    /// `PARTITIONS n` was written, so that SHOW has it.
    pub count_written: bool,
    /// `SUBPARTITIONS n` was written.
    pub sub_count_written: bool,
    /// In their order.
    pub partitions: Box<[Partition]>,
}

/// The trees of a part.
#[derive(Clone, Debug, PartialEq)]
pub struct PartTrees {
    /// The clustered tree.
    pub row: TreeId,
    /// One for each index; the row tree again for the clustered one.
    pub indexes: Box<[TreeId]>,
}

/// A table's partitioning with the trees of its leaves.
#[derive(Clone, Debug)]
pub struct Partitioned {
    /// The definition.
    pub definition: Partitioning,
    /// One for each leaf.
    pub trees: Box<[PartTrees]>,
}

impl Partitioning {
    /// For rows that are all written anew.
    pub fn placed_anew(mut self) -> Partitioning {
        self.spread = self.spread.placed_anew();
        self.sub = self.sub.map(Spread::placed_anew);
        self
    }

    /// Subpartitions of a partition, 1 without.
    pub fn subs(&self) -> usize {
        self.partitions.first().map_or(1, |p| p.subs.len().max(1))
    }

    /// Number of leaves.
    pub fn leaves(&self) -> usize {
        self.partitions.len() * self.subs()
    }

    /// An expression says where rows are.
    pub fn is_by_expression(&self) -> bool {
        self.spread.expression().is_some() || self.sub.as_ref().is_some_and(|s| s.expression().is_some())
    }

    /// Name of a leaf as EXPLAIN shows it: `p0`, `p0_p0sp1`.
    pub fn leaf_name(&self, leaf: usize) -> String {
        let subs = self.subs();
        let Some(partition) = self.partitions.get(leaf / subs) else { return String::new() };
        match partition.subs.get(leaf % subs) {
            Some(sub) => format!("{}_{}", partition.name, sub.name),
            None => partition.name.to_string(),
        }
    }

    /// What InnoDB adds to the name of a table for a leaf of it.
    pub fn file_name(&self, leaf: usize) -> String {
        let Some((partition, sub)) = self.leaf(leaf) else { return String::new() };
        let sub = sub.map_or(String::new(), |s| format!("#sp#{}", s.name.to_lowercase()));
        format!("#p#{}{sub}", partition.name.to_lowercase())
    }

    /// A leaf's partition and, if there is one, its subpartition.
    pub fn leaf(&self, leaf: usize) -> Option<(&Partition, Option<&SubPartition>)> {
        let subs = self.subs();
        self.partitions.get(leaf / subs).map(|p| (p, p.subs.get(leaf % subs)))
    }

    /// Leaves of a partition or subpartition by name, whatever its case.
    pub fn named(&self, name: &str) -> Option<std::ops::Range<usize>> {
        let subs = self.subs();
        if let Some(at) = self.partition(name) {
            return Some(at * subs..(at + 1) * subs);
        }
        let all = self.partitions.iter().flat_map(|p| p.subs.iter());
        let at = all.into_iter().position(|s| eq_name(&s.name, name))?;
        Some(at..at + 1)
    }

    /// Position of a partition by name.
    pub fn partition(&self, name: &str) -> Option<usize> {
        self.partitions.iter().position(|p| eq_name(&p.name, name))
    }
}

impl Spread {
    /// A clause without LINEAR or ALGORITHM.
    pub fn new(method: Method, by: By) -> Spread {
        Spread { method, linear: false, algorithm: 2, placement: Placement::First, by }.placed_anew()
    }

    fn placed_anew(mut self) -> Spread {
        if matches!(self.method, Method::Hash | Method::Key) {
            self.placement = Placement::Mysql;
        }
        self
    }

    /// The expression's text.
    pub fn expression(&self) -> Option<&str> {
        match &self.by {
            By::Expression(text) => Some(text),
            By::Columns(_) | By::Primary => None,
        }
    }

    /// RANGE COLUMNS, LIST COLUMNS.
    pub fn by_columns(&self) -> bool {
        matches!((self.method, &self.by), (Method::Range | Method::List, By::Columns(_)))
    }
}

/// The parts of a table: its definition, how rows find their part, and the parts in use.
#[derive(Debug)]
pub struct Parts {
    of: Arc<Partitioned>,
    locator: Locator,
    /// Each keeps its part's table.
    tables: Box<[Attached]>,
}

/// The table that a part belongs to.
#[derive(Clone, Debug)]
pub struct PartOf {
    /// Which leaf it is.
    pub number: u32,
    /// What InnoDB adds to the table's name: `#p#p0`, `#p#p0#sp#p0sp1`.
    pub file_name: Box<str>,
    /// The tree whose counter numbers hidden rows.
    pub hidden_ids: TreeId,
    /// The tree whose counter numbers the AUTO_INCREMENT column.
    pub auto_counter: Option<TreeId>,
}

impl Parts {
    pub(crate) fn new(of: Arc<Partitioned>, columns: &[Column], primary: &[u32]) -> Parts {
        let locator = Locator::new(&of.definition, columns, primary);
        let tables = of.trees.iter().map(|_| Attached::default()).collect();
        Parts { of, locator, tables }
    }

    /// The definition.
    pub fn definition(&self) -> &Partitioning {
        &self.of.definition
    }

    /// Definition and trees.
    pub fn shared(&self) -> &Arc<Partitioned> {
        &self.of
    }

    /// Number of parts.
    pub fn len(&self) -> usize {
        self.tables.len()
    }

    /// There are none; no table has no parts.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Columns that the place depends on, ascending: those of the partitions and of the subpartitions.
    pub fn columns(&self) -> &[u32] {
        self.locator.columns()
    }

    /// How rows find their part.
    pub fn locator(&self) -> &Locator {
        &self.locator
    }

    /// A part's trees, and where its table is kept.
    pub(crate) fn place(&self, number: u32) -> Option<(&PartTrees, &Attached)> {
        self.of.trees.get(number as usize).zip(self.tables.get(number as usize))
    }
}

/// The parts of a key over columns.
fn key_parts(columns: &[Column], ordinals: &[u32]) -> Box<[KeyPart]> {
    ordinals.iter().map(|c| KeyPart::new(columns[*c as usize].ty.clone())).collect()
}
