//! Metadata locks: they keep a table's definition from changing while sessions use the table.
//!
//! A statement names the tables it uses in its own owner's slots: that is a plain store and a fence, and writes no
//! line that other workers write. DDL raises a flag on the table, then waits until no slot names the table. The
//! statement reads the flag after its store, and DDL reads the slots after it has raised the flag, so one side sees
//! the other.
//!
//! INV-MDL-1: while an object's flags are raised, `slot_users` holds every other owner whose slots name the object in
//! a mode that the flags stop. An owner that takes a name out of its slots reads the flags afterwards, and then
//! `slot_users`.
//! INV-MDL-2: requests that have to wait are served in three classes, each in order: those that raise a lock, those
//! for exclusive locks (DDL goes before statements that came earlier), and the rest.
//! INV-MDL-3: an owner that takes several locks in a row ([`MdlRow`]) and had to wait for one of them has a
//! place in the lines of all that follow before any other lock of the releasing owner is released. Nobody comes in
//! between when UNLOCK TABLES releases several tables that a RENAME waits for.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;

use gannet_base::sync::atomic::{
    AtomicU8, AtomicU64,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
    fence,
};
use gannet_base::sync::{Arc, Mutex};
use gannet_runtime::now_ns;
use gannet_telemetry::Wait as WaitEvent;

use crate::owner::{Edge, Owner, Pending, Target};
use crate::{LockError, LockOwner, LockTable, Party, Wait};

/// What a session may do with a table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum MdlMode {
    /// Reads rows or the definition.
    Read = 1,
    /// Changes rows.
    Write = 2,
    /// LOCK TABLES ... READ, FLUSH TABLES ... WITH READ LOCK, a DDL phase that allows reads: keeps writers out.
    NoWrite = 3,
    /// Announces DDL: readers and writers go on, other DDL waits.
    Upgradable = 4,
    /// LOCK TABLES ... WRITE and the last phase of DDL: keeps all other owners out.
    Exclusive = 5,
}

impl MdlMode {
    fn conflicts(self, other: MdlMode) -> bool {
        use MdlMode::*;
        match (self.min(other), self.max(other)) {
            (_, Exclusive) | (Upgradable, Upgradable) | (Write, NoWrite) => true,
            (Read | Write | NoWrite, _) | (Upgradable | Exclusive, _) => false,
        }
    }

    const ALL: [MdlMode; MdlMode::COUNT] =
        [MdlMode::Read, MdlMode::Write, MdlMode::NoWrite, MdlMode::Upgradable, MdlMode::Exclusive];
    const COUNT: usize = 5;

    /// Whether an owner that has this mode needs no lock of mode `other` besides.
    fn covers(self, other: MdlMode) -> bool {
        self == other || self == MdlMode::Exclusive || other == MdlMode::Read
    }

    /// The flags that this mode raises on the object, whether it is held or waited for.
    fn flags(self) -> u8 {
        match self {
            MdlMode::Read | MdlMode::Write | MdlMode::Upgradable => 0,
            MdlMode::NoWrite => STOPS_WRITERS,
            MdlMode::Exclusive => STOPS_READERS | STOPS_WRITERS,
        }
    }

    /// The flag that stops this mode.
    fn stopped_by(self) -> u8 {
        match self {
            MdlMode::Read => STOPS_READERS,
            _ => STOPS_WRITERS,
        }
    }

    fn from_bits(bits: u64) -> MdlMode {
        if bits & 7 == MdlMode::Write as u64 { MdlMode::Write } else { MdlMode::Read }
    }
}

const STOPS_READERS: u8 = 1;
const STOPS_WRITERS: u8 = 2;

/// When a use ends by itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MdlDuration {
    /// With [`LockOwner::mdl_end_statement`].
    Statement,
    /// With [`LockOwner::mdl_end_transaction`].
    Transaction,
    /// With [`LockOwner::mdl_release_explicit`] (LOCK TABLES).
    Explicit,
}

const SLOTS: usize = 8;

/// A list of uses is kept for reuse when it has room for at most so many.
const KEEP_USES: usize = 16;

thread_local! {
    /// An empty list of uses: a statement that ends its uses leaves the list to the thread's next statement.
    static SPARE: std::cell::Cell<Vec<Use>> = const { std::cell::Cell::new(Vec::new()) };
}

