//! The expression that error 1690 blames, as MySQL prints it: columns with schema and table, operators in parentheses,
//! parameters with their values, variables of stored programs with their names and places.
//!
//! Plans know slots, not names. When an evaluation fails, the plan is walked until the operator is met that holds the
//! expression; what its row consists of is known by then. Nothing of this costs anything before something fails.

use crate::expr::{Expr, ExprKind};
use crate::physical::{JoinKind, Op, Physical};
use crate::plan::{InsertSource, Param, Plan, PlanKind, PlanTable};
use gannet_types::{SqlType, TypeId, Value};

/// What the columns of a row are, as far as that is known.
type Names = Vec<Option<String>>;

/// The text of `wanted`, which is part of the plan (the very expression, not one like it). `None`: it is not found, or
/// has parts that cannot be printed.
pub fn blamed(plan: &Plan, wanted: &Expr, parameters: &[Value]) -> Option<String> {
    let mut search = Search { plan, wanted, parameters, registers: vec![None; plan.registers as usize], row: None };
    search.plan();
    let row = search.row.take()?;
    search.text(wanted, &row)
}

/// Whether a column's expression is printed in its place: up to so many bytes, because such a text may repeat another
/// text twice, and that one a third text twice. Messages have 512 bytes.
fn is_short(text: &str) -> bool {
    text.len() <= 2048
}

/// A value as an operand: text in quotes, a negative number as the operator it was written with.
pub fn operand(value: &Value) -> String {
    let mut bytes = Vec::new();
    value.write_text(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Str(..) => format!("'{text}'"),
        Value::Date(_) => format!("DATE'{text}'"),
        Value::Time(..) => format!("TIME'{text}'"),
        Value::DateTime(..) => format!("TIMESTAMP'{text}'"),
        _ => text.strip_prefix('-').map_or_else(|| text.to_string(), |number| format!("-({number})")),
    }
}

struct Search<'p> {
    plan: &'p Plan,
    wanted: &'p Expr,
    parameters: &'p [Value],
    /// What each register holds, as far as the walk has come.
    registers: Names,
    /// The row of the expression, once it is found.
    row: Option<Names>,
}

