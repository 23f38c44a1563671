//! Scans: a cursor copies one leaf at a time into private memory, with its bounds, and goes on by bound. It holds no
//! latch between calls, so each leaf is seen as it was when the cursor reached it.

use gannet_base::PAGE_SIZE;
use gannet_buffer::{Error, Priority, Stop};
use gannet_page::node::{SLOT, SLOTS};
use gannet_page::{Node, PageBuf, PageBytes};
use gannet_telemetry::{Counter, count};

use crate::Tree;
use crate::descend::{Notes, Target};

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
    leaf: Box<PageBuf>,
    notes: Notes,
    from: Option<Vec<u8>>,
    to: Option<Vec<u8>>,
    at: At,
    pos: usize,
    /// Entries of the leaf that lie in the range.
    low: usize,
    high: usize,
    key: Vec<u8>,
    scan: bool,
    leaves: u64,
}

impl Cursor {
    pub(crate) fn new(tree: Tree) -> Cursor {
        Cursor {
            tree,
            leaf: PageBuf::boxed(),
            notes: Notes::default(),
            from: None,
            to: None,
            at: At::Outside,
            pos: 0,
            low: 0,
            high: 0,
            key: Vec::new(),
            scan: false,
            leaves: 0,
        }
    }

    /// Whether much of the tree will be read once: its pages are the first to be evicted, and are not kept for it.
    pub fn set_scan(&mut self, scan: bool) {
        self.scan = scan;
    }

    /// Sets the range: keys from `from` on (`None`: from the first), below `to` (`None`: up to the last). The cursor is outside;
    /// [`Cursor::next`] goes to the first entry, [`Cursor::prev`] to the last.
    pub fn set_range(&mut self, from: Option<&[u8]>, to: Option<&[u8]>) {
        fn set(bound: &mut Option<Vec<u8>>, key: Option<&[u8]>) {
            match (bound.as_mut(), key) {
                (Some(old), Some(key)) => {
                    old.clear();
                    old.extend_from_slice(key);
                }
                _ => *bound = key.map(<[u8]>::to_vec),
            }
        }
        set(&mut self.from, from);
        set(&mut self.to, to);
        let empty = from.is_some_and(|from| to.is_some_and(|to| from >= to));
        self.at = if empty { At::End } else { At::Outside };
        self.key.clear();
    }

    /// Whether the cursor is on an entry.
    #[inline]
    pub fn is_valid(&self) -> bool {
        self.at == At::Entry
    }

    /// The entry's key. Empty when the cursor is on none.
    #[inline]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The entry's value. Empty when the cursor is on none.
    #[inline]
    pub fn value(&self) -> &[u8] {
        if self.is_valid() { Node(&*self.leaf).value_bytes(self.pos) } else { &[] }
    }

    /// How many leaves were copied so far.
    #[inline]
    pub fn leaves(&self) -> u64 {
        self.leaves
    }

    /// Values of the entries still to come from the present leaf in a direction, the present one first.
    pub fn values_ahead(&self, forward: bool) -> impl Iterator<Item = &[u8]> {
        let range = match (self.is_valid(), forward) {
            (false, _) => 0..0,
            (true, true) => self.pos..self.high,
            (true, false) => self.low..self.pos + 1,
        };
        range.map(|pos| Node(&*self.leaf).value_bytes(pos))
    }

    /// Steps to the next entry; false when there is none in the range.
    #[expect(clippy::should_implement_trait, reason = "a lending iterator that can fail")]
    #[inline]
    pub fn next(&mut self) -> Result<bool, Error> {
        if self.at == At::Entry && self.pos + 1 < self.high {
            self.pos += 1;
            self.assemble_key();
            return Ok(true);
        }
        self.next_leaf()
    }

    /// Steps to the entry before; false when there is none in the range.
    #[inline]
    pub fn prev(&mut self) -> Result<bool, Error> {
        if self.at == At::Entry && self.pos > self.low {
            self.pos -= 1;
            self.assemble_key();
            return Ok(true);
        }
        self.prev_leaf()
    }

    fn next_leaf(&mut self) -> Result<bool, Error> {
        let mut next = match self.at {
            At::Outside => self.from.clone(),
            At::Entry => match self.upper_in_range() {
                Some(upper) => Some(upper),
                None => return Ok(self.finish()),
            },
            At::End => return Ok(false),
        };
        loop {
            self.load(next.as_deref().map_or(Target::First, Target::Key))?;
            if self.pos < self.high {
                self.at = At::Entry;
                self.assemble_key();
                return Ok(true);
            }
            next = self.upper_in_range();
            if next.is_none() {
                return Ok(self.finish());
            }
        }
    }

