//! Expressions as text, for EXPLAIN and traces: columns by name, parameters by the value they were planned with.

use crate::expr::{Aggregate, Expr, ExprKind, SortKey, SubqueryKind};
use crate::plan::{Param, Plan};
use std::fmt::Write;

/// Names of the columns of a row.
pub(super) type Names = Vec<String>;

pub(super) struct Printer<'p> {
    pub(super) plan: &'p Plan,
    /// What each register holds, as far as the walk has come.
    pub(super) registers: Vec<String>,
}

/// How many bytes of a column's expression are printed inside another expression. The bound is needed because such a
/// text may repeat another text twice, and that one a third text twice.
const MAX_SHOWN: usize = 2048;

fn shown(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_SHOWN)]
}

impl Printer<'_> {
    pub(super) fn expr(&self, e: &Expr, row: &Names) -> String {
        let mut out = String::new();
        self.write(e, row, &mut out);
        out
    }

    pub(super) fn list(&self, all: &[Expr], row: &Names) -> String {
        all.iter().map(|e| self.expr(e, row)).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn keys(&self, keys: &[SortKey], row: &Names) -> String {
        let one = |k: &SortKey| format!("{}{}", self.expr(&k.expr, row), if k.descending { " DESC" } else { "" });
        keys.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn aggregate(&self, a: &Aggregate, row: &Names) -> String {
        let args = if a.args.is_empty() { "*".to_owned() } else { self.list(&a.args, row) };
        let distinct = if a.distinct { "distinct " } else { "" };
        format!("{}({distinct}{args})", a.def.name.to_lowercase())
    }

    fn joined(&self, args: &[Expr], word: &str, row: &Names, out: &mut String) {
        out.push('(');
        for (i, arg) in args.iter().enumerate() {
            if i > 0 {
                let _ = write!(out, " {word} ");
            }
            self.write(arg, row, out);
        }
        out.push(')');
    }

    /// A function, or the value around which the binder put one.
    fn call(&self, e: &Expr, name: &str, args: &[Expr], row: &Names) -> String {
        match (name, args) {
            ("FITTING TEXT" | "FIT BYTES", [text, ..]) => {
                format!("convert({} using {})", self.expr(text, row), e.ty.collation.charset().name())
            }
            ("STORED IN" | "TEMPORAL NUMBER" | "NEAR FLOAT", [value, ..]) => self.expr(value, row),
            _ => format!("{}({})", name.to_lowercase(), self.list(args, row)),
        }
    }

    fn write(&self, e: &Expr, row: &Names, out: &mut String) {
        match &e.kind {
            ExprKind::Literal(v) => {
                let mut text = Vec::new();
                v.write_text(&mut text);
                let text = String::from_utf8_lossy(&text);
                match v {
                    gannet_types::Value::Null => out.push_str("NULL"),
                    gannet_types::Value::Str(..) | gannet_types::Value::Json(_) => {
                        let _ = write!(out, "'{text}'");
                    }
                    _ => out.push_str(&text),
                }
            }
            ExprKind::Param(n) => {
                let _ = match self.plan.params.get(*n as usize) {
                    Some(Param::Marker { .. } | Param::Local { .. }) | None => write!(out, "?{n}"),
                    Some(Param::Literal { .. }) => write!(out, ":{n}"),
                };
            }
            ExprKind::Column(n) => out.push_str(shown(row.get(*n as usize).map_or("?", String::as_str))),
            ExprKind::Register(n) => {
                out.push_str(shown(self.registers.get(*n as usize).map_or("outer", String::as_str)));
            }
            ExprKind::And(args) => self.joined(args, "and", row, out),
            ExprKind::Or(args) => self.joined(args, "or", row, out),
            ExprKind::Not(arg) => {
                out.push_str("(not ");
                self.write(arg, row, out);
                out.push(')');
            }
            ExprKind::IsNull { arg, negated } => {
                out.push('(');
                self.write(arg, row, out);
                out.push_str(if *negated { " is not null)" } else { " is null)" });
            }
            ExprKind::Compare { op, args, .. } => self.joined(&args[..], op.symbol(), row, out),
            ExprKind::Between { negated, args, .. } => {
                out.push('(');
                self.write(&args[0], row, out);
                out.push_str(if *negated { " not between " } else { " between " });
                self.write(&args[1], row, out);
                out.push_str(" and ");
                self.write(&args[2], row, out);
                out.push(')');
            }
            ExprKind::In { negated, arg, list, .. } => {
                out.push('(');
                self.write(arg, row, out);
                let _ = write!(out, "{} in ({}))", if *negated { " not" } else { "" }, self.list(list, row));
            }
            ExprKind::Call(def, args) => {
                let word = def.name;
                if args.len() == 2 && !word.starts_with(|c: char| c.is_alphabetic()) || word == "DIV" || word == "XOR" {
                    return self.joined(args, &word.to_lowercase(), row, out);
                }
                if word == "LIKE" {
                    return self.joined(&args[..2], "like", row, out);
                }
                out.push_str(&self.call(e, word, args, row));
            }
            ExprKind::Case { operand, whens, otherwise, .. } => {
                out.push_str("(case");
                if let Some(operand) = operand {
                    out.push(' ');
                    self.write(operand, row, out);
                }
                for (when, then) in whens {
                    let _ = write!(out, " when {} then {}", self.expr(when, row), self.expr(then, row));
                }
                if let Some(otherwise) = otherwise {
                    let _ = write!(out, " else {}", self.expr(otherwise, row));
                }
                out.push_str(" end)");
            }
            ExprKind::Cast(arg) => {
                let _ = write!(out, "cast({} as {})", self.expr(arg, row), e.ty);
            }
            ExprKind::Subquery(s) => {
                let number = s.subplan + 1;
                let _ = match &s.kind {
                    SubqueryKind::Scalar | SubqueryKind::Column(_) => write!(out, "(subplan #{number})"),
                    SubqueryKind::Exists { negated } => {
                        write!(out, "{}exists(subplan #{number})", if *negated { "not " } else { "" })
                    }
                    SubqueryKind::In { needle, negated, .. } => {
                        let not = if *negated { " not" } else { "" };
                        write!(out, "({}{not} in (subplan #{number}))", self.list(needle, row))
                    }
                    SubqueryKind::Quantified { needle, op, all, .. } => {
                        let word = if *all { "all" } else { "any" };
                        write!(out, "({} {} {word} (subplan #{number}))", self.expr(needle, row), op.symbol())
                    }
                };
            }
            ExprKind::UserVar(name) => out.push_str(&format!("@{name}")),
            ExprKind::Routine(f, args) => out.push_str(&self.called(&f.routine, args, row)),
            ExprKind::SetUserVar(name, value) => out.push_str(&format!("(@{name} := {})", self.expr(value, row))),
            ExprKind::SysVar { name, .. } => {
                let _ = write!(out, "@@{name}");
            }
            ExprKind::Match(search) => self.search(search, row, out),
            ExprKind::OfElements(test) => out.push_str(&self.expr(&test.call, row)),
            ExprKind::Default { column, .. } => out.push_str(&format!("default({column})")),
            ExprKind::Row(args) => self.joined(args, ",", row, out),
        }
    }

    fn called(&self, routine: &gannet_schema::Routine, args: &[Expr], row: &Names) -> String {
        format!("{}.{}({})", routine.schema, routine.name, self.list(args, row))
    }

    fn search(&self, search: &crate::expr::Match, row: &Names, out: &mut String) {
        let mode = match search.mode {
            gannet_text::Mode::Natural => "",
            gannet_text::Mode::Boolean => " in boolean mode",
            gannet_text::Mode::Expansion => " with query expansion",
        };
        let against = self.list(&search.args[..1], row);
        let of = search.index.map_or_else(|| self.list(&search.args[1..], row), |index| format!("#{index}"));
        out.push_str(&format!("(match {of} against ({against}{mode}))"));
    }
}