impl Search<'_> {
    /// What drives a subplan comes before it, so that its registers are known.
    fn plan(&mut self) {
        let plan = self.plan;
        match &plan.kind {
            PlanKind::Query(root) => drop(self.node(root)),
            PlanKind::PointSelect(point) => drop(self.node(&point.query)),
            PlanKind::Insert(insert) => {
                let target = of_table(&plan.tables[insert.table as usize]);
                match &insert.source {
                    InsertSource::Query(root) => drop(self.node(root)),
                    InsertSource::Values(rows) => {
                        rows.iter().flatten().flatten().for_each(|e| self.look(e, &target));
                    }
                }
                let new = target.iter().map(|n| n.as_ref().map(|n| format!("values({n})")));
                let updated: Names = target.iter().cloned().chain(new).collect();
                insert.on_duplicate.iter().filter_map(|a| a.value.as_ref()).for_each(|e| self.look(e, &updated));
                insert.checks.iter().for_each(|c| self.look(&c.condition, &target));
            }
            PlanKind::Update(update) => {
                let row = self.node(&update.input);
                for target in &update.targets {
                    target.assignments.iter().filter_map(|a| a.value.as_ref()).for_each(|e| self.look(e, &row));
                    target.checks.iter().for_each(|c| self.look(&c.condition, &row));
                }
            }
            PlanKind::Delete(delete) => {
                let row = self.node(&delete.input);
                delete.recheck.iter().for_each(|e| self.look(e, &row));
            }
        }
        for table in &plan.tables {
            let Some(exprs) = &table.exprs else { continue };
            let row = of_table(table);
            exprs.defaults.iter().flatten().for_each(|e| self.look(e, &row));
            exprs.generated.iter().chain(&exprs.checks).for_each(|(_, e)| self.look(e, &row));
        }
        for subplan in plan.subplans.iter().rev() {
            self.node(&subplan.root);
        }
        for cte in &plan.ctes {
            self.node(&cte.base);
            cte.recursive.iter().for_each(|r| drop(self.node(r)));
        }
    }

    /// Is it this expression, or a part of it?
    fn look(&mut self, e: &Expr, row: &Names) {
        if self.row.is_some() {
            return;
        }
        if std::ptr::eq(e, self.wanted) {
            self.row = Some(row.clone());
            return;
        }
        if let ExprKind::Subquery(s) = &e.kind {
            for bind in &s.binds {
                let text = self.text(&bind.value, row);
                self.register(bind.register, text);
            }
        }
        e.for_each_child(|c| self.look(c, row));
    }

    fn register(&mut self, number: u32, text: Option<String>) {
        if let Some(slot) = self.registers.get_mut(number as usize) {
            *slot = text;
        }
    }

    /// Looks through a tree. Returns what its columns are.
    fn node(&mut self, node: &Physical) -> Names {
        match &node.op {
            Op::TableScan(scan) => {
                let all = of_table(&self.plan.tables[scan.table as usize]);
                let row: Names = scan.columns.iter().map(|c| all.get(*c as usize).cloned().flatten()).collect();
                node.for_each_expr(|e| self.look(e, &row));
                row
            }
            Op::NestedLoop { outer, inner, kind, binds, on } => {
                let left = self.node(outer);
                for bind in binds {
                    self.look(&bind.value, &left);
                    let text = self.text(&bind.value, &left);
                    self.register(bind.register, text);
                }
                let right = self.node(inner);
                let joined: Names = left.iter().chain(&right).cloned().collect();
                on.iter().for_each(|e| self.look(e, &joined));
                if matches!(kind, JoinKind::Semi | JoinKind::Anti) { left } else { joined }
            }
            Op::HashJoin { left, right, kind, keys, on, .. } => {
                let (left, right) = (self.node(left), self.node(right));
                for key in keys {
                    self.look(&key.left, &left);
                    self.look(&key.right, &right);
                }
                let joined: Names = left.iter().chain(&right).cloned().collect();
                on.iter().for_each(|e| self.look(e, &joined));
                if matches!(kind, JoinKind::Semi | JoinKind::Anti) { left } else { joined }
            }
            Op::Project { input, exprs, .. } => {
                let row = self.node(input);
                exprs.iter().for_each(|e| self.look(e, &row));
                exprs.iter().map(|e| self.text(e, &row)).collect()
            }
            Op::Aggregate { input, groups, carried, aggregates, groupings, .. } => {
                let row = self.node(input);
                node.for_each_expr(|e| self.look(e, &row));
                let keys = groups.iter().chain(carried).map(|e| self.text(e, &row));
                let calls = aggregates.iter().map(|a| {
                    let args: Option<Vec<String>> = a.args.iter().map(|e| self.text(e, &row)).collect();
                    let args = args.map(|a| if a.is_empty() { "0".to_owned() } else { a.join(",") })?;
                    let distinct = if a.distinct { "distinct " } else { "" };
                    Some(format!("{}({distinct}{args})", a.def.name.to_lowercase()))
                });
                keys.chain(calls).chain(groupings.iter().map(|_| None)).collect()
            }
            Op::Window { input, window } => {
                let mut row = self.node(input);
                node.for_each_expr(|e| self.look(e, &row));
                row.extend(window.functions.iter().map(|_| None));
                row
            }
            Op::Filter { input, .. } | Op::Sort { input, .. } | Op::Limit { input, .. } => {
                let row = self.node(input);
                node.for_each_expr(|e| self.look(e, &row));
                row
            }
            Op::Distinct { input, .. } => self.node(input),
            Op::Materialize { input, name, columns, .. } => {
                let row = self.node(input);
                match name.as_deref().filter(|n| !n.is_empty()) {
                    Some(table) => of_relation(table, columns),
                    None => row,
                }
            }
            Op::CteScan { name, columns, .. } => of_relation(name, columns),
            Op::SetOperation { inputs, .. } => {
                let mut rows = inputs.iter().map(|i| self.node(i)).collect::<Vec<_>>();
                rows.swap_remove(0)
            }
            Op::Values { .. } | Op::JsonTable { .. } => {
                node.for_each_expr(|e| self.look(e, &Names::new()));
                vec![None; node.types.len()]
            }
        }
    }

    fn parameter(&self, n: usize) -> Option<String> {
        Some(match self.plan.params.get(n) {
            Some(Param::Local { name, .. }) => name.to_string(),
            _ => operand(self.parameters.get(n)?),
        })
    }

    fn list(&self, all: &[Expr], between: &str, row: &Names) -> Option<String> {
        let texts: Option<Vec<String>> = all.iter().map(|e| self.text(e, row)).collect();
        Some(texts?.join(between))
    }

    fn text(&self, e: &Expr, row: &Names) -> Option<String> {
        Some(match &e.kind {
            // Integers are signed where they fit: this one was cast when the plan was made.
            ExprKind::Literal(value @ Value::UInt(n)) if i64::try_from(*n).is_ok() => {
                format!("cast({} as unsigned)", operand(value))
            }
            ExprKind::Literal(value) => operand(value),
            ExprKind::Param(n) => self.parameter(*n as usize)?,
            ExprKind::Column(n) => row.get(*n as usize)?.clone().filter(|text| is_short(text))?,
            ExprKind::Register(n) => self.registers.get(*n as usize)?.clone().filter(|text| is_short(text))?,
            ExprKind::And(args) => format!("({})", self.list(args, " and ", row)?),
            ExprKind::Or(args) => format!("({})", self.list(args, " or ", row)?),
            ExprKind::Not(arg) => format!("(not({}))", self.text(arg, row)?),
            ExprKind::IsNull { arg, negated } => {
                format!("({} is {}null)", self.text(arg, row)?, if *negated { "not " } else { "" })
            }
            ExprKind::Compare { op, args, .. } => {
                format!("({})", self.list(&args[..], &format!(" {} ", op.symbol()), row)?)
            }
            ExprKind::Between { negated, args, .. } => {
                let [value, low, high] = &**args;
                let not = if *negated { "not " } else { "" };
                let (value, low, high) = (self.text(value, row)?, self.text(low, row)?, self.text(high, row)?);
                format!("({value} {not}between {low} and {high})")
            }
            ExprKind::In { negated, arg, list, .. } => {
                let not = if *negated { "not " } else { "" };
                format!("({} {not}in ({}))", self.text(arg, row)?, self.list(list, ",", row)?)
            }
            ExprKind::Call(def, args) => match (def.name, &args[..]) {
                ("NEGATIVE OF", [only]) => format!("-({})", self.text(only, row)?),
                // What the binder put around it does not show.
                (name, [of, ..]) if AROUND.contains(&name) => self.text(of, row)?,
                ("DIV", [_, _]) => format!("({})", self.list(args, " DIV ", row)?),
                (name @ ("XOR" | "LIKE"), [_, _]) => {
                    format!("({})", self.list(args, &format!(" {} ", name.to_lowercase()), row)?)
                }
                (symbol, [_, _]) if !symbol.starts_with(char::is_alphabetic) => {
                    format!("({})", self.list(args, &format!(" {symbol} "), row)?)
                }
                (name, args) => format!("{}({})", name.to_lowercase(), self.list(args, ",", row)?),
            },
            ExprKind::Case { operand: None, whens, otherwise: Some(otherwise), .. } if whens.len() == 1 => {
                let (when, then) = &whens[0];
                format!("if({},{},{})", self.text(when, row)?, self.text(then, row)?, self.text(otherwise, row)?)
            }
            ExprKind::Case { operand, whens, otherwise, .. } => {
                self.case(operand.as_deref(), whens, otherwise.as_deref(), row)?
            }
            ExprKind::OfElements(test) => self.text(&test.call, row)?,
            ExprKind::Cast(arg) => format!("cast({} as {})", self.text(arg, row)?, cast_name(&e.ty)),
            ExprKind::UserVar(name) => format!("(@{})", quoted(name)),
            ExprKind::SysVar { name, .. } => format!("@@{name}"),
            ExprKind::SetUserVar(name, value) => format!("(@{}:={})", quoted(name), self.text(value, row)?),
            ExprKind::Default { table, column } => {
                let columns = of_table(self.plan.tables.get(*table as usize)?);
                format!("default({})", columns.get(*column as usize)?.as_ref()?)
            }
            ExprKind::Row(_) | ExprKind::Subquery(_) | ExprKind::Routine(..) | ExprKind::Match(_) => return None,
        })
    }

    fn case(
        &self,
        operand: Option<&Expr>,
        whens: &[(Expr, Expr)],
        otherwise: Option<&Expr>,
        row: &Names,
    ) -> Option<String> {
        let mut text = "(case".to_owned();
        if let Some(operand) = operand {
            text.push_str(&format!(" {}", self.text(operand, row)?));
        }
        for (when, then) in whens {
            text.push_str(&format!(" when {} then {}", self.text(when, row)?, self.text(then, row)?));
        }
        if let Some(otherwise) = otherwise {
            text.push_str(&format!(" else {}", self.text(otherwise, row)?));
        }
        Some(text + " end)")
    }
}