/// The uses an owner publishes: object number × 8 + mode, 0 = none. Written by the owner, read by DDL.
#[derive(Default)]
pub(crate) struct FastSlots {
    words: [AtomicU64; SLOTS],
}

/// Where a use is recorded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Slot(usize),
    Object,
}

/// One use, as its owner records it. There is one for each (object, duration).
pub(crate) struct Use {
    object: MdlObject,
    mode: MdlMode,
    duration: MdlDuration,
    place: Place,
}

#[derive(Default)]
struct State {
    id: u64,
    name: Arc<str>,
    /// Holders of strong locks, and of weak ones that had to wait or found no free slot.
    holders: Vec<(Arc<Owner>, MdlMode)>,
    waiting: VecDeque<Request>,
    slot_users: Vec<(Arc<Owner>, MdlMode)>,
}

struct Request {
    owner: Arc<Owner>,
    mode: MdlMode,
    raise: bool,
    /// The row that the request belongs to, and the objects that follow in it.
    row: Option<Ahead>,
    /// The wait that a grant ends. Without one it is a place that was taken for a row whose owner has not come here
    /// yet: it holds up what is behind it, and nobody grants it.
    wait: Option<Pending>,
}

/// The rest of a row of locks.
#[derive(Clone)]
struct Ahead {
    /// [`Owner::row`] while the row lasts.
    number: u64,
    objects: Arc<[MdlObject]>,
    from: usize,
}

/// Those whose requests were granted under an object's mutex.
#[derive(Default)]
struct Granted {
    owners: Vec<Arc<Owner>>,
    rows: Vec<(Arc<Owner>, Ahead)>,
}

impl Granted {
    /// Takes the places of rows, then wakes. Called without any object's mutex.
    fn finish(self, table: &LockTable) {
        for (owner, ahead) in &self.rows {
            ahead.objects[ahead.from..].iter().for_each(|object| object.0.take_place(owner, ahead, table));
        }
        Owner::wake_all(&self.owners);
    }
}

struct Object {
    number: u64,
    flags: AtomicU8,
    state: Mutex<State>,
}

/// The lockable side of one table (or schema, or the global read lock), kept in the catalog's object for it. This is
/// a handle: copying it writes nothing shared. A handle of a forgotten object stays harmless. It locks something,
/// perhaps another object, and its user compares the catalog's version after locking anyway.
#[derive(Clone, Copy)]
pub struct MdlObject(&'static Object);

/// Objects (by number) and modes whose holders a search has looked at.
pub(crate) type SeenObjects = HashSet<(u64, MdlMode)>;

impl PartialEq for MdlObject {
    fn eq(&self, other: &Self) -> bool {
        self.0.number == other.0.number
    }
}

impl Eq for MdlObject {}

impl fmt::Debug for MdlObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MdlObject {}", self.0.number)
    }
}

/// The objects of a lock table. They are reused and never freed, because handles are plain references.
#[derive(Default)]
pub(crate) struct MdlRegistry(Mutex<Registry>);

#[derive(Default)]
struct Registry {
    by_id: HashMap<u64, MdlObject>,
    unused: Vec<MdlObject>,
    /// Objects made so far.
    made: u64,
}

/// A metadata lock as introspection shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MdlInfo {
    /// The object's id.
    pub object: u64,
    /// The object's name.
    pub name: String,
    /// The owner that holds it or waits for it.
    pub party: Party,
    /// The mode.
    pub mode: MdlMode,
    /// Whether the owner holds it or waits for it.
    pub granted: bool,
}

impl State {
    fn blocked_by_holders(&self, owner: &Arc<Owner>, mode: MdlMode) -> bool {
        self.holders.iter().any(|(o, m)| m.conflicts(mode) && !Arc::ptr_eq(o, owner))
    }

    fn blocked(&self, owner: &Arc<Owner>, mode: MdlMode) -> bool {
        self.blocked_by_holders(owner, mode)
            || self.slot_users.iter().any(|(o, m)| m.conflicts(mode) && !Arc::ptr_eq(o, owner))
    }

