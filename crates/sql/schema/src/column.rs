//! Columns.

use gannet_types::{SqlType, TypeId, Value};
use std::sync::Arc;

/// Columns of the widest table (InnoDB).
pub const MAX_COLUMNS: usize = 1017;

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Name as created.
    pub name: Arc<str>,
    /// Type. `ty.nullable` and the column's nullability agree.
    pub ty: SqlType,
    /// NULL is allowed.
    pub nullable: bool,
    /// DEFAULT.
    pub default: ColumnDefault,
    /// ON UPDATE CURRENT_TIMESTAMP.
    pub on_update_now: bool,
    /// AUTO_INCREMENT.
    pub auto_increment: bool,
    /// GENERATED ALWAYS AS.
    pub generated: Option<Generated>,
    /// COMMENT
    pub comment: Box<str>,
    /// ENGINE_ATTRIBUTE and SECONDARY_ENGINE_ATTRIBUTE
    pub attributes: EngineAttributes,
    /// COLUMN_FORMAT
    pub format: ColumnFormat,
    /// STORAGE
    pub storage: ColumnStorage,
    /// INVISIBLE
    pub invisible: bool,
    /// COLLATE was written: SHOW CREATE TABLE repeats it even when it is the default.
    pub explicit_collation: bool,
    /// The generated column of a functional key part: no statement can name it.
    pub hidden: bool,
}

/// COLUMN_FORMAT: for NDB Cluster; here it is kept and shown, as InnoDB's tables have it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ColumnFormat {
    #[default]
    Default,
    Fixed,
    Dynamic,
}

/// STORAGE of a column, likewise.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ColumnStorage {
    #[default]
    Default,
    Disk,
    Memory,
}

impl Column {
    /// A column of a type that allows NULL or does not, with nothing else said of it.
    pub fn new(name: &str, ty: SqlType, nullable: bool, default: ColumnDefault) -> Column {
        Column {
            name: name.into(),
            ty,
            nullable,
            default,
            on_update_now: false,
            auto_increment: false,
            generated: None,
            comment: "".into(),
            attributes: EngineAttributes::default(),
            format: ColumnFormat::Default,
            storage: ColumnStorage::Default,
            invisible: false,
            explicit_collation: false,
            hidden: false,
        }
    }

    /// The name; of the hidden column of a functional key part, the expression that it has.
    pub fn shown(&self) -> &str {
        match &self.generated {
            Some(definition) if self.hidden => &definition.expression,
            _ => &self.name,
        }
    }

    /// The greatest value of a type of integers; of others no bound.
    pub fn most(&self) -> u64 {
        let bits = match self.ty.id {
            TypeId::TinyInt => 8,
            TypeId::SmallInt => 16,
            TypeId::MediumInt => 24,
            TypeId::Int => 32,
            TypeId::BigInt => 64,
            _ => return u64::MAX,
        };
        u64::MAX >> (64 - bits + u32::from(!self.ty.unsigned))
    }
}

/// Documents that a column or an index has for engines, as they were given; empty where none was. InnoDB reads none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EngineAttributes {
    /// ENGINE_ATTRIBUTE
    pub engine: Box<str>,
    /// SECONDARY_ENGINE_ATTRIBUTE
    pub secondary: Box<str>,
}

impl EngineAttributes {
    pub(crate) fn is_empty(&self) -> bool {
        self.engine.is_empty() && self.secondary.is_empty()
    }
}

/// A column's default.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum ColumnDefault {
    /// None: an error in strict mode when no value is given, unless the column is nullable with `ColumnDefault::Null`.
    #[default]
    None,
    /// DEFAULT NULL, written or implied by nullability.
    Null,
    /// A constant, already of the column's type.
    Literal(Value),
    /// CURRENT_TIMESTAMP with the column's fraction digits.
    CurrentTimestamp,
    /// `(expression)`: its text as MySQL prints it.
    Expression(Box<str>),
    /// None, as DROP DEFAULT leaves a nullable column: NULL is not implied any more.
    Dropped,
}

/// A generated column's definition.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// Expression text as MySQL prints it.
    pub expression: Box<str>,
    /// STORED, else VIRTUAL.
    pub stored: bool,
}
