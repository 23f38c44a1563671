//! From PARTITION BY clauses to a table's partitioning, with MySQL's rules (manual, "Restrictions and Limitations on
//! Partitioning").

mod allowed;

use super::DdlContext;
use super::expressions::{self, Definition, Use};
use crate::batch::Batch;
use crate::context::{Cx, Shared};
use crate::eval;
use gannet_catalog::{Alteration, Edit};
use gannet_engine::Txn;
use gannet_parser::ast::{
    AlterAction, AlterTable, Expr, Ident, PartitionBound, PartitionBy, PartitionDef, PartitionMethod, PartitionOption,
    PartitionValues, TableOption,
};
use gannet_schema::names::{eq_name, fold_name};
use gannet_schema::partition::{
    Bound, By, MAX_PARTS, Method, PartOptions, Partition, Partitioning, Spread, SubPartition, Values,
};
use gannet_schema::{Column, IndexDefinition, IndexKind, Table, TableDefinition, TableOptions, define};
use gannet_types::{ErrorCode, Result, SqlError, SqlMode, TypeId, Value, sql_err};
use std::collections::HashSet;
use std::sync::Arc;

/// Columns of a COLUMNS list.
const MAX_FIELDS: usize = 16;
/// Characters of a partition's comment.
const MAX_COMMENT: usize = 1024;

/// A partitioning in the making: what its clauses are over.
pub(super) struct Maker<'a, 'b> {
    pub(super) columns: &'a [Column],
    pub(super) table: &'a str,
    pub(super) txn: &'a mut Txn,
    pub(super) cx: &'a mut DdlContext<'b>,
}

/// Adds what a statement says of partitions to a new definition.
pub(super) fn add(
    (by, options): (Option<&PartitionBy>, &[TableOption]),
    schema: &str,
    definition: &mut TableDefinition,
    edit: &mut Edit<'_>,
    cx: &mut DdlContext<'_>,
) -> Result<()> {
    if let Some(by) = by {
        let engine = options.iter().rev().find_map(|o| match o {
            TableOption::Engine(name) => super::definition::kept_engine(name),
            _ => None,
        });
        check_engines(&by.partitions, engine)?;
        definition.partitioning = Some(partitioning(by, schema, definition, edit.txn(), cx)?);
    }
    Ok(())
}

/// The partitioning of a new definition; its unique keys are checked.
pub(super) fn partitioning(
    by: &PartitionBy,
    schema: &str,
    definition: &TableDefinition,
    txn: &mut Txn,
    cx: &mut DdlContext<'_>,
) -> Result<Partitioning> {
    if !definition.foreign_keys.is_empty() {
        return Err(sql_err!(ForeignKeyOnPartitioned));
    }
    let columns: Vec<Column> = define::define(definition)?.columns;
    let made = Maker { columns: &columns, table: &definition.name, txn, cx }.all(by, definition)?;
    check_keys(&made, schema, definition)?;
    Ok(made)
}

