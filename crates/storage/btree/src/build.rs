//! Building a tree bottom-up from entries in key order.
//!
//! Each level has one node in the making. An entry that does not fit any more closes the leaf: what separates the two
//! goes up as an entry of the node above, and so on. Nodes are filled up to [`FILL`], so that a change here and there
//! does not split every leaf.
//!
//! Nodes are not changed in the pool. The first [`FEW`] leaves are kept; a tree that has no more is written as any
//! other change is, page by page into the log. A larger one is written to extents of its own, past pool and log
//! ([`BuiltExtents`]). The root, which is there already, gets its content last, in the mini-transaction that makes the
//! extents the tree's: until then the tree is empty, and afterwards it is complete.
//!
//! A node's prefix is what its bounds have in common. The upper bound is known when the node is closed; up to then the
//! next key stands for it, which has no less in common with the lower one. Where the prefix becomes shorter with the
//! last key, entries may have to go to the next node (`Draft::cut`).
//!
//! Several tasks may build one tree: each but the first one makes a [`Part`], the leaves of the entries from a bound
//! on up to the next part's, in extents of its own. The first one enters them in its nodes when all are there.

use std::ops::Range;

use gannet_base::{Lsn, PAGE_SIZE, PageNo};
use gannet_buffer::{BuiltExtents, Error, Mtr, Stop};
use gannet_page::node::{MAX_ENTRY, MAX_KEY, SPACE, common_prefix, entry_space, separator};
use gannet_page::raw::{EXTENT_PAGES, OVERFLOW_SPACE};
use gannet_page::{Node, NodeHead, PageBuf, PageOp};
use gannet_runtime::AlignedBuf;

use crate::Tree;

/// Bytes of a node that are filled.
const FILL: usize = SPACE / 16 * 15;
/// Leaves of a tree that is written through the pool; fewer where tests are to meet the other way often.
const FEW: usize = if cfg!(debug_assertions) { 5 } else { 32 };

/// Where an entry lies in a draft's bytes: its key, then its value.
#[derive(Clone, Copy)]
struct Item {
    at: u32,
    key: u16,
    value: u16,
}

impl Item {
    fn key(self) -> Range<usize> {
        self.at as usize..self.at as usize + self.key as usize
    }

    fn value(self) -> Range<usize> {
        let at = self.key().end;
        at..at + self.value as usize
    }
}

