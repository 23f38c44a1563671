//! ALGORITHM, LOCK and WITH VALIDATION of ALTER TABLE. How a change is done is decided elsewhere, under an exclusive
//! lock but where only indexes are added; but a client that asks for INSTANT or for LOCK=NONE wants an error where
//! MySQL's InnoDB needs more (manual, "Online DDL Operations").

use super::DdlContext;
use gannet_catalog::Alteration;
use gannet_parser::ast::{AlterAction, AlterTable, ColumnPosition, Ident, TableOption};
use gannet_schema::names::eq_name;
use gannet_schema::{Check, Column, IndexKind, Method, Table};
use gannet_types::{Result, SqlError, SqlType, TypeId, sql_err};

const COLUMN_TYPE: &str = "Cannot change column type INPLACE";
/// MySQL's words for a full-text index.
const FULL_TEXT: &str = "Fulltext index creation requires a lock";
const COPYING: &str = "COPY algorithm requires a lock";
const FOREIGN_KEY_CHECKS: &str = "Adding foreign keys needs foreign_key_checks=OFF";
const NOT_NULL: &str = "cannot silently convert NULL values, as required in this SQL_MODE";
const NO_PRIMARY_KEY: &str = "Dropping a primary key is not allowed without also adding a new primary key";
const NUMBERED: &str = "Adding an auto-increment column requires a lock";
const VIRTUAL: &str = "INPLACE ADD or DROP of virtual columns cannot be combined with other ALTER TABLE actions";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Algorithm {
    Default,
    Instant,
    Inplace,
    Copy,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lock {
    Default,
    None,
    Shared,
    Exclusive,
}

/// The last one of each counts.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    algorithm: Algorithm,
    lock: Lock,
}