/// What an ALTER TABLE of columns, indexes and options makes of the parts: PARTITION BY, REMOVE PARTITIONING, or they
/// stay. Errors 1505, 1503, 1506; 3855 for a column that the partitioning needs.
pub(super) fn alter(
    alter: &AlterTable,
    old: &Table,
    alteration: &mut Alteration,
    edit: &mut Edit<'_>,
    cx: &mut DdlContext<'_>,
) -> Result<()> {
    if alter.actions.iter().any(|a| matches!(a, AlterAction::RemovePartitioning)) {
        if alteration.definition.partitioning.take().is_none() {
            return Err(sql_err!(PartitionMgmtOnNonpartitioned));
        }
        return Ok(());
    }
    if let Some(by) = &alter.partition {
        if old.temporary {
            return Err(sql_err!(PartitionNoTemporary));
        }
        if !edit.snapshot().children(&old.schema, &old.name).is_empty() {
            return Err(sql_err!(ForeignKeyOnPartitioned));
        }
        alteration.definition.partitioning = None;
        check_engines(&by.partitions, Some(engine_of(&alteration.definition.options)))?;
        let made = partitioning(by, &old.schema, &alteration.definition, edit.txn(), cx)?;
        alteration.definition.partitioning = Some(made);
        return Ok(());
    }
    let (Some(mut of), Some(parts)) = (alteration.definition.partitioning.take(), &old.partitions) else {
        return Ok(());
    };
    if !alteration.definition.foreign_keys.is_empty() {
        return Err(sql_err!(ForeignKeyOnPartitioned));
    }
    let columns: Vec<Column> = define::define(&alteration.definition)?.columns;
    let mut retyped = false;
    for ordinal in parts.columns() {
        let was = &old.columns[*ordinal as usize];
        let at = alteration.columns.iter().position(|o| *o == Some(*ordinal));
        match at.and_then(|at| columns.get(at)) {
            Some(column) if eq_name(&column.name, &was.name) => retyped |= column.ty != was.ty,
            // KEY () means the primary key's columns, whatever they are called.
            _ if matches!(of.spread.by, By::Primary) && of.sub.is_none() => {}
            _ => return Err(sql_err!(DependentByPartitionFunc, was.name)),
        }
    }
    if retyped {
        let mut maker = Maker { columns: &columns, table: &old.name, txn: edit.txn(), cx };
        maker.again(&mut of)?;
        check_partitions(&of, &columns)?;
    }
    check_keys(&of, &old.schema, &alteration.definition)?;
    alteration.definition.partitioning = Some(of);
    Ok(())
}

/// The primary key, or the first unique key without NULL, which stands for it.
fn primary_key(definition: &TableDefinition) -> Option<&IndexDefinition> {
    let whole = |i: &&IndexDefinition| {
        let nullable =
            |name: &str| definition.columns.iter().any(|c| eq_name(&c.column.name, name) && c.column.nullable);
        i.kind == IndexKind::Unique && i.parts.iter().all(|p| p.1.is_none() && !nullable(&p.0))
    };
    let primary = definition.indexes.iter().find(|i| i.kind == IndexKind::Primary);
    primary.or_else(|| definition.indexes.iter().find(whole))
}

/// The columns that a definition's PARTITION BY KEY () means.
pub(super) fn primary_columns(definition: &TableDefinition) -> Vec<Box<str>> {
    primary_key(definition).map(|k| k.parts.iter().map(|p| p.0.clone()).collect()).unwrap_or_default()
}

/// Names of the columns that a clause looks at.
pub(super) fn columns_of(spread: &Spread, definition: &TableDefinition) -> Vec<String> {
    match &spread.by {
        By::Expression(text) => expressions::names_in(text),
        By::Columns(names) => names.iter().map(|n| n.to_string()).collect(),
        By::Primary => primary_columns(definition).iter().map(|n| n.to_string()).collect(),
    }
}

/// Every unique key has all columns that say where a row is: so what is unique in a part is unique. Error 1503; 1214
/// for a full-text index, whose ranks count the rows of the whole table.
fn check_keys(of: &Partitioning, schema: &str, definition: &TableDefinition) -> Result<()> {
    if definition.indexes.iter().any(|i| matches!(i.method, gannet_schema::Method::FullText(_))) {
        return Err(sql_err!(TableCantHandleFt));
    }
    // KEY () follows the primary key, or what stands for one.
    if of.spread.by == By::Primary {
        if primary_columns(definition).is_empty() {
            return Err(sql_err!(FieldNotFoundPart));
        }
        check_prefixes(&of.spread, schema, definition)?;
    }
    let primary = primary_key(definition);
    for spread in [Some(&of.spread), of.sub.as_ref()].into_iter().flatten() {
        for column in columns_of(spread, definition) {
            for index in definition.indexes.iter().filter(|i| i.kind != IndexKind::Plain) {
                if !index.parts.iter().any(|p| eq_name(&p.0, &column) && p.1.is_none()) {
                    let kind =
                        if primary.is_some_and(|p| std::ptr::eq(p, index)) { "PRIMARY KEY" } else { "UNIQUE INDEX" };
                    return Err(sql_err!(UniqueKeyNeedAllFieldsInPf, kind));
                }
            }
        }
    }
    check_prefixes(&of.spread, schema, definition)
}

