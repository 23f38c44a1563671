//! Conditions on elements of arrays that multi-valued indexes have: MEMBER OF, JSON_CONTAINS, JSON_OVERLAPS.

use crate::expr::{CompareOp, Expr, ExprKind, OfElements, SubqueryKind};
use crate::logical::{Block, From, FromJoin, Rel, RelKind};
use crate::make::constant;
use crate::optimize::array::Members;
use crate::optimize::block::computed;
use crate::optimize::build::Builder;
use crate::optimize::relset::RelSet;
use crate::options::Passes;
use crate::plan::TableExprs;
use crate::range::elements_of;
use gannet_schema::Table;
use gannet_types::charset::Charset;
use gannet_types::json::{self, Json};
use gannet_types::room::Room;
use gannet_types::{SqlType, TypeId, Value};

/// What a condition says of an array.
struct Said<'e> {
    /// The array.
    of: &'e Expr,
    /// What is looked for.
    wanted: &'e Expr,
    all: bool,
    single: bool,
    /// Elements are compared as this type; `None`: as they are.
    by: Option<&'e SqlType>,
}

/// Conditions of WHERE on an array that some index has are asked of the elements as the index has them, where what is
/// looked for is constant (MySQL: "substitute_gc", AND and OR and comparisons deep).
pub(super) fn as_indexed(builder: &Builder<'_>, block: &Block, e: &mut Expr) {
    match &mut e.kind {
        ExprKind::And(args) | ExprKind::Or(args) => args.iter_mut().for_each(|e| as_indexed(builder, block, e)),
        ExprKind::Compare { op, args, .. } if !matches!(op, CompareOp::Ne | CompareOp::NullSafeEq) => {
            args.iter_mut().for_each(|e| as_indexed(builder, block, e));
        }
        ExprKind::Call(..) => {
            let found = said(e).into_iter().find_map(|said| of_index(builder, block, e, &said));
            if let Some(test) = found {
                e.kind = ExprKind::OfElements(Box::new(test));
            }
        }
        _ => {}
    }
}

fn of_index(builder: &Builder<'_>, block: &Block, call: &Expr, said: &Said<'_>) -> Option<OfElements> {
    if !is_constant(builder, said.wanted) {
        return None;
    }
    let of_rel = |rel: &Rel| {
        let RelKind::Base(slot) = rel.kind else { return None };
        let table = &builder.arena.tables[slot as usize].table;
        let mut indexes = indexes_of(builder, rel, table, said.of);
        indexes.find(|(_, ty)| !said.single || class(ty) == class_of(said.wanted)).map(|(_, ty)| ty.clone())
    };
    let ty = block.rels.iter().find_map(of_rel)?;
    let ExprKind::Call(_, args) = &call.kind else { return None };
    let array = args.iter().position(|arg| std::ptr::eq(arg, said.of))?;
    Some(OfElements { call: call.clone(), array, wanted: document(said)?, ty })
}

/// The same for the conditions of semijoins, which were a subquery's WHERE.
pub(super) fn in_semijoins(builder: &Builder<'_>, block: &Block, from: &mut From) {
    let From::Join { left, right, kind, on } = from else { return };
    in_semijoins(builder, block, left);
    in_semijoins(builder, block, right);
    if matches!(kind, FromJoin::Semi | FromJoin::Anti { null_aware: false }) {
        on.iter_mut().for_each(|e| as_indexed(builder, block, e));
    }
}

/// A value is looked for with MEMBER OF only as one of the elements' class: of integers, decimals, or texts and dates.
fn class_of(wanted: &Expr) -> u8 {
    match &wanted.kind {
        ExprKind::Call(def, _) if def.name == "JSON BOOLEAN" => 0,
        ExprKind::Literal(Value::Json(stored)) if matches!(Json::decode_scalar(stored), Ok(Some(Json::Bool(_)))) => 0,
        _ => class(&wanted.ty),
    }
}

fn class(ty: &SqlType) -> u8 {
    match ty.id {
        id if id.is_integer() || matches!(id, TypeId::Year | TypeId::Bit) => 0,
        TypeId::Decimal => 1,
        TypeId::Float | TypeId::Double => 2,
        _ => 3,
    }
}

/// No column, of this block or of one around it.
fn is_constant(builder: &Builder<'_>, e: &Expr) -> bool {
    let correlated = |e: &Expr| match &e.kind {
        ExprKind::Column(_) | ExprKind::Register(_) => true,
        ExprKind::Subquery(s) => !builder.arena.subqueries[s.subplan as usize].free.is_empty(),
        _ => false,
    };
    is_known_at_open(builder, e) && !e.any(&mut |e| correlated(e))
}