/// What InnoDB needs for a change, the worst last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    Instant,
    Inplace,
    /// In place, with writers kept out meanwhile.
    InplaceShared(&'static str),
    /// InnoDB copies the rows; why, where MySQL says it.
    Copy(Option<&'static str>),
    /// The server does not even ask the engine.
    Impossible,
}

fn unsupported(what: &str, reason: Option<&str>, instead: &str) -> SqlError {
    match reason {
        Some(reason) => sql_err!(AlterOperationNotSupportedReason, what, reason, instead),
        None => sql_err!(AlterOperationNotSupported, what, instead),
    }
}

/// The requested ALGORITHM and LOCK. Errors 1800 and 1801 for words that do not exist, 1221 for a combination that is
/// not allowed.
pub(super) fn asked(actions: &[AlterAction]) -> Result<Asked> {
    let mut asked = Asked { algorithm: Algorithm::Default, lock: Lock::Default };
    let is = |word: &Ident, name: &str| word.text.eq_ignore_ascii_case(name);
    for action in actions {
        match action {
            AlterAction::Algorithm(word) => {
                asked.algorithm = match word {
                    w if is(w, "DEFAULT") => Algorithm::Default,
                    w if is(w, "INSTANT") => Algorithm::Instant,
                    w if is(w, "INPLACE") => Algorithm::Inplace,
                    w if is(w, "COPY") => Algorithm::Copy,
                    w => return Err(sql_err!(UnknownAlterAlgorithm, w)),
                };
            }
            AlterAction::Lock(word) => {
                asked.lock = match word {
                    w if is(w, "DEFAULT") => Lock::Default,
                    w if is(w, "NONE") => Lock::None,
                    w if is(w, "SHARED") => Lock::Shared,
                    w if is(w, "EXCLUSIVE") => Lock::Exclusive,
                    w => return Err(sql_err!(UnknownAlterLock, w)),
                };
            }
            AlterAction::Validation(_) if !actions.iter().any(validates) => {
                return Err(sql_err!(WrongUsage, "ALTER", "WITH VALIDATION"));
            }
            _ => {}
        }
    }
    if asked.algorithm == Algorithm::Instant && asked.lock != Lock::Default {
        return Err(sql_err!(WrongUsage, "ALGORITHM=INSTANT", "LOCK=NONE/SHARED/EXCLUSIVE"));
    }
    Ok(asked)
}

/// Only the values of virtual columns can be validated, or not.
fn validates(action: &AlterAction) -> bool {
    let column = match action {
        AlterAction::AddColumn { column, .. }
        | AlterAction::ChangeColumn { column, .. }
        | AlterAction::ModifyColumn { column, .. } => column,
        _ => return false,
    };
    column.generated.as_ref().is_some_and(|g| !g.stored)
}

impl Asked {
    /// The rows must stay as they are.
    pub(super) fn is_instant(self) -> bool {
        self.algorithm == Algorithm::Instant
    }

    /// Nobody has asked for writers to be kept out.
    pub(super) fn lets_writers_in(self) -> bool {
        matches!(self.lock, Lock::None | Lock::Default) && self.algorithm != Algorithm::Copy
    }

    /// Error 1845 for an ALTER TABLE that at most renames, under a lock that lets others in.
    pub(super) fn check_rename(self) -> Result<()> {
        match (self.algorithm, self.lock) {
            (Algorithm::Copy, _) => self.check(Need::Impossible),
            (_, Lock::None | Lock::Shared) => Err(unsupported("LOCK=NONE/SHARED", None, "LOCK=EXCLUSIVE")),
            _ => Ok(()),
        }
    }

    /// Error 1845 for a change of partitions that there are, which none makes at once; of what only looks at them, or
    /// exchanges or empties them, MySQL does not ask. Nor may others write while rows go to new parts: those of an ADD
    /// do where a hash places them (`hashed`).
    pub(super) fn check_partitions(self, action: &AlterAction, hashed: bool) -> Result<()> {
        use AlterAction as A;
        let moves = match action {
            A::AddPartition { .. } => hashed,
            A::DropPartition(_) => false,
            A::CoalescePartition { .. } | A::ReorganizePartition { .. } => true,
            A::Partitions { verb, .. } if verb.text.eq_ignore_ascii_case("REBUILD") => true,
            _ => return Ok(()),
        };
        self.check(Need::Inplace)?;
        if moves && self.lock == Lock::None {
            return Err(unsupported("LOCK=NONE", None, "LOCK=SHARED"));
        }
        Ok(())
    }

    /// Errors 1845 and 1846 for an alteration that InnoDB cannot do in the way that is asked for.
    pub(super) fn check_alteration(
        self,
        alter: &AlterTable,
        old: &Table,
        next: &Alteration,
        cx: &DdlContext<'_>,
    ) -> Result<()> {
        let nothing = self.algorithm == Algorithm::Default && matches!(self.lock, Lock::Default | Lock::Exclusive);
        if nothing || old.temporary {
            return Ok(());
        }
        // What no algorithm can do comes first.
        gannet_schema::define::define(&next.definition)?;
        self.check(need(alter, old, next, cx))
    }

    fn check(self, need: Need) -> Result<()> {
        let reason = match need {
            Need::Copy(reason) => reason,
            _ => None,
        };
        match (self.algorithm, need) {
            (Algorithm::Instant, Need::Impossible) => {
                return Err(unsupported("ALGORITHM=INSTANT", None, "ALGORITHM=COPY"));
            }
            (Algorithm::Instant, need) if need > Need::Instant => {
                return Err(unsupported("ALGORITHM=INSTANT", reason, "ALGORITHM=COPY/INPLACE"));
            }
            (Algorithm::Inplace, Need::Copy(_) | Need::Impossible) => {
                return Err(unsupported("ALGORITHM=INPLACE", reason, "ALGORITHM=COPY"));
            }
            _ => {}
        }
        let reason = match (self.algorithm, need) {
            (Algorithm::Copy, _) | (_, Need::Impossible) => Some(COPYING),
            (_, Need::InplaceShared(reason)) => Some(reason),
            (_, Need::Copy(reason)) => reason,
            (_, Need::Instant | Need::Inplace) => return Ok(()),
        };
        match self.lock {
            Lock::None => Err(unsupported("LOCK=NONE", reason, "LOCK=SHARED")),
            Lock::Default | Lock::Shared | Lock::Exclusive => Ok(()),
        }
    }
}

/// Does InnoDB copy the rows for a change?
pub(super) fn copies(alter: &AlterTable, old: &Table, next: &Alteration, cx: &DdlContext<'_>) -> bool {
    need(alter, old, next, cx) >= Need::Copy(None)
}

fn need(alter: &AlterTable, old: &Table, next: &Alteration, cx: &DdlContext<'_>) -> Need {
    if alter.partition.is_some() {
        return Need::Copy(None);
    }
    let actions = &alter.actions;
    let columns = columns_need(actions, old, next, cx);
    let rest = [actions_need(actions), indexes_need(old, next), constraints_need(old, next, cx)];
    let worst = rest.into_iter().fold(columns, Ord::max);
    // Virtual columns come and go at once, but alone.
    let alone = worst == Need::Instant && !touches_others(old, next);
    if touches_virtual(old, next) && !alone {
        return worst.max(Need::Copy(Some(VIRTUAL)));
    }
    worst
}

/// Columns of the next version with what they were.
fn pairs<'a>(old: &'a Table, next: &'a Alteration) -> impl Iterator<Item = (Option<&'a Column>, &'a Column)> {
    let origin = |o: &Option<u32>| o.map(|o| &old.columns[o as usize]);
    let pairs = next.columns.iter().map(origin).zip(next.definition.columns.iter().map(|d| &d.column));
    // Those of functional parts come and go with their indexes.
    pairs.filter(|(_, c)| !c.hidden)
}