/// No index has the first characters of a column of KEY. Error 6123.
fn check_prefixes(spread: &Spread, schema: &str, definition: &TableDefinition) -> Result<()> {
    if spread.method != Method::Key {
        return Ok(());
    }
    let columns = columns_of(spread, definition);
    for part in definition.indexes.iter().flat_map(|i| &i.parts) {
        if let Some(length) = part.1
            && columns.iter().any(|c| eq_name(c, &part.0))
        {
            let (table, column) = (&definition.name, &part.0);
            return Err(sql_err!(PrefixKeyInPartition, schema, table, column, column, length));
        }
    }
    Ok(())
}

/// What is wrong with the partitions as they are together: names, number, bounds.
pub(super) fn check_partitions(of: &Partitioning, columns: &[Column]) -> Result<()> {
    if of.leaves() > MAX_PARTS {
        return Err(sql_err!(TooManyPartitions));
    }
    let mut names: HashSet<String> = HashSet::new();
    for partition in &of.partitions {
        for name in std::iter::once(&partition.name).chain(partition.subs.iter().map(|s| &s.name)) {
            if !names.insert(fold_name(name).into_owned()) {
                return Err(sql_err!(SameNamePartition, name));
            }
        }
    }
    if of.not_increasing(columns, &[]) {
        return Err(sql_err!(RangeNotIncreasing));
    }
    if of.lists_twice(columns, &[]) {
        return Err(sql_err!(MultipleDefConstInListPart));
    }
    Ok(())
}

fn method_of(method: &PartitionMethod) -> Method {
    match method {
        PartitionMethod::Hash { .. } => Method::Hash,
        PartitionMethod::Key { .. } => Method::Key,
        PartitionMethod::Range(_) | PartitionMethod::RangeColumns(_) => Method::Range,
        PartitionMethod::List(_) | PartitionMethod::ListColumns(_) => Method::List,
    }
}

fn word(method: Method) -> &'static str {
    match method {
        Method::Range => "RANGE",
        Method::List => "LIST",
        Method::Hash => "HASH",
        Method::Key => "KEY",
    }
}

impl Maker<'_, '_> {
    fn all(&mut self, by: &PartitionBy, definition: &TableDefinition) -> Result<Partitioning> {
        let method = method_of(&by.method);
        let listed = matches!(method, Method::Range | Method::List);
        if by.count == Some(0) {
            return Err(sql_err!(NoParts, "partitions"));
        }
        let sub_count = by.sub.as_ref().and_then(|s| s.1);
        if sub_count == Some(0) {
            return Err(sql_err!(NoParts, "subpartitions"));
        }
        let names_subs = by.partitions.iter().any(|p| !p.sub.is_empty());
        if (by.sub.is_some() || names_subs) && !listed {
            return Err(sql_err!(Subpartition));
        }
        if names_subs && by.sub.is_none() {
            return Err(sql_err!(Subpartition));
        }
        if listed && by.partitions.is_empty() {
            return Err(sql_err!(PartitionsMustBeDefined, word(method)));
        }
        if let PartitionMethod::Range(expr) | PartitionMethod::List(expr) = &by.method {
            // Functions that may not be come before values, all else that is wrong with the expression after them.
            match allowed::check(expr, self.columns) {
                Err(e) if e.code() == ErrorCode::PartitionFunctionIsNotAllowed => return Err(e),
                _ => self.are_integers(&by.partitions)?,
            }
        }
        let spread = self.spread(&by.method, definition, false)?;
        let sub = by.sub.as_ref().map(|(method, _)| self.spread(method, definition, true)).transpose()?;
        let most = MAX_PARTS as u64;
        if by.count.is_some_and(|n| n > most) || sub_count.is_some_and(|n| n > most) {
            return Err(sql_err!(TooManyPartitions));
        }
        let subs = Subs { of: sub.is_some(), count: sub_count.unwrap_or(1) as usize, named: names_subs };
        let partitions = if by.partitions.is_empty() {
            let count = by.count.unwrap_or(1);
            (0..count).map(|n| unnamed(&format!("p{n}"))).collect()
        } else {
            self.partitions(&by.partitions, &spread, &subs)?
        };
        let made = Partitioning {
            counted: by.partitions.is_empty(),
            subs_counted: !names_subs,
            count_written: by.count.is_some(),
            sub_count_written: sub_count.is_some(),
            partitions: partitions.into(),
            spread,
            sub,
        };
        check_partitions(&made, self.columns)?;
        Ok(made)
    }

