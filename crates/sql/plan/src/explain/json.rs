//! FORMAT=JSON, in MySQL's first structure (`explain_json_format_version` = 1): the manual, "EXPLAIN Output Format".

use super::print::{Names, Printer};
use super::table::{Shown, TableFacts, first_select, no_tables};
use crate::expr::{Expr, ExprKind};
use crate::physical::{Access, JoinKind, Op, Physical, ROW_ID, SetOperation, SkipTake, TableScan};
use crate::plan::{InsertSource, Plan, PlanKind};
use std::fmt::Write;

/// A JSON value that is written as MySQL writes it: members in their order, two blanks a level.
enum Json {
    Object(Members),
    Array(Vec<Json>),
    Text(String),
    Number(u64),
    Bool(bool),
}

/// The hidden row id and the part of a row, as expressions show them.
const HIDDEN: [&str; 2] = ["`DB_ROW_ID`", "<part>"];

type Members = Vec<(&'static str, Json)>;

/// The plan as a JSON document.
pub fn json(plan: &Plan, parts: &Shown) -> String {
    let registers = vec!["outer".to_owned(); plan.registers as usize];
    let mut writer = Writer { plan, parts, printer: Printer { plan, registers }, later: Vec::new(), shown: Vec::new() };
    let block = match &plan.kind {
        PlanKind::Query(root) => writer.block(root, 1, None),
        PlanKind::PointSelect(point) => writer.block(&point.query, 1, None),
        PlanKind::Update(update) => writer.block(&update.input, 1, Some("update")),
        PlanKind::Delete(delete) => writer.block(&delete.input, 1, Some("delete")),
        PlanKind::Insert(insert) => {
            let table = &plan.tables[insert.table as usize];
            let verb = if insert.replace { "replace" } else { "insert" };
            let mut target = vec![(verb, Json::Bool(true)), ("table_name", text(&table.alias))];
            let parts = parts.get(&insert.table);
            target.extend(parts.map(|p| ("partitions", Json::Array(p.iter().map(|p| text(p)).collect()))));
            target.push(("access_type", text("ALL")));
            let mut members = vec![("select_id", Json::Number(1)), ("table", Json::Object(target))];
            if let InsertSource::Query(root) = &insert.source {
                members.push(("insert_from", Json::Object(writer.operations(root, None))));
            }
            members
        }
    };
    let mut out = String::new();
    write(&Json::Object(vec![("query_block", Json::Object(block))]), 0, &mut out);
    out
}

fn text(s: &str) -> Json {
    Json::Text(s.to_owned())
}

fn cost(c: f64) -> Json {
    Json::Text(format!("{c:.2}"))
}

fn write(value: &Json, depth: usize, out: &mut String) {
    let line = |out: &mut String, depth: usize| {
        let _ = write!(out, "\n{:width$}", "", width = depth * 2);
    };
    match value {
        Json::Number(n) => drop(write!(out, "{n}")),
        Json::Bool(b) => drop(write!(out, "{b}")),
        Json::Text(t) => quote(t, out),
        Json::Object(members) => {
            out.push('{');
            for (i, (name, value)) in members.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                line(out, depth + 1);
                let _ = write!(out, "\"{name}\": ");
                write_value(value, depth + 1, out);
            }
            line(out, depth);
            out.push('}');
        }
        Json::Array(values) => {
            out.push('[');
            for (i, value) in values.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                line(out, depth + 1);
                write_value(value, depth + 1, out);
            }
            line(out, depth);
            out.push(']');
        }
    }
}

/// Through a name of its own: the depth of a document is bounded by that of the statement.
fn write_value(value: &Json, depth: usize, out: &mut String) {
    write(value, depth, out);
}

