//! The traditional table: one row for each table, in the order of execution.

use crate::expr::{Expr, ExprKind};
use crate::physical::{Access, JoinKind, MergePart, Op, Physical, SetOperation, SkipTake, TableScan};
use crate::plan::{InsertSource, Plan, PlanKind};
use std::collections::BTreeSet;

/// Column names of the traditional format.
pub const TRADITIONAL_COLUMNS: [&str; 12] = [
    "id",
    "select_type",
    "table",
    "partitions",
    "type",
    "possible_keys",
    "key",
    "key_len",
    "ref",
    "rows",
    "filtered",
    "Extra",
];

/// A row of EXPLAIN; `None` is NULL.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExplainRow {
    /// id
    pub id: Option<u64>,
    /// select_type
    pub select_type: String,
    /// table
    pub table: Option<String>,
    /// partitions
    pub partitions: Option<String>,
    /// type
    pub access: Option<String>,
    /// possible_keys
    pub possible_keys: Option<String>,
    /// key
    pub key: Option<String>,
    /// key_len
    pub key_len: Option<String>,
    /// ref
    pub refs: Option<String>,
    /// rows
    pub rows: Option<u64>,
    /// filtered
    pub filtered: Option<f64>,
    /// Extra
    pub extra: Option<String>,
}

/// Parts that a statement reads or writes, by place of the table in the plan.
pub type Shown = std::collections::HashMap<u32, Vec<String>>;

/// The rows of EXPLAIN.
pub fn traditional(plan: &Plan, parts: &Shown) -> Vec<ExplainRow> {
    let simple = plan.subplans.is_empty() && plan.ctes.is_empty();
    let first = if simple { "SIMPLE" } else { "PRIMARY" };
    let targets = plan.targets();
    let mut table = Tables { plan, parts, targets, first, rows: Vec::new(), ctes: BTreeSet::new(), round: None };
    match &plan.kind {
        PlanKind::Query(root) => table.block(root, 1, first, Vec::new()),
        PlanKind::PointSelect(point) => table.block(&point.query, 1, first, Vec::new()),
        PlanKind::Insert(insert) => {
            let name = Some(plan.tables[insert.table as usize].alias.to_string());
            let verb = if insert.replace { "REPLACE" } else { "INSERT" };
            let access = Some("ALL".into());
            table.rows.push(ExplainRow {
                id: Some(1),
                select_type: verb.into(),
                table: name,
                partitions: parts.get(&insert.table).map(|p| p.join(",")),
                access,
                ..ExplainRow::default()
            });
            if let InsertSource::Query(root) = &insert.source {
                table.block(root, 1, first, Vec::new());
                // A row of constants has no line.
                if table.rows.len() == 2 && table.rows[1].table.is_none() && no_tables(root) == "No tables used" {
                    table.rows.pop();
                }
            }
        }
        PlanKind::Update(update) => {
            let mut assigned = Vec::new();
            let values = update.targets.iter().flat_map(|t| &t.assignments).filter_map(|a| a.value.as_ref());
            values.for_each(|value| subqueries(value, &mut assigned));
            table.block(&update.input, 1, "UPDATE", assigned);
        }
        PlanKind::Delete(delete) => table.block(&delete.input, 1, "DELETE", Vec::new()),
    }
    table.rows
}

struct Tables<'p> {
    plan: &'p Plan,
    parts: &'p Shown,
    /// The tables that UPDATE and DELETE write: the others are read as in a query.
    targets: Vec<u32>,
    /// What a query's first block is called.
    first: &'static str,
    rows: Vec<ExplainRow>,
    ctes: BTreeSet<u32>,
    /// The common table expression of which the recursive part is shown.
    round: Option<u32>,
}

/// What a block's upper operators say in Extra of its first table, or of the set operation's result.
#[derive(Default)]
struct Above {
    words: Vec<&'static str>,
    /// The row of a set operation's result. Without words, that of a UNION ALL is none: nothing is kept.
    result: Option<(ExplainRow, bool)>,
}