    fn prev_leaf(&mut self) -> Result<bool, Error> {
        let mut next = match self.at {
            At::Outside => self.to.clone(),
            At::Entry => match self.lower_in_range() {
                Some(lower) => Some(lower),
                None => return Ok(self.finish()),
            },
            At::End => return Ok(false),
        };
        loop {
            self.load(next.as_deref().map_or(Target::Last, Target::Below))?;
            if self.pos > self.low {
                self.pos -= 1;
                self.at = At::Entry;
                self.assemble_key();
                return Ok(true);
            }
            next = self.lower_in_range();
            if next.is_none() {
                return Ok(self.finish());
            }
        }
    }

    fn finish(&mut self) -> bool {
        self.at = At::End;
        self.key.clear();
        false
    }

    /// The leaf's upper bound if there may be keys of the range from there on.
    fn upper_in_range(&self) -> Option<Vec<u8>> {
        let upper = self.notes.bounds.upper.get()?;
        self.to.as_deref().is_none_or(|to| upper < to).then(|| upper.to_vec())
    }

    /// The leaf's lower bound if there may be keys of the range below it.
    fn lower_in_range(&self) -> Option<Vec<u8>> {
        let lower = self.notes.bounds.lower.get()?;
        self.from.as_deref().is_none_or(|from| lower > from).then(|| lower.to_vec())
    }

    fn assemble_key(&mut self) {
        let node = Node(&*self.leaf);
        // The prefix is in place unless the leaf has changed.
        self.key.truncate(node.prefix_len());
        if self.key.len() < node.prefix_len() {
            self.key.clear();
            self.key.extend_from_slice(node.prefix_bytes());
        }
        self.key.extend_from_slice(node.suffix_bytes(self.pos));
    }

    /// Copies the leaf for `target` and finds which of its entries are in the range, and where a step forward (or with
    /// [`Target::Below`] and [`Target::Last`] backward, from there on down) begins.
    fn load(&mut self, target: Target<'_>) -> Result<(), Error> {
        let (tree, leaf, notes, scan) = (&self.tree, &mut self.leaf, &mut self.notes, self.scan);
        let priority = if scan { Priority::Scan } else { Priority::Normal };
        let mut tries = 0;
        tree.pool.run_as(priority, || {
            tries += 1;
            let found = match tree.descend(&tree.pool, target, 0, scan, notes) {
                Err(Stop::Fault(no)) if !notes.ahead.is_empty() => {
                    tree.pool.load_many(&notes.ahead, Priority::Scan);
                    return Err(Stop::Fault(no));
                }
                other => other?,
            };
            count(Counter::InnodbBufferPoolReadRequests);
            if tries <= PATIENCE {
                copy_used(&found.node, leaf);
                return found.node.validate();
            }
            let latched = tree.pool.shared(found.node.page_no())?;
            found.node.validate()?;
            copy_used(&*latched, leaf);
            Ok::<(), Stop>(())
        })?;
        self.key.clear();
        self.leaves += 1;
        let node = Node(&*self.leaf);
        let (lower, upper) = (self.notes.bounds.lower.get(), self.notes.bounds.upper.get());
        let first = |key: &[u8]| if lower.is_none_or(|lower| lower < key) { node.search(key).0 } else { 0 };
        let end = |key: &[u8]| if upper.is_none_or(|upper| upper > key) { node.search(key).0 } else { node.count() };
        self.low = self.from.as_deref().map_or(0, first);
        self.high = self.to.as_deref().map_or(node.count(), end);
        // If leaves were merged since, the leaf may reach further back than the last one ended: entries that were
        // returned are not returned again (INV-BT-6).
        self.pos = match target {
            Target::Key(key) => first(key).max(self.low),
            Target::Below(key) => end(key).min(self.high),
            Target::First => self.low,
            Target::Last => self.high,
        };
        Ok(())
    }
}

/// Copies what a node uses: header and slots, heap and prefix.
fn copy_used<P: PageBytes + ?Sized>(from: &P, to: &mut PageBuf) {
    let front = (SLOTS + SLOT * Node(from).count()).min(PAGE_SIZE);
    let heap = (from.u16_at(36) as usize).clamp(front, PAGE_SIZE);
    from.read(0, &mut to.0[..front]);
    // Words are copied whole: begin at a word.
    let heap = heap & !7;
    from.read(heap.max(front), &mut to.0[heap.max(front)..]);
}
