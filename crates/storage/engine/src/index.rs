//! Changes of index trees.
//!
//! An entry's key in the tree is the caller's key and a *stamp* that names the inserting transaction: `id << 3 | n - 1`
//! in the fewest bytes `n` that it takes, big-endian, so that the last byte tells where the stamp begins. Entries with
//! the same caller's key are neighbours, in no particular order.
//!
//! Its value: `u8 n`, the deleting transaction's id in `n` bytes, little-endian (none: `n` = 0), the carried bytes. A
//! live entry that carries nothing has an empty value. Locks name the caller's key.

use gannet_base::{Lsn, TrxId};
use gannet_btree::Leaf;
use gannet_buffer::{Mtr, PageRef, Stop};
use gannet_lock::{LockOwner, Mode};
use gannet_page::{Node, PageOp};

use crate::range::successor;
use crate::rows::Scratch;
use crate::store::{Store, Whose};
use crate::trees::TreeShared;
use crate::undo::record::Body;
use crate::undo::stream::corrupt;
use crate::waiting::LockWait;
use crate::writer::Writer;
use crate::{EngineError, IndexInsert, LockMode, Result, TreeHandle, TreeKind, Txn};

/// Most bytes of a stamp.
pub(crate) const MAX_STAMP: usize = 8;
/// At or above every stamp.
const LAST_STAMP: [u8; MAX_STAMP] = [0xff; MAX_STAMP];
/// Most bytes that a deletion adds to a value.
const MAX_DELETER: usize = 1 + 8;
/// Most bytes that an entry takes besides the caller's key and the carried bytes.
pub(crate) const OVERHEAD: usize = MAX_STAMP + MAX_DELETER;

/// Appends the stamp of an inserter.
pub(crate) fn put_stamp(inserter: TrxId, key: &mut Vec<u8>) {
    gannet_base::check!(inserter.0 >> 61 == 0, "transaction id {inserter} is too great for a stamp");
    let n = (64 - inserter.0.leading_zeros() as usize + 3).div_ceil(8);
    let stamp = (inserter.0 << 3 | (n as u64 - 1)).to_be_bytes();
    key.extend_from_slice(&stamp[8 - n..]);
}

/// Splits a key in the tree into the caller's key and the inserter.
#[inline]
pub(crate) fn split_key(key: &[u8]) -> Option<(&[u8], TrxId)> {
    let n = usize::from(key.last()? & 7) + 1;
    let (name, stamp) = key.split_at_checked(key.len().checked_sub(n)?)?;
    Some((name, TrxId(stamp.iter().fold(0, |word, &b| word << 8 | u64::from(b)) >> 3)))
}

/// Appends what precedes the carried bytes in a value; `bare` when there are none.
pub(crate) fn put_deleter(deleter: TrxId, bare: bool, value: &mut Vec<u8>) {
    if deleter.is_zero() && bare {
        return;
    }
    let n = (64 - deleter.0.leading_zeros() as usize).div_ceil(8);
    value.push(n as u8);
    value.extend_from_slice(&deleter.0.to_le_bytes()[..n]);
}

/// Splits an entry's value into deleter and carried bytes.
#[inline]
pub(crate) fn split_value(value: &[u8]) -> Option<(TrxId, &[u8])> {
    let Some((&n, rest)) = value.split_first() else { return Some((TrxId(0), value)) };
    let (deleter, carried) = rest.split_at_checked(usize::from(n))?;
    let id = deleter.iter().rev().fold(0, |word, &b| word << 8 | u64::from(b));
    (n <= 8).then_some((TrxId(id), carried))
}

pub(crate) fn bad_entry(tree: &TreeShared) -> EngineError {
    corrupt(tree.id.root(), "entry of an index tree cannot be decoded")
}

/// What an entry is to one transaction that wants the newest state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EntryState {
    /// Deleted, and nothing will bring it back (or deleted by this transaction itself).
    Dead,
    /// There, inserted by this transaction or committed at the LSN given.
    Live(Lsn),
    /// Depends on how this transaction ends.
    Undecided(TrxId),
}

pub(crate) fn entry_state(store: &Store, own: TrxId, inserter: TrxId, deleter: TrxId) -> EntryState {
    match store.whose(own, inserter) {
        Whose::Active(trx) => EntryState::Undecided(trx),
        Whose::Own if deleter.is_zero() => EntryState::Live(Lsn::ZERO),
        Whose::Committed(lsn) if deleter.is_zero() => EntryState::Live(lsn),
        _ => match store.whose(own, deleter) {
            Whose::Active(trx) => EntryState::Undecided(trx),
            _ => EntryState::Dead,
        },
    }
}