fn dropped<'a>(old: &'a Table, next: &'a Alteration) -> impl Iterator<Item = &'a Column> {
    let gone = |o: usize| !next.columns.contains(&Some(o as u32));
    old.columns.iter().enumerate().filter(move |(o, c)| gone(*o) && !c.hidden).map(|(_, c)| c)
}

fn is_virtual(column: &Column) -> bool {
    column.generated.as_ref().is_some_and(|g| !g.stored)
}

fn touches_virtual(old: &Table, next: &Alteration) -> bool {
    let mut added = pairs(old, next).filter(|(origin, _)| origin.is_none()).map(|(_, c)| c);
    added.any(is_virtual) || dropped(old, next).any(is_virtual)
}

fn touches_others(old: &Table, next: &Alteration) -> bool {
    let mut added = pairs(old, next).filter(|(origin, _)| origin.is_none()).map(|(_, c)| c);
    added.any(|c| !is_virtual(c)) || dropped(old, next).any(|c| !is_virtual(c))
}

fn columns_need(actions: &[AlterAction], old: &Table, next: &Alteration, cx: &DdlContext<'_>) -> Need {
    let mut need = Need::Instant;
    for (origin, column) in pairs(old, next) {
        let stored = column.generated.as_ref().is_some_and(|g| g.stored);
        need = need.max(match origin {
            None if stored => Need::Copy(None),
            None if column.auto_increment => Need::InplaceShared(NUMBERED),
            None => Need::Instant,
            Some(origin) => column_need(origin, column, cx),
        });
    }
    let kept: Vec<u32> = next.columns.iter().filter_map(|o| *o).filter(|o| !old.columns[*o as usize].hidden).collect();
    if !kept.is_sorted() {
        let moves_generated = |a: &AlterAction| match a {
            AlterAction::ChangeColumn { column, position, .. } | AlterAction::ModifyColumn { column, position, .. } => {
                column.generated.is_some() && *position != ColumnPosition::Last
            }
            _ => false,
        };
        let generated = actions.iter().any(moves_generated);
        need = need.max(if generated { Need::Copy(None) } else { Need::Inplace });
    }
    need
}

fn column_need(old: &Column, new: &Column, cx: &DdlContext<'_>) -> Need {
    let expression = |c: &Column| c.generated.as_ref().map(|g| g.expression.clone());
    if expression(old) != expression(new) {
        return Need::Copy(None);
    }
    match type_need(&old.ty, &new.ty) {
        Need::Copy(_) if is_virtual(new) => Need::Copy(None),
        need @ Need::Copy(_) => need,
        _ if old.nullable && !new.nullable && !cx.settings.sql_mode.is_strict() => Need::Copy(Some(NOT_NULL)),
        need if old.nullable == new.nullable && old.auto_increment == new.auto_increment => need,
        _ => Need::Inplace,
    }
}

/// A column of the new type has to be converted, as InnoDB sees it: a longer VARCHAR has not.
pub(super) fn converts(old: &SqlType, new: &SqlType) -> bool {
    matches!(type_need(old, new), Need::Copy(_))
}