    /// Whether the owner stands in line for a reason: the one at the front is not to be granted.
    fn has_reason(&self, owner: &Arc<Owner>) -> bool {
        let in_line = self.waiting.iter().any(|r| Arc::ptr_eq(&r.owner, owner));
        let held_up = |r: &Request| match &r.wait {
            Some(wait) => !wait.lasts() || self.blocked(&r.owner, r.mode),
            // The row that the place was taken for lasts.
            None => r.owner.row.load(Relaxed) % 2 == 1,
        };
        in_line && self.waiting.front().is_some_and(held_up)
    }

    /// Where a request stands in line.
    fn line(&self, mode: MdlMode, raise: bool) -> usize {
        if !raise && mode != MdlMode::Exclusive {
            return self.waiting.len();
        }
        let before = |r: &&Request| r.raise || !raise && r.mode == MdlMode::Exclusive;
        self.waiting.iter().take_while(before).count()
    }

    fn add_holder(&mut self, owner: &Arc<Owner>, mode: MdlMode) {
        self.holders.push((owner.clone(), mode));
    }

    fn remove_holder(&mut self, owner: &Arc<Owner>, mode: MdlMode) {
        let found = self.holders.iter().position(|(o, m)| *m == mode && Arc::ptr_eq(o, owner));
        if let Some(i) = found {
            self.holders.swap_remove(i);
        }
    }
}

impl Object {
    /// Sets the flags to what holders and waiting owners need. When that raises a flag, finds the slots that matter
    /// (INV-MDL-1).
    fn raise_flags(&self, state: &mut State, table: &LockTable) {
        let held = state.holders.iter().map(|h| h.1.flags());
        let flags = held.chain(state.waiting.iter().map(|r| r.mode.flags())).fold(0, |a, b| a | b);
        let before = self.flags.swap(flags, SeqCst);
        if flags & !before == 0 {
            if flags == 0 {
                state.slot_users.clear();
            }
            return;
        }
        fence(SeqCst);
        state.slot_users.clear();
        for owner in table.owners() {
            self.find_slots(&owner, flags, &mut state.slot_users);
        }
    }

    /// Grants waiting requests from the front as far as possible, then sets the flags for the requests that are left.
    fn grant_waiting(&self, state: &mut State, table: &LockTable, granted: &mut Granted) {
        while let Some(front) = state.waiting.front() {
            if front.wait.as_ref().is_none_or(|w| w.lasts() && state.blocked(&front.owner, front.mode)) {
                break;
            }
            let Some(Request { owner, mode, row, wait, .. }) = state.waiting.pop_front() else { break };
            if wait.is_some_and(|w| w.grant()) {
                state.add_holder(&owner, mode);
                granted.rows.extend(row.map(|ahead| (owner.clone(), ahead)));
                granted.owners.push(owner);
            }
        }
        self.raise_flags(state, table);
    }

    /// Takes a place in the line for an owner whose row of locks comes here, unless the row is over meanwhile.
    #[cold]
    fn take_place(&self, owner: &Arc<Owner>, ahead: &Ahead, table: &LockTable) {
        let mut state = self.state.lock();
        let there = state.waiting.iter().any(|r| Arc::ptr_eq(&r.owner, owner));
        if there || owner.row.load(SeqCst) != ahead.number {
            return;
        }
        let at = state.line(MdlMode::Exclusive, false);
        let request = Request { owner: owner.clone(), mode: MdlMode::Exclusive, raise: false, row: None, wait: None };
        state.waiting.insert(at, request);
        owner.blocks.store(true, Relaxed);
        // If the owner begins to wait for something else just now, its search finds this place, or the place goes.
        fence(SeqCst);
        if owner.is_waiting() {
            state.waiting.remove(at);
        }
        self.raise_flags(&mut state, table);
    }

    /// Gives up the place that was taken for an owner, if there is one.
    #[cold]
    fn give_place_up(&self, owner: &Arc<Owner>, table: &LockTable) {
        let mut granted = Granted::default();
        {
            let mut state = self.state.lock();
            let before = state.waiting.len();
            state.waiting.retain(|r| !(r.wait.is_none() && Arc::ptr_eq(&r.owner, owner)));
            if state.waiting.len() < before {
                self.grant_waiting(&mut state, table, &mut granted);
            }
        }
        granted.finish(table);
    }