enum Step {
    Done,
    /// This transaction must end first.
    Writer(TrxId),
    /// Another's explicit lock on the key (or unique prefix) must go first.
    Record,
    Gap,
    Extend,
    /// A live entry with the same unique prefix. `own`: inserted by this transaction.
    Duplicate {
        existing: Vec<u8>,
        carried: Vec<u8>,
        own: bool,
    },
    /// Entries with the prefix may lie in other leaves too: look for them with the prefix locked. `own`: one that this
    /// transaction has written is its lock.
    Wide {
        own: bool,
    },
    /// No such entry in this leaf.
    NotHere,
    /// An entry with this key and stamp is there and not deleted.
    Twice,
}

struct Attempt<'a> {
    store: &'a Store,
    tree: &'a TreeShared,
    owner: &'a LockOwner,
    writer: &'a mut Writer,
    scratch: &'a mut Scratch,
    /// The caller's key.
    name: &'a [u8],
}

impl Attempt<'_> {
    fn insert(&mut self, carried: &[u8], unique: Option<Unique>) -> std::result::Result<Step, Stop> {
        let w = &mut *self.writer;
        let key = &mut self.scratch.key;
        key.clear();
        key.extend_from_slice(self.name);
        put_stamp(w.id, key);
        let value = &mut self.scratch.value;
        value.clear();
        put_deleter(TrxId(0), carried.is_empty(), value);
        value.extend_from_slice(carried);
        let mut mtr = self.store.pool.mtr()?;
        let leaf = self.tree.tree.leaf_for_write(&mut mtr, key, value.len().max(1))?;
        let locks = &self.tree.locks;
        if let Some(unique) = unique {
            let prefix = &self.name[..unique.prefix_len];
            if !locks.no_records()
                && self.owner.record_blocked(locks, prefix, Mode::Exclusive)
                && !has_own(w.id, &mtr, leaf.page(), |name| name.starts_with(prefix), prefix)
            {
                return Ok(Step::Record);
            }
            if !unique.checked
                && let Some(step) = check_unique(self.store, w.id, &mtr, leaf.page(), prefix)?
            {
                return Ok(step);
            }
        }
        if !locks.no_records()
            && self.owner.record_blocked(locks, self.name, Mode::Exclusive)
            && !has_own(w.id, &mtr, leaf.page(), |name| name == self.name, self.name)
        {
            return Ok(Step::Record);
        }
        if !locks.no_gaps() && self.owner.insert_blocked(locks, self.name) {
            return Ok(Step::Gap);
        }
        if leaf.found() {
            // This transaction inserted the entry and deleted it again: it is revived.
            let Some((deleter, before)) = split_value(leaf.value(&mtr)) else { return Ok(Step::NotHere) };
            if deleter != w.id {
                return Ok(Step::Twice);
            }
            let body = Body::IndexRevive { key, carried: before };
            let Some(at) = w.stage(self.tree.id, &body, &mut self.scratch.staged) else { return Ok(Step::Extend) };
            let page = mtr.latch(w.tail.page)?;
            leaf.replace(&mut mtr, value);
            w.append(&mut mtr, page, &self.scratch.staged, at);
        } else {
            let body = Body::IndexInsert { key };
            let Some(at) = w.stage(self.tree.id, &body, &mut self.scratch.staged) else { return Ok(Step::Extend) };
            let page = mtr.latch(w.tail.page)?;
            leaf.insert(&mut mtr, key, value);
            w.append(&mut mtr, page, &self.scratch.staged, at);
        }
        mtr.commit();
        self.tree.count_rows(1);
        Ok(Step::Done)
    }

    /// Ends the live entry. `stamp`: looked for at this very key; else in the leaf where the newest would be.
    fn delete(&mut self, stamp: Option<TrxId>) -> std::result::Result<Step, Stop> {
        let w = &mut *self.writer;
        let mut key = std::mem::take(&mut self.scratch.key);
        key.clear();
        key.extend_from_slice(self.name);
        match stamp {
            Some(inserter) => put_stamp(inserter, &mut key),
            None => key.extend_from_slice(&LAST_STAMP),
        }
        let step = (|| {
            let mut mtr = self.store.pool.mtr()?;
            let leaf = self.tree.tree.leaf_with_room(&mut mtr, &key, MAX_DELETER)?;
            let entry_key = &mut self.scratch.value;
            let found = find_live(self.store, w.id, &mtr, leaf, self.name, entry_key);
            let pos = match found {
                Found::At(pos) => pos,
                Found::Undecided(trx) => return Ok(Step::Writer(trx)),
                Found::No => return Ok(Step::NotHere),
            };
            let locks = &self.tree.locks;
            let own = split_key(entry_key).is_some_and(|(_, inserter)| inserter == w.id);
            if !own && !locks.no_records() && self.owner.record_blocked(locks, self.name, Mode::Exclusive) {
                return Ok(Step::Record);
            }
            let body = Body::IndexDelete { key: entry_key };
            let Some(at) = w.stage(self.tree.id, &body, &mut self.scratch.staged) else { return Ok(Step::Extend) };
            let page = mtr.latch(w.tail.page)?;
            let live = Node(mtr.page(leaf.page())).entry(pos).value.len;
            let bytes = &mut self.scratch.value;
            bytes.clear();
            put_deleter(w.id, live == 0, bytes);
            mtr.apply(leaf.page(), &PageOp::Splice { pos: pos as u16, at: 0, cut: live.min(1) as u16, bytes });
            w.append(&mut mtr, page, &self.scratch.staged, at);
            mtr.commit();
            self.tree.count_rows(-1);
            Ok(Step::Done)
        })();
        self.scratch.key = key;
        step
    }
}

