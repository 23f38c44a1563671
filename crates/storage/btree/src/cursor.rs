//! Scans: a cursor copies entries of one leaf at a time into private memory, with the leaf's bounds, and goes on by
//! bound. It holds no latch between calls, so each entry is seen as it was when the cursor reached it.

use std::cell::Cell;
use std::ops::{Deref, DerefMut, Range};

use gannet_base::{PAGE_SIZE, PageNo};
use gannet_buffer::{Error, Priority, Stop};
use gannet_page::node::{EntrySpan, SLOT, SLOTS, Span};
use gannet_page::{Node, PageBuf, PageBytes};
use gannet_telemetry::{Counter, count};

use crate::Tree;
use crate::descend::{Bound, Target};
use crate::place::Place;

/// Failed optimistic copies of a leaf after which the shared latch is taken.
const PATIENCE: u32 = 8;

/// Where a cursor is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum At {
    /// Not yet in the range: the next step enters it from the side it comes from.
    Outside,
    /// On the entry `pos` of the leaf.
    Entry,
    /// Past an end of the range.
    End,
}

/// Goes over the entries of a key range, forward or backward.
pub struct Cursor {
    tree: Tree,
    space: Lent,
    at: At,
    pos: usize,
    /// Where the entry `pos` lies in the copy of the leaf.
    entry: EntrySpan,
    /// Entries of the leaf that lie in the range.
    low: usize,
    high: usize,
    /// Those of them that were copied.
    have: Range<usize>,
    /// As many entries are copied at once, at most: more each time.
    step: usize,
    first_step: usize,
    scan: bool,
    /// Copies since the range was set, and before.
    copies: u64,
    before: u64,
}

/// What a cursor works with, and leaves to the next one.
struct Space {
    /// Header, prefix, and the slots and heap entries that were copied, each in its place.
    leaf: Box<PageBuf>,
    place: Place,
    ahead: Vec<PageNo>,
    from: Bound,
    to: Bound,
    /// The entry's key.
    key: Vec<u8>,
    /// Where the cursor goes on.
    goal: Vec<u8>,
}

/// A space moves in its box, from here to a cursor and back.
type Spares = Vec<Box<Space>>;

thread_local! {
    /// Of cursors that are gone. A cursor takes one as it is, in its box.
    static SPARE: Cell<Spares> = const { Cell::new(Vec::new()) };
}

/// As many spaces a thread keeps.
const SPARES: usize = 32;

/// Entries that a cursor copies of the first leaf of a range without a bound in it.
const FIRST_STEP: usize = 16;

/// The space of a cursor, from its thread's spares and back.
struct Lent(Option<Box<Space>>);

impl Lent {
    fn new() -> Lent {
        let mut spare = SPARE.take();
        let space = spare.pop();
        SPARE.set(spare);
        Lent(Some(space.unwrap_or_else(|| {
            let (from, to) = (Bound::default(), Bound::default());
            let (key, goal, ahead) = (Vec::new(), Vec::new(), Vec::new());
            Box::new(Space { leaf: PageBuf::boxed(), place: Place::new(), ahead, from, to, key, goal })
        })))
    }
}

impl Deref for Lent {
    type Target = Space;
    #[inline]
    fn deref(&self) -> &Space {
        self.0.as_ref().expect("it is given back when it is dropped")
    }
}

impl DerefMut for Lent {
    #[inline]
    fn deref_mut(&mut self) -> &mut Space {
        self.0.as_mut().expect("it is given back when it is dropped")
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let Some(mut space) = self.0.take() else { return };
        space.key.clear();
        space.place.leave();
        // A thread that ends has no spares any more.
        let _ = SPARE.try_with(|spares| {
            let mut spare = spares.take();
            if spare.len() < SPARES {
                spare.push(space);
            }
            spares.set(spare);
        });
    }
}

/// What of a leaf is of use.
struct Window {
    low: usize,
    high: usize,
    pos: usize,
    have: Range<usize>,
}

impl Cursor {
    pub(crate) fn new(tree: Tree) -> Cursor {
        Cursor {
            tree,
            space: Lent::new(),
            at: At::Outside,
            pos: 0,
            entry: EntrySpan::default(),
            low: 0,
            high: 0,
            have: 0..0,
            step: FIRST_STEP,
            first_step: FIRST_STEP,
            scan: false,
            copies: 0,
            before: 0,
        }
    }