    /// What partitions of an expression have are integers. Errors 1657, 1697.
    fn are_integers(&mut self, list: &[PartitionDef]) -> Result<()> {
        for given in list {
            let bounds: Vec<&PartitionBound> = match &given.values {
                PartitionValues::None => Vec::new(),
                PartitionValues::LessThan(bounds) if bounds.len() > 1 => return Err(sql_err!(TooManyValues, "RANGE")),
                PartitionValues::LessThan(bounds) => bounds.iter().collect(),
                PartitionValues::In(rows) => rows.iter().flatten().collect(),
            };
            for bound in bounds {
                if let PartitionBound::Expr(expr) = bound {
                    match self.constant(expr, false) {
                        // A text among numbers.
                        Err(e) if e.code() == ErrorCode::TruncatedWrongValue => {
                            return Err(sql_err!(ValuesIsNotIntType, given.name));
                        }
                        value => integer(value?, given)?,
                    };
                }
            }
        }
        Ok(())
    }

    fn spread(&mut self, method: &PartitionMethod, definition: &TableDefinition, sub: bool) -> Result<Spread> {
        Ok(match method {
            PartitionMethod::Hash { linear, expr } => {
                Spread { linear: *linear, ..Spread::new(Method::Hash, By::Expression(self.expression(expr, sub)?)) }
            }
            PartitionMethod::Range(expr) => Spread::new(Method::Range, By::Expression(self.expression(expr, sub)?)),
            PartitionMethod::List(expr) => Spread::new(Method::List, By::Expression(self.expression(expr, sub)?)),
            PartitionMethod::RangeColumns(names) => Spread::new(Method::Range, By::Columns(self.fields(names)?)),
            PartitionMethod::ListColumns(names) => Spread::new(Method::List, By::Columns(self.fields(names)?)),
            PartitionMethod::Key { linear, algorithm, columns } => {
                let by = if columns.is_empty() {
                    if sub || primary_columns(definition).is_empty() {
                        return Err(sql_err!(FieldNotFoundPart));
                    }
                    By::Primary
                } else {
                    if columns.len() > MAX_FIELDS {
                        return Err(sql_err!(TooManyPartitionFuncFields, "list of partition fields"));
                    }
                    let found = self.names(columns)?;
                    // As rows of MySQL hold them, lengths of texts included. LOBs are refused as such.
                    let bytes = |c: &Column| match c.ty.id {
                        id if id.is_lob() => 0,
                        TypeId::VarChar | TypeId::VarBinary => c.ty.max_bytes() + 2,
                        id if id.is_string() => c.ty.max_bytes(),
                        _ => 8,
                    };
                    let of_them = self.columns.iter().filter(|c| found.contains(&c.name));
                    if of_them.map(bytes).sum::<u64>() >= define::MAX_KEY_BYTES {
                        return Err(sql_err!(PartitionFieldsTooLong));
                    }
                    By::Columns(found)
                };
                let spread =
                    Spread { linear: *linear, algorithm: algorithm.unwrap_or(2) as u8, ..Spread::new(Method::Key, by) };
                for name in columns_of(&spread, definition) {
                    let column = self.columns.iter().find(|c| eq_name(&c.name, &name));
                    if column.is_some_and(|c| c.ty.id.is_lob() || c.ty.id == TypeId::Json) {
                        return Err(sql_err!(BlobFieldInPartFunc));
                    }
                }
                spread
            }
        })
    }

    /// Columns by name. Errors 1488, 1652.
    fn names(&self, names: &[Ident]) -> Result<Box<[Arc<str>]>> {
        let mut found: Vec<Arc<str>> = Vec::with_capacity(names.len());
        for name in names {
            let column = self.columns.iter().find(|c| eq_name(&c.name, name) && !c.hidden);
            let column = column.ok_or_else(|| sql_err!(FieldNotFoundPart))?;
            if found.contains(&column.name) {
                return Err(sql_err!(SameNamePartitionField, column.name));
            }
            found.push(column.name.clone());
        }
        Ok(found.into())
    }