#[derive(Clone, Copy)]
struct Unique {
    prefix_len: usize,
    /// The prefix is locked by this transaction, and no live entry was found with it since.
    checked: bool,
}

enum Found {
    At(usize),
    Undecided(TrxId),
    No,
}

/// The live entry among those at and below the leaf's position that have this name; `entry` becomes its key.
fn find_live(store: &Store, own: TrxId, mtr: &Mtr<'_>, leaf: Leaf, name: &[u8], entry: &mut Vec<u8>) -> Found {
    let node = Node(mtr.page(leaf.page()));
    let mut undecided = None;
    for pos in (0..leaf.behind()).rev() {
        entry.clear();
        node.key_to(pos, entry);
        let (Some((at, inserter)), Some((deleter, _))) = (split_key(entry), split_value(node.value_bytes(pos))) else {
            break;
        };
        if at != name {
            break;
        }
        match entry_state(store, own, inserter, deleter) {
            EntryState::Live(_) => return Found::At(pos),
            EntryState::Undecided(trx) => undecided = Some(trx),
            EntryState::Dead => {}
        }
    }
    undecided.map_or(Found::No, Found::Undecided)
}

/// Whether this transaction has inserted or ended an entry in the latched leaf whose name, `from` or one behind, is
/// `wanted`. Such an entry is its lock, as a stamp on a row is: another owner with an explicit lock on the name, or on
/// what it begins with, waits for this transaction.
fn has_own(own: TrxId, mtr: &Mtr<'_>, page: PageRef, wanted: impl Fn(&[u8]) -> bool, from: &[u8]) -> bool {
    let node = Node(mtr.page(page));
    let mut entry = Vec::new();
    for pos in node.search(from).0..node.count() {
        entry.clear();
        node.key_to(pos, &mut entry);
        let (Some((name, inserter)), Some((deleter, _))) = (split_key(&entry), split_value(node.value_bytes(pos)))
        else {
            return false;
        };
        if !wanted(name) {
            return false;
        }
        if inserter == own || deleter == own {
            return true;
        }
    }
    false
}

