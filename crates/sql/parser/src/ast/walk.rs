//! The operands of an expression.

use super::{CastType, Expr, JsonOn};

impl Expr {
    /// Gives each direct operand to `f`, in the order written. Subqueries are not entered; columns named by other nodes
    /// than [`Expr::Column`] (`->`, DEFAULT(c), VALUES(c), MATCH) are not operands.
    pub fn for_each_child_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match self {
            Expr::Literal(_)
            | Expr::Param(_)
            | Expr::Column(_)
            | Expr::UserVar(_)
            | Expr::SysVar(_)
            | Expr::Exists(_)
            | Expr::Subquery(_)
            | Expr::JsonPath { .. }
            | Expr::Default
            | Expr::DefaultOf(_)
            | Expr::ValuesOf(_) => {}
            Expr::Assign { value: expr, .. }
            | Expr::Unary { expr, .. }
            | Expr::Is { expr, .. }
            | Expr::InSubquery { expr, .. }
            | Expr::Quantified { left: expr, .. }
            | Expr::ConvertUsing { expr, .. }
            | Expr::Collate { expr, .. }
            | Expr::Extract { expr, .. }
            | Expr::GetFormat { expr, .. }
            | Expr::WeightString { expr, .. } => f(expr),
            Expr::Binary { left, right, .. } | Expr::MemberOf { expr: left, array: right } => {
                f(left);
                f(right);
            }
            Expr::And(list) | Expr::Or(list) | Expr::Row(list) | Expr::Char { args: list, .. } => {
                list.iter_mut().for_each(f)
            }
            Expr::InList { expr, list, .. } => {
                f(expr);
                list.iter_mut().for_each(f);
            }
            Expr::Between { expr, low, high, .. } => {
                f(expr);
                f(low);
                f(high);
            }
            Expr::Like { expr, pattern, escape, .. } => {
                f(expr);
                f(pattern);
                escape.iter_mut().for_each(|e| f(e));
            }
            Expr::Regexp { expr, pattern, .. } => {
                f(expr);
                f(pattern);
            }
            Expr::Case(case) => {
                case.operand.iter_mut().for_each(&mut *f);
                for (when, then) in &mut case.whens {
                    f(when);
                    f(then);
                }
                case.otherwise.iter_mut().for_each(f);
            }
            Expr::Cast(cast) => f(&mut cast.expr),
            Expr::Call(call) => call.args.iter_mut().for_each(f),
            Expr::Aggregate(aggregate) => aggregate.args.iter_mut().for_each(f),
            Expr::Window(window) => window.args.iter_mut().for_each(f),
            Expr::DateArith(d) => {
                f(&mut d.date);
                f(&mut d.amount);
            }
            Expr::Trim(trim) => {
                trim.remove.iter_mut().for_each(&mut *f);
                f(&mut trim.expr);
            }
            Expr::TimestampFn { args, .. } => {
                f(&mut args.0);
                f(&mut args.1);
            }
            Expr::Match(m) => f(&mut m.against),
            Expr::JsonValue(v) => {
                f(&mut v.doc);
                f(&mut v.path);
                for on in [&mut v.on_empty, &mut v.on_error] {
                    if let Some(JsonOn::Default(e)) = on {
                        f(e);
                    }
                }
            }
        }
    }

    /// Its values are 0, 1 and NULL: a comparison, a predicate, a logical operator, TRUE and FALSE.
    pub fn is_boolean(&self) -> bool {
        use super::{LiteralValue, UnaryOp};
        match self {
            Expr::Literal(l) => matches!(l.value, LiteralValue::Bool(_)),
            Expr::Unary { op, .. } => *op == UnaryOp::Not,
            Expr::Binary { op, .. } => {
                op.is_comparison() || matches!(op, super::BinaryOp::Xor | super::BinaryOp::SoundsLike)
            }
            Expr::And(_)
            | Expr::Or(_)
            | Expr::Is { .. }
            | Expr::InList { .. }
            | Expr::InSubquery { .. }
            | Expr::Quantified { .. }
            | Expr::Exists(_)
            | Expr::Between { .. }
            | Expr::Like { .. }
            | Expr::Regexp { .. }
            | Expr::MemberOf { .. } => true,
            Expr::Call(call) => {
                let names = [
                    "isnull",
                    "regexp_like",
                    "json_valid",
                    "json_contains",
                    "json_contains_path",
                    "json_overlaps",
                    "json_schema_valid",
                    "is_uuid",
                ];
                names.iter().any(|n| call.name.text.eq_ignore_ascii_case(n))
            }
            _ => false,
        }
    }
}

impl CastType {
    /// Of a plain type without attributes.
    pub fn plain(base: super::BaseType) -> CastType {
        CastType::Type(super::DataType::new(base))
    }
}