/// A derived table, its number, and the common table expression that it is.
type Derived<'p> = (&'p Physical, u64, Option<u32>);

/// The words for a set operation's inputs, and for its result.
fn set_words(kind: SetOperation) -> (&'static str, &'static str, &'static str) {
    match kind {
        SetOperation::Union => ("UNION", "UNION RESULT", "union"),
        SetOperation::Intersect => ("INTERSECT", "INTERSECT RESULT", "intersect"),
        SetOperation::Except => ("EXCEPT", "EXCEPT RESULT", "except"),
    }
}

impl<'p> Tables<'p> {
    /// A block, and behind it the derived tables and subqueries of its expressions; `later` has those of expressions
    /// that are not in the tree.
    fn block(&mut self, root: &'p Physical, id: u64, select_type: &str, mut later: Vec<(u32, &'static str)>) {
        let mut above = Above::default();
        let start = self.rows.len();
        let mut derived: Vec<Derived<'p>> = Vec::new();
        self.walk(root, id, select_type, &mut above, &mut later, &mut derived, None);
        if self.rows.len() == start {
            let extra = Some(no_tables(root).to_owned());
            self.rows.push(ExplainRow {
                id: Some(id),
                select_type: select_type.into(),
                extra,
                ..ExplainRow::default()
            });
        }
        let of_set = above.result.is_some();
        if let Some((row, kept)) = above.result
            && (kept || !above.words.is_empty())
        {
            self.rows.push(row);
        }
        if !above.words.is_empty() {
            let at = if of_set { self.rows.len() - 1 } else { start };
            let row = &mut self.rows[at];
            let mut all: Vec<String> = row.extra.iter().cloned().collect();
            all.extend(above.words.iter().map(|w| (*w).to_owned()));
            row.extra = Some(all.join("; "));
        }
        for (node, number, cte) in derived {
            self.block(node, number, "DERIVED", Vec::new());
            let plan = self.plan;
            if let Some(cte) = cte
                && let Some(rounds) = plan.ctes.get(cte as usize).and_then(|c| c.recursive.as_ref())
            {
                let outer = self.round.replace(cte);
                let last = self.last_number();
                self.block(rounds, first_select(rounds).map_or(last + 1, u64::from), "UNION", Vec::new());
                self.round = outer;
            }
        }
        for (number, kind) in later {
            let plan = self.plan;
            let Some(sub) = plan.subplans.get(number as usize) else { continue };
            let kind = if sub.correlated && kind == "SUBQUERY" { "DEPENDENT SUBQUERY" } else { kind };
            let select = first_select(&sub.root).map_or(u64::from(number) + 2, u64::from);
            self.block(&sub.root, select, kind, Vec::new());
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the walk carries what its rows need")]
    fn walk(
        &mut self,
        node: &'p Physical,
        id: u64,
        select_type: &str,
        above: &mut Above,
        later: &mut Vec<(u32, &'static str)>,
        derived: &mut Vec<Derived<'p>>,
        join: Option<&'static str>,
    ) {
        node.for_each_expr(|e| subqueries(e, later));
        match &node.op {
            Op::TableScan(scan) => self.scan(scan, id, select_type, join),
            Op::Values { .. } => {}
            Op::JsonTable { table, .. } => {
                let extra = ["Table function: json_table", "Using temporary"].into_iter().chain(join);
                let extra = extra.collect::<Vec<_>>().join("; ");
                let row = self.rows_of(node, table.name.to_string(), id, select_type);
                self.rows.push(ExplainRow { extra: Some(extra), ..row });
            }
            Op::NestedLoop { outer, inner, kind, .. } => {
                self.walk(outer, id, select_type, above, later, derived, join);
                let word = match kind {
                    JoinKind::Semi => Some("FirstMatch"),
                    JoinKind::Anti => Some("Not exists"),
                    _ => None,
                };
                self.walk(inner, id, select_type, above, later, derived, word);
            }
            Op::HashJoin { left, right, .. } => {
                self.walk(left, id, select_type, above, later, derived, join);
                self.walk(right, id, select_type, above, later, derived, Some("Using join buffer (hash join)"));
            }
            Op::Filter { input, .. } => {
                let before = self.rows.len();
                self.walk(input, id, select_type, above, later, derived, join);
                if let Some(row) = self.rows.last_mut().filter(|_| before < usize::MAX) {
                    add_where(row);
                }
            }
            Op::Sort { input, .. } => {
                self.walk(input, id, select_type, above, later, derived, join);
                above.words.push("Using filesort");
            }
            Op::Aggregate { input, groups, streaming, .. } => {
                self.walk(input, id, select_type, above, later, derived, join);
                if !groups.is_empty() && !streaming {
                    above.words.push("Using temporary");
                }
            }
            Op::Distinct { input, .. } => {
                self.walk(input, id, select_type, above, later, derived, join);
                above.words.push("Using temporary");
            }
            Op::SetOperation { inputs, kind, distinct } => {
                let (word, result, name) = set_words(*kind);
                let mut numbers = Vec::with_capacity(inputs.len());
                for (i, input) in inputs.iter().enumerate() {
                    // One without a table comes behind the subqueries of the one before it.
                    let next = if i == 0 { id } else { self.last_number() + 1 };
                    let number = first_select(input).map_or(next, u64::from);
                    self.block(input, number, if i == 0 { "PRIMARY" } else { word }, Vec::new());
                    numbers.push(number.to_string());
                }
                let row = ExplainRow {
                    select_type: result.into(),
                    table: Some(format!("<{name}{}>", numbers.join(","))),
                    access: Some("ALL".into()),
                    extra: Some("Using temporary".into()),
                    ..ExplainRow::default()
                };
                above.result = Some((row, *distinct || *kind != SetOperation::Union));
            }
            Op::Materialize { input, .. } => {
                let number = first_select(input).map_or(id + 1, u64::from);
                if number == id {
                    return self.walk(input, id, select_type, above, later, derived, join);
                }
                let row = self.rows_of(input, format!("<derived{number}>"), id, select_type);
                self.rows.push(ExplainRow { extra: join.map(str::to_owned), ..row });
                derived.push((input, number, None));
            }
            Op::CteScan { cte, name, .. } if self.round == Some(*cte) => {
                let row = self.rows_of(node, name.to_string(), id, select_type);
                let extra = ["Recursive"].into_iter().chain(join).collect::<Vec<_>>().join("; ");
                self.rows.push(ExplainRow { extra: Some(extra), ..row });
            }
            Op::CteScan { cte, .. } => {
                let plan = self.plan;
                let known = plan.ctes.get(*cte as usize);
                let number = known.and_then(|c| first_select(&c.base)).map_or(id + 1, u64::from);
                let row = self.rows_of(node, format!("<derived{number}>"), id, select_type);
                self.rows.push(ExplainRow { extra: join.map(str::to_owned), ..row });
                if self.ctes.insert(*cte)
                    && let Some(known) = known
                {
                    derived.push((&known.base, number, Some(*cte)));
                }
            }
            Op::Project { input, .. } | Op::Limit { input, .. } | Op::Window { input, .. } => {
                self.walk(input, id, select_type, above, later, derived, join);
            }
        }
    }

    /// The highest number so far.
    fn last_number(&self) -> u64 {
        self.rows.iter().filter_map(|row| row.id).max().unwrap_or(0)
    }

    /// What a table is called that this statement does not write.
    fn read<'a>(&self, select_type: &'a str) -> &'a str
    where
        'p: 'a,
    {
        if matches!(select_type, "UPDATE" | "DELETE") { self.first } else { select_type }
    }

    /// The row of a table that is no stored one.
    fn rows_of(&self, node: &Physical, name: String, id: u64, select_type: &str) -> ExplainRow {
        ExplainRow {
            id: Some(id),
            select_type: self.read(select_type).into(),
            table: Some(name),
            access: Some("ALL".into()),
            rows: Some(node.rows.max(1.0) as u64),
            filtered: Some(100.0),
            ..ExplainRow::default()
        }
    }

    fn scan(&mut self, scan: &TableScan, id: u64, select_type: &str, join: Option<&'static str>) {
        let mut facts = TableFacts::of(self.plan, scan);
        let explain = &scan.explain;
        // A change of one table reads ranges alone, and is not told what of them remains.
        let alone = self.targets == [scan.table] && self.plan.tables.len() == 1;
        let by_key = matches!(facts.access, "const" | "ref" | "range");
        if alone {
            facts.filtered = 100.0;
            facts.access = if by_key { "range" } else { facts.access };
        }
        let mut words: Vec<&str> = Vec::new();
        let select_type = if self.targets.contains(&scan.table) { select_type } else { self.read(select_type) };
        let merge = facts.merged.as_deref().map(|m| format!("Using {m}"));
        words.extend(merge.as_deref());
        if scan.index_filter.is_some() {
            words.push("Using index condition");
        }
        if scan.filter.is_some() || alone && by_key {
            words.push("Using where");
        }
        if scan.reverse {
            words.push("Backward index scan");
        }
        match &scan.access {
            Access::Skip(skip) => words.push(match skip.take {
                SkipTake::All => "Using index for skip scan",
                SkipTake::Ends { .. } => "Using index for group-by",
            }),
            Access::Search(search) if search.sorted => words.push("Ft_hints: sorted"),
            _ if scan.covering => words.push("Using index"),
            _ => {}
        }
        words.extend(explain.extra.iter());
        words.extend(join);
        self.rows.push(ExplainRow {
            id: Some(id),
            select_type: select_type.into(),
            table: Some(explain.name.to_string()),
            // None of them is read.
            partitions: self.parts.get(&scan.table).filter(|p| !p.is_empty()).map(|p| p.join(",")),
            access: Some(facts.access.into()),
            possible_keys: (!facts.possible.is_empty()).then(|| facts.possible.join(",")),
            key: facts.key_name(),
            key_len: facts.key_len(explain.key_len),
            refs: (!explain.refs.is_empty()).then(|| explain.refs.join(",")),
            rows: Some(facts.rows),
            filtered: Some(facts.filtered),
            extra: (!words.is_empty()).then(|| words.join("; ")),
        });
    }
}

/// What every format says of a table.
pub(super) struct TableFacts<'p> {
    /// MySQL's word for the access.
    pub(super) access: &'static str,
    /// possible_keys
    pub(super) possible: Vec<&'p str>,
    /// The index, when it is more than the order in which the rows lie.
    pub(super) key: Option<&'p gannet_schema::Index>,
    /// An index merge, as `union(a,b)`.
    pub(super) merged: Option<String>,
    /// Its indexes and the bytes used of each, with commas between.
    merge_keys: Option<(String, String)>,
    /// Parts of it that are used.
    pub(super) parts: usize,
    /// Rows read.
    pub(super) rows: u64,
    /// Percent that pass.
    pub(super) filtered: f64,
}