    /// The columns of a COLUMNS list. Errors 1655, 1502, 1659.
    fn fields(&self, names: &[Ident]) -> Result<Box<[Arc<str>]>> {
        if names.len() > MAX_FIELDS {
            return Err(sql_err!(TooManyPartitionFuncFields, "list of partition fields"));
        }
        let found = self.names(names)?;
        let mut bytes = 0;
        for column in self.columns.iter().filter(|c| found.contains(&c.name)) {
            use TypeId as T;
            let id = column.ty.id;
            if id.is_lob() || id == T::Json {
                return Err(sql_err!(BlobFieldInPartFunc));
            }
            let fits = id.is_integer()
                || matches!(id, T::Date | T::DateTime | T::Time | T::Char | T::VarChar | T::Binary | T::VarBinary);
            if !fits {
                return Err(sql_err!(FieldTypeNotAllowedAsPartitionField, column.name));
            }
            bytes += column.ty.max_bytes();
        }
        if bytes > define::MAX_KEY_BYTES {
            return Err(sql_err!(PartitionFieldsTooLong));
        }
        Ok(found)
    }

    /// The text of an expression that gives integers. Errors 1564, 1486, 1491, 1659, 1054.
    fn expression(&mut self, expr: &Expr, sub: bool) -> Result<Box<str>> {
        if !matches!(expr, Expr::Column(_)) {
            allowed::check(expr, self.columns)?;
        }
        let over = Definition {
            columns: self.columns,
            table: self.table,
            collation: self.cx.collation,
            week_format: self.cx.settings.default_week_format,
        };
        let text = over.text(&Use::Partition, expr)?;
        let names = expressions::names_in(&text);
        if names.is_empty() {
            return Err(sql_err!(WrongExprInPartitionFunc));
        }
        let lob = |c: &&Column| c.ty.id.is_lob() || c.ty.id == TypeId::Json;
        if self.columns.iter().filter(lob).any(|c| names.iter().any(|n| eq_name(n, &c.name))) {
            return Err(sql_err!(BlobFieldInPartFunc));
        }
        let scratch = expressions::scratch(self.columns, self.cx.collation);
        let ty = gannet_plan::bind_over(&scratch, &expressions::parse(&text)?)?.ty;
        if !ty.id.is_integer() && !matches!(ty.id, TypeId::Year | TypeId::Bit)
            || allowed::rounds_time(expr, self.columns)
        {
            if let Expr::Column(column) = expr {
                return Err(sql_err!(FieldTypeNotAllowedAsPartitionField, column.column));
            }
            return Err(sql_err!(PartitionFuncNotAllowed, if sub { "SUBPARTITION" } else { "PARTITION" }));
        }
        Ok(text)
    }

    /// Partitions as they are written.
    pub(super) fn partitions(&mut self, list: &[PartitionDef], spread: &Spread, subs: &Subs) -> Result<Vec<Partition>> {
        let mut made = Vec::with_capacity(list.len());
        let mut written = subs.named.then_some(None);
        for (at, given) in list.iter().enumerate() {
            check_name(&given.name)?;
            let values = self.values(given, spread, at + 1 == list.len())?;
            if subs.named && given.sub.is_empty() {
                return Err(sql_err!(PartitionSubpartMix));
            }
            if let Some(count) = &mut written {
                match *count {
                    None => *count = Some(given.sub.len()),
                    Some(n) if n != given.sub.len() => return Err(sql_err!(PartitionWrongNoSubpart)),
                    Some(_) => {}
                }
            }
            let named = given.sub.iter().map(|(name, options)| {
                check_name(name)?;
                Ok(SubPartition { name: (&*name.text).into(), options: options_of(options, &given.name, self.cx)? })
            });
            let mut own = named.collect::<Result<Vec<_>>>()?;
            if own.is_empty() && subs.of {
                let sub = |n| SubPartition {
                    name: format!("{}sp{n}", given.name.text).into(),
                    options: PartOptions::default(),
                };
                own = (0..subs.count).map(sub).collect();
            }
            let options = options_of(&given.options, &given.name, self.cx)?;
            made.push(Partition { name: (&*given.name.text).into(), values, options, subs: own.into() });
        }
        Ok(made)
    }