/// What comes behind a node.
#[derive(Clone, Copy)]
enum Behind<'a> {
    /// An entry with this key.
    Key(&'a [u8]),
    /// Another part of the tree, with this lower bound.
    Part(&'a [u8]),
    Nothing,
}

/// A node in the making.
#[derive(Default)]
struct Draft {
    /// Lower bound; empty at the left edge.
    lower: Vec<u8>,
    leftmost: PageNo,
    bytes: Vec<u8>,
    items: Vec<Item>,
    /// What the entries take without a prefix.
    space: usize,
}

impl Draft {
    fn key(&self, i: usize) -> &[u8] {
        &self.bytes[self.items[i].key()]
    }

    fn value(&self, i: usize) -> &[u8] {
        &self.bytes[self.items[i].value()]
    }

    fn push(&mut self, key: &[u8], value: &[u8]) {
        self.items.push(Item { at: self.bytes.len() as u32, key: key.len() as u16, value: value.len() as u16 });
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        self.space += entry_space(key.len(), value.len());
    }

    /// Whether nothing is left to be put into a node.
    fn is_empty(&self, level: usize) -> bool {
        self.items.is_empty() && (level == 0 || self.leftmost.is_zero())
    }

    /// Bytes that the entries take with a prefix of `prefix` bytes, which is no longer than any of their keys.
    fn used(&self, prefix: usize) -> usize {
        self.space - self.items.len() * prefix + prefix
    }

    /// Whether another entry goes in.
    fn has_room(&self, key: &[u8], value: &[u8]) -> bool {
        let prefix = common_prefix(&self.lower, key);
        self.used(prefix) + entry_space(key.len() - prefix, value.len()) <= FILL || self.items.is_empty()
    }

    /// How many entries the node gets if that is behind it, with the upper bound and prefix it has then.
    fn cut(&self, level: usize, behind: Behind<'_>) -> (usize, Option<Vec<u8>>, usize) {
        let (mut n, mut space) = (self.items.len(), self.space);
        let mut upper = match behind {
            Behind::Key(key) if level == 0 && n > 0 => Some(separator(self.key(n - 1), key).to_vec()),
            Behind::Key(key) | Behind::Part(key) => Some(key.to_vec()),
            Behind::Nothing => None,
        };
        loop {
            let prefix = upper.as_deref().map_or(0, |upper| common_prefix(&self.lower, upper));
            if space - n * prefix + prefix <= SPACE || n <= 1 {
                return (n, upper, prefix);
            }
            n -= 1;
            let item = self.items[n];
            space -= entry_space(item.key as usize, item.value as usize);
            upper = Some(match level {
                0 => separator(self.key(n - 1), self.key(n)).to_vec(),
                _ => self.key(n).to_vec(),
            });
        }
    }

    /// The node of the first `n` entries.
    fn write(&self, page: &mut PageBuf, head: NodeHead, n: usize, prefix: usize) {
        let entries = (0..n).map(|i| (&self.key(i)[prefix..], self.value(i)));
        let built = gannet_page::build_node(page, head, &self.lower[..prefix], entries);
        gannet_base::check!(built.is_ok(), "a node that is built does not fit its page: {built:?}");
    }

    /// Takes the first `n` entries out: they are in a node. `upper` bounds it, and begins the next one.
    fn go_on(&mut self, level: usize, n: usize, upper: Vec<u8>) {
        let mut rest = Draft { lower: upper, ..Draft::default() };
        // Above the leaves, the entry that parts two nodes is in neither: its child is the leftmost one of the second.
        let parts = level > 0 && n < self.items.len();
        if parts {
            rest.leftmost = child(self.value(n));
        }
        for i in n + usize::from(parts)..self.items.len() {
            rest.push(self.key(i), self.value(i));
        }
        std::mem::swap(self, &mut rest);
        // The memory is that of the node before.
        if self.items.is_empty() {
            (self.bytes, self.items) = (rest.bytes, rest.items);
            self.bytes.clear();
            self.items.clear();
        }
    }
}

fn child(value: &[u8]) -> PageNo {
    PageNo(value.first_chunk().map_or(0, |b| u64::from_le_bytes(*b)))
}

/// Where finished nodes go.
enum Pages {
    /// Leaves that are kept, each with its lower bound.
    Kept(Vec<(Vec<u8>, Box<PageBuf>)>),
    /// Through the pool.
    Logged,
    Extents(Extents),
}

/// Extents of the tree's own.
struct Extents {
    extents: BuiltExtents,
    /// First page of the last one.
    first: PageNo,
    /// Its pages, and how many there are.
    buf: AlignedBuf,
    filled: usize,
}

impl Extents {
    /// The place of the next page. What is full is written.
    fn next(&mut self) -> Result<PageNo, Error> {
        if self.first.is_zero() || self.filled == EXTENT_PAGES as usize {
            self.write()?;
            self.first = self.extents.reserve()?;
        }
        Ok(PageNo(self.first.0 + self.filled as u64))
    }

    /// Puts a page into the place that [`next`](Extents::next) has told.
    fn put(&mut self, page: &PageBuf) {
        let at = self.filled * PAGE_SIZE;
        self.buf[at..at + PAGE_SIZE].copy_from_slice(page.bytes());
        self.filled += 1;
    }

    fn write(&mut self) -> Result<(), Error> {
        if self.filled > 0 {
            self.extents.write(&mut self.buf, self.filled)?;
        }
        self.filled = 0;
        Ok(())
    }
}

/// Fills an empty tree. Dropped before [`finish`](Builder::finish) has returned, it leaves the tree empty, perhaps with
/// pages that nothing leads to: the caller is going to free the tree.
pub struct Builder {
    tree: Tree,
    levels: Vec<Draft>,
    pages: Pages,
    page: Box<PageBuf>,
    entries: u64,
    /// Pages of overflow chains that went through the pool.
    links: usize,
    /// Of a part: its leaves, each with its lower bound.
    leaves: Option<Vec<(Vec<u8>, PageNo)>>,
}

impl Builder {
    /// A builder of a tree that is empty, and that nobody else changes.
    pub fn new(tree: &Tree) -> Builder {
        Builder {
            tree: tree.clone(),
            levels: vec![Draft::default()],
            pages: Pages::Kept(Vec::new()),
            page: PageBuf::boxed(),
            entries: 0,
            links: 0,
            leaves: None,
        }
    }

    /// A builder of the part of such a tree whose entries are not below `lower`.
    pub fn part(tree: &Tree, lower: &[u8]) -> Result<Builder, Error> {
        let mut builder = Builder { leaves: Some(Vec::new()), ..Builder::new(tree) };
        builder.levels[0].lower = lower.to_vec();
        builder.begin_extents()?;
        Ok(builder)
    }

    /// Whether the tree has no entries.
    pub fn may_fill(tree: &Tree) -> Result<bool, Error> {
        tree.pool().run(|| {
            let root = tree.pool().optimistic(tree.id().root())?;
            let node = Node(&root);
            let empty = node.level() == 0 && node.count() == 0;
            root.validate()?;
            Ok(empty)
        })
    }

    /// Entries so far.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// The next entry. False: its key is not above the last one's, or below the part, and it is not taken.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<bool, Error> {
        if key.len() > MAX_KEY || key.len() + value.len() > MAX_ENTRY {
            return Err(Error::TooLong { bytes: key.len() + value.len() });
        }
        // The last entry is in the leaf in the making, always: another one closes a leaf, and is then its last.
        let draft = &self.levels[0];
        let ascends = match draft.items.last() {
            Some(last) => key > &draft.bytes[last.key()],
            None => key >= &draft.lower[..],
        };
        if !ascends {
            return Ok(false);
        }
        self.add(0, key, value)?;
        self.entries += 1;
        Ok(true)
    }

    /// Writes `bytes` into an overflow chain of the tree, and returns its first page.
    pub fn chain(&mut self, bytes: &[u8]) -> Result<PageNo, Error> {
        self.links += bytes.len().div_ceil(OVERFLOW_SPACE);
        if matches!(self.pages, Pages::Kept(_)) {
            if self.links <= FEW {
                return self.tree.write_chain(bytes, |_, _| Ok(()));
            }
            self.begin_extents()?;
        }
        let Pages::Extents(to) = &mut self.pages else { return self.tree.write_chain(bytes, |_, _| Ok(())) };
        let mut next = PageNo::ZERO;
        for part in bytes.chunks(OVERFLOW_SPACE).rev() {
            let no = to.next()?;
            let built = gannet_page::raw::build_overflow(&mut self.page, no, self.tree.id(), next, part);
            gannet_base::check!(built.is_ok(), "an overflow page that is built does not fit: {built:?}");
            to.put(&self.page);
            next = no;
        }
        Ok(next)
    }

    fn add(&mut self, level: usize, key: &[u8], value: &[u8]) -> Result<(), Error> {
        while !self.levels[level].has_room(key, value) {
            self.close(level, Behind::Key(key))?;
        }
        let draft = &mut self.levels[level];
        if level > 0 && draft.leftmost.is_zero() {
            draft.leftmost = child(value);
        } else {
            draft.push(key, value);
        }
        Ok(())
    }

    /// Closes the node in the making at `level`. What does not fit begins the next one.
    fn close(&mut self, level: usize, behind: Behind<'_>) -> Result<(), Error> {
        let draft = &self.levels[level];
        let (n, upper, prefix) = draft.cut(level, behind);
        let (no, owner) = (PageNo::ZERO, self.tree.id());
        draft.write(&mut self.page, NodeHead { no, owner, level: level as u8, leftmost: draft.leftmost }, n, prefix);
        let lower = draft.lower.clone();
        self.levels[level].go_on(level, n, upper.unwrap_or_default());
        if let Pages::Kept(kept) = &mut self.pages {
            if level == 0 && kept.len() < FEW {
                kept.push((lower, std::mem::replace(&mut self.page, PageBuf::boxed())));
                return Ok(());
            }
            let page = std::mem::replace(&mut self.page, PageBuf::boxed());
            self.begin_extents()?;
            self.page = page;
        }
        self.place(level, &lower)
    }

    /// From now on pages go past the pool; first those that were kept.
    fn begin_extents(&mut self) -> Result<(), Error> {
        let extents = BuiltExtents::new(self.tree.pool(), self.tree.id());
        let buf = AlignedBuf::zeroed(EXTENT_PAGES as usize * PAGE_SIZE);
        self.place_kept(Pages::Extents(Extents { extents, first: PageNo::ZERO, buf, filled: 0 }))
    }

    fn place_kept(&mut self, to: Pages) -> Result<(), Error> {
        if let Pages::Kept(kept) = std::mem::replace(&mut self.pages, to) {
            for (lower, page) in kept {
                self.page = page;
                self.place(0, &lower)?;
            }
        }
        Ok(())
    }

    /// Closes all nodes at `level`.
    fn close_all_at(&mut self, level: usize, behind: Behind<'_>) -> Result<(), Error> {
        while !self.levels[level].is_empty(level) {
            self.close(level, behind)?;
        }
        Ok(())
    }

    /// Gives the node in `self.page` its place, and enters it in the node above.
    fn place(&mut self, level: usize, lower: &[u8]) -> Result<(), Error> {
        let no = match &mut self.pages {
            Pages::Extents(to) => {
                let no = to.next()?;
                self.page.set_page_no(no);
                to.put(&self.page);
                no
            }
            Pages::Logged | Pages::Kept(_) => self.log_node()?,
        };
        match &mut self.leaves {
            Some(leaves) => {
                leaves.push((lower.to_vec(), no));
                Ok(())
            }
            None => self.enter(level + 1, lower, no),
        }
    }

    /// Enters a node at the level above it.
    fn enter(&mut self, level: usize, lower: &[u8], no: PageNo) -> Result<(), Error> {
        if self.levels.len() == level {
            self.levels.push(Draft::default());
        }
        self.add(level, lower, &no.0.to_le_bytes())
    }

    /// Writes the node in `self.page` through the pool.
    fn log_node(&self) -> Result<PageNo, Error> {
        let pool = self.tree.pool();
        let node = Node(&*self.page);
        let mut entries = Vec::new();
        node.encode_entries(0..node.count(), node.prefix_len(), &mut entries);
        let (owner, level) = (self.tree.id(), node.level() as u8);
        let leftmost = if level == 0 { PageNo::ZERO } else { node.child(0) };
        let op = PageOp::FormatNode { owner, level, leftmost, prefix: node.prefix_bytes(), entries: &entries };
        pool.run(|| {
            let mut mtr = pool.mtr()?;
            let mut pages = pool.reserve(owner, 1)?;
            let page = mtr.take(&mut pages);
            mtr.apply(page, &op);
            let no = mtr.page_no(page);
            mtr.commit();
            Ok(no)
        })
    }

    /// The extents, all of whose pages are written.
    fn take_extents(&mut self) -> Result<Option<BuiltExtents>, Error> {
        let Pages::Extents(mut to) = std::mem::replace(&mut self.pages, Pages::Logged) else { return Ok(None) };
        if to.filled > 0 {
            to.extents.end(to.filled as u64);
        }
        to.write()?;
        Ok(Some(to.extents))
    }

    /// Completes the tree. When it returns, all pages that went past the log are on disk, and the root leads to all
    /// entries.
    pub fn finish(self) -> Result<u64, Error> {
        let mut built = self.close_all(Vec::new())?;
        match built.attach(|_| true)? {
            true => Ok(built.entries),
            false => Err(Error::page(built.tree.id().root(), Lsn::ZERO, "a tree that is built was refused")),
        }
    }

    /// Ends a part: `next` is the lower bound of the one behind it, none of the last one.
    pub fn close_part(mut self, next: Option<&[u8]>) -> Result<Part, Error> {
        self.close_all_at(0, next.map_or(Behind::Nothing, Behind::Part))?;
        let leaves = self.leaves.take().unwrap_or_default();
        gannet_base::check!(!leaves.is_empty(), "a part of a tree that is built has no entries");
        Ok(Part { leaves, extents: self.take_extents()?, entries: self.entries })
    }

    /// Closes all nodes but the root, which leads to them when the tree is [attached](Built::attach). `parts` are what
    /// is behind the entries of this one, which has some, in order.
    pub fn close_all(mut self, parts: Vec<Part>) -> Result<Built, Error> {
        let mut others = Vec::with_capacity(parts.len());
        if let Some(first) = parts.first().and_then(|part| part.leaves.first()) {
            gannet_base::check!(self.entries > 0, "a tree that is built in parts has no entries in the first one");
            if matches!(self.pages, Pages::Kept(_)) {
                self.begin_extents()?;
            }
            self.close_all_at(0, Behind::Part(&first.0))?;
        } else if matches!(self.pages, Pages::Kept(_)) {
            self.place_kept(Pages::Logged)?;
        }
        for part in parts {
            for (lower, no) in &part.leaves {
                self.enter(1, lower, *no)?;
            }
            self.entries += part.entries;
            others.extend(part.extents);
        }
        let mut level = 0;
        while level + 1 < self.levels.len() {
            self.close_all_at(level, Behind::Nothing)?;
            level += 1;
        }
        let mut extents = self.take_extents()?;
        for other in others {
            match &mut extents {
                Some(extents) => extents.join(other),
                none => *none = Some(other),
            }
        }
        let (root, draft) = (&self.levels[level], &mut self.page);
        let (no, owner) = (self.tree.id().root(), self.tree.id());
        root.write(draft, NodeHead { no, owner, level: level as u8, leftmost: root.leftmost }, root.items.len(), 0);
        let mut bytes = Vec::new();
        Node(&**draft).encode_entries(0..root.items.len(), 0, &mut bytes);
        let (level, leftmost) = (level as u8, root.leftmost);
        Ok(Built { tree: self.tree, extents, level, leftmost, bytes, entries: self.entries })
    }
}

