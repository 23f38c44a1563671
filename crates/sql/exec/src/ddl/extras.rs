//! What the elements of a definition bring besides plain columns: keys, expressions, checks, foreign keys. It is put
//! together when all columns are known.

use super::DdlContext;
use super::expressions::{self, Definition, Use};
use gannet_parser::ast::{self, CheckDef, Expr, ForeignKeyDef};
use gannet_schema::names::eq_name;
use gannet_schema::{
    CatalogSnapshot, Check, Column, ColumnDefault, ColumnDefinition, ForeignKeyDefinition, Generated, IndexDefinition,
    Method, ReferenceAction, TableDefinition,
};
use gannet_types::{Result, SqlError, sql_err};
use std::sync::Arc;

/// Collected while a definition is read.
#[derive(Default)]
pub(super) struct Extras {
    pub(super) indexes: Vec<PendingIndex>,
    /// Generated columns and defaults.
    pub(super) expressions: Vec<(Use, Expr)>,
    /// Checks, with the column whose attribute they are.
    pub(super) checks: Vec<(CheckDef, Option<Box<str>>)>,
    pub(super) foreign_keys: Vec<ForeignKeyDef>,
}

/// An index some of whose parts may be expressions.
pub(super) struct PendingIndex {
    pub(super) definition: IndexDefinition,
    /// Position of the part, expression.
    pub(super) expressions: Vec<(usize, Expr)>,
}

impl PendingIndex {
    pub(super) fn plain(definition: IndexDefinition) -> PendingIndex {
        PendingIndex { definition, expressions: Vec::new() }
    }
}

impl Extras {
    /// Completes a definition whose columns are there: texts of expressions, columns of functional parts, checks and
    /// foreign keys. Returns the indexes to add.
    pub(super) fn resolve(
        self,
        definition: &mut TableDefinition,
        schema: &str,
        snapshot: &CatalogSnapshot,
        cx: &mut DdlContext<'_>,
    ) -> Result<Vec<IndexDefinition>> {
        let mut columns: Vec<Column> = definition.columns.iter().map(|c| c.column.clone()).collect();
        for (usage, expr) in &self.expressions {
            let text = over(&columns, definition, cx).text(usage, expr)?;
            let (Use::Generated(name) | Use::Default(name)) = usage else { continue };
            for (at, column) in columns.iter_mut().enumerate().filter(|(_, c)| eq_name(&c.name, name)) {
                match (usage, &mut column.generated) {
                    (Use::Generated(_), Some(generated)) => generated.expression = text.clone(),
                    _ => column.default = ColumnDefault::Expression(text.clone()),
                }
                definition.columns[at].column = column.clone();
            }
        }
        let given = |name: &str| {
            self.expressions.iter().any(|(usage, _)| match usage {
                Use::Generated(n) | Use::Default(n) => eq_name(n, name),
                Use::Check(_) | Use::Functional(_) | Use::Partition => false,
            })
        };
        for at in 0..columns.len() {
            if !given(&columns[at].name) {
                columns[at] = kept(at, &columns, definition, cx)?;
                definition.columns[at].column = columns[at].clone();
            }
        }
        for check in &definition.checks {
            let parsed = expressions::parse(&check.expression)?;
            over(&columns, definition, cx).recheck(&Use::Check((&*check.name).into()), None, &parsed)?;
        }
        let given = self.indexes.iter().map(|p| &p.definition).chain(&definition.indexes);
        let mut taken: Vec<Box<str>> = given.filter_map(|i| i.name.clone()).collect();
        let mut indexes: Vec<IndexDefinition> = Vec::with_capacity(self.indexes.len());
        for pending in self.indexes {
            let index = functional(pending, &taken, &mut columns, definition, cx)?;
            taken.extend(index.name.clone());
            indexes.push(index);
        }
        checks(&self.checks, &columns, definition, schema, snapshot, cx)?;
        foreign_keys(&self.foreign_keys, definition, schema, snapshot)?;
        // Binding finds what the texts alone do not tell: functions that do not exist, wrong numbers of arguments.
        let scratch = expressions::scratch(&columns, definition.options.collation);
        gannet_plan::table_exprs(&scratch)?;
        for check in &definition.checks {
            gannet_plan::bind_over(&scratch, &expressions::parse(&check.expression)?)?;
        }
        Ok(indexes)
    }
}