    fn values(&mut self, given: &PartitionDef, spread: &Spread, last: bool) -> Result<Values> {
        match (spread.method, &given.values) {
            (Method::Range, PartitionValues::LessThan(bounds)) => self.less_than(bounds, given, spread, last),
            (Method::List, PartitionValues::In(rows)) => self.listed(rows, given, spread),
            (Method::Range, PartitionValues::None) => Err(sql_err!(PartitionRequiresValues, "RANGE", "LESS THAN")),
            (Method::List, PartitionValues::None) => Err(sql_err!(PartitionRequiresValues, "LIST", "IN")),
            (Method::Hash | Method::Key, PartitionValues::None) => Ok(Values::None),
            (_, PartitionValues::LessThan(_)) => Err(sql_err!(PartitionWrongValues, "RANGE", "LESS THAN")),
            (_, PartitionValues::In(_)) => Err(sql_err!(PartitionWrongValues, "LIST", "IN")),
        }
    }

    fn less_than(
        &mut self,
        bounds: &[PartitionBound],
        given: &PartitionDef,
        spread: &Spread,
        last: bool,
    ) -> Result<Values> {
        let fields: Vec<Column> = self.fields_of(spread);
        if spread.by_columns() {
            if bounds.len() != fields.len() {
                return Err(sql_err!(PartitionColumnList));
            }
        } else if bounds.len() != 1 {
            return Err(sql_err!(TooManyValues, "RANGE"));
        }
        let mut made: Vec<Bound> = Vec::with_capacity(bounds.len());
        for (at, bound) in bounds.iter().enumerate() {
            made.push(match bound {
                PartitionBound::MaxValue if !spread.by_columns() && !last => return Err(sql_err!(PartitionMaxvalue)),
                PartitionBound::MaxValue => None,
                PartitionBound::Expr(expr) => {
                    let value = self.constant(expr, spread.by_columns())?;
                    if value.is_null() {
                        return Err(sql_err!(NullInValuesLessThan));
                    }
                    Some(match fields.get(at) {
                        Some(column) => self.column_value(value, column)?,
                        None => self.number(value, given, spread)?,
                    })
                }
            });
        }
        Ok(Values::LessThan(made.into()))
    }

    fn listed(&mut self, rows: &[Vec<PartitionBound>], given: &PartitionDef, spread: &Spread) -> Result<Values> {
        let fields: Vec<Column> = self.fields_of(spread);
        let mut made: Vec<Box<[Value]>> = Vec::with_capacity(rows.len());
        for row in rows {
            if row.len() != fields.len().max(1) {
                return Err(sql_err!(PartitionColumnList));
            }
            let mut values = Vec::with_capacity(row.len());
            for (at, bound) in row.iter().enumerate() {
                let PartitionBound::Expr(expr) = bound else { continue };
                let value = self.constant(expr, spread.by_columns())?;
                values.push(match fields.get(at) {
                    _ if value.is_null() => Value::Null,
                    Some(column) => self.column_value(value, column)?,
                    None => self.number(value, given, spread)?,
                });
            }
            made.push(values.into());
        }
        Ok(Values::In(made.into()))
    }

    fn fields_of(&self, spread: &Spread) -> Vec<Column> {
        let By::Columns(names) = &spread.by else { return Vec::new() };
        let found = |n: &Arc<str>| self.columns.iter().find(|c| eq_name(&c.name, n)).cloned();
        names.iter().filter_map(found).collect()
    }

    /// A partitioning that stays over columns of other types: expressions have to give integers still, and values have
    /// to be values of the columns.
    fn again(&mut self, of: &mut Partitioning) -> Result<()> {
        let clauses = [Some((&of.spread, false)), of.sub.as_ref().map(|s| (s, true))];
        for (spread, sub) in clauses.into_iter().flatten() {
            if let Some(text) = spread.expression() {
                self.expression(&expressions::parse(text)?, sub)?;
            }
        }
        if !of.spread.by_columns() {
            return Ok(());
        }
        let By::Columns(names) = &of.spread.by else { return Ok(()) };
        let idents: Vec<Ident> = names.iter().map(|n| Ident::new(n)).collect();
        self.fields(&idents)?;
        let fields = self.fields_of(&of.spread);
        for partition in &mut of.partitions {
            let rows: Vec<Vec<Option<&mut Value>>> = match &mut partition.values {
                Values::None => Vec::new(),
                Values::LessThan(bounds) => vec![bounds.iter_mut().map(Option::as_mut).collect()],
                Values::In(rows) => rows.iter_mut().map(|r| r.iter_mut().map(Some).collect()).collect(),
            };
            for (value, column) in rows.into_iter().flat_map(|row| row.into_iter().zip(&fields)) {
                if let Some(value) = value.filter(|v| !v.is_null()) {
                    *value = self.column_value(value.clone(), column)?;
                }
            }
        }
        Ok(())
    }

