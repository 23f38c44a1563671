//! ALTER TABLE: from its actions to what the dictionary changes.
//!
//! All actions see the table as it was: first the columns that stay, changed and renamed ones in their places, then
//! added and moved ones in the order written, then indexes and options. Whether rows have to be copied follows from the
//! difference alone (see `gannet_catalog::Alteration`).

use super::definition::Definer;
use super::expressions::{self, Use};
use super::extras::Extras;
use super::{DdlContext, Done, conditional, copy, foreign, generated_key, online, parting, partition, sql};
use gannet_catalog::{Alteration, Edit, Pending};
use gannet_parser::ast::{AlterAction, AlterTable, ColumnDef, ColumnPosition, Ident, TableElement, TableOption};
use gannet_runtime::LongWork;
use gannet_schema::names::eq_name;
use gannet_schema::{
    CatalogSnapshot, Column, ColumnDefault, ColumnDefinition, GENERATED_KEY, IndexDefinition, IndexKind, Table,
    TableDefinition, has_generated_key,
};
use gannet_types::charset::Charset;
use gannet_types::{Collation, CollationId, ErrorCode, Result, SqlError, SqlType, TypeId, sql_err};
use std::sync::Arc;

/// A column of the new version.
struct Slot {
    definition: ColumnDefinition,
    origin: Option<u32>,
}

/// An index that stays.
struct Kept {
    position: usize,
    definition: IndexDefinition,
}

/// An alteration in the making.
struct Maker<'t> {
    old: &'t Arc<Table>,
    slots: Vec<Slot>,
    kept: Vec<Kept>,
    extras: Extras,
    definition: TableDefinition,
    rebuild: bool,
    /// CONVERT TO CHARACTER SET
    convert: Option<CollationId>,
}

/// The error of an action that names a column the table does not have.
fn unknown_column(name: &str, table: &Table) -> SqlError {
    sql_err!(BadField, name, table.name)
}

fn cannot_drop(name: &str) -> SqlError {
    sql_err!(CantDropFieldOrKey, name)
}

/// ALTER TABLE.
pub(super) fn alter_table(alter: &AlterTable, edit: &mut Edit<'_>, cx: &mut DdlContext<'_>) -> Result<Done> {
    let (schema, name) = cx.resolve(&alter.name)?;
    let old = match edit.snapshot().require_table(schema, name) {
        Ok(table) if table.view().is_some() => return Err(sql_err!(WrongObject, schema, name, "BASE TABLE")),
        Ok(table) => table.clone(),
        Err(error) if alter.if_exists && error.code() == ErrorCode::NoSuchTable => {
            cx.note(&error);
            return Ok(Done::default());
        }
        Err(error) => return Err(error),
    };
    let resolved = conditional::resolved(alter, &old, cx);
    let alter = resolved.as_ref().unwrap_or(alter);
    let asked = online::asked(&alter.actions)?;
    if let Some(done) = parting::alter(alter, asked, &old, edit, cx)? {
        return Ok(done);
    }
    let (schema, name) = target(alter, &old, cx)?;
    let renamed = *schema != *old.schema || *name != *old.name;
    let taken = super::is_taken(edit, &schema, &name, old.temporary);
    if renamed && taken {
        return Err(sql_err!(TableExists, name));
    }
    if alter.partition.is_none() && alter.actions.iter().all(only_renames) {
        asked.check_rename()?;
        if renamed {
            sql(edit.rename_table(&old.schema, &old.name, &schema, &name))?;
        }
        // No rows are looked at, and MySQL tells of none.
        return Ok(Done::default());
    }
    let mut maker = Maker {
        old: &old,
        slots: Vec::new(),
        kept: Vec::new(),
        extras: Extras::default(),
        definition: TableDefinition::of(&old),
        rebuild: false,
        convert: None,
    };
    maker.definition.name = name.into();
    maker.options(alter, edit, cx)?;
    generated_key::check_defaults(alter, &old)?;
    maker.columns(&alter.actions, cx)?;
    maker.keep_generated_key(&alter.actions);
    maker.indexes(&alter.actions, cx)?;
    let mut alteration = maker.finish(schema.into(), edit.snapshot(), cx)?;
    generated_key::check_alter(alter, &old, &alteration.definition, cx.generate_primary_key)?;
    partition::alter(alter, &old, &mut alteration, edit, cx)?;
    if old.temporary {
        super::check_temporary(&alteration.definition)?;
    }
    asked.check_alteration(alter, &old, &alteration, cx)?;
    alteration.rebuild =
        alteration.rebuild || !expressions::rows_keep(&old, &alteration.definition, &alteration.columns)?;
    let copies = |a: &AlterAction| matches!(a, AlterAction::Algorithm(word) if word.eq_ignore_ascii_case("COPY"));
    for (place, (column, origin)) in alteration.definition.columns.iter().zip(&alteration.columns).enumerate() {
        if origin.is_none()
            && let Some(value) = copy::constant(&column.column, cx)?
        {
            alteration.constants.push((place as u32, value));
        }
    }
    let how = How {
        counted: alter.actions.iter().any(copies) || old.temporary || online::copies(alter, &old, &alteration, cx),
        beside_writers: asked.lets_writers_in(),
        instant: asked.is_instant() && !old.temporary,
    };
    run(&old, alteration, how, edit, cx)
}

