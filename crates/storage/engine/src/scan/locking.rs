//! Locking scans. For each entry: lock the gap before it and the record, then look again from the boundary on. If the
//! same entry is still first, nothing was inserted before the gap lock was seen, and the record cannot change any more.

use gannet_btree::Bound;
use gannet_lock::{Cut as LockCut, Mode, Wait};

use super::Scan;
use crate::index::{EntryState, bad_entry, entry_state, split_key, split_value};
use crate::range::write_bound;
use crate::read::{complete, no_header, visible_version};
use crate::row::RowHeader;
use crate::store::{Store, Whose};
use crate::waiting::LockWait;
use crate::{Cut, EngineError, KeyRange, LockMode, Lsn, Result, TreeKind, TrxId, Txn, WaitPolicy};

/// How many rows a scan locks one by one before it folds them into intervals: performance_schema.data_locks shows
/// them as rows. Few where assertions are on, for the sake of tests.
const ONE_BY_ONE: usize = if cfg!(debug_assertions) { 2 } else { 256 };

/// A locking scan's place. 'Boundary' is the entry last returned (or skipped because it was locked).
pub(super) struct Locking {
    mode: LockMode,
    policy: WaitPolicy,
    pub(super) unique_equality: bool,
    /// Bounds as byte strings: from `lower` on, below `upper`; none is open.
    lower: Bound,
    upper: Bound,
    /// Row trees: the key that ends the range exactly, if the far cut lies at a key.
    exact_end: Bound,
    /// Row trees: the key that begins the range exactly.
    exact_start: Bound,
    /// Gaps are locked.
    pub(super) gaps: bool,
    /// Key in the tree of the boundary; none at the start.
    passed: Bound,
    /// Lock name of the boundary, or of the neighbour outside of the range; none = the end of the tree.
    edge: Bound,
    /// The edge is known: the neighbour is looked for when a gap is to be locked.
    edged: bool,
    /// The cursor is where [`Scan::find`] has put it for this boundary.
    looked: bool,
    /// The boundary is locked by this scan. The gap lock behind it then begins before the boundary's key, so that the
    /// gap locks of a scan are one interval. (No other transaction can insert at a key whose record is locked, so
    /// this makes no difference to others.)
    edge_locked: bool,
    /// The candidate whose gap and record are locked; the buffer for the next one's name.
    prepared: Option<Vec<u8>>,
    spare: Vec<u8>,
    /// The gap up to this entry beyond the range (`Some(None)`: up to the end) is locked.
    closed: Option<Option<Vec<u8>>>,
    /// Whether this scan took the candidate's record lock, and what was held before.
    pub(super) fresh: Option<Option<Mode>>,
    /// Rows locked so far.
    locked: usize,
    pub(super) key: Vec<u8>,
    /// See [`ScanOptions::semi_consistent`].
    pub(super) semi: bool,
    /// The boundary before the entry last returned, when that was blocked.
    pub(super) back: Option<(Bound, Bound, bool)>,
    /// The next entry is waited for.
    insist: bool,
}

impl Locking {
    /// Without a range yet.
    pub(super) fn new(mode: LockMode, policy: WaitPolicy) -> Locking {
        Locking {
            mode,
            policy,
            unique_equality: false,
            lower: Bound::default(),
            upper: Bound::default(),
            exact_end: Bound::default(),
            exact_start: Bound::default(),
            gaps: false,
            passed: Bound::default(),
            edge: Bound::default(),
            edged: false,
            looked: false,
            edge_locked: false,
            prepared: None,
            spare: Vec::new(),
            closed: None,
            fresh: None,
            locked: 0,
            key: Vec::new(),
            semi: false,
            back: None,
            insist: false,
        }
    }

    /// Begins with a range.
    pub(super) fn begin(&mut self, range: KeyRange<'_>, kind: TreeKind, forward: bool) {
        self.lower.put(|out| write_bound(range.lower, out));
        self.upper.put(|out| write_bound(range.upper, out));
        let before = if let Cut::Before(k) = range.lower { Some(k) } else { None };
        let after = if let Cut::After(k) = range.upper { Some(k) } else { None };
        let (start, end) = if forward { (before, after) } else { (after, before) };
        self.exact_start.set(start.filter(|_| kind == TreeKind::Row));
        self.exact_end.set(end.filter(|_| kind == TreeKind::Row));
        self.passed.clear();
        self.edge.clear();
        (self.edged, self.edge_locked, self.looked) = (false, false, false);
        (self.closed, self.fresh, self.back, self.insist) = (None, None, None, false);
        self.unprepare();
        self.locked = 0;
    }

    /// No candidate is prepared; the buffer is for the next one.
    fn unprepare(&mut self) {
        if let Some(name) = self.prepared.take() {
            self.spare = name;
        }
    }