fn over<'a>(columns: &'a [Column], definition: &'a TableDefinition, cx: &DdlContext<'_>) -> Definition<'a> {
    Definition {
        columns,
        table: &definition.name,
        collation: cx.collation,
        week_format: cx.settings.default_week_format,
    }
}

/// A column that an alteration keeps: its expression is checked against the columns as they are now, and the column of
/// a functional part gets the type that its expression has over them.
fn kept(at: usize, columns: &[Column], definition: &TableDefinition, cx: &DdlContext<'_>) -> Result<Column> {
    let mut column = columns[at].clone();
    let (usage, text) = match (&column.generated, &column.default) {
        (Some(generated), _) if column.hidden => {
            let index = hidden_owner(&column.name);
            column.ty = expressions::functional_type(columns, &generated.expression, cx.collation)?;
            (Use::Functional(index.into()), &generated.expression)
        }
        (Some(generated), _) => (Use::Generated((&*column.name).into()), &generated.expression),
        (None, ColumnDefault::Expression(text)) => (Use::Default((&*column.name).into()), text),
        (None, _) => return Ok(column),
    };
    over(columns, definition, cx).recheck(&usage, Some(at), &expressions::parse(text)?)?;
    Ok(column)
}

/// The index in the name of a functional part's column, `!hidden!index!part!number`.
fn hidden_owner(column: &str) -> &str {
    let inside = column.strip_prefix("!hidden!").unwrap_or(column);
    inside.rsplitn(3, '!').last().unwrap_or(inside)
}

/// Gives each expression among an index's parts a hidden column.
fn functional(
    pending: PendingIndex,
    taken: &[Box<str>],
    columns: &mut Vec<Column>,
    definition: &mut TableDefinition,
    cx: &DdlContext<'_>,
) -> Result<IndexDefinition> {
    let mut index = pending.definition;
    if pending.expressions.is_empty() {
        return Ok(index);
    }
    if index.name.is_none() {
        let free = |name: &String| !taken.iter().any(|t| eq_name(t, name));
        let mut names =
            std::iter::once("functional_index".to_string()).chain((2..).map(|n| format!("functional_index_{n}")));
        index.name = names.find(free).map(Into::into);
    }
    let name: Box<str> = match &index.name {
        Some(name) => name.clone(),
        None => index.parts[0].0.clone(),
    };
    for (part, expr) in &pending.expressions {
        let text = over(columns, definition, cx).text(&Use::Functional(name.clone()), expr)?;
        let ty = expressions::functional_type(columns, &text, cx.collation)?;
        if let Some(element) = expressions::element_type(&text)? {
            if index.method != Method::Ordered {
                return Err(SqlError::unsupported("more than one multi-valued key part per index"));
            }
            index.method = Method::Array(element);
        }
        let mut column_name = format!("!hidden!{name}!{part}!0");
        let mut n = 0;
        while columns.iter().any(|c| *c.name == *column_name) {
            n += 1;
            column_name = format!("!hidden!{name}!{part}!{n}");
        }
        // Identifiers are 64 characters at most; the part's number keeps cut names apart.
        if column_name.chars().count() > gannet_schema::names::MAX_IDENTIFIER_CHARS {
            column_name = format!("!hidden!{}!{part}!{}", definition.columns.len(), n);
        }
        let column = Column {
            generated: Some(Generated { expression: text, stored: false }),
            hidden: true,
            ..Column::new(&column_name, ty, true, ColumnDefault::Null)
        };
        index.parts[*part].0 = column_name.into();
        definition.columns.push(ColumnDefinition { column: column.clone(), explicit_null: false });
        columns.push(column);
    }
    Ok(index)
}

/// The number behind the stem in the names of a table's constraints that have no name of their own.
fn next_number<'n>(names: impl Iterator<Item = &'n str>, stem: &str) -> u32 {
    let number = |name: &str| {
        name.get(..stem.len()).filter(|s| eq_name(s, stem)).and_then(|_| name[stem.len()..].parse::<u32>().ok())
    };
    names.filter_map(number).max().unwrap_or(0) + 1
}