/// How an alteration is carried out.
struct How {
    /// Copied rows count as affected: MySQL would copy them, too, or was told to.
    counted: bool,
    /// Others may change rows while indexes are built.
    beside_writers: bool,
    /// The rows must stay as they are.
    instant: bool,
}

/// Carries an alteration out.
fn run(
    old: &Arc<Table>,
    alteration: Alteration,
    how: How,
    edit: &mut Edit<'_>,
    cx: &mut DdlContext<'_>,
) -> Result<Done> {
    let mut pending = sql(edit.begin_alter(old, alteration))?;
    super::warn_of_duplicates(&pending.table, |i| pending.origins[i].is_none(), cx);
    let keyed = |t: &Table| t.indexes.iter().any(|i| i.kind == IndexKind::Primary);
    if cx.require_primary_key && keyed(old) && !keyed(&pending.table) {
        return Err(sql_err!(TableWithoutPk));
    }
    foreign::check_alter(&pending, edit.snapshot(), cx)?;
    foreign::check_new(&pending.table, Some(&pending), edit.snapshot(), cx)?;
    let (mut rows, mut used) = (0, 0);
    if pending.copy && how.instant {
        return Err(sql_err!(AlterOperationNotSupported, "ALGORITHM=INSTANT", "ALGORITHM=COPY/INPLACE"));
    }
    let stages = copy::Stages::of(&pending, how.counted);
    let mut expected = 0;
    if pending.copy || !pending.fresh_indexes().is_empty() {
        edit.work = LongWork::begin();
        expected = sql(pending.expect(edit))?;
    }
    if pending.copy {
        (rows, used) = copy::copy_rows(&pending, (stages, expected), edit, cx)?;
    } else {
        copy::check_kept_rows(&pending, edit, cx)?;
    }
    if how.beside_writers
        && indexes_alone(&pending)
        && let Some(gate) = cx.gate.as_deref_mut()
    {
        sql(edit.build_beside_writers(&mut pending, gate))?;
    }
    foreign::check_rows(&pending, edit, cx)?;
    let counted = pending.copy && how.counted;
    let origins = pending.columns.clone();
    let table = sql(edit.finish_alter(pending, used, stages.end))?;
    sql(edit.repoint_children(old, &table, &origins))?;
    let affected = if counted { rows } else { 0 };
    let info = format!("Records: {affected}  Duplicates: 0  Warnings: {}", cx.warnings.total());
    Ok(Done { rows: affected, info, ..Done::default() })
}

/// Only indexes differ, and some are new: what writers of the old version write is right for the new one.
fn indexes_alone(pending: &Pending) -> bool {
    let (old, new) = (&pending.old, &pending.table);
    let columns = |t: &Table| t.columns.iter().map(|c| (c.ty.clone(), c.generated.clone())).collect::<Vec<_>>();
    let constraints = |t: &Table| (t.constraints.foreign_keys.clone(), t.constraints.checks.clone());
    let added = pending.origins.iter().any(Option::is_none);
    let same = columns(old) == columns(new) && constraints(old) == constraints(new);
    added && same && !pending.copy && !old.temporary
}