    /// Whether much of the tree will be read once: its pages are the first to be evicted, and are not kept for it.
    pub fn set_scan(&mut self, scan: bool) {
        self.scan = scan;
        self.first_step = if scan { usize::MAX } else { FIRST_STEP };
    }

    /// One entry of a range is looked at, mostly: no more are copied at first.
    pub fn set_single(&mut self) {
        self.first_step = 1;
    }

    /// Sets the range: keys from `from` on (`None`: from the first), below `to` (`None`: up to the last). The cursor is
    /// outside; [`Cursor::next`] goes to the first entry, [`Cursor::prev`] to the last.
    pub fn set_range(&mut self, from: Option<&[u8]>, to: Option<&[u8]>) {
        fn write(key: Option<&[u8]>) -> impl FnOnce(&mut Vec<u8>) -> bool {
            move |out| {
                out.extend_from_slice(key.unwrap_or_default());
                key.is_some()
            }
        }
        self.set_range_by(write(from), write(to));
    }

    /// As [`Cursor::set_range`]; the bounds are what is written into empty buffers by functions that return true.
    pub fn set_range_by(&mut self, from: impl FnOnce(&mut Vec<u8>) -> bool, to: impl FnOnce(&mut Vec<u8>) -> bool) {
        let s = &mut *self.space;
        s.from.put(from);
        s.to.put(to);
        let empty = s.from.get().is_some_and(|from| s.to.get().is_some_and(|to| from >= to));
        self.at = if empty { At::End } else { At::Outside };
        s.key.clear();
        self.step = self.first_step;
        self.before += std::mem::take(&mut self.copies);
    }

    /// Whether there is nothing more in the range, as far as is known.
    pub fn is_at_end(&self) -> bool {
        self.at == At::End
    }

    /// Whether the cursor is on an entry.
    #[inline]
    pub fn is_valid(&self) -> bool {
        self.at == At::Entry
    }

    /// The entry's key. Empty when the cursor is on none.
    #[inline]
    pub fn key(&self) -> &[u8] {
        &self.space.key
    }

    /// The entry's value. Empty when the cursor is on none.
    #[inline]
    pub fn value(&self) -> &[u8] {
        let Span { at, len } = if self.is_valid() { self.entry.value } else { Span::default() };
        &self.space.leaf.0[at..at + len]
    }

    /// How often entries of a leaf were copied so far.
    #[inline]
    pub fn leaves(&self) -> u64 {
        self.before + self.copies
    }

    /// Whether the leaf is still what was read, if the range that was set begins in it: then the entry under the cursor
    /// is still the first one that was found.
    pub fn is_current(&self) -> bool {
        self.is_valid() && self.copies == 1 && self.tree.is_still(&self.space.place)
    }

    /// Values of the entries still to come, in a direction, of those that were copied; the present one first.
    pub fn values_ahead(&self, forward: bool) -> impl Iterator<Item = &[u8]> {
        let range = match (self.is_valid(), forward) {
            (false, _) => 0..0,
            (true, true) => self.pos..self.have.end,
            (true, false) => self.have.start..self.pos + 1,
        };
        range.map(|pos| Node(&*self.space.leaf).value_bytes(pos))
    }

    /// Steps to the next entry, if it was copied already, and makes no key: see [`Cursor::assemble_key`].
    #[inline]
    pub fn advance(&mut self) -> bool {
        let more = self.at == At::Entry && self.pos + 1 < self.have.end;
        if more {
            self.settle(self.pos + 1);
            self.space.key.clear();
        }
        more
    }

    /// Steps from entry to entry, of those that were copied, as long as `takes` takes their values.
    #[inline]
    pub fn advance_while(&mut self, mut takes: impl FnMut(&[u8]) -> bool) {
        if self.at != At::Entry {
            return;
        }
        let (before, node) = (self.pos, Node(&*self.space.leaf));
        while self.pos + 1 < self.have.end {
            let entry = node.entry(self.pos + 1);
            let Span { at, len } = entry.value;
            if !takes(&self.space.leaf.0[at..at + len]) {
                break;
            }
            self.pos += 1;
            self.entry = entry;
        }
        if self.pos > before {
            self.space.key.clear();
        }
    }

    /// Steps to the next entry; false when there is none in the range.
    #[expect(clippy::should_implement_trait, reason = "a lending iterator that can fail")]
    #[inline]
    pub fn next(&mut self) -> Result<bool, Error> {
        if self.at == At::Entry && self.pos + 1 < self.have.end {
            self.settle(self.pos + 1);
            self.assemble_key();
            return Ok(true);
        }
        self.go(true)
    }