fn checks(
    given: &[(CheckDef, Option<Box<str>>)],
    columns: &[Column],
    definition: &mut TableDefinition,
    schema: &str,
    snapshot: &CatalogSnapshot,
    cx: &DdlContext<'_>,
) -> Result<()> {
    let stem = format!("{}_chk_", definition.name);
    let mut next = next_number(definition.checks.iter().map(|c| &*c.name), &stem);
    for (check, column) in given {
        let name: Arc<str> = match &check.constraint {
            Some(name) => {
                gannet_schema::names::check_constraint_name(name)?;
                (&*name.text).into()
            }
            None => {
                next += 1;
                format!("{stem}{}", next - 1).into()
            }
        };
        let own = definition.checks.iter().any(|c| eq_name(&c.name, &name));
        let elsewhere = snapshot
            .tables(schema)
            .iter()
            .any(|t| *t.name != *definition.name && t.constraints.checks.iter().any(|c| eq_name(&c.name, &name)));
        if own || elsewhere {
            return Err(sql_err!(CheckConstraintDupName, name));
        }
        let text = over(columns, definition, cx).text(&Use::Check((&*name).into()), &check.expr)?;
        if let Some(column) = column
            && expressions::names_in(&text).iter().any(|n| !eq_name(n, column))
        {
            return Err(sql_err!(ColumnCheckConstraintReferencesOtherColumn, name));
        }
        definition.checks.push(Check { name, expression: text, enforced: !check.not_enforced });
    }
    Ok(())
}

fn action(action: Option<ast::ReferenceAction>) -> ReferenceAction {
    match action {
        None | Some(ast::ReferenceAction::NoAction) => ReferenceAction::NoAction,
        Some(ast::ReferenceAction::Restrict) => ReferenceAction::Restrict,
        Some(ast::ReferenceAction::Cascade) => ReferenceAction::Cascade,
        Some(ast::ReferenceAction::SetNull) => ReferenceAction::SetNull,
        Some(ast::ReferenceAction::SetDefault) => ReferenceAction::SetDefault,
    }
}

fn foreign_keys(
    given: &[ForeignKeyDef],
    definition: &mut TableDefinition,
    schema: &str,
    snapshot: &CatalogSnapshot,
) -> Result<()> {
    let stem = format!("{}_ibfk_", definition.name);
    let mut next = next_number(definition.foreign_keys.iter().map(|k| &*k.name), &stem);
    for key in given {
        let name: Arc<str> = match &key.constraint {
            Some(name) => {
                gannet_schema::names::check_constraint_name(name)?;
                (&*name.text).into()
            }
            None => {
                next += 1;
                format!("{stem}{}", next - 1).into()
            }
        };
        let own = definition.foreign_keys.iter().any(|k| eq_name(&k.name, &name));
        let elsewhere = snapshot
            .tables(schema)
            .iter()
            .any(|t| *t.name != *definition.name && t.constraints.foreign_keys.iter().any(|k| eq_name(&k.name, &name)));
        if own || elsewhere {
            return Err(sql_err!(FkDupName, name));
        }
        let references = &key.references;
        if key.columns.len() != references.columns.len() {
            let what = key.constraint.as_ref().or(key.name.as_ref()).map_or("foreign key without name", |n| &n.text);
            return Err(sql_err!(WrongFkDef, what, "Key reference and table reference don't match"));
        }
        let parent_schema: Arc<str> = match &references.table.schema {
            Some(other) => (&*other.text).into(),
            None => schema.into(),
        };
        let index_name = key.constraint.as_ref().or(key.name.as_ref()).map(|n| n.text.clone());
        definition.foreign_keys.push(ForeignKeyDefinition {
            name,
            index_name,
            fresh: true,
            columns: key.columns.iter().map(|c| c.text.clone()).collect(),
            parent_schema,
            parent: (&*references.table.name.text).into(),
            parent_columns: references.columns.iter().map(|c| (&*c.text).into()).collect(),
            on_delete: action(references.on_delete),
            on_update: action(references.on_update),
        });
    }
    Ok(())
}