/// The value is the same for every row.
fn is_constant(value: &Expr) -> bool {
    value.is_execution_constant() || matches!(value.kind, ExprKind::UserVar(_))
}

impl<'p> TableFacts<'p> {
    pub(super) fn of(plan: &'p Plan, scan: &'p TableScan) -> TableFacts<'p> {
        let table = &plan.tables[scan.table as usize].table;
        let explain = &scan.explain;
        let walked = match &scan.access {
            Access::Search(search) => Some(search.index),
            _ => scan.index,
        };
        let index = walked.and_then(|i| table.indexes.get(i as usize));
        let clustered = scan.index.map(|i| i as usize) == table.clustered;
        let access = match &scan.access {
            // Backward the rows come by their key.
            Access::Full if clustered && !scan.reverse || index.is_none() => "ALL",
            Access::Full => "index",
            Access::Point { key } if key.iter().all(|k| is_constant(&k.value)) => "const",
            Access::Point { .. } => "eq_ref",
            Access::Ref { .. } => "ref",
            Access::Ranges { .. } | Access::Skip(_) => "range",
            Access::Merge { .. } => "index_merge",
            Access::Virtual { .. } => "ALL",
            Access::Search(_) => "fulltext",
            Access::Members(members) if members.single => "ref",
            Access::Members(_) => "range",
        };
        let (mut merged, mut merge_keys) = (None, None);
        if let Access::Merge { kind, parts } = &scan.access {
            let name = |p: &MergePart| table.indexes.get(p.index as usize).map_or("?", |i| &*i.name);
            let names = parts.iter().map(name).collect::<Vec<_>>().join(",");
            let lengths = parts.iter().map(|p| p.key_len.to_string()).collect::<Vec<_>>().join(",");
            merged = Some(format!("{}({names})", kind.name()));
            merge_keys = Some((names, lengths));
        }
        let one_row = access == "const";
        TableFacts {
            access,
            possible: explain
                .possible
                .iter()
                .filter_map(|i| table.indexes.get(*i as usize))
                .map(|i| &*i.name)
                .collect(),
            key: index.filter(|_| !matches!(access, "ALL" | "index_merge")),
            merged,
            merge_keys,
            parts: match &scan.access {
                Access::Full => usize::MAX,
                Access::Point { key } | Access::Ref { key } => key.len(),
                Access::Ranges { ranges } => parts_of(ranges),
                Access::Skip(skip) => skip.parts as usize + skip.inner.as_ref().map_or(0, parts_of),
                Access::Search(_) => usize::MAX,
                Access::Members(members) => members.before.len() + 1 + members.after.len(),
                Access::Merge { .. } | Access::Virtual { .. } => 0,
            },
            rows: if one_row { 1 } else { explain.examined.round().max(1.0) as u64 },
            filtered: if one_row { 100.0 } else { (explain.filtered * 100.0).round() / 100.0 },
        }
    }

    /// The index, or those of an index merge.
    fn key_name(&self) -> Option<String> {
        self.key.map(|i| i.name.to_string()).or_else(|| self.merge_keys.as_ref().map(|k| k.0.clone()))
    }

    /// Bytes used of it, or of each.
    pub(super) fn key_len(&self, own: u32) -> Option<String> {
        self.key.map(|_| own.to_string()).or_else(|| self.merge_keys.as_ref().map(|k| k.1.clone()))
    }

    /// Bytes of a column in a row buffer.
    pub(super) fn width(column: &gannet_schema::Column) -> u64 {
        u64::from(crate::optimize::part_len(column, None))
    }
}

