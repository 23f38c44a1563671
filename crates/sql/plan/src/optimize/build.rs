//! Operators out of logical expressions: slots, registers, parameters, subplans.

use crate::expr::{Bind, Expr, ExprKind, SortKey, SubqueryKind};
use crate::logical::{Arena, ColId, Label};
use crate::options::PlanOptions;
use crate::physical::{Op, Physical, Ranges};
use crate::plan::{Cte, NumberText, Param, Subplan};
use gannet_types::{ErrorCode, Result, SqlError, SqlType, Value};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

/// An operator with the columns it delivers.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) physical: Physical,
    pub(super) schema: Vec<ColId>,
}

/// A row whose driver runs a subtree: what the subtree reads of it goes through registers.
struct Frame {
    schema: Vec<ColId>,
    binds: Vec<(ColId, u32)>,
}

/// Makes one plan.
pub(crate) struct Builder<'a> {
    pub(crate) arena: &'a Arena,
    pub(crate) options: &'a PlanOptions<'a>,
    /// In how many places each column is read, by id.
    pub(crate) used: Vec<u32>,
    /// `used` before the whole rows of UPDATE's and DELETE's targets were added.
    pub(crate) read: Option<Vec<u32>>,
    /// Blocks, by number, in which generated columns have taken the place of their expressions.
    pub(super) computed: Vec<u32>,
    pub(crate) params: Vec<Param>,
    param_map: HashMap<u32, u32>,
    pub(crate) registers: u32,
    frames: Vec<Frame>,
    pub(crate) subplans: Vec<Subplan>,
    /// Subplans of row operands that read nothing from outside: their columns share them.
    row_subplans: HashMap<u32, u32>,
    pub(crate) ctes: Vec<Cte>,
    /// Numbers of common table expressions in the plan, by those in the arena and the registers that they read.
    pub(super) cte_map: HashMap<(u32, Vec<u32>), u32>,
    pub(super) depth: u32,
    /// Ranges looked up so far and what they hold: (table slot, index, ranges, rows).
    pub(crate) dives: RefCell<Vec<Looked>>,
    /// What each execution warns of.
    pub(crate) warnings: RefCell<Vec<gannet_types::Warning>>,
    /// Texts that conditions compare with numbers.
    pub(crate) number_texts: Vec<NumberText>,
}

/// A range that was looked up: table slot, index, ranges, rows.
pub(crate) type Looked = (u32, usize, Ranges, Option<f64>);

