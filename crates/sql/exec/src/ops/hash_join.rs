//! Hash join.
//!
//! The right side is built into a table, the left side probes it. If the right side outgrows memory, both sides are
//! divided into partitions by the hash of the keys (Grace hash join; DeWitt et al., SIGMOD 1984), and each pair of
//! partitions is joined by itself. A partition that is still too large is divided again. A partition that cannot be
//! divided (all one key, or no keys) is taken piece by piece, and the left partition is read once for each piece.
//! Where the order of the left side is relied on, its rows carry numbers, the results of the partitions go to runs,
//! and these are merged by number.
//!
//! Where the left side of an inner join turns out to be few rows and the right one many, the table is built of the left
//! side ([`pairs`]).

mod pairs;

use super::{
    BoxedOperator, Operator,
    join::{Joined, select_beside},
};
use crate::{
    batch::{BATCH_ROWS, Batch, Column},
    compare::append_domain_key,
    context::Cx,
    eval,
    numbered::{Key, KeyMap, NONE},
    spill::{BySequence, MAX_LEVEL, Merge, Partitions, Run, RunWriter, SpillFile, reduce},
};
use gannet_plan::{
    expr::{Comparison, Expr, ExprKind},
    physical::{HashKey, JoinKind},
};
use gannet_types::{Result, SqlType, ValueRef};
use std::collections::VecDeque;

/// True when the joined row satisfies the condition.
fn matches<'p>(
    on: &'p Expr,
    scratch: &mut Joined,
    (left, l): (&Batch, usize),
    (right, r): (&Batch, usize),
    types: (&[SqlType], &[SqlType]),
    cx: &mut Cx<'_, 'p>,
) -> Result<bool> {
    scratch.push(left, l, Some((right, r)));
    let row = scratch.take(types.0, types.1);
    eval::is_true(on, &row, 0, cx)
}

/// True when some row of `right` satisfies the condition: a few rows are tried first, then more at a time.
fn has_match<'p>(on: Option<&'p Expr>, left: (&Batch, usize), right: &mut Batch, cx: &mut Cx<'_, 'p>) -> Result<bool> {
    let Some(on) = on else { return Ok(right.rows > 0) };
    let (mut from, mut share) = (0, 8);
    while from < right.rows {
        let to = right.rows.min(from + share);
        if !select_beside(on, left, right, from as u32..to as u32, cx)?.is_empty() {
            return Ok(true);
        }
        (from, share) = (to, share * 4);
    }
    Ok(false)
}

/// What a hash join does, from its plan node.
pub struct HashJoinPlan<'p> {
    pub kind: JoinKind,
    pub keys: &'p [HashKey],
    pub on: Option<&'p Expr>,
    pub null_aware: bool,
    pub keeps_order: bool,
}

/// Rows of the build side, and where their keys are.
#[derive(Default)]
struct Table {
    rows: Vec<Batch>,
    /// For each key its first and its last place.
    keys: KeyMap,
    /// Places of rows that have a key: batch, row, and the next place with the same key ([`NONE`]: there is none).
    places: Vec<(u32, u32, u32)>,
    /// Rows may be long.
    bulky: bool,
    held: usize,
}

/// Bytes of a row beyond which rows are joined one by one.
const BULKY: usize = 2048;

impl Table {
    fn clear(&mut self, cx: &mut Cx<'_, '_>) {
        cx.release(self.held);
        *self = Table::default();
    }

    fn hold(&mut self, bytes: usize, cx: &mut Cx<'_, '_>) {
        cx.hold(bytes);
        self.held += bytes;
    }

    fn insert(&mut self, key: Key<'_>, (batch, row): (u32, u32), cx: &mut Cx<'_, '_>) {
        let place = self.places.len() as u32;
        let (ends, new) = self.keys.entry(key, (place, place));
        if !new {
            let last = std::mem::replace(&mut ends.1, place);
            self.places[last as usize].2 = place;
        }
        self.places.push((batch, row, NONE));
        let bytes = if new { KeyMap::cost(key) } else { 0 };
        self.hold(bytes + size_of::<(u32, u32, u32)>(), cx);
    }