/// Functions that the binder puts around what a statement says.
const AROUND: [&str; 5] = ["FITTING TEXT", "FIT BYTES", "STORED IN", "TEMPORAL NUMBER", "NEAR FLOAT"];

/// The columns of a derived table or common table expression have its name.
fn of_relation(name: &str, columns: &[Box<str>]) -> Names {
    columns.iter().map(|c| Some(format!("{}.{}", quoted(name), quoted(c)))).collect()
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// The columns of a table, whose alias stands in its schema, too.
fn of_table(table: &PlanTable) -> Names {
    let prefix = format!("{}.{}", quoted(&table.table.schema), quoted(&table.alias));
    let text_of = |c: &gannet_schema::Column| match &c.generated {
        // The hidden column of a functional index is shown as the expression that it computes.
        Some(definition) if c.hidden => Some(definition.expression.to_string()),
        _ => Some(format!("{prefix}.{}", quoted(&c.name))),
    };
    table.table.columns.iter().map(text_of).collect()
}

/// A type as CAST names it.
fn cast_name(ty: &SqlType) -> String {
    let fraction = |word: &str| match ty.scale {
        0 => word.to_owned(),
        digits => format!("{word}({digits})"),
    };
    match ty.id {
        id if id.is_integer() => if ty.unsigned { "unsigned" } else { "signed" }.to_owned(),
        TypeId::Decimal => format!("decimal({},{})", ty.length, ty.scale),
        TypeId::Float => "float".to_owned(),
        TypeId::Double => "double".to_owned(),
        TypeId::Time => fraction("time"),
        TypeId::DateTime | TypeId::Timestamp => fraction("datetime"),
        TypeId::Date => "date".to_owned(),
        TypeId::Year => "year".to_owned(),
        TypeId::Json => "json".to_owned(),
        _ => format!("char charset {}", ty.collation.charset().name()),
    }
}