    /// The gap before the candidate of this name is locked with it.
    fn locks_gap(&self, name: &[u8]) -> bool {
        let exact = self.passed.get().is_none() && self.exact_start.get() == Some(name);
        self.gaps && !self.unique_equality && !exact
    }
}

impl Scan {
    /// Called after a [blocked](super::Entry::blocked) entry: the next call of [`Scan::next`] returns to it and waits
    /// for its lock.
    pub fn insist(&mut self) {
        if let Some(l) = &mut self.locking
            && let Some((passed, edge, edged)) = l.back.take()
        {
            (l.passed, l.edge, l.edged, l.insist, l.looked) = (passed, edge, edged, true, false);
        }
    }
}

/// A copy of bytes in a buffer that was used before.
fn copied(mut buffer: Vec<u8>, bytes: &[u8]) -> Vec<u8> {
    buffer.clear();
    buffer.extend_from_slice(bytes);
    buffer
}

/// What locks on an entry name: in index trees the key without the stamp.
pub(super) fn lock_name(kind: TreeKind, key: &[u8]) -> &[u8] {
    match kind {
        TreeKind::Row => key,
        TreeKind::Index => split_key(key).map_or(key, |k| k.0),
    }
}

/// What the next entry that is not dead is, beyond the boundary.
enum Candidate {
    /// In the range, under the cursor.
    Inside(EntryState),
    /// The first beyond the range, under the cursor.
    Beyond,
    /// The tree ends.
    End,
}

impl Scan {
    pub(super) fn next_locking(&mut self, txn: &mut Txn) -> Result<bool> {
        let Some(mut l) = self.locking.take() else { return Ok(false) };
        let result = self.lock_next(txn, &mut l);
        if result.is_err() {
            self.drop_candidate(txn, &mut l);
        }
        self.locking = Some(l);
        result
    }

    /// Releases the record lock of a candidate that is not returned.
    fn drop_candidate(&self, txn: &mut Txn, l: &mut Locking) {
        if let Some(name) = l.prepared.take()
            && let Some(before) = l.fresh.take()
        {
            txn.owner.unlock_record(&self.tree.shared.locks, &name, before);
        }
    }

    fn lock_next(&mut self, txn: &mut Txn, l: &mut Locking) -> Result<bool> {
        let wait = LockWait::new(txn.options.lock_wait_timeout);
        let left =
            |l: &Locking| if l.policy == WaitPolicy::Wait && (!l.semi || l.insist) { wait.left() } else { Wait::No };
        l.unprepare();
        l.fresh = None;
        l.back = None;
        if self.ends_at(l) {
            return Ok(false);
        }
        loop {
            match self.find(txn, l)? {
                Candidate::Inside(state) => {
                    let name = lock_name(self.tree.kind(), self.cursor.key());
                    if l.prepared.as_deref() != Some(name) {
                        let locks_gap = l.locks_gap(name);
                        self.drop_candidate(txn, l);
                        if locks_gap && self.finds_edge(l)? {
                            continue;
                        }
                        let name = lock_name(self.tree.kind(), self.cursor.key());
                        let name = copied(std::mem::take(&mut l.spare), name);
                        if !self.prepare(txn, l, name, state, left(l))? {
                            // Locked by another, and not to be waited for.
                            if self.pass(txn, l)? {
                                return Ok(true);
                            }
                        }
                        continue;
                    }
                    match state {
                        EntryState::Undecided(trx) => match txn.wait_trx(&self.tree, name, trx, left(l)) {
                            Ok(()) => {}
                            Err(EngineError::NoWait) if l.policy != WaitPolicy::NoWait => {
                                self.drop_candidate(txn, l);
                                if self.pass(txn, l)? {
                                    return Ok(true);
                                }
                            }
                            Err(e) => return Err(e),
                        },
                        EntryState::Live(lsn) => {
                            txn.seen = txn.seen.max(lsn);
                            self.accept(txn, l)?;
                            return Ok(true);
                        }
                        EntryState::Dead => {}
                    }
                }
                outside => {
                    self.drop_candidate(txn, l);
                    if l.gaps && self.finds_edge(l)? {
                        continue;
                    }
                    if self.close(txn, l, &outside) {
                        return Ok(false);
                    }
                }
            }
        }
    }

    /// Nothing can follow the entry last returned.
    fn ends_at(&self, l: &Locking) -> bool {
        match l.passed.get() {
            None => false,
            Some(passed) => l.unique_equality || l.exact_end.get() == Some(passed),
        }
    }

