//! Constraints of a table beyond its keys: foreign keys, checks.

use std::sync::Arc;

/// Constraints of a table beyond its keys.
#[derive(Clone, Debug, Default)]
pub struct Constraints {
    /// FOREIGN KEY clauses, by name.
    pub foreign_keys: Box<[ForeignKey]>,
    /// CHECK clauses, by name.
    pub checks: Box<[Check]>,
}

/// A CHECK constraint.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Its name, unique in the schema.
    pub name: Arc<str>,
    /// Expression text as MySQL prints it.
    pub expression: Box<str>,
    /// ENFORCED
    pub enforced: bool,
}

/// A FOREIGN KEY constraint of the table that refers.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignKey {
    /// Its name, unique in the schema.
    pub name: Arc<str>,
    /// Referring columns.
    pub columns: Box<[u32]>,
    /// Schema of the table referred to. The table may be missing (`foreign_key_checks` = 0).
    pub parent_schema: Arc<str>,
    /// The table referred to.
    pub parent: Arc<str>,
    /// Columns referred to, one for each of `columns`.
    pub parent_columns: Box<[Arc<str>]>,
    /// ON DELETE
    pub on_delete: ReferenceAction,
    /// ON UPDATE
    pub on_update: ReferenceAction,
}

/// What happens to a referring row when the row it refers to goes or changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReferenceAction {
    /// NO ACTION, the default: refused, as by RESTRICT.
    #[default]
    NoAction,
    /// RESTRICT: refused.
    Restrict,
    /// CASCADE: follows.
    Cascade,
    /// SET NULL
    SetNull,
    /// SET DEFAULT: parsed, and refused when the constraint is created, as InnoDB does.
    SetDefault,
}

impl ReferenceAction {
    /// As SQL writes it.
    pub fn words(self) -> &'static str {
        match self {
            ReferenceAction::NoAction => "NO ACTION",
            ReferenceAction::Restrict => "RESTRICT",
            ReferenceAction::Cascade => "CASCADE",
            ReferenceAction::SetNull => "SET NULL",
            ReferenceAction::SetDefault => "SET DEFAULT",
        }
    }
}