    /// The owner took a name out of its slots while flags were up. Other slots of it may name the same object.
    #[cold]
    fn slot_left(&self, owner: &Arc<Owner>, table: &LockTable) {
        let mut granted = Granted::default();
        {
            let mut state = self.state.lock();
            state.slot_users.retain(|(o, _)| !Arc::ptr_eq(o, owner));
            self.find_slots(owner, self.flags.load(Relaxed), &mut state.slot_users);
            // This is done even if the owner was not in the list: a request that raised more flags may have read the
            // slots in between.
            self.grant_waiting(&mut state, table, &mut granted);
        }
        granted.finish(table);
    }

    /// The owner's slots that name the object in a mode which the flags stop.
    fn find_slots(&self, owner: &Arc<Owner>, flags: u8, found: &mut Vec<(Arc<Owner>, MdlMode)>) {
        for slot in &owner.slots.words {
            let bits = slot.load(Acquire);
            let mode = MdlMode::from_bits(bits);
            if bits >> 3 == self.number && mode.stopped_by() & flags != 0 {
                found.push((owner.clone(), mode));
            }
        }
    }
}

impl MdlObject {
    /// The owners that `owner`, which waits here, waits for. Requests are served in order, so it waits for all
    /// requests in front too; and each of these waits only for the holders that conflict with it. So edges lead to
    /// the holders at once, `via` one request in front for each mode. A search looks at the holders that conflict
    /// with a mode once.
    ///
    /// `me` is the owner that searches, if it waits here too: owners behind it wait for it. What it looked at itself
    /// does not count as looked at, because it may be a holder too and leaves itself out.
    pub(crate) fn blockers(
        self,
        (owner, mode): (&Arc<Owner>, MdlMode),
        me: Option<&Arc<Owner>>,
        seen: &mut SeenObjects,
        out: &mut Vec<Edge>,
    ) {
        let state = self.0.state.lock();
        // For each mode, one request in front.
        let mut ahead: [Option<&Arc<Owner>>; MdlMode::COUNT] = [None; MdlMode::COUNT];
        let mut in_line = false;
        for r in &state.waiting {
            if Arc::ptr_eq(&r.owner, owner) {
                in_line = true;
                break;
            }
            if me.is_some_and(|me| Arc::ptr_eq(&r.owner, me)) {
                return out.push(Edge { to: r.owner.clone(), via: None });
            }
            match &r.wait {
                Some(wait) if wait.lasts() => ahead[r.mode as usize - 1] = Some(&r.owner),
                // It has given up but is still in the queue: it waits for nothing.
                Some(_) => {}
                None if r.owner.is_waiting() => out.push(Edge { to: r.owner.clone(), via: None }),
                None => {}
            }
        }
        if !in_line {
            return;
        }
        let searches = me.is_some_and(|me| Arc::ptr_eq(me, owner));
        for (wanted, ahead) in MdlMode::ALL.into_iter().zip(ahead) {
            let own = wanted == mode;
            if !own && ahead.is_none() || !searches && !seen.insert((self.0.number, wanted)) {
                continue;
            }
            for (to, _) in state.holders.iter().chain(&state.slot_users).filter(|(_, m)| m.conflicts(wanted)) {
                let myself = Arc::ptr_eq(to, owner);
                // No owner waits for itself, but it may wait for a request in front that waits for it.
                let through = if own && !myself { None } else { ahead };
                if !myself || through.is_some() {
                    let via = through.filter(|v| !Arc::ptr_eq(v, to)).cloned();
                    out.push(Edge { to: to.clone(), via });
                }
            }
        }
    }

    /// A fault, for tests: the owner's locks go, and nobody is told.
    #[cfg(test)]
    pub(crate) fn lose(self, owner: &Arc<Owner>) {
        self.0.state.lock().holders.retain(|(o, _)| !Arc::ptr_eq(o, owner));
    }

    /// The object's id and name.
    pub(crate) fn describe(self) -> (u64, Arc<str>) {
        let state = self.0.state.lock();
        (state.id, state.name.clone())
    }
}

impl LockTable {
    /// The object with that id (of a table: its number in the dictionary), the same for all callers. Introspection
    /// shows `name`.
    pub fn mdl_object(&self, id: u64, name: &str) -> MdlObject {
        let mut registry = self.mdl.0.lock();
        if let Some(&found) = registry.by_id.get(&id) {
            return found;
        }
        let object = registry.unused.pop().unwrap_or_else(|| {
            registry.made += 1;
            let (number, flags) = (registry.made, AtomicU8::new(0));
            MdlObject(Box::leak(Box::new(Object { number, flags, state: Mutex::new(State::default()) })))
        });
        {
            let mut state = object.0.state.lock();
            state.id = id;
            state.name = name.into();
        }
        registry.by_id.insert(id, object);
        object
    }