    /// The value of a constant expression, for a partition of columns or of an expression.
    fn constant(&mut self, expr: &Expr, of_columns: bool) -> Result<Value> {
        allowed::check_constant(expr, if of_columns { "field list" } else { "partition function" })?;
        let scratch = expressions::scratch(self.columns, self.cx.collation);
        let bound = gannet_plan::bind_over(&scratch, expr)?;
        let plan = expressions::plan_over(&scratch, None);
        let shared = Shared::new(&plan, self.cx.settings, &[]);
        let mut run = Cx::new(&shared, self.txn, self.cx.session, self.cx.warnings);
        run.strict = true;
        let mut value = eval::eval(&bound, &Batch::one_empty_row(), 0, &mut run)?;
        value.settle(&bound.ty);
        Ok(value)
    }

    /// A number for an expression. Errors 1697; 1563 for one that it never gives.
    fn number(&self, value: Value, given: &PartitionDef, spread: &Spread) -> Result<Value> {
        let value = integer(value, given)?;
        if let (Value::Int(..0), Some(text)) = (&value, spread.expression()) {
            let scratch = expressions::scratch(self.columns, self.cx.collation);
            if gannet_plan::bind_over(&scratch, &expressions::parse(text)?)?.ty.unsigned {
                return Err(sql_err!(PartitionConstDomain));
            }
        }
        Ok(value)
    }

    /// A value for a column, exactly. Error 1654.
    fn column_value(&mut self, value: Value, column: &Column) -> Result<Value> {
        let wrong = || sql_err!(WrongTypeColumnValue);
        let text = matches!(value, Value::Str(..));
        let fits = match column.ty.id {
            id if id.is_integer() => matches!(value, Value::Int(_) | Value::UInt(_)),
            id if id.is_string() => text || matches!(value, Value::Date(_)),
            TypeId::Date => text || matches!(value, Value::Date(_)),
            TypeId::DateTime => text || matches!(value, Value::DateTime(..) | Value::Date(_)),
            TypeId::Time => text || matches!(value, Value::Time(..)),
            _ => false,
        };
        if !fits {
            return Err(wrong());
        }
        let mut column = column.clone();
        column.ty.nullable = true;
        let warned = self.cx.warnings.total();
        let strict = SqlMode::STRICT_TRANS_TABLES;
        let stored = super::copy::store_in(value, &column, 1, self.cx.settings.sql_mode.with(strict), self.cx);
        match stored {
            Ok(value) if self.cx.warnings.total() == warned => Ok(value),
            _ => Err(wrong()),
        }
    }
}

/// Subpartitions of a clause.
pub(super) struct Subs {
    /// There are some.
    pub(super) of: bool,
    /// How many, where they are not named.
    pub(super) count: usize,
    /// They are named.
    pub(super) named: bool,
}

/// A partition without a definition of its own.
pub(super) fn unnamed(name: &str) -> Partition {
    let (values, options) = (Values::None, PartOptions::default());
    Partition { name: name.into(), values, options, subs: Box::default() }
}

/// Errors 1059, 1567.
fn check_name(name: &Ident) -> Result<()> {
    if name.text.chars().count() > gannet_schema::names::MAX_IDENTIFIER_CHARS {
        return Err(sql_err!(TooLongIdent, name));
    }
    if name.text.is_empty() || name.text.ends_with(' ') {
        return Err(SqlError::new(ErrorCode::WrongPartitionName, &[]));
    }
    Ok(())
}

/// An integer of a RANGE or LIST over an expression. Error 1697.
fn integer(value: Value, given: &PartitionDef) -> Result<Value> {
    match value {
        Value::Null | Value::Int(_) | Value::UInt(_) => Ok(value),
        Value::Year(n) => Ok(Value::Int(i64::from(n))),
        _ => Err(sql_err!(ValuesIsNotIntType, given.name)),
    }
}