    /// Looks for the entry just outside of the range on the side where the scan begins, where the first gap ends, if
    /// the edge is not known. True: the cursor is elsewhere then.
    fn finds_edge(&mut self, l: &mut Locking) -> Result<bool> {
        if l.edged {
            return Ok(false);
        }
        let found = if self.forward {
            self.cursor.set_range(None, l.lower.get());
            l.lower.get().is_some() && self.cursor.prev()?
        } else {
            self.cursor.set_range(l.upper.get(), None);
            l.upper.get().is_some() && self.cursor.next()?
        };
        l.edge.set(found.then(|| lock_name(self.tree.kind(), self.cursor.key())));
        (l.edged, l.looked) = (true, false);
        Ok(true)
    }

    /// Puts the cursor on the first entry beyond the boundary that is not dead.
    fn find(&mut self, txn: &Txn, l: &mut Locking) -> Result<Candidate> {
        if l.looked && self.cursor.is_current() {
            // The entry that was found is still the first one; how its writer stands may have changed.
            match (self.state(txn.store(), txn.own_id())?, self.is_inside(l)) {
                (EntryState::Dead, _) => {}
                (_, false) => return Ok(Candidate::Beyond),
                (state, true) => return Ok(Candidate::Inside(state)),
            }
        }
        l.looked = true;
        match (self.forward, l.passed.get()) {
            (true, None) => self.cursor.set_range(l.lower.get(), None),
            (true, Some(passed)) => {
                let after = |out: &mut Vec<u8>| {
                    out.extend_from_slice(passed);
                    out.push(0);
                    true
                };
                self.cursor.set_range_by(after, |_| false);
            }
            (false, None) => self.cursor.set_range(None, l.upper.get()),
            (false, Some(passed)) => self.cursor.set_range(None, Some(passed)),
        }
        while self.step()? {
            let inside = self.is_inside(l);
            let state = self.state(txn.store(), txn.own_id())?;
            match (state, inside) {
                (EntryState::Dead, _) => {}
                (_, false) => return Ok(Candidate::Beyond),
                (state, true) => return Ok(Candidate::Inside(state)),
            }
        }
        Ok(Candidate::End)
    }

    /// The entry under the cursor lies in the range.
    fn is_inside(&self, l: &Locking) -> bool {
        let key = self.cursor.key();
        if self.forward { l.upper.get().is_none_or(|u| key < u) } else { l.lower.get().is_none_or(|low| key >= low) }
    }

    /// State of the entry under the cursor.
    fn state(&self, store: &Store, own: TrxId) -> Result<EntryState> {
        let tree = &*self.tree.shared;
        if self.tree.kind() == TreeKind::Index {
            let (_, inserter) = split_key(self.cursor.key()).ok_or_else(|| bad_entry(tree))?;
            let (deleter, _) = split_value(self.cursor.value()).ok_or_else(|| bad_entry(tree))?;
            return Ok(entry_state(store, own, inserter, deleter));
        }
        let h = RowHeader::decode(self.cursor.value()).ok_or_else(|| no_header(tree))?;
        Ok(match store.whose(own, h.writer) {
            Whose::Active(trx) => EntryState::Undecided(trx),
            _ if h.flags.deleted() => EntryState::Dead,
            Whose::Own => EntryState::Live(Lsn::ZERO),
            Whose::Committed(lsn) => EntryState::Live(lsn),
        })
    }

    /// True when the entry under the cursor was written by this transaction: its stamp is the lock.
    fn is_own(&self, own: TrxId) -> bool {
        let writer = match self.tree.kind() {
            TreeKind::Row => RowHeader::decode(self.cursor.value()).map(|h| h.writer),
            TreeKind::Index => split_key(self.cursor.key()).map(|k| k.1),
        };
        !own.is_zero() && writer == Some(own)
    }

    /// Locks the gap before the candidate and its record. False: locked by another, and not to be waited for. Who
    /// never waits has not locked the gap then: rows may come before those that he passes.
    fn prepare(&self, txn: &mut Txn, l: &mut Locking, name: Vec<u8>, state: EntryState, wait: Wait) -> Result<bool> {
        let (gap, waits) = (l.locks_gap(&name), l.policy == WaitPolicy::Wait);
        if gap && waits {
            self.lock_gap(txn, l, Some(&name));
        }
        if let (false, EntryState::Undecided(trx)) = (waits, state) {
            match txn.wait_trx(&self.tree, &name, trx, wait) {
                Ok(()) => {}
                Err(EngineError::NoWait) if l.policy != WaitPolicy::NoWait => return Ok(false),
                Err(e) => return Err(e),
            }
        }
        let own = self.is_own(txn.own_id()) && matches!(state, EntryState::Live(_));
        if !own {
            match txn.lock_key(&self.tree, &name, l.mode, wait) {
                Ok(granted) => l.fresh = Some(granted.before),
                Err(EngineError::NoWait) if l.policy != WaitPolicy::NoWait => return Ok(false),
                Err(e) => return Err(e),
            }
        }
        if gap && !waits {
            self.lock_gap(txn, l, Some(&name));
        }
        l.prepared = Some(name);
        Ok(true)
    }