    /// Column `n` of the rows at some places, NULL for [`NONE`].
    fn gather(&self, n: usize, ty: &SqlType, places: &[u32]) -> Column {
        let mut out = Column::for_type(ty);
        out.reserve(places.len());
        for place in places {
            if let (Column::Int(out, gaps), Some((batch, row, _))) = (&mut out, self.places.get(*place as usize))
                && let Column::Int(values, nulls) = &self.rows[*batch as usize].columns[n]
                && gaps.none()
                && !nulls.get(*row as usize)
            {
                out.push(values[*row as usize]);
                continue;
            }
            match self.places.get(*place as usize) {
                Some((batch, row, _)) => out.push_from(&self.rows[*batch as usize].columns[n], *row as usize),
                None => out.push(ValueRef::Null),
            }
        }
        out
    }

    /// The first place of a key; [`NONE`]: it has none.
    #[inline]
    fn first(&self, key: Key<'_>) -> u32 {
        self.keys.get(key).map_or(NONE, |(first, _)| first)
    }
}

/// Two partitions to be joined.
struct Pair {
    levels: u32,
    right: Run,
    left: Run,
}

/// A left batch in work.
struct Probing {
    batch: Batch,
    row: usize,
    /// Where to go on with the row, when a result batch was full: with keys 1 + the place, without keys the batch.
    place: usize,
    /// Without keys: the matches in the batch of the right side at `place`, and how many of them are joined.
    hits: Option<(Vec<u32>, usize)>,
    /// The row has matched, in this piece of the right side or one before.
    matched: bool,
}

impl Probing {
    fn new(batch: Batch) -> Probing {
        Probing { batch, row: 0, place: 0, hits: None, matched: false }
    }
}

/// A pair in work.
struct Present {
    pair: Pair,
    /// Next batch of the right run to be loaded.
    right_at: usize,
    /// Next batch of the left run.
    left_at: usize,
    /// All of the right run was in the table at some time, with the table as it is now.
    last_piece: bool,
    /// The right run needs several pieces: which left rows have matched so far.
    matched: Option<Vec<bool>>,
    /// Rows of the left run before the batch at `left_at`.
    before: usize,
    /// Results, where the order is to be kept.
    out: Option<RunWriter>,
}

/// A join on disk.
#[derive(Default)]
struct Spilled {
    /// The right side's partitions, until the left side was divided too.
    right: Option<(Partitions, Vec<Run>)>,
    pairs: VecDeque<Pair>,
    present: Option<Present>,
    file: Option<std::rc::Rc<SpillFile>>,
    runs: Vec<Run>,
    merge: Option<Merge<BySequence>>,
}

/// Builds a table of the right side, probes it with the left.
pub struct HashJoin<'p> {
    left: BoxedOperator<'p>,
    right: BoxedOperator<'p>,
    plan: HashJoinPlan<'p>,
    left_types: &'p [SqlType],
    right_types: &'p [SqlType],
    table: Table,
    /// The build side has a row whose key has a NULL.
    null_key: bool,
    /// The build side has rows.
    any: bool,
    probing: Option<Probing>,
    spilled: Option<Spilled>,
    opened: bool,
    /// It is not decided of which side the table is built.
    undecided: bool,
    /// The table is of the left side, and the right side probes it.
    swapped: bool,
    /// Somebody needs a few rows only.
    hurried: bool,
    /// Batches of the probing side that were read already.
    ahead: VecDeque<Batch>,
    /// The key in work, and a joined row.
    buffer: Vec<u8>,
    scratch: Option<Joined>,
}

impl<'p> HashJoin<'p> {
    pub fn new(
        left: BoxedOperator<'p>,
        right: BoxedOperator<'p>,
        plan: HashJoinPlan<'p>,
        left_types: &'p [SqlType],
        right_types: &'p [SqlType],
    ) -> Self {
        HashJoin {
            left,
            right,
            plan,
            left_types,
            right_types,
            table: Table::default(),
            null_key: false,
            any: false,
            probing: None,
            spilled: None,
            opened: false,
            undecided: false,
            swapped: false,
            hurried: false,
            ahead: VecDeque::new(),
            buffer: Vec::new(),
            scratch: None,
        }
    }