fn only_renames(action: &AlterAction) -> bool {
    use AlterAction as A;
    matches!(action, A::Rename(_) | A::Algorithm(_) | A::Lock(_) | A::Validation(_) | A::EnableKeys | A::DisableKeys)
}

/// The table's name afterwards.
fn target(alter: &AlterTable, old: &Table, cx: &DdlContext<'_>) -> Result<(String, String)> {
    let mut name = (old.schema.to_string(), old.name.to_string());
    for action in &alter.actions {
        if let AlterAction::Rename(to) = action {
            let (schema, table) = cx.resolve(to)?;
            name = (schema.to_owned(), table.to_owned());
        }
    }
    Ok(name)
}

impl Maker<'_> {
    /// Table options first: new columns inherit the table's character set.
    fn options(&mut self, alter: &AlterTable, edit: &Edit<'_>, cx: &mut DdlContext<'_>) -> Result<()> {
        let mut options: Vec<TableOption> = Vec::new();
        for action in &alter.actions {
            match action {
                AlterAction::Options(list) => options.extend(list.iter().cloned()),
                AlterAction::ConvertCharset { charset, collation } => {
                    let inherited =
                        edit.snapshot().schema(&self.old.schema).map_or(CollationId::DEFAULT, |s| s.collation);
                    let charset = charset.as_ref().map(|name| Charset::by_name(name)).transpose()?;
                    let charset = charset.unwrap_or(inherited.charset());
                    let collation = collation.as_ref().map(|name| Collation::by_name(name)).transpose()?;
                    self.convert =
                        Some(super::choose_collation(Some(charset), collation, inherited, cx.settings.utf8mb4)?);
                }
                AlterAction::Force => self.rebuild = true,
                AlterAction::Algorithm(word) if word.eq_ignore_ascii_case("COPY") => self.rebuild = true,
                _ => {}
            }
        }
        self.rebuild |= options.iter().any(|o| matches!(o, TableOption::Engine(_)));
        let table = self.definition.options.clone();
        let (made, auto_increment) = Definer::new(table.collation, cx).options(&self.definition.name, &options)?;
        let given = |f: fn(&TableOption) -> bool| options.iter().any(f);
        if given(|o| matches!(o, TableOption::Charset(_) | TableOption::Collate(_))) {
            self.definition.options.collation = made.collation;
        }
        if let Some(collation) = self.convert {
            self.definition.options.collation = collation;
        }
        if given(|o| matches!(o, TableOption::Comment(_))) {
            self.definition.options.comment = made.comment;
        }
        let both = [&*table.create_options, &*made.create_options].concat();
        self.definition.options.create_options = gannet_schema::options::canonical(&both);
        self.definition.auto_increment = auto_increment;
        Ok(())
    }

    fn columns(&mut self, actions: &[AlterAction], cx: &mut DdlContext<'_>) -> Result<()> {
        let collation = self.definition.options.collation;
        check_names(actions, self.old, cx)?;
        for (ordinal, column) in self.old.columns.iter().enumerate() {
            let named = |name: &Ident| eq_name(name, &column.name) && !column.hidden;
            let changes = |a: &&AlterAction| match a {
                AlterAction::ChangeColumn { old, .. } | AlterAction::RenameColumn { old, .. } => named(old),
                AlterAction::ModifyColumn { column, .. } => named(&column.name),
                _ => false,
            };
            // The first change takes the column out of those that there are.
            if actions.iter().filter(changes).count() > 1 {
                return Err(sql_err!(BadField, column.name, self.old.name));
            }
            if self.drops(ordinal as u32, actions)? {
                continue;
            }
            let mut slot = Slot {
                definition: ColumnDefinition { column: column.clone(), explicit_null: false },
                origin: Some(ordinal as u32),
            };
            for action in actions {
                match action {
                    AlterAction::ChangeColumn { old, column: new, .. } if named(old) => {
                        slot.definition = Definer::new(collation, cx).column(new, &mut self.extras)?;
                    }
                    AlterAction::ModifyColumn { column: new, .. } if named(&new.name) => {
                        slot.definition = Definer::new(collation, cx).column(new, &mut self.extras)?;
                    }
                    AlterAction::RenameColumn { old, new } if named(old) => {
                        slot.definition.column.name = (&*new.text).into();
                    }
                    AlterAction::SetDefault { column: name, expr, parenthesised } if named(name) => {
                        if slot.definition.column.generated.is_some() {
                            return Err(sql_err!(WrongUsage, "DEFAULT", "generated column"));
                        }
                        slot.definition.column.default = if *parenthesised {
                            self.extras.expressions.push((Use::Default((&*column.name).into()), expr.clone()));
                            ColumnDefault::Expression("".into())
                        } else {
                            Definer::new(collation, cx).default(&slot.definition.column, expr)?
                        };
                    }
                    AlterAction::DropDefault(name) if named(name) => {
                        let nullable = slot.definition.column.nullable;
                        let none = if nullable { ColumnDefault::Dropped } else { ColumnDefault::None };
                        slot.definition.column.default = none;
                    }
                    AlterAction::ColumnVisibility { column: name, visible } if named(name) => {
                        slot.definition.column.invisible = !visible;
                    }
                    _ => {}
                }
            }
            expressions::check_generated_change(column, &slot.definition.column)?;
            if let Some(to) = self.convert {
                convert_column(&mut slot.definition.column, to)?;
            }
            self.slots.push(slot);
        }
        self.place(actions, cx)
    }

    /// The column is dropped. Errors 1091 when it is dropped twice, 1054 when something else is done to it too, 1828.
    fn drops(&self, ordinal: u32, actions: &[AlterAction]) -> Result<bool> {
        let column = &self.old.columns[ordinal as usize];
        let named = |name: &Ident| eq_name(name, &column.name) && !column.hidden;
        match actions.iter().filter(|a| matches!(a, AlterAction::DropColumn { name, .. } if named(name))).count() {
            0 => return Ok(false),
            1 => {}
            _ => return Err(cannot_drop(&column.name)),
        }
        let altered = |a: &AlterAction| match a {
            AlterAction::ChangeColumn { old: name, .. }
            | AlterAction::RenameColumn { old: name, .. }
            | AlterAction::SetDefault { column: name, .. }
            | AlterAction::DropDefault(name)
            | AlterAction::ColumnVisibility { column: name, .. } => named(name),
            AlterAction::ModifyColumn { column, .. } => named(&column.name),
            _ => false,
        };
        if actions.iter().any(altered) {
            return Err(unknown_column(&column.name, self.old));
        }
        let goes = |k: &gannet_schema::ForeignKeyDefinition| {
            actions.iter().any(|a| match a {
                AlterAction::DropForeignKey { name, .. } | AlterAction::DropConstraint { name, .. } => {
                    eq_name(name, &k.name)
                }
                _ => false,
            })
        };
        let kept: Vec<&str> = self.definition.foreign_keys.iter().filter(|k| !goes(k)).map(|k| &*k.name).collect();
        foreign::check_dropped(self.old, &kept, ordinal)?;
        Ok(true)
    }

    /// Adds and moves columns, in the order written.
    fn place(&mut self, actions: &[AlterAction], cx: &mut DdlContext<'_>) -> Result<()> {
        let collation = self.definition.options.collation;
        for action in actions {
            match action {
                AlterAction::AddColumn { column, position, if_not_exists } => {
                    if *if_not_exists && self.old.column(&column.name).is_some() {
                        cx.note(&sql_err!(DupFieldname, column.name));
                        continue;
                    }
                    self.add(column, position, collation, cx)?;
                }
                AlterAction::AddElements(elements) => {
                    for element in elements {
                        if let TableElement::Column(column) = element {
                            self.add(column, &ColumnPosition::Last, collation, cx)?;
                        }
                    }
                }
                AlterAction::ChangeColumn { column, position, .. }
                | AlterAction::ModifyColumn { column, position, .. }
                    if *position != ColumnPosition::Last =>
                {
                    let Some(at) = self.find(&column.name) else { continue };
                    let slot = self.slots.remove(at);
                    let to = self.position(position)?;
                    self.slots.insert(to, slot);
                }
                _ => {}
            }
        }
        if !self.slots.iter().any(|s| !s.definition.column.hidden) {
            return Err(sql_err!(CantRemoveAllFields));
        }
        Ok(())
    }

    fn add(
        &mut self,
        column: &ColumnDef,
        position: &ColumnPosition,
        collation: CollationId,
        cx: &mut DdlContext<'_>,
    ) -> Result<()> {
        let definition = Definer::new(collation, cx).column(column, &mut self.extras)?;
        let to = self.position(position)?;
        self.slots.insert(to, Slot { definition, origin: None });
        Ok(())
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.slots.iter().position(|s| eq_name(&s.definition.column.name, name) && !s.definition.column.hidden)
    }

    fn position(&self, position: &ColumnPosition) -> Result<usize> {
        match position {
            ColumnPosition::First => Ok(0),
            // Hidden columns stay behind all others.
            ColumnPosition::Last => {
                Ok(self.slots.iter().position(|s| s.definition.column.hidden).unwrap_or(self.slots.len()))
            }
            ColumnPosition::After(name) => match self.find(name) {
                Some(at) => Ok(at + 1),
                None => Err(unknown_column(name, self.old)),
            },
        }
    }

    /// A generated primary key stays before new columns, unless it is moved.
    fn keep_generated_key(&mut self, actions: &[AlterAction]) {
        let moved = |a: &AlterAction| match a {
            AlterAction::ModifyColumn { column, position, .. } => {
                eq_name(&column.name, GENERATED_KEY) && *position != ColumnPosition::Last
            }
            AlterAction::ChangeColumn { old, position, .. } => {
                eq_name(old, GENERATED_KEY) && *position != ColumnPosition::Last
            }
            _ => false,
        };
        if has_generated_key(self.old)
            && !actions.iter().any(moved)
            && let Some(at) = self.slots.iter().position(|s| s.origin == Some(0))
        {
            self.slots[..=at].rotate_right(1);
        }
    }

    /// Indexes, checks and foreign keys: which stay, under which names, and what comes.
    fn indexes(&mut self, actions: &[AlterAction], cx: &mut DdlContext<'_>) -> Result<()> {
        let given = std::mem::take(&mut self.definition.indexes);
        self.kept = given.into_iter().enumerate().map(|(position, definition)| Kept { position, definition }).collect();
        let mut renames: Vec<(usize, Box<str>)> = Vec::new();
        for action in actions {
            match action {
                AlterAction::DropIndex { name, if_exists } => match self.old.index(name) {
                    Some(position) if self.kept.iter().any(|k| k.position == position) => {
                        self.kept.retain(|k| k.position != position);
                    }
                    Some(_) => return Err(cannot_drop(name)),
                    None if *if_exists => cx.note(&cannot_drop(name)),
                    None => return Err(cannot_drop(name)),
                },
                AlterAction::DropPrimaryKey => match self.old.primary_key() {
                    Some(_) => self.kept.retain(|k| k.position != 0),
                    None => return Err(cannot_drop("PRIMARY")),
                },
                AlterAction::RenameIndex { old, new } => {
                    let position = self.old.index(old).ok_or_else(|| sql_err!(KeyDoesNotExits, old, self.old.name))?;
                    if eq_name(old, "PRIMARY") || eq_name(new, "PRIMARY") {
                        return Err(sql_err!(WrongNameForIndex, if eq_name(old, "PRIMARY") { old } else { new }));
                    }
                    gannet_schema::names::check_index_name(new)?;
                    renames.push((position, new.text.clone()));
                }
                AlterAction::IndexVisibility { name, visible } => {
                    // Under its old name it is no longer there when it is dropped or renamed as well.
                    let same = |other: &Ident| eq_name(other, name);
                    let gone = actions.iter().any(|a| match a {
                        AlterAction::DropIndex { name, .. } => same(name),
                        AlterAction::RenameIndex { old, new } => same(old) && !same(new),
                        _ => false,
                    });
                    let position = self.old.index(name).filter(|_| !gone);
                    let kept = self.kept.iter_mut().find(|k| Some(k.position) == position);
                    let kept = kept.ok_or_else(|| sql_err!(KeyDoesNotExits, name, self.old.name))?;
                    kept.definition.invisible = !visible;
                }
                AlterAction::AddElement(element) => {
                    Definer::new(self.definition.options.collation, cx).element(element, &mut self.extras)?;
                }
                AlterAction::AddElements(elements) => {
                    for element in elements.iter().filter(|e| !matches!(e, TableElement::Column(_))) {
                        Definer::new(self.definition.options.collation, cx).element(element, &mut self.extras)?;
                    }
                }
                AlterAction::OrderBy(_) if self.old.clustered.is_none() => {
                    return Err(SqlError::unsupported("ALTER TABLE: ORDER BY"));
                }
                other => {
                    if !self.constraint(other, cx)? {
                        supported(other)?;
                    }
                }
            }
        }
        for (position, new) in renames {
            let Some(at) = self.kept.iter().position(|k| k.position == position) else {
                return Err(sql_err!(KeyDoesNotExits, self.old.indexes[position].name, self.old.name));
            };
            let taken =
                |k: &Kept| k.position != position && k.definition.name.as_deref().is_some_and(|n| eq_name(n, &new));
            if self.kept.iter().any(taken) {
                return Err(sql_err!(DupKeyname, new));
            }
            self.kept[at].definition.name = Some(new);
        }
        Ok(())
    }

    /// Parts of a kept index in the new version: dropped columns fall out, a prefix that became pointless too.
    fn parts(&self, position: usize) -> Vec<(Box<str>, Option<u32>, bool)> {
        let mut parts = Vec::new();
        for part in &self.old.indexes[position].parts {
            let Some(slot) = self.slots.iter().find(|s| s.origin == Some(part.column)) else { continue };
            let column = &slot.definition.column;
            let fits = |n: &u32| column.ty.id.is_string() && (column.ty.id.is_lob() || *n <= column.ty.length);
            parts.push(((&*column.name).into(), part.prefix.filter(fits), part.descending));
        }
        parts
    }

    fn finish(mut self, schema: Arc<str>, snapshot: &CatalogSnapshot, cx: &mut DdlContext<'_>) -> Result<Alteration> {
        let (mut indexes, mut origins) = (Vec::new(), Vec::new());
        let mut used_hidden: Vec<u32> = Vec::new();
        for kept in std::mem::take(&mut self.kept) {
            let old_parts = &self.old.indexes[kept.position].parts;
            let parts = self.parts(kept.position);
            if parts.is_empty() {
                continue;
            }
            used_hidden.extend(old_parts.iter().map(|p| p.column));
            indexes.push(IndexDefinition { parts, ..kept.definition });
            origins.push(Some(kept.position));
        }
        // The column of a functional part goes with its index.
        let old = self.old;
        self.slots.retain(|s| match s.origin {
            Some(o) => !old.columns[o as usize].hidden || used_hidden.contains(&o),
            None => true,
        });
        self.definition.columns = self.slots.iter().map(|s| s.definition.clone()).collect();
        self.keep_expressions()?;
        let extras = std::mem::take(&mut self.extras);
        // Own columns of foreign keys that stay, under their new names.
        for key in &mut self.definition.foreign_keys {
            let Some(was) = old.constraints.foreign_keys.iter().find(|k| k.name == key.name) else { continue };
            for (name, ordinal) in key.columns.iter_mut().zip(&was.columns) {
                if let Some(slot) = self.slots.iter().find(|s| s.origin == Some(*ordinal)) {
                    *name = (&*slot.definition.column.name).into();
                }
            }
        }
        // Their names are taken.
        self.definition.indexes.clone_from(&indexes);
        let added = extras.resolve(&mut self.definition, &schema, snapshot, cx)?;
        // Columns of functional parts are new.
        self.slots.extend(
            self.definition.columns[self.slots.len()..].iter().map(|c| Slot { definition: c.clone(), origin: None }),
        );
        for index in added {
            if index.kind == IndexKind::Primary
                && indexes.iter().any(|i: &IndexDefinition| i.kind == IndexKind::Primary)
            {
                return Err(sql_err!(MultiplePriKey));
            }
            indexes.push(index);
            origins.push(None);
        }
        let mut definition = self.definition;
        definition.indexes = indexes;
        Ok(Alteration {
            constants: Vec::new(),
            columns: self.slots.iter().map(|s| s.origin).collect(),
            definition,
            indexes: origins,
            rebuild: self.rebuild,
            schema,
        })
    }
}

