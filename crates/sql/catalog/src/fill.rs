//! Filling trees from sorted entries. They are divided among tasks: each merges a part of them, and makes that part of
//! the tree. Groups in memory are not: they are merged by one task while another makes the tree of them.

use gannet_base::sync::Mutex;
use gannet_engine::{EngineError, Fill, Filled, FilledPart, Item, Merge, MergePart, Sorter};
use gannet_runtime::{LongWork, Monitor, Stage, Wait, together};
use std::collections::VecDeque;

/// An index's position, and what fills its tree.
pub(crate) type Filling = (usize, Fill);

/// Bytes of entries that are handed over at once.
const BATCH: usize = 256 << 10;
/// Batches that may lie between the two tasks.
const DEPTH: usize = 4;
/// Bytes before an entry in a batch: lengths of key, of its unique part, and of the value, `u32` each.
const HEAD: usize = 12;

/// Why a tree was not filled.
pub(crate) enum Fault {
    Engine(EngineError),
    /// In the index at this position two entries have the unique columns of this one.
    Duplicate(usize, Vec<u8>),
    /// Two rows have the key of this one.
    DuplicateRow(Vec<u8>),
}

impl From<EngineError> for Fault {
    fn from(e: EngineError) -> Fault {
        Fault::Engine(e)
    }
}

/// Entries after which a task tells of them.
pub(crate) const TOLD: u64 = 4096;

/// Where the tasks that fill trees tell of it, and the stage that it is.
#[derive(Clone, Copy)]
pub struct Telling<'w> {
    /// Of all the work.
    pub work: &'w LongWork,
    /// Sorted entries become trees.
    pub insert: Stage,
}

/// What is made of sorted entries.
#[derive(Clone, Copy)]
pub(crate) enum Of {
    /// The index at a position.
    Index(usize),
    Rows,
}

/// Fills a tree from what has been sorted for it, by so many tasks.
pub(crate) fn fill(
    sorters: Vec<Sorter>,
    fill: Fill,
    of: Of,
    tasks: usize,
    telling: Telling<'_>,
) -> Result<Filled, Fault> {
    let mut parts = Sorter::merge_parts(sorters, tasks)?;
    telling.work.enter(telling.insert);
    match parts.len() {
        1 => match parts.pop() {
            Some(MergePart { merge, .. }) if tasks > 1 => fill_beside(merge, Filler::new(fill, of), telling.work),
            Some(MergePart { mut merge, .. }) => {
                let mut tree = Filler::new(fill, of);
                tree.take(&mut merge, telling.work)?;
                Ok(tree.fill.finish()?)
            }
            None => Ok(fill.finish()?),
        },
        _ => fill_parts(parts, fill, of, telling.work),
    }
}

/// A task for each part.
fn fill_parts(parts: Vec<MergePart>, first: Fill, of: Of, work: &LongWork) -> Result<Filled, Fault> {
    let lowers: Vec<Vec<u8>> = parts.iter().map(|part| part.lower.clone()).collect();
    let mut pieces = Vec::with_capacity(parts.len());
    for part in parts {
        let fill = if part.lower.is_empty() { None } else { Some(first.part(&part.lower)?) };
        pieces.push(Mutex::new(Some((fill, part.merge))));
    }
    let first = Mutex::new(Some(first));
    let outcomes = together(lowers.len(), Wait::Parallel, |task| {
        let Some((fill, mut merge)) = pieces[task].lock().take() else { return Ok(Made::Nothing) };
        let (fill, is_first) = match fill {
            Some(fill) => (Some(fill), false),
            None => (first.lock().take(), true),
        };
        let Some(fill) = fill else { return Ok(Made::Nothing) };
        let mut tree = Filler::new(fill, of);
        tree.take(&mut merge, work)?;
        Ok(match is_first {
            true => Made::First(tree.fill),
            false => Made::Part(tree.fill.finish_part(lowers.get(task + 1).map(Vec::as_slice))?),
        })
    });
    let (mut first, mut parts) = (None, Vec::with_capacity(lowers.len()));
    for made in outcomes.into_iter().collect::<Result<Vec<_>, Fault>>()? {
        match made {
            Made::First(fill) => first = Some(fill),
            Made::Part(part) => parts.push(part),
            Made::Nothing => {}
        }
    }
    match first {
        Some(first) if parts.len() + 1 == lowers.len() => Ok(first.finish_with(parts)?),
        _ => Err(Fault::Engine(EngineError::Interrupted)),
    }
}

/// What a task has made.
enum Made {
    First(Fill),
    Part(FilledPart),
    Nothing,
}

/// What makes the tree.
struct Filler {
    of: Of,
    fill: Fill,
    /// The unique part of the entry before, none where it may repeat.
    last: Vec<u8>,
}

impl Filler {
    fn new(fill: Fill, of: Of) -> Filler {
        Filler { of, fill, last: Vec::new() }
    }