    /// Appends the key of a row; false when a NULL makes it match nothing.
    fn key(&self, right: bool, batch: &Batch, row: usize, key: &mut Vec<u8>, cx: &mut Cx<'_, 'p>) -> Result<bool> {
        key.clear();
        for part in self.plan.keys {
            let expr = if right { &part.right } else { &part.left };
            // Of a column no copy is made.
            let computed;
            let value = match &expr.kind {
                ExprKind::Column(n) => batch.columns[*n as usize].get(row).localize(&cx.shared.settings.time_zone),
                _ => {
                    computed = eval::eval(expr, batch, row, cx)?;
                    computed.as_ref()
                }
            };
            // `<=>` finds NULL; a text that is no date equals nothing, NULL neither.
            let sought = part.null_safe && value.is_null();
            if !append_domain_key(part.by, value, cx, key)? && !sought {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Finds the key of a row, its bytes in `buffer`; `None` when a NULL makes it match nothing. Of a column of
    /// integers no bytes are made.
    #[inline]
    fn find_key<'k>(
        &self,
        right: bool,
        batch: &Batch,
        row: usize,
        buffer: &'k mut Vec<u8>,
        cx: &mut Cx<'_, 'p>,
    ) -> Result<Option<Key<'k>>> {
        if let [HashKey { by: Comparison::Integer, null_safe: false, left: l, right: r }] = self.plan.keys
            && let ExprKind::Column(n) = if right { &r.kind } else { &l.kind }
            && let Column::Int(values, nulls) = &batch.columns[*n as usize]
        {
            return Ok((!nulls.get(row)).then(|| Key::integer(values[row])));
        }
        let known = self.key(right, batch, row, buffer, cx)?;
        Ok(known.then(|| Key::of(buffer)))
    }

    /// Puts a batch of the build side into the table.
    fn insert(&mut self, batch: Batch, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let number = self.table.rows.len() as u32;
        let mut key = Vec::new();
        // Without keys every row is looked at.
        let keyed = if self.plan.keys.is_empty() { 0 } else { batch.rows };
        for row in 0..keyed {
            match self.find_key(!self.swapped, &batch, row, &mut key, cx)? {
                Some(key) => self.table.insert(key, (number, row as u32), cx),
                None => self.null_key = true,
            }
        }
        let bytes = batch.memory_bytes();
        self.table.bulky |= bytes > BULKY * batch.rows.max(1);
        self.table.hold(bytes, cx);
        self.table.rows.push(batch);
        Ok(())
    }

    fn reset(&mut self, cx: &mut Cx<'_, 'p>) {
        self.table.clear(cx);
        (self.spilled, self.probing) = (None, None);
        (self.null_key, self.any, self.swapped) = (false, false, false);
        self.ahead.clear();
    }

    /// Builds the table of the right side: of these batches, and those still to come.
    fn build_table(&mut self, first: VecDeque<Batch>, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let mut first = first;
        while let Some(batch) = first.pop_front().map_or_else(|| self.right.next(cx), |batch| Ok(Some(batch)))? {
            cx.check_interrupt()?;
            if batch.rows == 0 {
                continue;
            }
            self.any = true;
            self.insert(batch, cx)?;
            if cx.over(self.table.held) {
                return self.divide_right(first, cx);
            }
        }
        Ok(())
    }

    /// The next batch of the side that probes.
    fn next_probing(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        match self.ahead.pop_front() {
            Some(batch) => Ok(Some(batch)),
            None if self.swapped => self.right.next(cx),
            None => self.left.next(cx),
        }
    }

    /// Appends the rows of one side to partitions. A key that matches nothing: left rows go anywhere, right ones are
    /// not needed.
    fn divide(
        &mut self,
        right: bool,
        batch: &Batch,
        to: &mut Partitions,
        number: Option<&mut i64>,
        cx: &mut Cx<'_, 'p>,
    ) -> Result<()> {
        cx.check_interrupt()?;
        let mut key = Vec::new();
        let mut number = number;
        for row in 0..batch.rows {
            let known = self.key(right, batch, row, &mut key, cx)?;
            let more = number.as_mut().map(|n| {
                **n += 1;
                **n
            });
            if known {
                to.push(&key, batch, row, more)?;
            } else if right {
                self.null_key = true;
            } else if matches!(self.plan.kind, JoinKind::Left | JoinKind::Anti) {
                to.push_to(0, batch, row, more)?;
            }
        }
        Ok(())
    }

    /// Moves the right side to partitions: the rows in the table and those still to come.
    fn divide_right(&mut self, mut first: VecDeque<Batch>, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let mut parts = Partitions::new(cx)?;
        for batch in std::mem::take(&mut self.table.rows) {
            self.divide(true, &batch, &mut parts, None, cx)?;
        }
        self.table.clear(cx);
        while let Some(batch) = first.pop_front().map_or_else(|| self.right.next(cx), |batch| Ok(Some(batch)))? {
            self.divide(true, &batch, &mut parts, None, cx)?;
        }
        let left = parts.sibling(cx)?;
        self.spilled = Some(Spilled { right: Some((left, parts.finish()?)), ..Spilled::default() });
        Ok(())
    }

    /// Takes the left side to partitions.
    fn divide_left(&mut self, spilled: &mut Spilled, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let Some((mut parts, rights)) = spilled.right.take() else { return Ok(()) };
        let mut number = 0;
        while let Some(batch) = self.next_probing(cx)? {
            let counted = self.plan.keeps_order.then_some(&mut number);
            self.divide(false, &batch, &mut parts, counted, cx)?;
        }
        // Without keys all rows are in one partition, which no hash divides.
        let levels = if self.plan.keys.is_empty() { 0 } else { MAX_LEVEL };
        let pairs = rights.into_iter().zip(parts.finish()?).map(|(right, left)| Pair { levels, right, left });
        spilled.pairs = pairs.filter(|p| p.left.rows > 0).collect();
        if self.plan.keeps_order {
            spilled.file = Some(SpillFile::create(&cx.temp_space()?)?);
        }
        Ok(())
    }

    /// Divides a pair by another hash.
    fn divide_pair(&mut self, pair: &Pair, spilled: &mut Spilled, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let mut rights = Partitions::new(cx)?;
        let mut lefts = rights.sibling(cx)?;
        for n in 0..pair.right.batches() {
            let Some(batch) = pair.right.batch(n)? else { break };
            self.divide(true, &batch, &mut rights, None, cx)?;
        }
        for n in 0..pair.left.batches() {
            let Some(batch) = pair.left.batch(n)? else { break };
            self.divide(false, &batch, &mut lefts, None, cx)?;
        }
        let (rights, lefts) = (rights.finish()?, lefts.finish()?);
        // All in one partition: one key.
        let stuck = rights.iter().any(|r| r.rows == pair.right.rows);
        let levels = if stuck { 0 } else { pair.levels - 1 };
        let pairs = rights.into_iter().zip(lefts).map(|(right, left)| Pair { levels, right, left });
        spilled.pairs.extend(pairs.filter(|p| p.left.rows > 0));
        Ok(())
    }

    /// Loads the right run from where it was left, as far as memory allows.
    fn load_piece(&mut self, present: &mut Present, cx: &mut Cx<'_, 'p>) -> Result<()> {
        self.table.clear(cx);
        let share = cx.share();
        while self.table.held < share || self.table.rows.is_empty() {
            cx.check_interrupt()?;
            let Some(batch) = present.pair.right.batch(present.right_at)? else { break };
            present.right_at += 1;
            self.insert(batch, cx)?;
        }
        present.last_piece = present.right_at >= present.pair.right.batches();
        if !present.last_piece && present.matched.is_none() {
            let rows = present.pair.left.rows as usize;
            cx.reserve(rows)?;
            present.matched = Some(vec![false; rows]);
        }
        (present.left_at, present.before) = (0, 0);
        Ok(())
    }

    /// Starts the next pair; false when there is none.
    fn start_pair(&mut self, spilled: &mut Spilled, cx: &mut Cx<'_, 'p>) -> Result<bool> {
        while let Some(pair) = spilled.pairs.pop_front() {
            if pair.levels > 0 && pair.right.memory_bytes() > cx.share() {
                self.divide_pair(&pair, spilled, cx)?;
                continue;
            }
            let out = spilled.file.as_ref().map(RunWriter::new);
            let mut present =
                Present { pair, right_at: 0, left_at: 0, last_piece: false, matched: None, before: 0, out };
            self.load_piece(&mut present, cx)?;
            spilled.present = Some(present);
            return Ok(true);
        }
        Ok(false)
    }

    /// Goes on with the present pair: the next piece, or the next pair. False at the end.
    fn step(&mut self, spilled: &mut Spilled, cx: &mut Cx<'_, 'p>) -> Result<bool> {
        match &mut spilled.present {
            Some(present) if !present.last_piece => {
                if let Some(file) = &spilled.file
                    && let Some(out) = present.out.replace(RunWriter::new(file))
                {
                    spilled.runs.push(out.finish()?);
                }
                self.load_piece(present, cx)?;
                Ok(true)
            }
            _ => {
                if let Some(present) = spilled.present.take() {
                    cx.release(present.matched.map_or(0, |m| m.len()));
                    if let Some(out) = present.out {
                        spilled.runs.push(out.finish()?);
                    }
                }
                self.start_pair(spilled, cx)
            }
        }
    }

    fn next_spilled(&mut self, spilled: &mut Spilled, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        if spilled.right.is_some() {
            self.divide_left(spilled, cx)?;
        }
        let only_left = matches!(self.plan.kind, JoinKind::Semi | JoinKind::Anti);
        let width = self.left_types.len() + if only_left { 0 } else { self.right_types.len() };
        loop {
            if let Some(merge) = &mut spilled.merge {
                return merge.next(width, BATCH_ROWS, cx);
            }
            if self.probing.is_none() {
                let batch = match &spilled.present {
                    Some(present) => present.pair.left.batch(present.left_at)?,
                    None => None,
                };
                self.probing = batch.map(Probing::new);
            }
            let (Some(mut probing), Some(present)) = (self.probing.take(), &mut spilled.present) else {
                if self.step(spilled, cx)? {
                    continue;
                }
                self.table.clear(cx);
                if !self.plan.keeps_order {
                    return Ok(None);
                }
                let runs = reduce(BySequence, std::mem::take(&mut spilled.runs), u64::MAX, cx)?;
                spilled.merge = Some(Merge::new(BySequence, runs)?);
                continue;
            };
            let mut out = self.joined();
            let mut numbers = Column::for_type(&SqlType::BIGINT);
            while probing.row < probing.batch.rows && !out.batch.is_full(BATCH_ROWS) {
                let row = probing.row;
                if let Some(matched) = &present.matched
                    && probing.place == 0
                {
                    probing.matched = matched[present.before + row];
                }
                let done = self.probe(&mut probing, present.last_piece, &mut out, cx)?;
                if let Some(matched) = &mut present.matched {
                    matched[present.before + row] |= done;
                }
                if let (Some(_), Some(number)) = (&present.out, probing.batch.columns.last()) {
                    (numbers.len()..out.batch.rows).for_each(|_| numbers.push_from(number, row));
                }
            }
            if probing.row < probing.batch.rows {
                self.probing = Some(probing);
            } else {
                present.left_at += 1;
                present.before += probing.batch.rows;
            }
            match &mut present.out {
                Some(writer) => {
                    out.batch.columns.push(numbers);
                    writer.write(&out.batch)?;
                }
                None => return Ok(Some(out.batch)),
            }
        }
    }

    /// An empty batch of results.
    fn joined(&self) -> Joined {
        let only_left = matches!(self.plan.kind, JoinKind::Semi | JoinKind::Anti);
        Joined::new(self.left_types, if only_left { &[] } else { self.right_types })
    }

    /// Joins one left row with all of the table where there are no keys, batch by batch. False when `out` was full
    /// before the end.
    fn probe_all(&mut self, probing: &mut Probing, out: &mut Joined, cx: &mut Cx<'_, 'p>) -> Result<bool> {
        let one_is_enough = matches!(self.plan.kind, JoinKind::Semi | JoinKind::Anti);
        if one_is_enough && probing.matched {
            return Ok(true);
        }
        let (batch, row) = (&probing.batch, probing.row);
        let first = std::mem::take(&mut probing.place);
        for (n, right) in self.table.rows.iter_mut().enumerate().skip(first) {
            if out.batch.is_full(BATCH_ROWS) {
                probing.place = n;
                return Ok(false);
            }
            cx.check_interrupt()?;
            if !one_is_enough {
                let all = 0..right.rows as u32;
                let (hits, mut at) = match (probing.hits.take(), self.plan.on) {
                    (Some(kept), _) => kept,
                    (None, Some(on)) => (select_beside(on, (batch, row), right, all, cx)?, 0),
                    (None, None) => (all.collect(), 0),
                };
                probing.matched |= !hits.is_empty();
                while let Some(r) = hits.get(at).filter(|_| !out.batch.is_full(usize::MAX)) {
                    out.push(batch, row, Some((&*right, *r as usize)));
                    at += 1;
                }
                if at < hits.len() {
                    (probing.place, probing.hits) = (n, Some((hits, at)));
                    return Ok(false);
                }
            } else if has_match(self.plan.on, (batch, row), right, cx)? {
                probing.matched = true;
                if self.plan.kind == JoinKind::Semi {
                    out.push(batch, row, None);
                }
                break;
            }
        }
        Ok(true)
    }

    /// Joins one left row with the rows in the table, as far as `out` has room, and goes on to the next left row when
    /// it is done. `last`: no more of the right side follows. Returns whether the row has matched.
    fn probe(&mut self, probing: &mut Probing, last: bool, out: &mut Joined, cx: &mut Cx<'_, 'p>) -> Result<bool> {
        let (batch, row) = (&probing.batch, probing.row);
        if row % 64 == 0 || probing.place > 0 {
            cx.check_interrupt()?;
        }
        let one_is_enough = matches!(self.plan.kind, JoinKind::Semi | JoinKind::Anti);
        let mut known = true;
        if self.plan.keys.is_empty() {
            if !self.probe_all(probing, out, cx)? {
                return Ok(probing.matched);
            }
        } else if !(probing.matched && one_is_enough) {
            let mut buffer = std::mem::take(&mut self.buffer);
            let found = self.find_key(false, batch, row, &mut buffer, cx)?;
            known = found.is_some();
            let types = (self.left_types, self.right_types);
            let mut at = match std::mem::take(&mut probing.place) {
                0 => found.map_or(NONE, |key| self.table.first(key)),
                place => place as u32 - 1,
            };
            self.buffer = buffer;
            let before = probing.matched;
            let mut looked = 0u32;
            while at != NONE {
                looked += 1;
                if looked.is_multiple_of(1024) {
                    cx.check_interrupt()?;
                }
                if out.batch.is_full(BATCH_ROWS) {
                    probing.place = at as usize + 1;
                    return Ok(probing.matched);
                }
                let (b, r, next) = self.table.places[at as usize];
                at = next;
                let right = (&self.table.rows[b as usize], r as usize);
                if let Some(on) = self.plan.on {
                    let scratch = self.scratch.get_or_insert_with(|| Joined::new(types.0, types.1));
                    if !matches(on, scratch, (batch, row), right, types, cx)? {
                        continue;
                    }
                }
                probing.matched = true;
                match self.plan.kind {
                    JoinKind::Inner | JoinKind::Left => out.push(batch, row, Some(right)),
                    JoinKind::Semi | JoinKind::Anti => break,
                }
            }
            if self.plan.kind == JoinKind::Semi && probing.matched && !before {
                out.push(batch, row, None);
            }
        }
        let (batch, row) = (&probing.batch, probing.row);
        match self.plan.kind {
            JoinKind::Left if last && !probing.matched => out.push(batch, row, None),
            JoinKind::Anti if last && !probing.matched => {
                // NOT IN: with a NULL on either side the answer is unknown, unless the set is empty.
                let unknown = self.plan.null_aware && self.any && (self.null_key || !known);
                if !unknown {
                    out.push(batch, row, None);
                }
            }
            _ => {}
        }
        probing.row += 1;
        Ok(std::mem::take(&mut probing.matched))
    }
}

impl<'p> Operator<'p> for HashJoin<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        self.reset(cx);
        // What is opened for each row of another operator may end with its first row.
        self.undecided = !std::mem::replace(&mut self.opened, true) && self.may_swap();
        if self.undecided {
            return Ok(());
        }
        self.right.open(cx)?;
        self.build_table(VecDeque::new(), cx)?;
        self.left.open(cx)
    }

    fn want(&mut self, _: u64) {
        self.hurried = true;
        // One row of the probe side may be enough.
        self.left.want(1);
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        if std::mem::take(&mut self.undecided) {
            self.decide(cx)?;
        }
        if let Some(mut spilled) = self.spilled.take() {
            let batch = self.next_spilled(&mut spilled, cx)?;
            self.spilled = Some(spilled);
            return Ok(batch);
        }
        let mut probing = match self.probing.take() {
            Some(probing) => probing,
            None => match self.next_probing(cx)? {
                Some(batch) => Probing::new(batch),
                None => return Ok(None),
            },
        };
        if self.in_pairs(&probing) {
            let out = self.probe_pairs(&mut probing, cx)?;
            if probing.row < probing.batch.rows {
                self.probing = Some(probing);
            }
            return Ok(Some(out));
        }
        let mut out = self.joined();
        while probing.row < probing.batch.rows && !out.batch.is_full(BATCH_ROWS) {
            self.probe(&mut probing, true, &mut out, cx)?;
        }
        if probing.row < probing.batch.rows {
            self.probing = Some(probing);
        }
        Ok(Some(out.batch))
    }
}