    /// Steps to the entry before; false when there is none in the range.
    #[inline]
    pub fn prev(&mut self) -> Result<bool, Error> {
        if self.at == At::Entry && self.pos > self.have.start {
            self.settle(self.pos - 1);
            self.assemble_key();
            return Ok(true);
        }
        self.go(false)
    }

    /// Steps to an entry that was not copied.
    fn go(&mut self, forward: bool) -> Result<bool, Error> {
        let mut goal = std::mem::take(&mut self.space.goal);
        goal.clear();
        let found = self.go_to(forward, &mut goal);
        self.space.goal = goal;
        found
    }

    fn go_to(&mut self, forward: bool, goal: &mut Vec<u8>) -> Result<bool, Error> {
        let mut bounded = match self.at {
            At::End => return Ok(false),
            At::Outside => {
                let bound = if forward { self.space.from.get() } else { self.space.to.get() };
                goal.extend_from_slice(bound.unwrap_or_default());
                bound.is_some()
            }
            // The leaf has more.
            At::Entry if forward && self.pos + 1 < self.high => {
                self.assemble_key();
                goal.extend_from_slice(&self.space.key);
                goal.push(0);
                true
            }
            At::Entry if !forward && self.pos > self.low => {
                self.assemble_key();
                goal.extend_from_slice(&self.space.key);
                true
            }
            At::Entry => {
                if !self.beyond(forward, goal) {
                    return Ok(self.finish());
                }
                true
            }
        };
        loop {
            let target = match (forward, bounded) {
                (true, true) => Target::Key(goal),
                (true, false) => Target::First,
                (false, true) => Target::Below(goal),
                (false, false) => Target::Last,
            };
            self.at = At::End;
            self.load(target)?;
            if !self.have.is_empty() {
                self.at = At::Entry;
                self.settle(self.pos);
                self.assemble_key();
                return Ok(true);
            }
            if !self.beyond(forward, goal) {
                return Ok(self.finish());
            }
            bounded = true;
        }
    }

    fn finish(&mut self) -> bool {
        self.at = At::End;
        self.space.key.clear();
        false
    }

    /// Makes the bound of the leaf in a direction the goal, if there may be keys of the range beyond it.
    fn beyond(&self, forward: bool, goal: &mut Vec<u8>) -> bool {
        let s = &*self.space;
        let bounds = &s.place.bounds;
        let bound = if forward {
            bounds.upper.get().filter(|upper| s.to.get().is_none_or(|to| *upper < to))
        } else {
            bounds.lower.get().filter(|lower| s.from.get().is_none_or(|from| *lower > from))
        };
        if let Some(bound) = bound {
            goal.clear();
            goal.extend_from_slice(bound);
        }
        bound.is_some()
    }

    /// Goes to an entry that was copied.
    #[inline]
    fn settle(&mut self, pos: usize) {
        self.pos = pos;
        self.entry = Node(&*self.space.leaf).entry(pos);
    }

    /// Makes the key of an entry that [`Cursor::advance`] went to.
    pub fn assemble_key(&mut self) {
        let Space { leaf, key, .. } = &mut *self.space;
        let node = Node(&**leaf);
        // The prefix is in place unless the leaf has changed.
        key.truncate(node.prefix_len());
        if key.len() < node.prefix_len() {
            key.clear();
            key.extend_from_slice(node.prefix_bytes());
        }
        let Span { at, len } = self.entry.suffix;
        key.extend_from_slice(&leaf.0[at..at + len]);
    }

