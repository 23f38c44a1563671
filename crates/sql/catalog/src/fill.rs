//! Filling the trees of indexes from sorted entries. Where a task is free, one merges what was sorted while another
//! makes the tree of it: each takes about as long.

use gannet_base::sync::Mutex;
use gannet_engine::{EngineError, Fill, Filled, Item, Sorter};
use gannet_runtime::{Monitor, Wait, together};
use std::collections::VecDeque;

/// An index's position, and what fills its tree.
pub(crate) type Filling = (usize, Fill);

/// Bytes of entries that are handed over at once.
const BATCH: usize = 256 << 10;
/// Batches that may lie between the two tasks.
const DEPTH: usize = 4;
/// Bytes before an entry in a batch: lengths of key, of its unique part, and of the value, `u32` each.
const HEAD: usize = 12;

/// Why an index was not filled.
pub(crate) enum Fault {
    Engine(EngineError),
    /// In the index at this position two entries have the unique columns of this one.
    Duplicate(usize, Vec<u8>),
}

impl From<EngineError> for Fault {
    fn from(e: EngineError) -> Fault {
        Fault::Engine(e)
    }
}

/// Fills a tree from what has been sorted for it, by two tasks or by this one.
pub(crate) fn fill(sorters: Vec<Sorter>, filling: Filling, two: bool) -> Result<Filled, Fault> {
    if two {
        return fill_beside(sorters, filling);
    }
    let (mut merge, mut tree) = (Sorter::merge(sorters)?, Filler::new(filling));
    while let Some(item) = merge.next()? {
        tree.put(item)?;
    }
    Ok(tree.fill.finish()?)
}

/// What makes the tree.
struct Filler {
    position: usize,
    fill: Fill,
    /// The unique part of the entry before, none where it may repeat.
    last: Vec<u8>,
}

impl Filler {
    fn new((position, fill): Filling) -> Filler {
        Filler { position, fill, last: Vec::new() }
    }

    #[inline]
    fn put(&mut self, item: Item<'_>) -> Result<(), Fault> {
        if item.unique > 0 {
            let prefix = &item.key[..item.unique];
            if self.last == prefix {
                return Err(Fault::Duplicate(self.position, item.key.to_vec()));
            }
            self.last.clear();
            self.last.extend_from_slice(prefix);
        }
        Ok(self.fill.entry(item.key, item.value)?)
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

fn fill_beside(sorters: Vec<Sorter>, filling: Filling) -> Result<Filled, Fault> {
    let belt = Monitor::new(Belt::default());
    let (sorters, filling) = (Mutex::new(sorters), Mutex::new(Some(filling)));
    let outcomes = together(2, Wait::Parallel, |task| {
        let _ending = Ending(&belt);
        if task == 0 {
            let sorters = std::mem::take(&mut *sorters.lock());
            return merge_onto(&belt, sorters).map(|()| None);
        }
        let filling = filling.lock().take();
        filling.map_or(Ok(None), |filling| fill_from(&belt, filling))
    });
    // An error of the merger comes first: the other's is that there are no more entries.
    let filled = outcomes.into_iter().collect::<Result<Vec<_>, _>>()?;
    filled.into_iter().flatten().next().ok_or(Fault::Engine(EngineError::Interrupted))
}

/// Ends early when the other task has.
fn merge_onto(belt: &Monitor<Belt>, sorters: Vec<Sorter>) -> Result<(), Fault> {
    let mut merge = Sorter::merge(sorters)?;
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
fn fill_from(belt: &Monitor<Belt>, filling: Filling) -> Result<Option<Filled>, Fault> {
    let mut tree = Filler::new(filling);
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
        let mut rest = &batch[..];
        while let Some((item, behind)) = entry(rest) {
            tree.put(item)?;
            rest = behind;
        }
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
