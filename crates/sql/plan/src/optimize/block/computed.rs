//! Expressions that an index has: where a condition compares the expression of an indexed generated column, or of a
//! functional key part, and where rows are sorted by it, the column stands for it (MySQL's manual, "Optimizer Use of
//! Generated Column Indexes"). Columns have what their expressions gave, also VIRTUAL ones.

use crate::expr::{Expr, ExprKind};
use crate::logical::{Block, ColId, From, FromJoin, Rel, RelKind};
use crate::optimize::build::Builder;
use crate::options::Passes;
use crate::plan::TableExprs;
use gannet_schema::Column;
use gannet_types::{CollationId, SqlType, TypeId, Value};
use std::borrow::Cow;

/// A column that an index has, and what it is computed by.
struct Computed {
    rel: usize,
    column: ColId,
    ty: SqlType,
    /// In the form of [`comparable`], over the columns of the statement.
    by: Expr,
}

/// The block with generated columns in the place of their expressions.
pub(super) fn with_columns<'b>(builder: &mut Builder<'_>, block: &'b Block) -> Cow<'b, Block> {
    let all: Vec<Computed> = block.rels.iter().enumerate().flat_map(|r| computed_of(builder, r)).collect();
    if all.is_empty() {
        return Cow::Borrowed(block);
    }
    // A row that an outer join has made up has no column computed: COALESCE(a, 0) is 0 there, its column is NULL.
    let mut made_up = Vec::new();
    if let Some(from) = &block.from {
        nullable(from, &mut made_up);
    }
    let (mut changed, mut found) = (block.clone(), Vec::new());
    let real = |r: usize| !made_up.contains(&r);
    changed.filter.iter_mut().for_each(|e| in_condition(e, &all, &real, &mut found));
    if let Some(from) = &mut changed.from {
        in_joins(from, &all, &mut found);
    }
    if !block.aggregated && !block.distinct && block.windows.is_empty() {
        changed.order.iter_mut().for_each(|key| replace(&mut key.expr, &all, &real, &mut found));
    }
    if found.is_empty() {
        return Cow::Borrowed(block);
    }
    // Privileges are asked for the columns that the statement names.
    let used = &builder.used;
    builder.read.get_or_insert_with(|| used.clone());
    // A block that is planned once more has given up its columns already.
    let first = !builder.computed.contains(&block.select);
    builder.computed.push(block.select);
    for computed in found {
        builder.mark_column(computed.column);
        if first {
            builder.arena.columns_of(&computed.by, &mut |id| {
                builder.used[id as usize] = builder.used[id as usize].saturating_sub(1)
            });
        }
    }
    Cow::Owned(changed)
}

fn computed_of(builder: &Builder<'_>, (number, rel): (usize, &Rel)) -> Vec<Computed> {
    let RelKind::Base(slot) = rel.kind else { return Vec::new() };
    let table = &builder.arena.tables[slot as usize].table;
    let Some(exprs) = TableExprs::bound(table) else { return Vec::new() };
    let hides = builder.options.passes.has(Passes::HIDE_INVISIBLE);
    let indexed = |column: u32| {
        let usable =
            table.indexes.iter().filter(|i| i.is_ordered() && i.element().is_none() && !(i.invisible && hides));
        usable.flat_map(|i| i.parts.iter()).any(|p| p.column == column)
    };
    let with_index = exprs.generated.iter().filter(|(column, by)| indexed(*column) && !is_plain(by));
    let over_statement = |(column, by): &(u32, Expr)| {
        let id = rel.first + column;
        let part = table.columns.get(*column as usize).filter(|c| c.hidden);
        let ways = [Some(by), part.and_then(|part| without_cast(part, by))];
        let of = |by| Computed { rel: number, column: id, ty: builder.ty(id), by: over_columns_of(rel, by) };
        ways.map(|way| way.map(of)).into_iter().flatten()
    };
    with_index.flat_map(over_statement).collect()
}

/// What a functional key part makes a CHAR of, because the type of the expression is too long for an index:
/// `(CAST(doc->>'$.name' AS CHAR(30)) COLLATE utf8mb4_bin)` serves `doc->>'$.name' = 'x'`, where both compare by one
/// collation. Longer values are errors of a strict statement.
fn without_cast<'e>(part: &Column, by: &'e Expr) -> Option<&'e Expr> {
    let mut inner = by;
    while let ExprKind::Cast(arg) = &inner.kind {
        if !inner.ty.is_text() || !arg.ty.is_text() {
            return None;
        }
        inner = arg;
    }
    (!std::ptr::eq(inner, by) && inner.ty.collation == part.ty.collation && !is_plain(inner)).then_some(inner)
}

/// Nothing that has to be computed.
fn is_plain(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Column(_) | ExprKind::Literal(_) | ExprKind::Param(_))
}