    /// Tells that the table is gone for good, so that its object may be used for another table.
    pub fn mdl_forget(&self, id: u64) {
        let mut registry = self.mdl.0.lock();
        if let Some(object) = registry.by_id.remove(&id) {
            registry.unused.push(object);
        }
        drop(registry);
        self.forget_waits_of(id);
    }

    /// All metadata locks, for performance_schema.metadata_locks.
    pub fn metadata_locks(&self) -> Vec<MdlInfo> {
        let objects: Vec<MdlObject> = self.mdl.0.lock().by_id.values().copied().collect();
        let mut out = Vec::new();
        let mut names = HashMap::new();
        for object in objects {
            let state = object.0.state.lock();
            names.insert(object.0.number, (state.id, state.name.clone()));
            let info = |owner: &Arc<Owner>, mode: MdlMode, granted: bool| MdlInfo {
                object: state.id,
                name: state.name.to_string(),
                party: Party::of(owner),
                mode,
                granted,
            };
            out.extend(state.holders.iter().map(|(o, m)| info(o, *m, true)));
            out.extend(state.waiting.iter().filter(|r| r.wait.is_some()).map(|r| info(&r.owner, r.mode, false)));
        }
        for owner in self.owners() {
            for slot in &owner.slots.words {
                let bits = slot.load(Acquire);
                if let Some((id, name)) = names.get(&(bits >> 3)) {
                    out.push(MdlInfo {
                        object: *id,
                        name: name.to_string(),
                        party: Party::of(&owner),
                        mode: MdlMode::from_bits(bits),
                        granted: true,
                    });
                }
            }
        }
        out
    }
}

impl LockOwner {
    /// Takes a metadata lock. It replaces one of the same duration that it makes superfluous. Nothing happens when
    /// the owner has one that covers it and lasts as long.
    ///
    /// Callers lock first and read the definition afterwards: from then on it does not change.
    pub fn mdl_lock(
        &self,
        object: MdlObject,
        mode: MdlMode,
        duration: MdlDuration,
        wait: Wait,
    ) -> Result<(), LockError> {
        lock_in(self, object, (mode, duration), wait, None)
    }

    /// The fast way, for readers and writers of rows: publishes the use in a slot. Returns the slot and whether that
    /// is enough; if not, the caller clears it.
    #[inline]
    fn publish(&self, object: MdlObject, mode: MdlMode) -> Option<(usize, bool)> {
        if mode > MdlMode::Write {
            return None;
        }
        let slots = &self.inner.slots.words;
        let i = slots.iter().position(|s| s.load(Relaxed) == 0)?;
        slots[i].store(object.0.number << 3 | mode as u64, Relaxed);
        fence(SeqCst);
        Some((i, object.0.flags.load(Acquire) & mode.stopped_by() == 0))
    }

    fn clear_slot(&self, i: usize, object: MdlObject) {
        self.inner.slots.words[i].store(0, Release);
        fence(SeqCst);
        if object.0.flags.load(Acquire) != 0 {
            object.0.slot_left(&self.inner, &self.table);
        }
    }