/// The indexes of the relation, with the type of their elements, that have the array.
fn indexes_of<'t>(
    builder: &Builder<'_>,
    rel: &Rel,
    table: &'t Table,
    array: &Expr,
) -> impl Iterator<Item = (usize, &'t SqlType)> {
    let exprs = if table.indexes.iter().any(|i| i.element().is_some()) { TableExprs::bound(table) } else { None };
    let hides = builder.options.passes.has(Passes::HIDE_INVISIBLE);
    let of_index = |(index, definition): (usize, &'t gannet_schema::Index)| {
        let usable = !(definition.invisible && hides) && rel.hints.join >> index & 1 == 1;
        let ty = definition.element().filter(|_| usable)?;
        let column = table.array_part(index).map(|at| definition.parts[at].column);
        let by = exprs.as_ref()?.generated.iter().find(|(c, _)| Some(*c) == column).map(|(_, e)| e)?;
        // A text is made a document for the index only.
        let by = match &by.kind {
            ExprKind::Cast(text) if array.ty.id != TypeId::Json => text,
            _ => by,
        };
        computed::is_same(by, array, rel).then_some((index, ty))
    };
    table.indexes.iter().enumerate().filter_map(of_index).collect::<Vec<_>>().into_iter()
}

/// The conditions, given with their positions, that some index of the relation serves.
pub(super) fn of_conditions(
    builder: &Builder<'_>,
    (rel, own): (&Rel, RelSet),
    table: &Table,
    conditions: &[(usize, &Expr)],
    set_of: &dyn Fn(&Expr) -> RelSet,
) -> Vec<Members> {
    let mut all = Vec::new();
    if !table.indexes.iter().any(|i| i.element().is_some()) {
        return all;
    }
    for (condition, e) in conditions {
        for said in said(e) {
            let needs = set_of(said.wanted);
            if needs.intersects(own) || !is_known_at_open(builder, said.wanted) {
                continue;
            }
            let Some(document) = document(&said) else { continue };
            for (index, ty) in indexes_of(builder, rel, table, said.of) {
                if said.by.is_some_and(|by| by != ty) {
                    continue;
                }
                let exact = said.by.is_none();
                all.push(Members {
                    index,
                    condition: *condition,
                    document: document.clone(),
                    seen: seen(builder, &said).and_then(|json| elements_of(&json, ty, said.all, exact)),
                    all: said.all,
                    single: said.single,
                    exact,
                    needs,
                    source: match said.wanted.kind {
                        ExprKind::Column(id) => Some(id),
                        _ => None,
                    },
                });
            }
        }
    }
    all
}

fn said(e: &Expr) -> Vec<Said<'_>> {
    if let ExprKind::OfElements(test) = &e.kind {
        let mut all = said(&test.call);
        let ExprKind::Call(_, args) = &test.call.kind else { return Vec::new() };
        all.retain(|said| args.get(test.array).is_some_and(|array| std::ptr::eq(array, said.of)));
        all.iter_mut().for_each(|said| said.by = Some(&test.ty));
        return all;
    }
    let ExprKind::Call(def, args) = &e.kind else { return Vec::new() };
    let by = None;
    match (def.name, &**args) {
        ("MEMBER OF", [wanted, of]) => vec![Said { of, wanted, all: true, single: true, by }],
        ("JSON_CONTAINS", [of, wanted]) => vec![Said { of, wanted, all: true, single: false, by }],
        ("JSON_OVERLAPS", [a, b]) => {
            let one = |of, wanted| Said { of, wanted, all: false, single: false, by };
            vec![one(a, b), one(b, a)]
        }
        _ => Vec::new(),
    }
}

/// The expression has one value while the relation is read.
fn is_known_at_open(builder: &Builder<'_>, e: &Expr) -> bool {
    !builder.arena.varies(e)
        && !e.any(&mut |e| match &e.kind {
            ExprKind::Subquery(s) => !matches!(s.kind, SubqueryKind::Scalar),
            ExprKind::SetUserVar(..) | ExprKind::Default { .. } | ExprKind::Row(_) => true,
            _ => false,
        })
}

/// What is looked for as a document.
fn document(said: &Said<'_>) -> Option<Expr> {
    let call = |name: &str, args: Vec<Expr>| {
        let ty = SqlType { nullable: true, ..SqlType::new(TypeId::Json) };
        Some(Expr { kind: ExprKind::Call(gannet_functions::function(name)?, args.into()), ty })
    };
    if said.single {
        return call("JSON_ARRAY", vec![said.wanted.clone()]);
    }
    if said.wanted.ty.id == TypeId::Json {
        return Some(said.wanted.clone());
    }
    call("JSON_EXTRACT", vec![said.wanted.clone(), constant(Value::text("$"))])
}

/// The same, as far as the statement tells.
fn seen(builder: &Builder<'_>, said: &Said<'_>) -> Option<Json> {
    let text = |value: &Value| match value {
        Value::Str(bytes, c) => Some(c.charset().convert(bytes, Charset::Utf8mb4).bytes.into_owned()),
        _ => None,
    };
    if said.single {
        return Some(Json::Array(vec![match builder.seen(said.wanted)? {
            Value::Int(n) => Json::Int(n),
            Value::UInt(n) => Json::UInt(n),
            Value::Double(n) => Json::Double(n),
            Value::Decimal(n) => Json::Decimal(n),
            other => Json::String(String::from_utf8(text(&other)?).ok()?.into()),
        }]));
    }
    let wanted = match &said.wanted.kind {
        ExprKind::Cast(inner) if said.wanted.ty.id == TypeId::Json => inner,
        _ => said.wanted,
    };
    match builder.seen(wanted)? {
        Value::Json(stored) => Json::decode(&stored, Room::FREE).ok(),
        other => json::parse(&text(&other)?).ok(),
    }
}
