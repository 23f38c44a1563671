//! Optimizer hints: which block and which table each is for, and warnings about those that are for nothing.
//!
//! A hint of an outer block may name blocks inside it, which are bound later: hints are kept by what they name, and
//! each block and table asks for its own when it is bound. What is left without its block or table is told at the end
//! ([`Binder::check_hints`]).

use super::Binder;
use crate::logical::{IndexHints, NamedBlock, OrderHint, OrderKind, Semijoin};
use gannet_parser::hint::{self, Hint};
use gannet_schema::Table;
use gannet_types::{ErrorCode, Level, Warning};

/// Hints that are read and have no effect: what they ask for does not exist here.
const WITHOUT_EFFECT: &[&str] = &["BKA", "MRR", "NO_DERIVED_CONDITION_PUSHDOWN", "SUBQUERY", "RESOURCE_GROUP"];

/// The blocks of a statement and the hints in it.
#[derive(Default)]
pub(crate) struct Hints {
    written: Vec<Written>,
    blocks: Vec<NamedBlock>,
    /// The block being bound.
    pub(super) current: u32,
}

struct Written {
    hint: Hint,
    /// The block it stands in.
    block: u32,
}

/// What the hints for a block say of it as a whole.
#[derive(Default)]
pub(super) struct OfBlock {
    pub(super) straight: bool,
    pub(super) semijoin: Semijoin,
    pub(super) orders: Vec<OrderHint>,
}

impl Hints {
    /// The hint, written in block `from`, is for block `number` when it names `block`.
    fn is_for(&self, number: u32, from: u32, block: Option<&str>) -> bool {
        match block {
            None => from == number,
            Some(name) => self.blocks.iter().any(|b| b.number == number && b.is(name)),
        }
    }

    /// The number of a block that a hint of block `from` names.
    fn target(&self, from: u32, block: Option<&str>) -> Option<u32> {
        match block {
            None => Some(from),
            Some(name) => self.blocks.iter().find(|b| b.is(name)).map(|b| b.number),
        }
    }
}

fn conflict(hint: &Hint) -> Warning {
    Warning::new(Level::Warning, ErrorCode::WarnConflictingHint, &[hint])
}

fn unresolved(name: &str, hint: &Hint) -> Warning {
    Warning::new(Level::Warning, ErrorCode::UnresolvedHintName, &[&name, &hint.name])
}

