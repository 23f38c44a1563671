//! Conditions on elements of arrays that multi-valued indexes have: MEMBER OF, JSON_CONTAINS, JSON_OVERLAPS.

use crate::expr::{Expr, ExprKind, SubqueryKind};
use crate::logical::Rel;
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
    let Some(exprs) = TableExprs::bound(table) else { return all };
    for (condition, e) in conditions {
        for said in said(e) {
            let needs = set_of(said.wanted);
            if needs.intersects(own) || !is_known_at_open(builder, said.wanted) {
                continue;
            }
            let Some(document) = document(&said) else { continue };
            for (index, definition) in table.indexes.iter().enumerate() {
                let invisible = definition.invisible && builder.options.passes.has(Passes::HIDE_INVISIBLE);
                let Some(ty) = definition.element().filter(|_| !invisible && rel.hints.join >> index & 1 == 1) else {
                    continue;
                };
                let column = table.array_part(index).map(|at| definition.parts[at].column);
                let array = exprs.generated.iter().find(|(c, _)| Some(*c) == column).map(|(_, e)| e);
                if !array.is_some_and(|array| computed::is_same(array, said.of, rel)) {
                    continue;
                }
                all.push(Members {
                    index,
                    condition: *condition,
                    document: document.clone(),
                    seen: seen(builder, &said).and_then(|json| elements_of(&json, ty, said.all)),
                    all: said.all,
                    single: said.single,
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
    let ExprKind::Call(def, args) = &e.kind else { return Vec::new() };
    match (def.name, &**args) {
        ("MEMBER OF", [wanted, of]) => vec![Said { of, wanted, all: true, single: true }],
        ("JSON_CONTAINS", [of, wanted]) => vec![Said { of, wanted, all: true, single: false }],
        ("JSON_OVERLAPS", [a, b]) => {
            let one = |of, wanted| Said { of, wanted, all: false, single: false };
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
