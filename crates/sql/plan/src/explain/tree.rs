//! FORMAT=TREE.

use super::Actual;
use super::print::{Names, Printer};
use crate::physical::{
    Access, Interval, JoinKind, KeyValue, LockStrength, LockWait, MembersAccess, MergeKind, MergePart, Op, Physical,
    ROW_ID, RangeProduct, Ranges, SearchAccess, SetOperation, SkipTake, TableScan,
};
use crate::plan::{InsertSource, Plan, PlanKind};
use std::collections::HashMap;
use std::fmt::Write;

/// The plan as a tree of lines. `estimates`: with costs and row counts.
pub fn tree(plan: &Plan, estimates: bool) -> String {
    write(plan, estimates, None)
}

/// The plan with what its operators did (EXPLAIN ANALYZE).
pub fn analyzed(plan: &Plan, actual: &dyn Fn(&Physical) -> Option<Actual>) -> String {
    write(plan, true, Some(actual))
}

fn write(plan: &Plan, estimates: bool, actual: Option<&dyn Fn(&Physical) -> Option<Actual>>) -> String {
    let registers = vec!["outer".to_owned(); plan.registers as usize];
    let printer = Printer { plan, registers };
    let mut tree = Tree {
        printer,
        out: String::new(),
        estimates,
        actual,
        shown: Vec::new(),
        grouped: false,
        names: HashMap::new(),
    };
    match &plan.kind {
        PlanKind::Query(root) => drop(tree.node(root, 0)),
        PlanKind::PointSelect(point) => {
            tree.line(0, "Point select", None);
            tree.node(&point.query, 1);
        }
        PlanKind::Insert(insert) => {
            let table = &plan.tables[insert.table as usize];
            let verb = if insert.replace { "Replace into" } else { "Insert into" };
            tree.line(0, &format!("{verb} {}", table.alias), None);
            match &insert.source {
                InsertSource::Query(root) => drop(tree.node(root, 1)),
                _ => tree.line(1, "Rows fetched before execution", None),
            }
        }
        PlanKind::Update(update) => {
            let names: Vec<&str> = update.targets.iter().map(|t| &*plan.tables[t.table as usize].alias).collect();
            let how = if update.collect_first { " (collect keys first)" } else { "" };
            tree.line(0, &format!("Update {}{how}", names.join(", ")), None);
            tree.node(&update.input, 1);
        }
        PlanKind::Delete(delete) => {
            let names: Vec<&str> = delete.targets.iter().map(|(t, _)| &*plan.tables[*t as usize].alias).collect();
            tree.line(0, &format!("Delete from {}", names.join(", ")), None);
            tree.node(&delete.input, 1);
        }
    }
    for (i, cte) in plan.ctes.iter().enumerate() {
        tree.line(0, &format!("CTE #{} {}", i + 1, cte.name), None);
        tree.node(&cte.base, 1);
        if let Some(recursive) = &cte.recursive {
            tree.line(1, "Repeat until empty", None);
            tree.node(recursive, 2);
        }
    }
    for (i, sub) in plan.subplans.iter().enumerate() {
        let how = if sub.correlated { "run for each row" } else { "run once" };
        tree.line(0, &format!("Subplan #{} ({how})", i + 1), None);
        tree.node(&sub.root, 1);
    }
    tree.out
}

struct Tree<'p> {
    printer: Printer<'p>,
    out: String,
    estimates: bool,
    actual: Option<&'p dyn Fn(&Physical) -> Option<Actual>>,
    shown: Vec<u32>,
    /// Names of the columns of nodes, by where they are, as far as they were asked for.
    names: HashMap<usize, Names>,
    /// The scan at hand is below a grouping.
    grouped: bool,
}