impl Binder<'_> {
    /// A block begins: reads its hints, and gives what those for it say of it.
    pub(super) fn enter_block(&mut self, number: u32, text: Option<&str>) -> OfBlock {
        self.hints.current = number;
        // A view's own text has no say.
        let text = text.filter(|_| self.through.is_none());
        let mut block = NamedBlock { number, name: None, tables: Vec::new() };
        if let Some(text) = text {
            self.read_hints(number, text, &mut block);
        }
        self.hints.blocks.push(block);
        if self.hints.written.is_empty() { OfBlock::default() } else { self.of_block(number) }
    }

    fn read_hints(&mut self, number: u32, text: &str, block: &mut NamedBlock) {
        let (hints, rest) = hint::parse(text);
        for hint in hints {
            if hint.name == "QB_NAME" {
                match (&block.name, hint.words.first()) {
                    (None, Some(name)) => block.name = Some(name.clone()),
                    _ => self.arena.warnings.push(conflict(&hint)),
                }
                continue;
            }
            if WITHOUT_EFFECT.contains(&hint.name) {
                let what = format!("the optimizer hint {}", hint.name);
                self.arena.warnings.push(Warning::new(Level::Warning, ErrorCode::NotSupportedYet, &[&what]));
            }
            self.hints.written.push(Written { hint, block: number });
        }
        if let Some(rest) = rest {
            let near: String = format!("{rest}*/").chars().take(80).collect();
            let message = format!("Optimizer hint syntax error near '{near}' at line 1");
            self.arena.warnings.push(Warning::with_message(Level::Warning, ErrorCode::Parse, message));
        }
    }

    fn of_block(&mut self, number: u32) -> OfBlock {
        let mut found = OfBlock::default();
        let (mut fixed, mut prefix, mut suffix, mut semi) = (false, false, false, false);
        let mut conflicts = Vec::new();
        for w in &self.hints.written {
            let Hint { name, block, tables, words, .. } = &w.hint;
            if !self.hints.is_for(number, w.block, block.as_deref()) {
                continue;
            }
            let twice = match *name {
                "JOIN_FIXED_ORDER" => std::mem::replace(&mut fixed, true) || !found.orders.is_empty(),
                "JOIN_ORDER" => fixed,
                "JOIN_PREFIX" => std::mem::replace(&mut prefix, true) || fixed,
                "JOIN_SUFFIX" => std::mem::replace(&mut suffix, true) || fixed,
                "SEMIJOIN" | "NO_SEMIJOIN" | "SUBQUERY" => std::mem::replace(&mut semi, true),
                _ => continue,
            };
            if twice {
                conflicts.push(conflict(&w.hint));
                continue;
            }
            let named = words.iter().fold(0, |mask, w| mask | Semijoin::strategy(w));
            let kind = match *name {
                "JOIN_FIXED_ORDER" => {
                    found.straight = true;
                    continue;
                }
                "JOIN_ORDER" => OrderKind::Order,
                "JOIN_PREFIX" => OrderKind::Prefix,
                "JOIN_SUFFIX" => OrderKind::Suffix,
                "SEMIJOIN" if words.is_empty() => continue,
                "SEMIJOIN" => {
                    found.semijoin.strategies = named;
                    continue;
                }
                "NO_SEMIJOIN" if !words.is_empty() => {
                    found.semijoin.strategies &= !named;
                    continue;
                }
                _ => {
                    found.semijoin.off = true;
                    continue;
                }
            };
            let tables = tables.iter().map(|t| (t.name.clone(), t.block.clone())).collect();
            found.orders.push(OrderHint { kind, block: number, tables, text: w.hint.to_string().into() });
        }
        self.arena.warnings.extend(conflicts);
        found
    }

    /// Index hints of a table that is bound now: those written behind it, and those of the optimizer hints for it.
    pub(super) fn hints_on(&mut self, alias: &str, table: Option<&Table>, mut to: IndexHints) -> IndexHints {
        let number = self.hints.current;
        if let Some(block) = self.hints.blocks.iter_mut().rev().find(|b| b.number == number) {
            block.tables.push(alias.into());
        }
        let mut warnings = Vec::new();
        let mut seen: Vec<(&str, &[Box<str>])> = Vec::new();
        for w in &self.hints.written {
            let hint = &w.hint;
            let about = |t: &&hint::HintTable| {
                let block = t.block.as_deref().or(hint.block.as_deref());
                *t.name == *alias && self.hints.is_for(number, w.block, block)
            };
            let Some(named) = hint.tables.iter().find(about) else { continue };
            let (on, family) = match hint.name.strip_prefix("NO_") {
                Some(family) => (false, family),
                None => (true, hint.name),
            };
            if family.starts_with("JOIN_") && family != "JOIN_INDEX" {
                continue;
            }
            if seen.iter().any(|(f, words)| *f == family && (words.is_empty() || *words == &hint.words[..])) {
                warnings.push(conflict(&Hint { tables: vec![named.clone()], ..hint.clone() }));
                continue;
            }
            seen.push((family, &hint.words));
            match family {
                "BNL" | "HASH_JOIN" => to.hash = Some(on),
                "MERGE" => to.merge = Some(on),
                _ => {}
            }
            let Some(table) = table else { continue };
            let mut mask = if hint.words.is_empty() { u128::MAX } else { 0 };
            for word in &hint.words {
                match table.index(word) {
                    Some(i) => mask |= 1 << i,
                    None => {
                        let name = format!("`{alias}`@`select#{number}` `{word}`");
                        warnings.push(unresolved(&name, hint));
                    }
                }
            }
            if !hint.words.is_empty() && mask == 0 {
                continue;
            }
            let choose = |usable: &mut u128| *usable &= if on { mask } else { !mask };
            match family {
                "INDEX" => {
                    to.force |= on;
                    [&mut to.join, &mut to.order, &mut to.group].into_iter().for_each(choose);
                }
                "JOIN_INDEX" => {
                    to.force |= on;
                    choose(&mut to.join);
                }
                "ORDER_INDEX" => choose(&mut to.order),
                "GROUP_INDEX" => choose(&mut to.group),
                "ICP" => to.no_icp |= mask,
                "RANGE_OPTIMIZATION" => to.no_range |= mask,
                "INDEX_MERGE" => {
                    to.force_merge |= on;
                    choose(&mut to.merges);
                }
                "SKIP_SCAN" => {
                    to.force_skip |= on;
                    choose(&mut to.skips);
                }
                _ => {}
            }
        }
        self.arena.warnings.extend(warnings);
        to
    }

    /// The statement is bound: hints that name blocks or tables which are not there are told.
    pub(crate) fn check_hints(&mut self) {
        for w in &self.hints.written {
            let hint = &w.hint;
            let mut missing = Vec::new();
            if let Some(block) = &hint.block
                && self.hints.target(w.block, Some(block)).is_none()
            {
                let warning = Warning::new(Level::Warning, ErrorCode::WarnUnknownQbName, &[block, &hint.name]);
                self.arena.warnings.push(warning);
                continue;
            }
            for t in &hint.tables {
                let block = t.block.as_deref().or(hint.block.as_deref());
                let number = self.hints.target(w.block, block);
                let there = self.hints.blocks.iter().any(|b| Some(b.number) == number && b.tables.contains(&t.name));
                if there {
                    continue;
                }
                let order = matches!(hint.name, "JOIN_ORDER" | "JOIN_PREFIX" | "JOIN_SUFFIX");
                missing.push(match (&t.block, order) {
                    (None, false) => format!("`{}`@`{}`", t.name, self.block_name(number.unwrap_or(w.block))),
                    _ => t.to_string(),
                });
            }
            self.arena.warnings.extend(missing.iter().map(|name| unresolved(name, hint)));
        }
        self.arena.blocks = std::mem::take(&mut self.hints.blocks);
    }

    fn block_name(&self, number: u32) -> String {
        let block = self.hints.blocks.iter().find(|b| b.number == number);
        block.and_then(|b| b.name.as_deref()).map_or_else(|| format!("select#{number}"), str::to_owned)
    }
}