/// An expression over the columns of a table is what a statement has.
pub(super) fn is_same(over: &Expr, found: &Expr, rel: &Rel) -> bool {
    let mut found = found.clone();
    comparable(&mut found);
    over_columns_of(rel, over).kind == found.kind
}

/// An expression over the columns of a table, in the form of [`comparable`], over those of the statement.
fn over_columns_of(rel: &Rel, over: &Expr) -> Expr {
    let mut over = over.clone();
    shift(&mut over, rel.first);
    comparable(&mut over);
    over
}

fn shift(e: &mut Expr, first: ColId) {
    match &mut e.kind {
        ExprKind::Column(n) => *n += first,
        _ => e.for_each_child_mut(|c| shift(c, first)),
    }
}

/// The form in which expressions are compared: what a statement's connection and its joins add is left out.
fn comparable(e: &mut Expr) {
    e.ty.nullable = true;
    if let ExprKind::Literal(Value::Str(text, collation)) = &mut e.kind
        && text.is_ascii()
    {
        *collation = CollationId::BINARY;
        e.ty.collation = CollationId::BINARY;
    }
    // A text that is converted has its collation from that.
    if let ExprKind::Cast(arg) = &mut e.kind
        && arg.ty.is_text()
        && arg.ty.collation.charset() == e.ty.collation.charset()
    {
        arg.ty.collation = e.ty.collation;
    }
    e.for_each_child_mut(comparable);
}

/// A column of type `column` has the values of an expression of type `by`, in what a comparison asks of them.
fn keeps(column: &SqlType, by: &SqlType) -> bool {
    let text = |ty: &SqlType| ty.is_text() && ty.id != TypeId::Char;
    if column.id.is_integer() && by.id.is_integer() {
        return column.unsigned == by.unsigned;
    }
    if text(column) && text(by) {
        return column.collation == by.collation;
    }
    if column.id == TypeId::Double && by.id == column.id && column.scale == SqlType::NOT_FIXED {
        return true;
    }
    SqlType { nullable: true, ..column.clone() } == SqlType { nullable: true, ..by.clone() }
}

fn replace<'c>(e: &mut Expr, all: &'c [Computed], real: &dyn Fn(usize) -> bool, found: &mut Vec<&'c Computed>) {
    if is_plain(e) {
        return;
    }
    let mut asked = None;
    for computed in all.iter().filter(|c| real(c.rel) && keeps(&c.ty, &e.ty)) {
        let asked = asked.get_or_insert_with(|| {
            let mut asked = e.clone();
            comparable(&mut asked);
            asked
        });
        if asked.kind == computed.by.kind {
            found.push(computed);
            *e = Expr { kind: ExprKind::Column(computed.column), ty: computed.ty.clone() };
            return;
        }
    }
}

/// Operands of comparisons, below AND, OR and NOT.
fn in_condition<'c>(e: &mut Expr, all: &'c [Computed], real: &dyn Fn(usize) -> bool, found: &mut Vec<&'c Computed>) {
    match &mut e.kind {
        ExprKind::And(parts) | ExprKind::Or(parts) => {
            parts.iter_mut().for_each(|part| in_condition(part, all, real, found));
        }
        ExprKind::Not(arg) => in_condition(arg, all, real, found),
        ExprKind::Compare { args, .. } => args.iter_mut().for_each(|arg| replace(arg, all, real, found)),
        ExprKind::Between { args, .. } => args.iter_mut().for_each(|arg| replace(arg, all, real, found)),
        ExprKind::In { arg, .. } | ExprKind::IsNull { arg, .. } => replace(arg, all, real, found),
        // Numbers are not always shown alike: ROUND(-0.04, 1) is -0.0.
        ExprKind::Call(def, args) if def.name == "LIKE" => {
            args.iter_mut().take(1).filter(|arg| arg.ty.is_text()).for_each(|arg| replace(arg, all, real, found));
        }
        _ => {}
    }
}

fn in_joins<'c>(from: &mut From, all: &'c [Computed], found: &mut Vec<&'c Computed>) {
    let From::Join { left, right, on, .. } = from else { return };
    let mut made_up = Vec::new();
    nullable(left, &mut made_up);
    nullable(right, &mut made_up);
    on.iter_mut().for_each(|e| in_condition(e, all, &|r| !made_up.contains(&r), found));
    in_joins(left, all, found);
    in_joins(right, all, found);
}

/// Relations whose rows an outer join makes up.
fn nullable(from: &From, out: &mut Vec<usize>) {
    let From::Join { left, right, kind, .. } = from else { return };
    nullable(left, out);
    match kind {
        FromJoin::Left => right.rels(out),
        FromJoin::Inner | FromJoin::Straight | FromJoin::Semi | FromJoin::Anti { .. } => nullable(right, out),
    }
}