/// Key parts that some range restricts.
fn parts_of(ranges: &crate::physical::Ranges) -> usize {
    ranges.0.iter().map(|p| p.parts.len() + usize::from(p.last.is_some())).max().unwrap_or(0)
}

fn add_where(row: &mut ExplainRow) {
    match &mut row.extra {
        Some(extra) if extra.contains("Using where") => {}
        Some(extra) if extra.starts_with("Recursive") || extra.starts_with("Table function") => {
            extra.push_str("; Using where");
        }
        Some(extra) => *extra = format!("Using where; {extra}"),
        none => *none = Some("Using where".into()),
    }
}

pub(super) fn no_tables(root: &Physical) -> &'static str {
    let mut found = "No tables used";
    if let Op::Values { reason: Some(reason), .. } = &root.op {
        return reason;
    }
    root.for_each_input(|i| found = no_tables(i));
    found
}

/// Number of the SELECT that the first table of a tree belongs to.
pub(super) fn first_select(root: &Physical) -> Option<u32> {
    if let Op::TableScan(scan) = &root.op {
        return Some(scan.explain.select);
    }
    let mut found = None;
    root.for_each_input(|i| found = found.or_else(|| first_select(i)));
    found
}

fn subqueries(e: &Expr, out: &mut Vec<(u32, &'static str)>) {
    if let ExprKind::Subquery(s) = &e.kind {
        out.push((s.subplan, if s.binds.is_empty() { "SUBQUERY" } else { "DEPENDENT SUBQUERY" }));
    }
    e.for_each_child(|c| subqueries(c, out));
}