impl Tree<'_> {
    fn line(&mut self, depth: usize, text: &str, node: Option<&Physical>) {
        let _ = write!(self.out, "{:width$}-> {text}", "", width = depth * 4);
        if let Some(node) = node.filter(|_| self.estimates) {
            self.figures(node, node.rows, |a| a.rows);
        }
        self.out.push('\n');
    }

    /// Estimates, and averages of a run; `rows` of the latter are those `of` the operator's figures.
    fn figures(&mut self, node: &Physical, estimate: f64, of: impl Fn(&Actual) -> u64) {
        let _ = write!(self.out, "  (cost={:.2} rows={})", node.cost, rows(estimate));
        match self.actual.map(|actual| actual(node)) {
            None => {}
            Some(None) => self.out.push_str(" (never executed)"),
            Some(Some(a)) => {
                let n = a.loops.max(1) as f64;
                let (first, last) = (a.first_ns as f64 / n / 1e6, a.total_ns as f64 / n / 1e6);
                let (first, last, rows) = (short(first), short(last), short(of(&a) as f64 / n));
                let _ = write!(self.out, " (actual time={first}..{last} rows={rows} loops={})", a.loops);
            }
        }
    }

    /// Writes a node and what is below. Returns the names of its columns.
    fn node(&mut self, node: &Physical, depth: usize) -> Names {
        match &node.op {
            Op::TableScan(scan) => self.scan(node, scan, depth),
            Op::Values { rows, reason } => {
                let text = match (reason, rows.len()) {
                    (Some(reason), _) => format!("Zero rows ({reason})"),
                    (None, 1) if rows[0].is_empty() => "One row".to_owned(),
                    (None, n) => format!("Rows fetched before execution: {n}"),
                };
                self.line(depth, &text, Some(node));
                (0..node.types.len()).map(|i| format!("column_{i}")).collect()
            }
            Op::JsonTable { table, .. } => {
                self.line(depth, "Materialize table function", Some(node));
                (0..table.width).map(|i| format!("column_{i}")).collect()
            }
            Op::NestedLoop { .. } => self.nested_loop(node, depth),
            Op::HashJoin { .. } => self.hash_join(node, depth),
            Op::Filter { input, predicate, .. } => {
                let names = self.ahead(input);
                let text = format!("Filter: {}", self.printer.expr(predicate, &names));
                self.line(depth, &text, Some(node));
                self.node(input, depth + 1)
            }
            Op::Project { input, exprs, .. } => {
                let names = self.ahead(input);
                let list: Names = exprs.iter().map(|e| self.printer.expr(e, &names)).collect();
                self.line(depth, &format!("Project: {}", list.join(", ")), Some(node));
                self.node(input, depth + 1);
                list
            }
            Op::Sort { input, keys, limit } => {
                let names = self.ahead(input);
                let mut text = format!("Sort: {}", self.printer.keys(keys, &names));
                if let Some(limit) = limit {
                    let _ =
                        write!(text, ", limit input to {} row(s) per chunk", self.printer.expr(&limit.limit, &names));
                }
                self.line(depth, &text, Some(node));
                self.node(input, depth + 1)
            }
            Op::Limit { input, limit, offset, .. } => {
                let names = Names::new();
                let mut text = String::from("Limit:");
                if let Some(limit) = limit {
                    let _ = write!(text, " {} row(s)", self.printer.expr(limit, &names));
                }
                if let Some(offset) = offset {
                    let _ = write!(text, ", offset {}", self.printer.expr(offset, &names));
                }
                self.line(depth, &text, Some(node));
                self.node(input, depth + 1)
            }
            Op::Aggregate { .. } => self.aggregate(node, depth),
            Op::Distinct { input, .. } => {
                self.line(depth, "Deduplicate", Some(node));
                self.node(input, depth + 1)
            }
            Op::SetOperation { inputs, kind, distinct } => {
                let word = match (kind, distinct) {
                    (SetOperation::Union, true) => "Union materialize with deduplication",
                    (SetOperation::Union, false) => "Append",
                    (SetOperation::Intersect, true) => "Intersect materialize with deduplication",
                    (SetOperation::Intersect, false) => "Intersect all materialize",
                    (SetOperation::Except, true) => "Except materialize with deduplication",
                    (SetOperation::Except, false) => "Except all materialize",
                };
                self.line(depth, word, Some(node));
                let mut names = Names::new();
                for input in inputs {
                    let of_input = self.node(input, depth + 1);
                    if names.is_empty() {
                        names = of_input;
                    }
                }
                names
            }
            Op::Materialize { input, name, columns, .. } => {
                self.line(depth, "Materialize", Some(node));
                let names = self.node(input, depth + 1);
                match name {
                    Some(name) if !name.is_empty() => columns.iter().map(|c| format!("{name}.{c}")).collect(),
                    _ => names,
                }
            }
            Op::CteScan { cte, name, columns } => {
                let source = self.printer.plan.ctes.get(*cte as usize).map_or("?", |c| &*c.name).to_owned();
                self.line(depth, &format!("Scan of CTE {source}"), Some(node));
                columns.iter().map(|c| format!("{name}.{c}")).collect()
            }
            Op::Window { input, window } => {
                let names = self.ahead(input);
                let mut text = String::from("Window aggregate");
                if !window.partition.is_empty() {
                    let _ = write!(text, ", partition by {}", self.printer.list(&window.partition, &names));
                }
                if !window.order.is_empty() {
                    let _ = write!(text, ", order by {}", self.printer.keys(&window.order, &names));
                }
                self.line(depth, &text, Some(node));
                let mut names = self.node(input, depth + 1);
                names.extend((0..window.functions.len()).map(|i| format!("window_{i}")));
                names
            }
        }
    }

    /// Names a node's columns would have, without writing it.
    fn ahead(&mut self, node: &Physical) -> Names {
        // Writing a node needs the names below it first, so each node would be visited once for each node above it.
        let place = std::ptr::from_ref(node) as usize;
        if let Some(names) = self.names.get(&place) {
            return names.clone();
        }
        let written = std::mem::take(&mut self.out);
        let registers = self.printer.registers.clone();
        let shown = self.shown.clone();
        let names = self.node(node, 0);
        self.out = written;
        self.printer.registers = registers;
        self.shown = shown;
        self.names.insert(place, names.clone());
        names
    }

    fn scan(&mut self, node: &Physical, scan: &TableScan, depth: usize) -> Names {
        let plan = self.printer.plan;
        let table = &plan.tables[scan.table as usize];
        let alias = &table.alias;
        let name = |c: &u32| match table.table.columns.get(*c as usize) {
            Some(column) if column.hidden => column.shown().to_owned(),
            Some(column) => format!("{alias}.{}", column.name),
            None if *c >= ROW_ID => format!("{alias}.<{}>", ["row id", "part"][(*c - ROW_ID) as usize]),
            None => "?".to_owned(),
        };
        let names: Names = scan.columns.iter().map(name).collect();
        let index = scan.index.and_then(|i| table.table.indexes.get(i as usize));
        let using = index.map_or(String::new(), |i| format!(" using {}", i.name));
        let covering = if scan.covering { "Covering index" } else { "Index" };
        let clustered = scan.index.map(|i| i as usize) == table.table.clustered;
        let key = |values: &[KeyValue]| {
            let parts = index.map(|i| &i.parts[..]).unwrap_or_default();
            let one = |(part, value): (&gannet_schema::IndexPart, &KeyValue)| {
                let name = table.table.columns[part.column as usize].shown();
                format!("{name} = {}", self.printer.expr(&value.value, &names))
            };
            parts.iter().zip(values).map(one).collect::<Vec<_>>().join(", ")
        };
        let mut text = match &scan.access {
            Access::Full if clustered || index.is_none() => format!("Table scan on {alias}"),
            Access::Full => format!("{covering} scan on {alias}{using}"),
            Access::Point { key: values } => format!("Single-row index lookup on {alias}{using} ({})", key(values)),
            Access::Ref { key: values } => format!("{covering} lookup on {alias}{using} ({})", key(values)),
            Access::Ranges { ranges } => {
                let what = self.ranges(ranges, index, &table.table, &names);
                format!("{covering} range scan on {alias}{using} over {what}")
            }
            Access::Merge { kind, .. } => match kind {
                MergeKind::Union => "Deduplicate rows sorted by row ID".to_owned(),
                MergeKind::SortUnion => "Sort-deduplicate by row ID".to_owned(),
                MergeKind::Intersect => "Intersect rows sorted by row ID".to_owned(),
            },
            Access::Skip(skip) => {
                let purpose = match (skip.take, self.grouped) {
                    (SkipTake::All, _) => "",
                    (_, true) => " for grouping",
                    (_, false) => " for deduplication",
                };
                let over = match &skip.inner {
                    Some(ranges) => {
                        let shifted = index.map(|i| gannet_schema::Index {
                            parts: i.parts[skip.parts as usize..].into(),
                            ..i.clone()
                        });
                        format!(" over {}", self.ranges(ranges, shifted.as_ref(), &table.table, &names))
                    }
                    None => String::new(),
                };
                let outer = match &skip.outer {
                    Access::Ranges { ranges } => format!(" over {}", self.ranges(ranges, index, &table.table, &names)),
                    _ => String::new(),
                };
                format!("Covering index skip scan{purpose} on {alias}{using}{outer}{over}")
            }
            Access::Search(search) => self.search(search, table, &names),
            Access::Members(members) => self.members(members, alias, &using, &names),
            Access::Virtual { equals } => {
                let one = |(c, e): &(u32, crate::expr::Expr)| {
                    format!("{} = {}", table.table.columns[*c as usize].name, self.printer.expr(e, &names))
                };
                let equals: Vec<String> = equals.iter().map(one).collect();
                let filter = if equals.is_empty() { String::new() } else { format!(" ({})", equals.join(", ")) };
                format!("Virtual table scan on {alias}{filter}")
            }
        };
        if scan.reverse {
            text.push_str(" (reverse)");
        }
        match (scan.lock.strength, scan.lock.wait) {
            (LockStrength::None, _) => {}
            (LockStrength::Shared, _) => text.push_str(", lock shared"),
            (LockStrength::SharedSource | LockStrength::SharedCurrent, _) => text.push_str(", lock shared (implied)"),
            (LockStrength::Exclusive, _) => text.push_str(", lock exclusive"),
        }
        match scan.lock.wait {
            LockWait::Wait | LockWait::IfMatched => {}
            LockWait::NoWait => text.push_str(" nowait"),
            LockWait::SkipLocked => text.push_str(" skip locked"),
        }
        if let Some(filter) = &scan.index_filter {
            let _ = write!(text, ", with index condition: {}", self.printer.expr(filter, &names));
        }
        if let Some(filter) = &scan.filter {
            let filter = self.printer.expr(filter, &names);
            self.line(depth, &format!("Filter: {filter}"), Some(node));
            let _ = write!(self.out, "{:width$}-> {text}", "", width = (depth + 1) * 4);
            if self.estimates {
                self.figures(node, scan.explain.examined, |a| a.examined);
            }
            self.out.push('\n');
        } else {
            self.line(depth, &text, Some(node));
        }
        if let Access::Merge { parts, .. } = &scan.access {
            for part in parts {
                self.merge_part(part, alias, &table.table, depth + 1 + usize::from(scan.filter.is_some()), &names);
            }
        }
        names
    }

    fn search(&self, search: &SearchAccess, table: &crate::plan::PlanTable, names: &Names) -> String {
        let name = table.table.indexes.get(search.index as usize).map_or("?", |i| &*i.name);
        let against = self.printer.expr(&search.against, names);
        format!("Full-text index search on {} using {name} ({against})", table.alias)
    }

    fn members(&self, members: &MembersAccess, alias: &str, using: &str, names: &Names) -> String {
        let how = if members.single { "lookup" } else { "range scan" };
        let of = if members.all { "all of" } else { "any of" };
        format!("Index {how} on {alias}{using} ({of} {})", self.printer.expr(&members.document, names))
    }

    /// A line for one index of an index merge.
    fn merge_part(&mut self, part: &MergePart, alias: &str, table: &gannet_schema::Table, depth: usize, names: &Names) {
        let Some(index) = table.indexes.get(part.index as usize) else { return };
        let ranges = match &part.access {
            Access::Ranges { ranges } => ranges.clone(),
            Access::Point { key } | Access::Ref { key } => Ranges::of_key(key),
            _ => return,
        };
        let over = self.ranges(&ranges, Some(index), table, names);
        self.line(depth, &format!("Index range scan on {alias} using {} over {over}", index.name), None);
    }

    fn ranges(
        &self,
        ranges: &Ranges,
        index: Option<&gannet_schema::Index>,
        table: &gannet_schema::Table,
        names: &Names,
    ) -> String {
        let column =
            |i: usize| index.and_then(|x| x.parts.get(i)).map_or("?", |p| table.columns[p.column as usize].shown());
        let one = |product: &RangeProduct| {
            let mut texts = Vec::new();
            for (i, part) in product.parts.iter().enumerate() {
                texts.push(match &part[..] {
                    [one] => format!("{} = {}", column(i), self.printer.expr(&one.value, names)),
                    many if many.len() > 8 => format!("{} in {} values", column(i), many.len()),
                    many => {
                        let values: Vec<String> = many.iter().map(|k| self.printer.expr(&k.value, names)).collect();
                        format!("{} in ({})", column(i), values.join(", "))
                    }
                });
            }
            if let Some(interval) = &product.last {
                texts.push(self.interval(interval, column(product.parts.len()), names));
            }
            format!("({})", texts.join(", "))
        };
        ranges.0.iter().map(one).collect::<Vec<_>>().join(" OR ")
    }

    fn interval(&self, interval: &Interval, column: &str, names: &Names) -> String {
        if let Some(like) = &interval.like {
            return format!("{column} like {}", self.printer.expr(&like.pattern, names));
        }
        let mut text = String::new();
        for hole in &interval.holes {
            let low = self.printer.expr(&hole.low.value, names);
            text.push_str(&match &hole.high {
                Some(high) => format!("{column} not between {low} and {}, ", self.printer.expr(&high.value, names)),
                None => format!("{column} <> {low}, "),
            });
        }
        if let Some(low) = &interval.low {
            let op = if low.inclusive { "<=" } else { "<" };
            let _ = write!(text, "{} {op} ", self.printer.expr(&low.value, names));
        } else {
            text.push_str("NULL < ");
        }
        text.push_str(column);
        if let Some(high) = &interval.high {
            let op = if high.inclusive { "<=" } else { "<" };
            let _ = write!(text, " {op} {}", self.printer.expr(&high.value, names));
        }
        text
    }

    fn nested_loop(&mut self, node: &Physical, depth: usize) -> Names {
        let Op::NestedLoop { outer, inner, kind, binds, on } = &node.op else { return Names::new() };
        let outer_names = self.ahead(outer);
        for bind in binds {
            let text = self.printer.expr(&bind.value, &outer_names);
            if let Some(slot) = self.printer.registers.get_mut(bind.register as usize) {
                *slot = text;
            }
        }
        let mut names = outer_names.clone();
        names.extend(self.ahead(inner));
        let mut text = format!("Nested loop {}", join_word(*kind));
        if let Some(on) = on {
            let _ = write!(text, ", on {}", self.printer.expr(on, &names));
        }
        self.line(depth, &text, Some(node));
        self.node(outer, depth + 1);
        self.node(inner, depth + 1);
        if matches!(kind, JoinKind::Semi | JoinKind::Anti) { outer_names } else { names }
    }

    fn hash_join(&mut self, node: &Physical, depth: usize) -> Names {
        let Op::HashJoin { left, right, kind, keys, on, null_aware, .. } = &node.op else { return Names::new() };
        let (left_names, right_names) = (self.ahead(left), self.ahead(right));
        let mut names = left_names.clone();
        names.extend(right_names.clone());
        let mut text = match kind {
            JoinKind::Inner => "Inner hash join".to_owned(),
            JoinKind::Left => "Left hash join".to_owned(),
            JoinKind::Semi => "Hash semijoin".to_owned(),
            JoinKind::Anti => "Hash antijoin".to_owned(),
        };
        let one = |k: &crate::physical::HashKey| {
            format!("{} = {}", self.printer.expr(&k.left, &left_names), self.printer.expr(&k.right, &right_names))
        };
        let pairs: Vec<String> = keys.iter().map(one).collect();
        let _ =
            if pairs.is_empty() { write!(text, " (no condition)") } else { write!(text, " ({})", pairs.join("), (")) };
        if *null_aware {
            text.push_str(", NULL-aware");
        }
        if let Some(on) = on {
            let _ = write!(text, ", extra conditions: {}", self.printer.expr(on, &names));
        }
        self.line(depth, &text, Some(node));
        self.node(left, depth + 1);
        self.line(depth + 1, "Hash", None);
        self.node(right, depth + 2);
        if matches!(kind, JoinKind::Semi | JoinKind::Anti) { left_names } else { names }
    }

    fn aggregate(&mut self, node: &Physical, depth: usize) -> Names {
        let Op::Aggregate { input, groups, carried, aggregates, streaming, rollup, .. } = &node.op else {
            return Names::new();
        };
        let names = self.ahead(input);
        let mut out: Names = groups.iter().chain(carried).map(|e| self.printer.expr(e, &names)).collect();
        let calls: Vec<String> = aggregates.iter().map(|a| self.printer.aggregate(a, &names)).collect();
        let mut text = match (groups.is_empty(), streaming) {
            (true, _) => format!("Aggregate: {}", calls.join(", ")),
            (false, true) => format!("Group aggregate: {}", calls.join(", ")),
            (false, false) => format!("Hash aggregate: {}", calls.join(", ")),
        };
        if !groups.is_empty() {
            let _ = write!(text, " by {}", self.printer.list(groups, &names));
        }
        if *rollup {
            text.push_str(" with rollup");
        }
        self.line(depth, &text, Some(node));
        let outer = std::mem::replace(&mut self.grouped, true);
        self.node(input, depth + 1);
        self.grouped = outer;
        out.extend(calls);
        out
    }
}

fn join_word(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "inner join",
        JoinKind::Left => "left join",
        JoinKind::Semi => "semijoin",
        JoinKind::Anti => "antijoin",
    }
}

/// Three significant digits.
fn short(n: f64) -> String {
    if n >= 100.0 || n == 0.0 {
        return format!("{n:.0}");
    }
    let digits = (2 - n.log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{n:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn rows(n: f64) -> String {
    if n >= 10.0 || n.fract() < 0.005 { format!("{:.0}", n) } else { format!("{n:.2}") }
}