fn quote(s: &str, out: &mut String) {
    out.push('"');
    for c in s.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => drop(write!(out, "\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// A table of a block's joins while its members are gathered.
struct Table {
    members: Members,
    /// The members behind the costs: columns, conditions, materialised queries.
    conditions: Vec<String>,
    columns: Vec<String>,
    behind: Members,
    /// Subqueries of its conditions.
    subqueries: Vec<u32>,
    rows: f64,
    cost: f64,
    width: u64,
}

struct Writer<'p> {
    plan: &'p Plan,
    parts: &'p Shown,
    printer: Printer<'p>,
    /// Subqueries of the block at hand that belong to no table.
    later: Vec<u32>,
    /// Common table expressions whose query was written.
    shown: Vec<u32>,
}

impl<'p> Writer<'p> {
    /// The members of a query block.
    fn block(&mut self, root: &'p Physical, id: u64, verb: Option<&'static str>) -> Members {
        let outer = std::mem::take(&mut self.later);
        let number = first_select(root).map_or(id, u64::from);
        let mut members = vec![("select_id", Json::Number(number))];
        let inside = self.operations(root, verb);
        let union = inside.first().is_some_and(|(name, _)| *name == "union_result");
        if union {
            members.clear();
        } else if !inside.iter().any(|(name, _)| *name == "message") {
            members.push(("cost_info", Json::Object(vec![("query_cost", cost(root.cost))])));
        }
        members.extend(inside);
        let later = std::mem::replace(&mut self.later, outer);
        if !later.is_empty() {
            let all = later.into_iter().filter_map(|n| self.subquery(n)).collect();
            members.push(("select_list_subqueries", Json::Array(all)));
        }
        members
    }

    fn subquery(&mut self, number: u32) -> Option<Json> {
        let sub = self.plan.subplans.get(number as usize)?;
        let block = self.block(&sub.root, u64::from(number) + 2, None);
        Some(Json::Object(vec![
            ("dependent", Json::Bool(sub.correlated)),
            ("cacheable", Json::Bool(!sub.correlated)),
            ("query_block", Json::Object(block)),
        ]))
    }

    /// What happens above a block's joins, and the joins.
    fn operations(&mut self, node: &'p Physical, verb: Option<&'static str>) -> Members {
        match &node.op {
            Op::Project { input, .. } | Op::Limit { input, .. } => {
                self.note_subqueries(node);
                self.operations(input, verb)
            }
            Op::Filter { input, .. } if !is_join(input) => {
                self.note_subqueries(node);
                self.operations(input, verb)
            }
            Op::Sort { input, .. } => {
                self.note_subqueries(node);
                let mut members = vec![("using_filesort", Json::Bool(true))];
                let own = (node.cost - input.cost).max(0.0);
                members.push(("cost_info", Json::Object(vec![("sort_cost", cost(own))])));
                members.extend(self.operations(input, verb));
                vec![("ordering_operation", Json::Object(members))]
            }
            Op::Aggregate { input, groups, streaming, .. } => {
                self.note_subqueries(node);
                if groups.is_empty() {
                    return self.operations(input, verb);
                }
                let mut members = Members::new();
                if !streaming {
                    members.push(("using_temporary_table", Json::Bool(true)));
                }
                members.push(("using_filesort", Json::Bool(false)));
                members.extend(self.operations(input, verb));
                vec![("grouping_operation", Json::Object(members))]
            }
            Op::Distinct { input, streaming } => {
                let mut members = Members::new();
                if !streaming {
                    members.push(("using_temporary_table", Json::Bool(true)));
                }
                members.push(("using_filesort", Json::Bool(false)));
                members.extend(self.operations(input, verb));
                vec![("duplicates_removal", Json::Object(members))]
            }
            Op::Window { input, window } => {
                self.note_subqueries(node);
                let names = window.functions.iter().map(|f| Json::Text(function_name(&f.kind)));
                let one = vec![("name", text("<unnamed window>")), ("functions", Json::Array(names.collect()))];
                let mut members = vec![("windows", Json::Array(vec![Json::Object(one)]))];
                members.extend(self.operations(input, verb));
                vec![("windowing", Json::Object(members))]
            }
            Op::SetOperation { inputs, kind, distinct } => self.set_operation(inputs, *kind, *distinct),
            Op::Values { .. } | Op::JsonTable { .. } if !matches!(node.op, Op::JsonTable { .. }) => {
                self.note_subqueries(node);
                vec![("message", text(no_tables(node)))]
            }
            _ => self.joins(node, verb),
        }
    }

    fn set_operation(&mut self, inputs: &'p [Physical], kind: SetOperation, distinct: bool) -> Members {
        let mut blocks = Vec::with_capacity(inputs.len());
        let mut numbers = Vec::with_capacity(inputs.len());
        for (i, input) in inputs.iter().enumerate() {
            let number = first_select(input).map_or(i as u64 + 1, u64::from);
            numbers.push(number.to_string());
            let block = self.block(input, number, None);
            blocks.push(Json::Object(vec![
                ("dependent", Json::Bool(false)),
                ("cacheable", Json::Bool(true)),
                ("query_block", Json::Object(block)),
            ]));
        }
        let (word, name) = match kind {
            SetOperation::Union => ("union", "union_result"),
            SetOperation::Intersect => ("intersect", "intersect_result"),
            SetOperation::Except => ("except", "except_result"),
        };
        let mut members = vec![("using_temporary_table", Json::Bool(distinct || kind != SetOperation::Union))];
        if distinct || kind != SetOperation::Union {
            members.push(("table_name", Json::Text(format!("<{word}{}>", numbers.join(",")))));
            members.push(("access_type", text("ALL")));
        }
        members.push(("query_specifications", Json::Array(blocks)));
        vec![(name, Json::Object(members))]
    }

    /// A recursive common table expression: what it begins with, and what is repeated.
    fn rounds(&mut self, base: &'p Physical, rounds: &'p Physical, number: u64) -> Members {
        let mut block = |node, number, recursive: bool| {
            let mut block = self.block(node, number, None);
            if recursive {
                block.insert(1, ("recursive", Json::Bool(true)));
            }
            let members = vec![
                ("dependent", Json::Bool(false)),
                ("cacheable", Json::Bool(true)),
                ("query_block", Json::Object(block)),
            ];
            Json::Object(members)
        };
        let next = first_select(rounds).map_or(number + 1, u64::from);
        let blocks = vec![block(base, number, false), block(rounds, next, true)];
        let members = vec![("using_temporary_table", Json::Bool(false)), ("query_specifications", Json::Array(blocks))];
        vec![("union_result", Json::Object(members))]
    }

    fn joins(&mut self, node: &'p Physical, verb: Option<&'static str>) -> Members {
        let mut tables = Vec::new();
        let mut ends = Vec::new();
        if ends_of_indexes(node, &mut ends) && ends.windows(2).all(|pair| pair[0].1 == pair[1].1) {
            for (scan, _) in ends {
                self.tables(scan, None, &mut tables);
            }
        } else {
            self.tables(node, None, &mut tables);
        }
        let mut before = 0.0;
        let mut all: Vec<Json> = Vec::with_capacity(tables.len());
        for (i, table) in tables.into_iter().enumerate() {
            let verb = verb.filter(|_| i == 0);
            all.push(self.finish(table, verb, &mut before));
        }
        match all.len() {
            0 => vec![("message", text(no_tables(node)))],
            1 => all.pop().into_iter().map(|t| ("table", t)).collect(),
            _ => {
                let wrapped = all.into_iter().map(|t| Json::Object(vec![("table", t)])).collect();
                vec![("nested_loop", Json::Array(wrapped))]
            }
        }
    }

    fn finish(&mut self, table: Table, verb: Option<&'static str>, before: &mut f64) -> Json {
        let mut members: Members = verb.into_iter().map(|v| (v, Json::Bool(true))).collect();
        members.extend(table.members);
        let evaluation = table.rows * 0.1;
        let total = table.cost.max(*before);
        let reading = (total - *before - evaluation).max(0.0);
        *before = total;
        members.push((
            "cost_info",
            Json::Object(vec![
                ("read_cost", cost(reading)),
                ("eval_cost", cost(evaluation)),
                ("prefix_cost", cost(total)),
                ("data_read_per_join", Json::Text(bytes(table.rows * table.width as f64))),
            ]),
        ));
        if !table.columns.is_empty() {
            members.push(("used_columns", Json::Array(table.columns.into_iter().map(Json::Text).collect())));
        }
        if !table.conditions.is_empty() {
            let all = match table.conditions.len() {
                1 => table.conditions.concat(),
                _ => format!("({})", table.conditions.join(" and ")),
            };
            members.push(("attached_condition", Json::Text(all)));
        }
        members.extend(table.behind);
        let subqueries: Vec<Json> = table.subqueries.into_iter().filter_map(|n| self.subquery(n)).collect();
        if !subqueries.is_empty() {
            members.push(("attached_subqueries", Json::Array(subqueries)));
        }
        Json::Object(members)
    }

    /// The tables of a join in the order in which they are read. Returns the names of the node's columns.
    fn tables(&mut self, node: &'p Physical, join: Option<(&'static str, Json)>, out: &mut Vec<Table>) -> Names {
        let start = out.len();
        let names = match &node.op {
            Op::TableScan(scan) => self.scan(node, scan, join, out),
            Op::NestedLoop { outer, inner, kind, binds, on } => {
                let mut names = self.tables(outer, join, out);
                for bind in binds {
                    let name = self.printer.expr(&bind.value, &names);
                    if let Some(slot) = self.printer.registers.get_mut(bind.register as usize) {
                        *slot = name;
                    }
                }
                let word = match kind {
                    JoinKind::Semi => Some(("first_match", Json::Text(out.last().map_or(String::new(), name_of)))),
                    JoinKind::Anti => Some(("not_exists", Json::Bool(true))),
                    _ => None,
                };
                let inner = self.tables(inner, word, out);
                let width = names.len();
                names.extend(inner);
                self.attach(on.as_ref(), &names, out);
                if matches!(kind, JoinKind::Semi | JoinKind::Anti) {
                    names.truncate(width);
                }
                names
            }
            Op::HashJoin { left, right, kind, keys, on, .. } => {
                let mut names = self.tables(left, join, out);
                let right = self.tables(right, Some(("using_join_buffer", text("hash join"))), out);
                for key in keys {
                    let sign = if key.null_safe { "<=>" } else { "=" };
                    let left = self.printer.expr(&key.left, &names);
                    let text = format!("({} {sign} {left})", self.printer.expr(&key.right, &right));
                    if let Some(table) = out.last_mut() {
                        table.conditions.push(text);
                    }
                }
                let width = names.len();
                names.extend(right);
                self.attach(on.as_ref(), &names, out);
                if matches!(kind, JoinKind::Semi | JoinKind::Anti) {
                    names.truncate(width);
                }
                names
            }
            Op::Filter { input, predicate, .. } => {
                let names = self.tables(input, join, out);
                self.attach(Some(predicate), &names, out);
                names
            }
            Op::Project { input, exprs, .. } => {
                let names = self.tables(input, join, out);
                self.note_subqueries(node);
                exprs.iter().map(|e| self.printer.expr(e, &names)).collect()
            }
            Op::Materialize { input, name, columns, .. } => {
                let number = first_select(input).map_or(2, u64::from);
                let title = name.as_ref().filter(|n| !n.is_empty()).map_or("<subquery>", |n| n);
                let block = self.block(input, number, None);
                let behind = vec![
                    ("using_temporary_table", Json::Bool(true)),
                    ("dependent", Json::Bool(false)),
                    ("cacheable", Json::Bool(true)),
                    ("query_block", Json::Object(block)),
                ];
                let behind = vec![("materialized_from_subquery", Json::Object(behind))];
                self.derived(node, title, columns, join, behind, out)
            }
            Op::CteScan { cte, columns, .. } => {
                let plan = self.plan;
                let Some(source) = plan.ctes.get(*cte as usize) else { return Names::new() };
                let mut behind = Members::new();
                let first = !self.shown.contains(cte);
                if first {
                    self.shown.push(*cte);
                    let mut inside = vec![("using_temporary_table", Json::Bool(true))];
                    inside.push(("dependent", Json::Bool(false)));
                    inside.push(("cacheable", Json::Bool(true)));
                    let number = first_select(&source.base).map_or(2, u64::from);
                    let block = match &source.recursive {
                        None => self.block(&source.base, number, None),
                        Some(rounds) => self.rounds(&source.base, rounds, number),
                    };
                    inside.push(("query_block", Json::Object(block)));
                    behind.push(("materialized_from_subquery", Json::Object(inside)));
                }
                self.derived(node, &source.name, columns, join, behind, out)
            }
            Op::JsonTable { table, .. } => {
                let behind = vec![("table_function", text("json_table")), ("using_temporary_table", Json::Bool(true))];
                self.derived(node, &table.name, &[], join, behind, out)
            }
            _ => {
                // A derived table whose rows are not kept.
                let number = first_select(node).map_or(2, u64::from);
                let block = self.block(node, number, None);
                let behind = vec![(
                    "materialized_from_subquery",
                    Json::Object(vec![
                        ("using_temporary_table", Json::Bool(true)),
                        ("dependent", Json::Bool(false)),
                        ("cacheable", Json::Bool(true)),
                        ("query_block", Json::Object(block)),
                    ]),
                )];
                self.derived(node, "<derived>", &[], join, behind, out)
            }
        };
        if let Some(table) = out[start..].last_mut() {
            (table.rows, table.cost) = (node.rows, node.cost.max(table.cost));
        }
        names
    }

    fn derived(
        &mut self,
        node: &Physical,
        name: &str,
        columns: &[Box<str>],
        join: Option<(&'static str, Json)>,
        behind: Members,
        out: &mut Vec<Table>,
    ) -> Names {
        let rows = node.rows.max(0.0).round() as u64;
        let mut members = vec![
            ("table_name", text(name)),
            ("access_type", text("ALL")),
            ("rows_examined_per_scan", Json::Number(rows)),
            ("rows_produced_per_join", Json::Number(rows)),
            ("filtered", text("100.00")),
        ];
        members.extend(join);
        out.push(Table {
            members,
            conditions: Vec::new(),
            columns: Vec::new(),
            behind,
            subqueries: Vec::new(),
            rows: node.rows,
            cost: node.cost,
            width: 8 * node.types.len() as u64,
        });
        let column = |i: usize| columns.get(i).map_or_else(|| (i + 1).to_string(), ToString::to_string);
        (0..node.types.len()).map(|i| format!("`{name}`.`{}`", column(i))).collect()
    }

    fn scan(
        &mut self,
        node: &Physical,
        scan: &TableScan,
        join: Option<(&'static str, Json)>,
        out: &mut Vec<Table>,
    ) -> Names {
        let entry = &self.plan.tables[scan.table as usize];
        let table = &entry.table;
        let facts = TableFacts::of(self.plan, scan);
        let column = |c: &u32| match table.columns.get(*c as usize) {
            Some(column) if column.hidden => column.shown().to_owned(),
            Some(column) => format!("`{}`.`{}`.`{}`", table.schema, entry.alias, column.name),
            None if *c >= ROW_ID => format!("`{}`.{}", entry.alias, HIDDEN[(*c - ROW_ID) as usize]),
            None => "?".to_owned(),
        };
        let names: Names = scan.columns.iter().map(column).collect();
        let list = |words: Vec<&str>| Json::Array(words.into_iter().map(text).collect());
        let mut members = vec![("table_name", text(&scan.explain.name))];
        members.extend(self.parts.get(&scan.table).map(|p| ("partitions", list(p.iter().map(|p| &**p).collect()))));
        members.push(("access_type", text(facts.access)));
        if !facts.possible.is_empty() {
            members.push(("possible_keys", list(facts.possible.clone())));
        }
        if let Some(index) = facts.key {
            members.push(("key", text(&index.name)));
            let parts = index.parts.iter().take(facts.parts);
            members.push(("used_key_parts", list(parts.map(|p| table.columns[p.column as usize].shown()).collect())));
            members.push(("key_length", Json::Text(scan.explain.key_len.to_string())));
        }
        if let Some(merged) = &facts.merged {
            members.push(("key", text(merged)));
            members.extend(facts.key_len(0).map(|l| ("key_length", Json::Text(l))));
        }
        if !scan.explain.refs.is_empty() {
            members.push(("ref", list(scan.explain.refs.iter().map(|r| &**r).collect())));
        }
        members.push(("rows_examined_per_scan", Json::Number(facts.rows)));
        members.push(("rows_produced_per_join", Json::Number(node.rows.max(0.0).round() as u64)));
        members.push(("filtered", Json::Text(format!("{:.2}", facts.filtered))));
        if scan.reverse {
            members.push(("backward_index_scan", Json::Bool(true)));
        }
        if let Some(filter) = &scan.index_filter {
            members.push(("index_condition", Json::Text(self.printer.expr(filter, &names))));
        }
        match &scan.access {
            Access::Skip(skip) if skip.take == SkipTake::All => {
                members.push(("using_index_for_skip_scan", Json::Bool(true)));
            }
            Access::Skip(_) => members.push(("using_index_for_group_by", Json::Bool(true))),
            _ if scan.covering => members.push(("using_index", Json::Bool(true))),
            _ => {}
        }
        members.extend(join);
        let used = &entry.columns_used;
        let names_of = |c: &u32| table.columns.get(*c as usize).map(|c| c.name.to_string());
        out.push(Table {
            members,
            conditions: Vec::new(),
            columns: used.iter().filter_map(names_of).collect(),
            behind: Members::new(),
            subqueries: Vec::new(),
            rows: node.rows,
            cost: node.cost,
            width: scan.columns.iter().filter_map(|c| table.columns.get(*c as usize)).map(TableFacts::width).sum(),
        });
        self.attach(scan.filter.as_ref(), &names, out);
        names
    }

    /// A condition belongs to the last table that it needs.
    fn attach(&mut self, condition: Option<&Expr>, names: &Names, out: &mut [Table]) {
        let (Some(condition), Some(table)) = (condition, out.last_mut()) else { return };
        subqueries(condition, &mut table.subqueries);
        table.conditions.push(self.printer.expr(condition, names));
    }

    fn note_subqueries(&mut self, node: &'p Physical) {
        node.for_each_expr(|e| subqueries(e, &mut self.later));
    }
}

fn name_of(table: &Table) -> String {
    let name = table.members.iter().find(|(name, _)| *name == "table_name");
    match name {
        Some((_, Json::Text(name))) => name.clone(),
        _ => String::new(),
    }
}

fn function_name(kind: &crate::physical::WindowKind) -> String {
    use crate::physical::WindowKind as K;
    let name = match kind {
        K::RowNumber => "row_number",
        K::Rank => "rank",
        K::DenseRank => "dense_rank",
        K::PercentRank => "percent_rank",
        K::CumeDist => "cume_dist",
        K::Ntile => "ntile",
        K::Lag => "lag",
        K::Lead => "lead",
        K::FirstValue => "first_value",
        K::LastValue => "last_value",
        K::NthValue => "nth_value",
        K::Aggregate(def) => return def.name.to_lowercase(),
    };
    name.to_owned()
}

/// The node reads the ends of indexes side by side, for MIN and MAX. Gives the scans, each with the number of its
/// SELECT: those of derived tables have different ones.
fn ends_of_indexes<'p>(node: &'p Physical, ends: &mut Vec<(&'p Physical, u32)>) -> bool {
    match &node.op {
        Op::NestedLoop { outer, inner, .. } => ends_of_indexes(outer, ends) && ends_of_indexes(inner, ends),
        Op::Aggregate { input, groups, .. } if groups.is_empty() => match &input.op {
            Op::Limit { input, .. } => match &input.op {
                Op::TableScan(scan) => {
                    ends.push((input, scan.explain.select));
                    true
                }
                _ => false,
            },
            _ => false,
        },
        _ => false,
    }
}

fn is_join(node: &Physical) -> bool {
    match &node.op {
        Op::TableScan(_)
        | Op::NestedLoop { .. }
        | Op::HashJoin { .. }
        | Op::Materialize { .. }
        | Op::CteScan { .. }
        | Op::JsonTable { .. } => true,
        Op::Filter { input, .. } => is_join(input),
        _ => false,
    }
}

/// As MySQL prints `data_read_per_join`.
fn bytes(n: f64) -> String {
    let n = n as u64;
    match n {
        0..1024 => n.to_string(),
        1024..0x10_0000 => format!("{}K", n >> 10),
        0x10_0000..0x4000_0000 => format!("{}M", n >> 20),
        _ => format!("{}G", n >> 30),
    }
}

fn subqueries(e: &Expr, out: &mut Vec<u32>) {
    if let ExprKind::Subquery(s) = &e.kind
        && !out.contains(&s.subplan)
    {
        out.push(s.subplan);
    }
    e.for_each_child(|c| subqueries(c, out));
}