fn options_of(options: &[PartitionOption], name: &Ident, cx: &mut DdlContext<'_>) -> Result<PartOptions> {
    let mut made = PartOptions::default();
    let mut others: Vec<(Box<str>, Box<str>)> = Vec::new();
    for option in options {
        let (name, value) = match option {
            PartitionOption::Engine(_) => continue,
            PartitionOption::Comment(text) => {
                if text.chars().count() > MAX_COMMENT {
                    return Err(sql_err!(TooLongTablePartitionComment, name, MAX_COMMENT));
                }
                made.comment = text.clone();
                continue;
            }
            PartitionOption::MaxRows(n) => ("MAX_ROWS", n.to_string()),
            PartitionOption::MinRows(n) => ("MIN_ROWS", n.to_string()),
            PartitionOption::NodeGroup(n) => ("NODEGROUP", n.to_string()),
            PartitionOption::Tablespace(space) if space.text.eq_ignore_ascii_case(FILE_PER_TABLE) => {
                ("TABLESPACE", format!("`{FILE_PER_TABLE}`"))
            }
            // There is one data file.
            PartitionOption::Tablespace(_) => return Err(SqlError::unsupported("partition option TABLESPACE")),
            PartitionOption::DataDirectory(_) | PartitionOption::IndexDirectory(_) => {
                let data = matches!(option, PartitionOption::DataDirectory(_));
                let name = if data { "DATA DIRECTORY" } else { "INDEX DIRECTORY" };
                if !cx.settings.sql_mode.contains(SqlMode::NO_DIR_IN_CREATE) {
                    return Err(SqlError::unsupported(format_args!("partition option {name}")));
                }
                cx.warnings.warn(ErrorCode::WarnOptionIgnored, &[&name]);
                continue;
            }
        };
        others.retain(|(n, _)| **n != *name);
        others.push((name.into(), value.into()));
    }
    // In the order in which SHOW CREATE TABLE has them.
    let order = ["TABLESPACE", "NODEGROUP", "MAX_ROWS", "MIN_ROWS", "DATA DIRECTORY", "INDEX DIRECTORY"];
    others.sort_by_key(|(name, _)| order.iter().position(|o| *o == &**name));
    made.others = others.into();
    Ok(made)
}

/// The engine of tables.
const INNODB: &str = "InnoDB";

/// The tablespace that a partition may name.
const FILE_PER_TABLE: &str = "innodb_file_per_table";

/// The engine that a table has asked for.
pub(super) fn engine_of(options: &TableOptions) -> &str {
    let kept = options.create_options.iter().find(|o| *o.0 == *gannet_schema::options::ENGINE);
    kept.map_or(INNODB, |o| &*o.1)
}

/// All partitions name the table's engine, or none; where the table names none, either all of them name one, or none
/// does. Errors 1286, 1497.
pub(super) fn check_engines(list: &[PartitionDef], table: Option<&str>) -> Result<()> {
    let engine = |options: &'_ [PartitionOption]| -> Option<Box<str>> {
        options.iter().rev().find_map(|o| match o {
            PartitionOption::Engine(name) => Some(name.clone()),
            _ => None,
        })
    };
    let mut named: Vec<Option<Box<str>>> = Vec::new();
    for given in list {
        let own = engine(&given.options);
        named.extend(given.sub.iter().map(|(_, options)| engine(options).or(own.clone())));
        if given.sub.is_empty() {
            named.push(own);
        }
    }
    for name in named.iter().flatten() {
        let stands_for = super::definition::kept_engine(name).ok_or_else(|| sql_err!(UnknownStorageEngine, name))?;
        if table.is_some_and(|table| table != stands_for) {
            return Err(sql_err!(MixHandler));
        }
    }
    let same = |name: &Option<Box<str>>| match (name, &named[0]) {
        (Some(a), Some(b)) => a.eq_ignore_ascii_case(b),
        (a, b) => a.is_none() && b.is_none(),
    };
    if table.is_none() && !named.iter().all(same) { Err(sql_err!(MixHandler)) } else { Ok(()) }
}