    /// The slow way: enters the use in the object's own list, and waits for its turn if need be.
    fn enter_object(
        &self,
        object: MdlObject,
        (mode, raise): (MdlMode, bool),
        wait: Wait,
        row: Option<Ahead>,
    ) -> Result<Place, LockError> {
        let me = &self.inner;
        let (pending, limit) = {
            let mut state = object.0.state.lock();
            // A place that was taken for this request is its own.
            let place = state.waiting.iter().position(|r| r.wait.is_none() && Arc::ptr_eq(&r.owner, me));
            if let Some(place) = place {
                state.waiting.remove(place);
            }
            // The flags are raised before the slots are read, so that no use is missed.
            let at = place.filter(|_| !raise).unwrap_or_else(|| state.line(mode, raise));
            let in_line = at > 0;
            state.waiting.insert(at, Request { owner: me.clone(), mode, raise, row, wait: None });
            object.0.raise_flags(&mut state, &self.table);
            let free = !in_line && !state.blocked(me, mode);
            let limit = match Self::limit(wait) {
                Ok(limit) if !free => limit,
                limit => {
                    let mut granted = Granted::default();
                    state.waiting.remove(at);
                    if free {
                        state.add_holder(me, mode);
                        if !state.waiting.is_empty() {
                            // One of them may now wait for this owner too.
                            me.blocks.store(true, Relaxed);
                        }
                    }
                    object.0.grant_waiting(&mut state, &self.table, &mut granted);
                    drop(state);
                    granted.finish(&self.table);
                    return limit.map(|_| Place::Object).or_else(|e| if free { Ok(Place::Object) } else { Err(e) });
                }
            };
            let pending = me.begin_wait(Target::Mdl { object, mode });
            state.waiting[at].wait = Some(pending.clone());
            let held = state.holders.iter().chain(&state.slot_users).filter(|(_, m)| m.conflicts(mode));
            let ahead = state.waiting.iter().take(at).map(|r| &r.owner);
            // The requests behind a raise now wait for it too.
            held.map(|(o, _)| o).chain(ahead).for_each(|o| o.blocks.store(true, Relaxed));
            if state.waiting.len() > at + 1 {
                me.blocks.store(true, Relaxed);
            }
            (pending, limit)
        };
        let began = now_ns();
        let abandon = || {
            let mut granted = Granted::default();
            {
                let mut state = object.0.state.lock();
                state.waiting.retain(|r| !Arc::ptr_eq(&r.owner, me));
                object.0.grant_waiting(&mut state, &self.table, &mut granted);
            }
            granted.finish(&self.table);
        };
        let has_reason = || object.0.state.lock().has_reason(me);
        let outcome = self.wait(pending, WaitEvent::MetadataLock, limit, abandon, has_reason);
        self.table.mdl_waited(object.describe(), mode, now_ns() - began);
        outcome.map(|()| Place::Object)
    }

    fn end_use(&self, u: &Use) {
        match u.place {
            Place::Slot(i) => self.clear_slot(i, u.object),
            Place::Object => {
                let mut granted = Granted::default();
                {
                    let mut state = u.object.0.state.lock();
                    state.remove_holder(&self.inner, u.mode);
                    u.object.0.grant_waiting(&mut state, &self.table, &mut granted);
                }
                granted.finish(&self.table);
            }
        }
    }

    fn end_uses(&self, ends: impl Fn(&Use) -> bool) {
        // Most often all uses end. Their list, which is in the caches now, is then kept for the thread's next uses, or
        // for the next that end in a transaction that keeps others.
        let mut ended: Vec<Use> = {
            let mut uses = self.inner.uses.lock();
            if uses.is_empty() {
                return;
            }
            if uses.iter().all(&ends) {
                std::mem::take(&mut *uses)
            } else {
                let mut ended = SPARE.take();
                ended.extend(uses.extract_if(.., |u| ends(u)));
                ended
            }
        };
        ended.iter().for_each(|u| self.end_use(u));
        ended.clear();
        if ended.capacity() <= KEEP_USES {
            SPARE.set(ended);
        }
        if self.inner.blocks.load(Relaxed) && self.inner.uses.lock().is_empty() && self.is_free() {
            self.inner.blocks.store(false, Relaxed);
        }
    }

    /// Lowers this owner's locks on the object to `mode`, where they are stronger and not explicit.
    pub fn mdl_downgrade(&self, object: MdlObject, mode: MdlMode) {
        let mut lowered = Vec::new();
        for u in self.inner.uses.lock().iter_mut() {
            if u.object == object && u.mode > mode && u.place == Place::Object && u.duration != MdlDuration::Explicit {
                lowered.push(u.mode);
                u.mode = mode;
            }
        }
        let mut granted = Granted::default();
        {
            let mut state = object.0.state.lock();
            for from in lowered {
                state.remove_holder(&self.inner, from);
                state.add_holder(&self.inner, mode);
            }
            object.0.grant_waiting(&mut state, &self.table, &mut granted);
        }
        granted.finish(&self.table);
    }

    /// The strongest lock this owner has on the object.
    pub fn mdl_mode(&self, object: MdlObject) -> Option<MdlMode> {
        self.inner.uses.lock().iter().filter(|u| u.object == object).map(|u| u.mode).max()
    }