impl<'a> Builder<'a> {
    pub(crate) fn new(arena: &'a Arena, options: &'a PlanOptions<'a>) -> Builder<'a> {
        Builder {
            arena,
            options,
            used: vec![0; arena.types.len()],
            read: None,
            computed: Vec::new(),
            params: Vec::new(),
            param_map: HashMap::new(),
            registers: 0,
            frames: Vec::new(),
            subplans: Vec::new(),
            row_subplans: HashMap::new(),
            ctes: Vec::new(),
            cte_map: HashMap::new(),
            depth: 0,
            dives: RefCell::new(Vec::new()),
            warnings: RefCell::new(arena.warnings.clone()),
            number_texts: Vec::new(),
        }
    }

    pub(super) fn ty(&self, id: ColId) -> SqlType {
        self.arena.types[id as usize].clone()
    }

    pub(super) fn types_of(&self, schema: &[ColId]) -> Box<[SqlType]> {
        schema.iter().map(|id| self.ty(*id)).collect()
    }

    pub(super) fn node(&self, op: Op, schema: Vec<ColId>, rows: f64, cost: f64) -> Node {
        let types = self.types_of(&schema);
        Node { physical: Physical { op, types, rows, cost, one_by_one: false }, schema }
    }

    /// Translates an expression for an operator whose input row is `schema`.
    pub(crate) fn lower(&mut self, e: &Expr, schema: &[ColId]) -> Result<Expr> {
        let mut lowered = e.clone();
        self.lower_in_place(&mut lowered, schema)?;
        Ok(lowered)
    }

    pub(super) fn lower_all(&mut self, all: &[Expr], schema: &[ColId]) -> Result<Vec<Expr>> {
        all.iter().map(|e| self.lower(e, schema)).collect()
    }

    pub(super) fn lower_keys(&mut self, keys: &[SortKey], schema: &[ColId]) -> Result<Box<[SortKey]>> {
        let lower = |k: &SortKey| Ok(SortKey { expr: self.lower(&k.expr, schema)?, descending: k.descending });
        keys.iter().map(lower).collect()
    }

    pub(crate) fn lower_in_place(&mut self, e: &mut Expr, schema: &[ColId]) -> Result<()> {
        match &mut e.kind {
            ExprKind::Column(id) => {
                let id = *id;
                e.kind = match schema.iter().position(|c| *c == id) {
                    Some(slot) => ExprKind::Column(slot as u32),
                    None => ExprKind::Register(self.register(id)?),
                };
                return Ok(());
            }
            ExprKind::Param(n) => {
                *n = self.param(*n);
                return Ok(());
            }
            ExprKind::Subquery(subquery) => {
                let place = subquery.subplan;
                self.push_frame(schema.to_vec());
                let built = self.subplan(place, &subquery.kind);
                let binds = self.pop_frame();
                subquery.subplan = built?;
                subquery.binds = binds;
                match &mut subquery.kind {
                    SubqueryKind::In { needle, .. } => {
                        for n in needle.iter_mut() {
                            self.lower_in_place(n, schema)?;
                        }
                    }
                    SubqueryKind::Quantified { needle, .. } => self.lower_in_place(needle, schema)?,
                    _ => {}
                }
                return Ok(());
            }
            _ => {}
        }
        let mut outcome = Ok(());
        e.for_each_child_mut(|c| {
            if outcome.is_ok() {
                outcome = self.lower_in_place(c, schema);
            }
        });
        // A derived table that is searched was not merged: its rows have no index.
        if matches!(e.kind, ExprKind::Match(_)) {
            return outcome.map_err(|_| SqlError::new(ErrorCode::FtMatchingKeyNotFound, &[]));
        }
        outcome
    }

    fn param(&mut self, n: u32) -> u32 {
        if let Some(known) = self.param_map.get(&n) {
            return *known;
        }
        self.params.push(self.arena.params[n as usize].clone());
        let fresh = self.params.len() as u32 - 1;
        self.param_map.insert(n, fresh);
        fresh
    }

    /// The register in which an outer column arrives.
    pub(super) fn register(&mut self, id: ColId) -> Result<u32> {
        for frame in self.frames.iter_mut().rev() {
            if let Some((_, register)) = frame.binds.iter().find(|(c, _)| *c == id) {
                return Ok(*register);
            }
            if frame.schema.contains(&id) {
                let register = self.registers;
                self.registers += 1;
                frame.binds.push((id, register));
                return Ok(register);
            }
        }
        Err(SqlError::internal(format_args!("column {id} is not in reach")))
    }

    pub(super) fn push_frame(&mut self, schema: Vec<ColId>) {
        self.frames.push(Frame { schema, binds: Vec::new() });
    }

    /// Ends a frame. Returns the assignments its driver makes.
    pub(super) fn pop_frame(&mut self) -> Box<[Bind]> {
        let Some(frame) = self.frames.pop() else { return Box::new([]) };
        let slot = |id: ColId| frame.schema.iter().position(|c| *c == id).unwrap_or(0) as u32;
        let bind = |(id, register): &(ColId, u32)| Bind {
            register: *register,
            value: Expr { kind: ExprKind::Column(slot(*id)), ty: self.arena.types[*id as usize].clone() },
        };
        frame.binds.iter().map(bind).collect()
    }

    fn subplan(&mut self, place: u32, kind: &SubqueryKind) -> Result<u32> {
        let shared = matches!(kind, SubqueryKind::Column(_)) && self.arena.subqueries[place as usize].free.is_empty();
        if let Some(known) = self.row_subplans.get(&place).filter(|_| shared) {
            return Ok(*known);
        }
        let query = &self.arena.subqueries[place as usize].query;
        let node = self.query(query)?;
        let mut root = node.physical;
        if matches!(kind, SubqueryKind::Exists { .. }) {
            root = first_row(root);
        }
        let depends: Box<[u32]> = free_registers(&root, &self.subplans, &self.ctes).into_iter().collect();
        let (steady, ordered) = (!self.arena.query_varies(query), self.arena.query_is_ordered(query));
        let correlated = !depends.is_empty() || !steady;
        self.subplans.push(Subplan { root, correlated, depends, steady, ordered });
        let number = self.subplans.len() as u32 - 1;
        if shared {
            self.row_subplans.insert(place, number);
        }
        Ok(number)
    }

    /// The value of an expression as far as the statement at hand tells: for estimates only.
    pub(super) fn seen(&self, e: &Expr) -> Option<Value> {
        match &e.kind {
            ExprKind::Literal(v) => Some(v.clone()),
            ExprKind::Param(n) => self.arena.seen.get(*n as usize)?.clone(),
            _ => None,
        }
    }

    /// A row count of LIMIT or OFFSET.
    pub(super) fn seen_count(&self, e: &Expr) -> Option<f64> {
        match self.seen(e)? {
            Value::Int(v) => Some(v as f64),
            Value::UInt(v) => Some(v as f64),
            _ => None,
        }
    }
}

/// EXISTS wants one row: what only orders or projects is left out below it.
fn first_row(root: Physical) -> Physical {
    match root.op {
        Op::Sort { input, .. } | Op::Distinct { input, .. } => first_row(*input),
        op => Physical { op, ..root },
    }
}

/// Registers that a tree reads and does not bind itself.
pub(super) fn free_registers(root: &Physical, subplans: &[Subplan], ctes: &[Cte]) -> BTreeSet<u32> {
    let (mut read, mut bound) = (BTreeSet::new(), BTreeSet::new());
    collect(root, subplans, ctes, &mut read, &mut bound);
    read.retain(|r| !bound.contains(r));
    read
}

fn collect(root: &Physical, subplans: &[Subplan], ctes: &[Cte], read: &mut BTreeSet<u32>, bound: &mut BTreeSet<u32>) {
    root.for_each_expr(|e| collect_expr(e, subplans, read, bound));
    match &root.op {
        Op::NestedLoop { binds, .. } => bound.extend(binds.iter().map(|b| b.register)),
        Op::CteScan { cte, .. } => {
            if let Some(cte) = ctes.get(*cte as usize) {
                read.extend(cte.depends.iter().copied());
            }
        }
        _ => {}
    }
    root.for_each_input(|i| collect(i, subplans, ctes, read, bound));
}

fn collect_expr(e: &Expr, subplans: &[Subplan], read: &mut BTreeSet<u32>, bound: &mut BTreeSet<u32>) {
    match &e.kind {
        ExprKind::Register(r) => {
            read.insert(*r);
        }
        ExprKind::Subquery(s) => {
            bound.extend(s.binds.iter().map(|b| b.register));
            if let Some(plan) = subplans.get(s.subplan as usize) {
                read.extend(plan.depends.iter().copied());
            }
        }
        _ => {}
    }
    e.for_each_child(|c| collect_expr(c, subplans, read, bound));
}

/// How a derived table or common table expression calls its columns; empty for other columns.
pub(super) fn column_names(arena: &Arena, schema: &[ColId]) -> Box<[Box<str>]> {
    let name = |id: &ColId| match arena.labels.get(*id as usize) {
        Some(Label::Derived { name, .. }) => name.clone(),
        _ => Box::default(),
    };
    schema.iter().map(name).collect()
}