/// Looks at all entries with the prefix in the latched leaf. `None`: none is live or may become so.
fn check_unique(
    store: &Store,
    own: TrxId,
    mtr: &Mtr<'_>,
    page: PageRef,
    prefix: &[u8],
) -> std::result::Result<Option<Step>, Stop> {
    let node = Node(mtr.page(page));
    let (first, _) = node.search(prefix);
    let mut entry = Vec::new();
    let mut pos = first;
    let (mut undecided, mut writes) = (None, false);
    while pos < node.count() {
        entry.clear();
        node.key_to(pos, &mut entry);
        if !entry.starts_with(prefix) {
            break;
        }
        let value = node.value_bytes(pos);
        let (Some((name, inserter)), Some((deleter, carried))) = (split_key(&entry), split_value(value)) else {
            let no = mtr.page_no(page);
            return Err(gannet_buffer::Error::page(no, Lsn::ZERO, "entry of an index tree cannot be decoded").into());
        };
        match entry_state(store, own, inserter, deleter) {
            EntryState::Live(_) => {
                let own = inserter == own;
                return Ok(Some(Step::Duplicate { existing: name.to_vec(), carried: carried.to_vec(), own }));
            }
            EntryState::Undecided(trx) => undecided = Some(trx),
            EntryState::Dead => writes |= inserter == own || deleter == own,
        }
        pos += 1;
    }
    if let Some(trx) = undecided {
        return Ok(Some(Step::Writer(trx)));
    }
    // The neighbours may have more of them, unless something else lies between.
    Ok((first == 0 || pos == node.count()).then_some(Step::Wide { own: writes }))
}

/// When the last of the entries with this key was ended, as far as they are still there.
pub(crate) fn ended_at(txn: &Txn, tree: &TreeHandle, key: &[u8]) -> Result<Lsn> {
    let mut cursor = tree.shared.tree.cursor();
    let (mut end, mut last) = (Vec::new(), Lsn::ZERO);
    let bounded = successor(key, &mut end);
    cursor.set_range(Some(key), bounded.then_some(&end[..]));
    while cursor.next()? {
        let (name, _) = split_key(cursor.key()).ok_or_else(|| bad_entry(&tree.shared))?;
        let (deleter, _) = split_value(cursor.value()).ok_or_else(|| bad_entry(&tree.shared))?;
        if name == key
            && !deleter.is_zero()
            && let Whose::Committed(lsn) = txn.store().whose(txn.own_id(), deleter)
        {
            last = last.max(lsn);
        }
    }
    Ok(last)
}

/// Index and row tree disagree.
pub(crate) fn missing_entry(tree: &TreeHandle) -> EngineError {
    corrupt(tree.id().root(), "index has no live entry for a row")
}

impl Txn {
    fn check_entry(&mut self, tree: &TreeHandle, key: &[u8], carried: &[u8]) -> Result<()> {
        self.check_active()?;
        if self.options.read_only {
            return Err(EngineError::ReadOnly);
        }
        tree.check(TreeKind::Index)?;
        if key.len() + MAX_STAMP > TreeHandle::MAX_KEY_BYTES
            || key.len() + carried.len() > TreeHandle::MAX_INDEX_ENTRY_BYTES
        {
            return Err(EngineError::KeyTooLong { bytes: key.len() + carried.len() });
        }
        self.start_writing()
    }