    /// Ends all uses of statement duration.
    pub fn mdl_end_statement(&self) {
        self.end_uses(|u| u.duration == MdlDuration::Statement);
    }

    /// Ends all uses of statement and transaction duration.
    pub fn mdl_end_transaction(&self) {
        self.end_uses(|u| u.duration <= MdlDuration::Transaction);
    }

    /// Ends all uses of explicit duration (UNLOCK TABLES).
    pub fn mdl_release_explicit(&self) {
        self.end_uses(|u| u.duration == MdlDuration::Explicit);
    }

    /// Ends this owner's uses of one object that have that duration.
    pub fn mdl_release(&self, object: MdlObject, duration: MdlDuration) {
        self.end_uses(|u| u.object == object && u.duration == duration);
    }

    pub(crate) fn mdl_release_everything(&self) {
        self.end_uses(|_| true);
    }
}

/// [`LockOwner::mdl_lock`], maybe as one of a row.
fn lock_in(
    owner: &LockOwner,
    object: MdlObject,
    (mode, duration): (MdlMode, MdlDuration),
    wait: Wait,
    row: Option<Ahead>,
) -> Result<(), LockError> {
    let mut raise = false;
    let mut old = None;
    {
        let mut uses = owner.inner.uses.lock();
        for (i, u) in uses.iter().enumerate().filter(|(_, u)| u.object == object) {
            if u.mode.covers(mode) && u.duration >= duration {
                return Ok(());
            }
            raise = true;
            if u.duration == duration && mode.covers(u.mode) {
                old = Some(i);
            }
        }
        match owner.publish(object, mode) {
            Some((i, true)) => {
                let new = Use { object, mode, duration, place: Place::Slot(i) };
                let replaced = enter_use(&mut uses, old, new);
                drop(uses);
                replaced.iter().for_each(|u| owner.end_use(u));
                return Ok(());
            }
            Some((i, false)) => {
                drop(uses);
                owner.clear_slot(i, object);
            }
            None => {}
        }
    }
    let place = owner.enter_object(object, (mode, raise), wait, row)?;
    let replaced = enter_use(&mut owner.inner.uses.lock(), old, Use { object, mode, duration, place });
    replaced.iter().for_each(|u| owner.end_use(u));
    Ok(())
}

/// Records a use, in place of the one at `old`, which it returns.
#[inline]
fn enter_use(uses: &mut Vec<Use>, old: Option<usize>, new: Use) -> Option<Use> {
    match old {
        Some(i) => Some(std::mem::replace(&mut uses[i], new)),
        None => {
            if uses.capacity() == 0 {
                *uses = SPARE.take();
            }
            uses.push(new);
            None
        }
    }
}

/// Locks that an owner takes in a row, exclusively: what a definition statement changes. When the owner has waited for
/// one of them, it has a place in the line of each that follows (INV-MDL-3). The places that were not used go with
/// the row; the locks stay.
pub struct MdlRow<'a> {
    owner: &'a LockOwner,
    number: u64,
    objects: Arc<[MdlObject]>,
    at: usize,
}

impl<'a> MdlRow<'a> {
    /// Begins a row of these objects. An owner has one at a time.
    pub fn new(owner: &'a LockOwner, objects: &[MdlObject]) -> Self {
        let number = owner.inner.row.load(Relaxed) + 1;
        owner.inner.row.store(number, SeqCst);
        MdlRow { owner, number, objects: objects.into(), at: 0 }
    }

    /// Takes a lock of the row, in its order. An object that the row does not name may come in between.
    pub fn lock(&mut self, object: MdlObject, duration: MdlDuration, wait: Wait) -> Result<(), LockError> {
        let found = self.objects[self.at..].iter().position(|o| *o == object);
        self.at += found.map_or(0, |i| i + 1);
        let ahead = Ahead { number: self.number, objects: self.objects.clone(), from: self.at };
        lock_in(self.owner, object, (MdlMode::Exclusive, duration), wait, Some(ahead))
    }
}

impl Drop for MdlRow<'_> {
    fn drop(&mut self) {
        // Whoever takes a place for the row looks at its number under the mutex of the object.
        self.owner.inner.row.store(self.number + 1, SeqCst);
        self.objects.iter().for_each(|object| object.0.give_place_up(&self.owner.inner, &self.owner.table));
    }
}