    #[inline]
    fn put(&mut self, item: Item<'_>) -> Result<(), Fault> {
        let Of::Index(position) = self.of else {
            return match self.fill.row(item.key, item.value)? {
                true => Ok(()),
                false => Err(Fault::DuplicateRow(item.value.to_vec())),
            };
        };
        if item.unique > 0 {
            let prefix = &item.key[..item.unique];
            if self.last == prefix {
                return Err(Fault::Duplicate(position, item.key.to_vec()));
            }
            self.last.clear();
            self.last.extend_from_slice(prefix);
        }
        Ok(self.fill.entry(item.key, item.value)?)
    }

    fn take(&mut self, merge: &mut Merge, work: &LongWork) -> Result<(), Fault> {
        let mut entries = 0_u64;
        while let Some(item) = merge.next()? {
            self.put(item)?;
            entries += 1;
            if entries.is_multiple_of(TOLD) {
                work.done(TOLD);
            }
        }
        work.done(entries % TOLD);
        Ok(())
    }
}

/// Batches on their way from the task that merges to the one that fills.
#[derive(Default)]
struct Belt {
    full: VecDeque<Vec<u8>>,
    empty: Vec<Vec<u8>>,
    /// The last entry is on it.
    whole: bool,
    /// One of the two has ended, in whichever way.
    ended: bool,
}

/// Says at a task's end, be it by a panic, that the other need not wait for it.
struct Ending<'b>(&'b Monitor<Belt>);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.change(|belt| belt.ended = true);
    }
}

fn fill_beside(merge: Merge, tree: Filler, work: &LongWork) -> Result<Filled, Fault> {
    let belt = Monitor::new(Belt::default());
    let (merge, tree) = (Mutex::new(Some(merge)), Mutex::new(Some(tree)));
    let outcomes = together(2, Wait::Parallel, |task| {
        let _ending = Ending(&belt);
        if task == 0 {
            let merge = merge.lock().take();
            return merge.map_or(Ok(()), |merge| merge_onto(&belt, merge)).map(|()| None);
        }
        let tree = tree.lock().take();
        tree.map_or(Ok(None), |tree| fill_from(&belt, tree, work))
    });
    // An error of the merger comes first: the other's is that there are no more entries.
    let filled = outcomes.into_iter().collect::<Result<Vec<_>, _>>()?;
    filled.into_iter().flatten().next().ok_or(Fault::Engine(EngineError::Interrupted))
}

/// Ends early when the other task has.
fn merge_onto(belt: &Monitor<Belt>, mut merge: Merge) -> Result<(), Fault> {
    let mut batch = Vec::with_capacity(BATCH + BATCH / 8);
    let hand_over = |batch: &mut Vec<u8>| {
        belt.wait(Wait::Parallel, |belt| (belt.ended || belt.full.len() < DEPTH).then_some(()));
        belt.change(|belt| {
            let next = belt.empty.pop().unwrap_or_default();
            belt.full.push_back(std::mem::replace(batch, next));
            !belt.ended
        })
    };
    while let Some(Item { key, unique, value }) = merge.next()? {
        for n in [key.len(), unique, value.len()] {
            batch.extend_from_slice(&(n as u32).to_le_bytes());
        }
        batch.extend_from_slice(key);
        batch.extend_from_slice(value);
        if batch.len() >= BATCH && !hand_over(&mut batch) {
            return Ok(());
        }
    }
    hand_over(&mut batch);
    belt.change(|belt| belt.whole = true);
    Ok(())
}

/// `None`: the other task has ended before its last entry.
fn fill_from(belt: &Monitor<Belt>, mut tree: Filler, work: &LongWork) -> Result<Option<Filled>, Fault> {
    loop {
        let next = belt.wait(Wait::Parallel, |belt| match belt.full.pop_front() {
            Some(batch) => Some(Ok(batch)),
            None => (belt.whole || belt.ended).then_some(Err(belt.whole)),
        });
        let mut batch = match next {
            Ok(batch) => batch,
            Err(true) => return Ok(Some(tree.fill.finish()?)),
            Err(false) => return Ok(None),
        };
        let (mut rest, mut entries) = (&batch[..], 0);
        while let Some((item, behind)) = entry(rest) {
            tree.put(item)?;
            (rest, entries) = (behind, entries + 1);
        }
        work.done(entries);
        gannet_runtime::yield_if_due();
        batch.clear();
        belt.change(|belt| belt.empty.push(batch));
    }
}

/// The entry that a batch begins with, and what is behind it.
#[inline]
fn entry(batch: &[u8]) -> Option<(Item<'_>, &[u8])> {
    let (head, rest) = batch.split_first_chunk::<HEAD>()?;
    let n = |i: usize| u32::from_le_bytes([head[i], head[i + 1], head[i + 2], head[i + 3]]) as usize;
    let (key, rest) = rest.split_at(n(0));
    let (value, rest) = rest.split_at(n(8));
    Some((Item { key, unique: n(4), value }, rest))
}