impl Maker<'_> {
    /// Expressions that stay must find their columns: error for one that is dropped or renamed. A check over a single
    /// column goes with it.
    fn keep_expressions(&mut self) -> Result<()> {
        let name = |s: &Slot| s.definition.column.name.clone();
        for (ordinal, old) in self.old.columns.iter().enumerate().filter(|(_, c)| !c.hidden) {
            let slot = self.slots.iter().find(|s| s.origin == Some(ordinal as u32));
            if slot.is_some_and(|s| eq_name(&name(s), &old.name)) {
                continue;
            }
            for other in self.slots.iter().filter(|s| s.origin.is_some()) {
                let column = &other.definition.column;
                if let Some(generated) = &column.generated
                    && expressions::uses(&generated.expression, &old.name)
                {
                    return Err(if column.hidden {
                        sql_err!(DependentByFunctionalIndex, old.name)
                    } else {
                        sql_err!(DependentByGeneratedColumn, old.name)
                    });
                }
                if let ColumnDefault::Expression(text) = &column.default
                    && expressions::uses(text, &old.name)
                {
                    return Err(sql_err!(DependentByDefaultGeneratedValue, old.name, self.old.name));
                }
            }
            let dropped = slot.is_none();
            self.definition.checks.retain(|c| {
                let names = expressions::names_in(&c.expression);
                !(dropped && names.iter().all(|n| eq_name(n, &old.name)))
            });
            if let Some(check) = self.definition.checks.iter().find(|c| expressions::uses(&c.expression, &old.name)) {
                return Err(sql_err!(DependentByCheckConstraint, check.name, old.name));
            }
        }
        Ok(())
    }

    /// DROP CHECK, DROP CONSTRAINT, ALTER CHECK ... ENFORCED, DROP FOREIGN KEY.
    fn constraint(&mut self, action: &AlterAction, cx: &mut DdlContext<'_>) -> Result<bool> {
        let check = |m: &Self, name: &str| m.definition.checks.iter().position(|c| eq_name(&c.name, name));
        let foreign = |m: &Self, name: &str| m.definition.foreign_keys.iter().position(|k| eq_name(&k.name, name));
        match action {
            AlterAction::DropCheck(name) => {
                let at = check(self, name).ok_or_else(|| sql_err!(CheckConstraintNotFound, name))?;
                self.definition.checks.remove(at);
            }
            AlterAction::DropForeignKey { name, if_exists } => match foreign(self, name) {
                Some(at) => {
                    self.definition.foreign_keys.remove(at);
                }
                None if *if_exists => cx.note(&cannot_drop(name)),
                None => return Err(cannot_drop(name)),
            },
            AlterAction::DropConstraint { name, if_exists } => {
                let index = self.kept.iter().position(|k| match &k.definition.name {
                    Some(n) => k.definition.kind == IndexKind::Unique && eq_name(n, name),
                    None => eq_name(name, "PRIMARY"),
                });
                match (check(self, name), foreign(self, name), index) {
                    (Some(at), None, None) => {
                        self.definition.checks.remove(at);
                    }
                    (None, Some(at), None) => {
                        self.definition.foreign_keys.remove(at);
                    }
                    (None, None, Some(at)) => {
                        self.kept.remove(at);
                    }
                    (None, None, None) if *if_exists => cx.note(&sql_err!(ConstraintNotFound, name)),
                    (None, None, None) => return Err(sql_err!(ConstraintNotFound, name)),
                    _ => return Err(sql_err!(MultipleConstraintsWithSameName, name, "DROP")),
                }
            }
            AlterAction::Enforce { name, enforced, constraint } => match check(self, name) {
                Some(at) => self.definition.checks[at].enforced = *enforced,
                None if *constraint && (foreign(self, name).is_some() || self.old.index(name).is_some()) => {
                    return Err(sql_err!(AlterConstraintEnforcementNotSupported, name));
                }
                None if *constraint => return Err(sql_err!(ConstraintNotFound, name)),
                None => return Err(sql_err!(CheckConstraintNotFound, name)),
            },
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The names which actions give exist. Error 1091 for drops, 1054 for the rest.
fn check_names(actions: &[AlterAction], old: &Table, cx: &mut DdlContext<'_>) -> Result<()> {
    for action in actions {
        let (name, if_exists) = match action {
            AlterAction::DropColumn { name, if_exists } => {
                if old.column(name).is_none() {
                    if !*if_exists {
                        return Err(cannot_drop(name));
                    }
                    cx.note(&cannot_drop(name));
                }
                continue;
            }
            AlterAction::ChangeColumn { old, if_exists, .. } => (old, *if_exists),
            AlterAction::ModifyColumn { column, if_exists, .. } => (&column.name, *if_exists),
            AlterAction::RenameColumn { old, .. } => (old, false),
            AlterAction::SetDefault { column, .. } | AlterAction::DropDefault(column) => (column, false),
            AlterAction::ColumnVisibility { column, .. } => (column, false),
            _ => continue,
        };
        if old.column(name).is_none() {
            if !if_exists {
                return Err(unknown_column(name, old));
            }
            cx.note(&unknown_column(name, old));
        }
    }
    Ok(())
}

/// CONVERT TO CHARACTER SET: a text column gets the collation; a TEXT type that would hold fewer characters becomes a
/// larger one.
fn convert_column(column: &mut Column, to: CollationId) -> Result<()> {
    let ty = &column.ty;
    if ty.id == TypeId::Json || !ty.is_text() || ty.id.is_binary_string() {
        return Ok(());
    }
    let mut made = SqlType { collation: to, ..ty.clone() };
    if to == CollationId::BINARY {
        let id = super::binary_twin(ty.id);
        made = SqlType { nullable: ty.nullable, ..SqlType::new(id) };
        made.length = match id {
            TypeId::Binary | TypeId::VarBinary => ty.length * u32::from(ty.collation.charset().max_len() as u8),
            _ => made.length,
        };
    } else if ty.id.is_lob() && to.charset().max_len() > ty.collation.charset().max_len() {
        let id = match ty.id {
            TypeId::TinyText => TypeId::Text,
            TypeId::Text => TypeId::MediumText,
            _ => TypeId::LongText,
        };
        made = SqlType { collation: to, nullable: ty.nullable, ..SqlType::new(id) };
    }
    if let Some(members) = &ty.members {
        made.members = Some(Arc::new(gannet_types::members::Members::new(members.names.clone(), to)));
    }
    let most = SqlType::MAX_VARCHAR_BYTES / u32::from(to.charset().max_len() as u8);
    if made.id == TypeId::VarChar && made.length > most {
        return Err(sql_err!(TooBigFieldlength, column.name, most));
    }
    column.ty = made;
    if let ColumnDefault::Literal(value) = &column.default
        && let gannet_types::Value::Str(bytes, from) = value
    {
        let converted = from.charset().convert(bytes, to.charset());
        if converted.lossy {
            return Err(sql_err!(InvalidDefault, column.name));
        }
        column.default = ColumnDefault::Literal(gannet_types::Value::Str((&*converted.bytes).into(), to));
    }
    Ok(())
}

fn supported(action: &AlterAction) -> Result<()> {
    use AlterAction as A;
    let name = match action {
        A::AddColumn { .. }
        | A::DropColumn { .. }
        | A::ChangeColumn { .. }
        | A::ModifyColumn { .. }
        | A::RenameColumn { .. }
        | A::SetDefault { .. }
        | A::DropDefault(_)
        | A::ColumnVisibility { .. }
        | A::Rename(_)
        | A::ConvertCharset { .. }
        | A::Options(_)
        | A::Force
        // InnoDB takes these without doing anything: its indexes are always kept, rows are ordered by their key.
        | A::DisableKeys
        | A::EnableKeys
        | A::OrderBy(_)
        | A::Algorithm(_)
        | A::Lock(_)
        | A::RemovePartitioning
        | A::Validation(_) => return Ok(()),
        A::DiscardTablespace => "DISCARD TABLESPACE",
        A::ImportTablespace => "IMPORT TABLESPACE",
        A::SecondaryLoad(_) => "SECONDARY_LOAD",
        _ => "partitions",
    };
    Err(SqlError::unsupported(format_args!("ALTER TABLE: {name}")))
}