    /// Finds which entries of the leaf for `target` are in the range, and where a step forward (or with
    /// [`Target::Below`] and [`Target::Last`] backward, from there on down) begins, and copies some from there on. The
    /// cursor is then on the first of them, if there are any.
    fn load(&mut self, target: Target<'_>) -> Result<(), Error> {
        let (tree, space, scan, step) = (&self.tree, &mut *self.space, self.scan, self.step);
        let priority = if scan { Priority::Scan } else { Priority::Normal };
        let mut tries = 0;
        let window = tree.pool.run_as(priority, || {
            tries += 1;
            let Space { place, ahead, .. } = &mut *space;
            ahead.clear();
            let found = match tree.leaf_by(target, place, scan.then_some(&mut *ahead)) {
                Err(Stop::Fault(no)) if !ahead.is_empty() => {
                    tree.pool.load_many(ahead, Priority::Scan);
                    return Err(Stop::Fault(no));
                }
                other => other?,
            };
            count(Counter::InnodbBufferPoolReadRequests);
            if tries <= PATIENCE {
                let window = space.take(&found, target, step);
                return found.validate().map(|()| window);
            }
            let latched = tree.pool.shared(found.page_no())?;
            found.validate()?;
            Ok::<_, Stop>(space.take(&*latched, target, step))
        })?;
        space.key.clear();
        (self.low, self.high, self.pos, self.have) = (window.low, window.high, window.pos, window.have);
        self.copies += 1;
        self.step = step.saturating_mul(8);
        Ok(())
    }
}

impl Space {
    /// Copies `step` entries of a leaf at most.
    fn take<P: PageBytes + ?Sized>(&mut self, page: &P, target: Target<'_>, step: usize) -> Window {
        let node = Node(page);
        let count = node.count();
        let (lower, upper) = (self.place.bounds.lower.get(), self.place.bounds.upper.get());
        let first = |key: &[u8]| if lower.is_none_or(|lower| lower < key) { node.search(key).0 } else { 0 };
        let end = |key: &[u8]| if upper.is_none_or(|upper| upper > key) { node.search(key).0 } else { count };
        let low = self.from.get().map_or(0, first);
        // Where the step begins is the range's own bound at first. If leaves were merged since, the leaf may reach
        // further back than the last one ended: entries that were returned are not returned again (INV-BT-6).
        let is_bound = |key: &[u8], bound: &Bound| bound.get() == Some(key);
        let high = self.to.get().map_or(count, end);
        let forward = matches!(target, Target::Key(_) | Target::First);
        let pos = match target {
            Target::Key(key) if is_bound(key, &self.from) => low,
            Target::Key(key) => first(key).max(low),
            Target::Below(key) if is_bound(key, &self.to) => high,
            Target::Below(key) => end(key).min(high),
            Target::First => low,
            Target::Last => high,
        };
        let have = if forward {
            pos..high.min(pos.saturating_add(step)).max(pos)
        } else {
            low.max(pos.saturating_sub(step)).min(pos)..pos
        };
        copy_entries(page, have.clone(), &mut self.leaf);
        let pos = if forward { pos } else { pos.saturating_sub(1) };
        Window { low, high, pos, have }
    }
}

/// Copies header, prefix, and the slots and entries of a range, each to its place.
fn copy_entries<P: PageBytes + ?Sized>(from: &P, range: Range<usize>, to: &mut PageBuf) {
    let node = Node(from);
    let count = node.count();
    let heap = from.u16_at(36) as usize;
    // What it costs to copy an entry by itself is about a copy of so many bytes more.
    const BY_ITSELF: usize = 128;
    let used = PAGE_SIZE.saturating_sub(heap) + SLOT * count;
    if range.len() * (used / count.max(1) + BY_ITSELF) >= used && !range.is_empty() {
        let front = (SLOTS + SLOT * count).min(PAGE_SIZE);
        from.read(0, &mut to.0[..front]);
        // Words are copied whole: begin at a word.
        let heap = heap.clamp(front, PAGE_SIZE) & !7;
        from.read(heap.max(front), &mut to.0[heap.max(front)..]);
        return;
    }
    from.read(0, &mut to.0[..SLOTS]);
    let prefix = node.prefix();
    from.read(prefix.at, &mut to.0[prefix.at..]);
    // Torn numbers of a page that is being changed: they are thrown away, but must not lead outside.
    let slots = (SLOTS + SLOT * range.start).min(PAGE_SIZE)..(SLOTS + SLOT * range.end).min(PAGE_SIZE);
    from.read(slots.start, &mut to.0[slots.start..slots.end.max(slots.start)]);
    if range.is_empty() {
        return;
    }
    // Neighbours that were inserted one after the other lie together.
    let together = node.extent(range.clone());
    if together.len() <= range.len() * (used / count.max(1) + BY_ITSELF) {
        from.read(together.start, &mut to.0[together]);
        return;
    }
    for i in range {
        let entry = node.entry(i);
        let end = entry.value.at + entry.value.len;
        from.read(entry.suffix.at, &mut to.0[entry.suffix.at..end.max(entry.suffix.at)]);
    }
}