/// The leaves of a tree from a bound on.
pub struct Part {
    leaves: Vec<(Vec<u8>, PageNo)>,
    extents: Option<BuiltExtents>,
    entries: u64,
}

/// A tree all of whose pages are made, but for the root. Dropped, it leaves the tree empty, perhaps with pages that
/// nothing leads to.
pub struct Built {
    tree: Tree,
    extents: Option<BuiltExtents>,
    /// The root's content.
    level: u8,
    leftmost: PageNo,
    bytes: Vec<u8>,
    entries: u64,
}

impl Built {
    /// Entries of the tree.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Gives the root its content, if `may` allows that, which is asked under the root's exclusive latch: `false` where
    /// it does not. The tree is empty until then, and complete afterwards.
    pub fn attach(&mut self, may: impl Fn(&Tree) -> bool) -> Result<bool, Error> {
        let (tree, pool) = (&self.tree, self.tree.pool());
        let (owner, no) = (tree.id(), tree.id().root());
        let (level, leftmost, bytes) = (self.level, self.leftmost, &self.bytes);
        let op = PageOp::FormatNode { owner, level, leftmost, prefix: &[], entries: bytes };
        fn lead(mtr: &mut Mtr<'_>, no: PageNo, op: &PageOp<'_>, may: impl Fn() -> bool) -> Result<bool, Stop> {
            let page = mtr.latch(no)?;
            if !may() {
                return Ok(false);
            }
            let node = Node(mtr.page(page));
            gannet_base::check!(node.count() == 0 && node.level() == 0, "a tree that is built has entries");
            mtr.apply(page, op);
            Ok(true)
        }
        match &mut self.extents {
            Some(extents) => extents.take(|mtr| lead(mtr, no, &op, || may(tree))),
            None => pool.run(|| {
                let mut mtr = pool.mtr()?;
                let led = lead(&mut mtr, no, &op, || may(tree))?;
                if led {
                    mtr.commit();
                }
                Ok(led)
            }),
        }
    }
}