    /// Locks the gap between the boundary and `to` (`None`: the end of the tree), in the scan's direction.
    fn lock_gap(&self, txn: &Txn, l: &Locking, to: Option<&[u8]>) {
        let edge = l.edge.get();
        let (low, high) = match (self.forward, l.edge_locked) {
            (true, false) => (edge.map(LockCut::After), to.map(LockCut::Before)),
            (true, true) => (edge.map(LockCut::Before), to.map(LockCut::Before)),
            (false, false) => (to.map(LockCut::After), edge.map(LockCut::Before)),
            (false, true) => (to.map(LockCut::After), edge.map(LockCut::After)),
        };
        let (low, high) = (low.unwrap_or(LockCut::Min), high.unwrap_or(LockCut::Max));
        txn.owner.lock_gap(&self.tree.shared.locks, low, high);
    }

    /// Goes past the entry under the cursor, which another has locked. True: its committed version is the scan's
    /// result.
    fn pass(&mut self, txn: &mut Txn, l: &mut Locking) -> Result<bool> {
        if !l.semi {
            self.skip(l);
            return Ok(false);
        }
        let view = txn.view();
        let name = self.cursor.key().to_vec();
        // Read again: what this copy of the leaf refers to, the snapshot keeps.
        if !matches!(self.find(txn, l)?, Candidate::Inside(_)) || self.cursor.key() != name {
            // The entry is gone meanwhile: the caller looks again.
            return Ok(false);
        }
        self.buf.entry.clear();
        self.buf.entry.extend_from_slice(self.cursor.value());
        if !visible_version(&txn.engine.store, &self.tree.shared, txn.own_id(), view, &mut self.buf.entry)? {
            self.skip(l);
            return Ok(false);
        }
        complete(&self.tree.shared, &mut self.buf.entry)?;
        l.key.clear();
        l.key.extend_from_slice(&name);
        l.back = Some((std::mem::take(&mut l.passed), std::mem::take(&mut l.edge), l.edged));
        self.skip(l);
        Ok(true)
    }

    /// Makes the entry under the cursor the boundary.
    fn skip(&self, l: &mut Locking) {
        (l.insist, l.looked) = (false, false);
        let key = self.cursor.key();
        l.passed.set(Some(key));
        l.edge.set(Some(lock_name(self.tree.kind(), key)));
        (l.edged, l.edge_locked) = (true, false);
    }

    /// Takes the entry under the cursor as the scan's result.
    fn accept(&mut self, txn: &Txn, l: &mut Locking) -> Result<()> {
        l.key.clear();
        l.key.extend_from_slice(self.cursor.key());
        self.buf.entry.clear();
        self.buf.entry.extend_from_slice(self.cursor.value());
        if self.tree.kind() == TreeKind::Row {
            complete(&self.tree.shared, &mut self.buf.entry)?;
        }
        self.fold(txn, l);
        self.skip(l);
        l.edge_locked = true;
        l.unprepare();
        Ok(())
    }

    /// After the first rows, those between the last one and this are locked as an interval: there are only these two,
    /// and nothing can come between.
    fn fold(&self, txn: &Txn, l: &mut Locking) {
        l.locked += 1;
        if l.locked <= ONE_BY_ONE || !l.gaps || self.tree.kind() != TreeKind::Row || l.fresh != Some(None) {
            return;
        }
        let last = l.edge.get().filter(|_| l.edge_locked).unwrap_or(&l.key);
        let (low, high) = if self.forward { (last, &l.key[..]) } else { (&l.key[..], last) };
        let cuts = (LockCut::Before(low), LockCut::After(high));
        txn.owner.fold_record(&self.tree.shared.locks, &l.key, l.mode.into(), cuts);
        l.fresh = None;
    }

    /// Locks the last gap, up to the entry beyond the range. True when that is done and nothing was inserted in
    /// between.
    fn close(&self, txn: &Txn, l: &mut Locking, outside: &Candidate) -> bool {
        if !l.gaps {
            return true;
        }
        let beyond = match outside {
            Candidate::Beyond => Some(lock_name(self.tree.kind(), self.cursor.key()).to_vec()),
            _ => None,
        };
        if l.closed.as_ref() == Some(&beyond) {
            return true;
        }
        self.lock_gap(txn, l, beyond.as_deref());
        l.closed = Some(beyond);
        false
    }
}