    fn attempt_entry(
        &mut self,
        tree: &TreeHandle,
        name: &[u8],
        run: impl Fn(&mut Attempt<'_>) -> std::result::Result<Step, Stop>,
    ) -> Result<Step> {
        let store = &*self.engine.store;
        let Some(writer) = self.writer.as_mut() else { return Err(EngineError::NotActive) };
        Scratch::lent(|scratch| {
            let mut attempt = Attempt { store, tree: &tree.shared, owner: &self.owner, writer, scratch, name };
            Ok(store.pool.run(|| run(&mut attempt))?)
        })
    }

    pub(crate) fn insert_entry(&mut self, tree: &TreeHandle, key: &[u8], carried: &[u8]) -> Result<()> {
        self.check_entry(tree, key, carried)?;
        let mut wait = LockWait::new(self.options.lock_wait_timeout);
        let result = loop {
            let step = match self.attempt_entry(tree, key, |a| a.insert(carried, None)) {
                Ok(step) => step,
                Err(e) => break Err(e),
            };
            let waited = match step {
                Step::Done => break Ok(()),
                Step::Extend => self.extend_undo(),
                Step::Record => self.wait_for_record(tree, key, &mut wait),
                Step::Gap => self.wait_for_gap(tree, key, &mut wait),
                _ => Err(corrupt(tree.id().root(), "index entry is inserted twice")),
            };
            if let Err(e) = waited {
                break Err(e);
            }
        };
        result.map_err(|e| {
            self.leave_queue(tree, key, &mut wait);
            self.failed(e)
        })
    }

    /// Ends the live entry with this key. False: there is none.
    pub(crate) fn delete_entry(&mut self, tree: &TreeHandle, key: &[u8]) -> Result<bool> {
        self.check_entry(tree, key, &[])?;
        let mut wait = LockWait::new(self.options.lock_wait_timeout);
        let result = self.delete_entry_waiting(tree, key, &mut wait);
        result.map_err(|e| {
            self.leave_queue(tree, key, &mut wait);
            self.failed(e)
        })
    }

    /// Ends the live entry with this key, if there is one. False: there is none. An entry that stood for others, and
    /// that somebody else has replaced by these, counts as overwritten then: readers at this transaction's snapshot
    /// see it still.
    pub fn index_delete_if(&mut self, tree: &TreeHandle, key: &[u8]) -> Result<bool> {
        let deleted = self.delete_entry(tree, key)?;
        if !deleted {
            self.overwrote = self.overwrote.max(ended_at(self, tree, key)?);
        }
        Ok(deleted)
    }

    fn delete_entry_waiting(&mut self, tree: &TreeHandle, key: &[u8], wait: &mut LockWait) -> Result<bool> {
        let mut stamp = None;
        loop {
            match self.attempt_entry(tree, key, |a| a.delete(stamp))? {
                Step::Done => return Ok(true),
                Step::Extend => self.extend_undo()?,
                Step::Record => self.wait_for_record(tree, key, wait)?,
                Step::Writer(trx) => {
                    stamp = None;
                    self.wait_for_writer(tree, key, trx, wait)?;
                }
                _ => match self.find_entry(tree, key)? {
                    // Versions of the entry lie in more than one leaf.
                    Some(found) if stamp != Some(found) => stamp = Some(found),
                    Some(_) => return Err(missing_entry(tree)),
                    None => return Ok(false),
                },
            }
        }
    }

    /// Inserter of the entry with this key that is live, or may be.
    fn find_entry(&mut self, tree: &TreeHandle, key: &[u8]) -> Result<Option<TrxId>> {
        let mut cursor = tree.shared.tree.cursor();
        let mut end = Vec::new();
        let bounded = successor(key, &mut end);
        cursor.set_range(Some(key), bounded.then_some(&end[..]));
        while cursor.next()? {
            let (name, inserter) = split_key(cursor.key()).ok_or_else(|| bad_entry(&tree.shared))?;
            let (deleter, _) = split_value(cursor.value()).ok_or_else(|| bad_entry(&tree.shared))?;
            if name == key && entry_state(self.store(), self.own_id(), inserter, deleter) != EntryState::Dead {
                return Ok(Some(inserter));
            }
        }
        Ok(None)
    }

    pub(crate) fn insert_unique_entry(
        &mut self,
        tree: &TreeHandle,
        prefix_len: usize,
        key: &[u8],
        carried: &[u8],
        dup: LockMode,
    ) -> Result<IndexInsert> {
        let prefix = key.get(..prefix_len).ok_or(EngineError::KeyTooLong { bytes: prefix_len })?;
        self.check_entry(tree, key, carried)?;
        let mut on_prefix = LockWait::new(self.options.lock_wait_timeout);
        let mut on_key = LockWait::new(self.options.lock_wait_timeout);
        let result = self.insert_unique_waiting(tree, key, prefix, carried, dup, &mut on_prefix, &mut on_key);
        match result {
            Ok(IndexInsert::Inserted) => Ok(IndexInsert::Inserted),
            other => {
                self.leave_queue(tree, prefix, &mut on_prefix);
                self.leave_queue(tree, key, &mut on_key);
                other.map_err(|e| self.failed(e))
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the public call's arguments and two waits")]
    fn insert_unique_waiting(
        &mut self,
        tree: &TreeHandle,
        key: &[u8],
        prefix: &[u8],
        carried: &[u8],
        dup: LockMode,
        on_prefix: &mut LockWait,
        on_key: &mut LockWait,
    ) -> Result<IndexInsert> {
        let mut unique = Unique { prefix_len: prefix.len(), checked: false };
        let mut locked: Option<Vec<u8>> = None;
        loop {
            let step = self.attempt_entry(tree, key, |a| a.insert(carried, Some(unique)))?;
            unique.checked = false;
            let step = match step {
                // While the prefix is locked, no other transaction inserts such an entry: if a scan does not find
                // one, there is none.
                Step::Wide { own } => {
                    if !own {
                        self.wait_for_prefix(tree, prefix, on_prefix)?;
                    }
                    match self.look_wide(tree, prefix)? {
                        None => {
                            unique.checked = true;
                            continue;
                        }
                        Some(step) => step,
                    }
                }
                step => step,
            };
            match step {
                Step::Done => return Ok(IndexInsert::Inserted),
                Step::Extend => self.extend_undo()?,
                Step::Writer(trx) => self.wait_for_writer(tree, prefix, trx, on_prefix)?,
                Step::Record => {
                    let owner_blocked = self.owner.record_blocked(&tree.shared.locks, prefix, Mode::Exclusive);
                    if owner_blocked {
                        self.wait_for_record(tree, prefix, on_prefix)?
                    } else {
                        self.wait_for_record(tree, key, on_key)?
                    }
                }
                Step::Gap => self.wait_for_gap(tree, key, on_key)?,
                Step::Duplicate { existing, carried, own } => {
                    if own || locked.as_ref() == Some(&existing) {
                        return Ok(IndexInsert::Duplicate { existing, carried });
                    }
                    // Not while others queue behind the prefix: they are to find the duplicate too.
                    self.leave_queue(tree, prefix, on_prefix);
                    let _again = self.lock_key(tree, &existing, dup, on_key.left())?;
                    locked = Some(existing);
                }
                _ => return Err(corrupt(tree.id().root(), "index entry is inserted twice")),
            }
        }
    }

    /// Has the prefix locked exclusively on return.
    fn wait_for_prefix(&mut self, tree: &TreeHandle, prefix: &[u8], wait: &mut LockWait) -> Result<()> {
        if self.owner.record_mode(&tree.shared.locks, prefix) == Some(Mode::Exclusive) {
            Ok(())
        } else {
            self.wait_for_record(tree, prefix, wait)
        }
    }

    /// Looks at all entries with the prefix, in however many leaves.
    fn look_wide(&mut self, tree: &TreeHandle, prefix: &[u8]) -> Result<Option<Step>> {
        let mut cursor = tree.shared.tree.cursor();
        let mut end = Vec::new();
        let bounded = successor(prefix, &mut end);
        cursor.set_range(Some(prefix), bounded.then_some(&end[..]));
        let mut undecided = None;
        while cursor.next()? {
            let (name, inserter) = split_key(cursor.key()).ok_or_else(|| bad_entry(&tree.shared))?;
            let (deleter, carried) = split_value(cursor.value()).ok_or_else(|| bad_entry(&tree.shared))?;
            match entry_state(self.store(), self.own_id(), inserter, deleter) {
                EntryState::Live(_) => {
                    let own = inserter == self.own_id();
                    return Ok(Some(Step::Duplicate { existing: name.to_vec(), carried: carried.to_vec(), own }));
                }
                EntryState::Undecided(trx) => undecided = Some(trx),
                EntryState::Dead => {}
            }
        }
        Ok(undecided.map(Step::Writer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ids around every length of a stamp, and the greatest.
    fn ids() -> impl Iterator<Item = TrxId> {
        (0..=61).map(|bits| (1u64 << bits) - 1).chain((0..61).map(|bits| 1 << bits)).map(TrxId)
    }

    #[test]
    fn stamps_are_split_from_their_keys_and_short() {
        for id in ids() {
            for name in [&b""[..], b"n", &[0xff; 9]] {
                let mut key = name.to_vec();
                put_stamp(id, &mut key);
                assert_eq!(split_key(&key), Some((name, id)));
                assert!(key[name.len()..] <= LAST_STAMP[..]);
            }
        }
        let len = |id| {
            let mut key = Vec::new();
            put_stamp(TrxId(id), &mut key);
            key.len()
        };
        assert_eq!([31, 32, 8191, 8192, (1 << 21) - 1, 1 << 21].map(len), [1, 2, 2, 3, 3, 4]);
        // As many bytes as the last one says are not there.
        assert_eq!((split_key(b""), split_key(&[7])), (None, None));
    }

    #[test]
    fn values_are_split_and_short() {
        for deleter in ids() {
            for carried in [&b""[..], b"carried"] {
                let mut value = Vec::new();
                put_deleter(deleter, carried.is_empty(), &mut value);
                assert!(value.len() <= MAX_DELETER);
                value.extend_from_slice(carried);
                assert_eq!(split_value(&value), Some((deleter, carried)));
                assert_eq!(value.is_empty(), deleter.is_zero() && carried.is_empty());
            }
        }
        assert_eq!((split_value(&[3, 1, 2]), split_value(&[9; 10])), (None, None));
    }
}