fn type_need(old: &SqlType, new: &SqlType) -> Need {
    let like = |ty: &SqlType| SqlType { nullable: true, ..ty.clone() };
    if like(old) == like(new) {
        return Need::Instant;
    }
    let same = old.id == new.id && old.unsigned == new.unsigned && old.collation == new.collation;
    let converted = Need::Copy(Some(COLUMN_TYPE));
    if !same {
        return converted;
    }
    match old.id {
        TypeId::Enum | TypeId::Set => match (&old.members, &new.members) {
            (Some(a), Some(b)) if b.names.starts_with(&a.names) && width(old) == width(new) => Need::Instant,
            _ => converted,
        },
        // The length in front of a longer value takes two bytes.
        TypeId::VarChar | TypeId::VarBinary => match new.length >= old.length {
            true if (old.max_bytes() > 255) == (new.max_bytes() > 255) => Need::Inplace,
            _ => converted,
        },
        id if id.is_integer() && old.zerofill == new.zerofill => Need::Instant,
        _ => converted,
    }
}

/// Bytes of an ENUM's or SET's number.
fn width(ty: &SqlType) -> usize {
    let members = ty.members.as_ref().map_or(0, |m| m.names.len());
    match (ty.id, members) {
        (TypeId::Enum, n) => 1 + usize::from(n > 255),
        (_, n) => n.div_ceil(8).next_power_of_two(),
    }
}

fn actions_need(actions: &[AlterAction]) -> Need {
    let option = |o: &TableOption| match o {
        TableOption::Comment(_) => Need::Instant,
        _ => Need::Inplace,
    };
    let each = actions.iter().map(|a| match a {
        AlterAction::OrderBy(_) => Need::Impossible,
        AlterAction::Force => Need::Inplace,
        AlterAction::RemovePartitioning => Need::Copy(None),
        AlterAction::Options(list) => list.iter().map(option).max().unwrap_or(Need::Instant),
        // Of a table without text columns it is another default.
        AlterAction::ConvertCharset { .. } => Need::Inplace,
        _ => Need::Instant,
    });
    each.max().unwrap_or(Need::Instant)
}

fn indexes_need(old: &Table, next: &Alteration) -> Need {
    let keyed = next.definition.indexes.iter().any(|i| i.kind == IndexKind::Primary);
    if old.primary_key().is_some() && !keyed {
        return Need::Copy(Some(NO_PRIMARY_KEY));
    }
    let stays = |position: usize, next_position: usize| {
        let (a, b) = (&old.indexes[position], &next.definition.indexes[next_position]);
        let named = b.name.as_deref().is_none_or(|n| *n == *a.name);
        named
            && a.parts.len() == b.parts.len()
            && a.comment == b.comment
            && a.attributes == b.attributes
            && a.block_size == b.block_size
    };
    let kept = next.indexes.iter().enumerate().filter(|(i, o)| o.is_some_and(|o| stays(o, *i))).count();
    let mut words = next.definition.indexes.iter().zip(&next.indexes);
    match kept == old.indexes.len() && kept == next.indexes.len() {
        true => Need::Instant,
        false if words.any(|(i, o)| o.is_none() && matches!(i.method, Method::FullText(_))) => {
            Need::InplaceShared(FULL_TEXT)
        }
        false => Need::Inplace,
    }
}

fn constraints_need(old: &Table, next: &Alteration, cx: &DdlContext<'_>) -> Need {
    // One that is dropped and added under its name is a new one.
    let verified = |check: &Check| {
        let same = |c: &Check| eq_name(&c.name, &check.name) && c.expression == check.expression;
        old.constraints.checks.iter().any(|c| c.enforced && same(c))
    };
    if next.definition.checks.iter().any(|c| c.enforced && !verified(c)) {
        return Need::Impossible;
    }
    let (added, kept): (Vec<_>, Vec<_>) = next.definition.foreign_keys.iter().partition(|k| k.fresh);
    match !added.is_empty() {
        true if cx.foreign_key_checks => Need::Copy(Some(FOREIGN_KEY_CHECKS)),
        true => Need::Inplace,
        false if kept.len() < old.constraints.foreign_keys.len() => Need::Inplace,
        false => Need::Instant,
    }
}
