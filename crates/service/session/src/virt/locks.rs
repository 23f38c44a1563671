//! performance_schema: who holds which row and who waits for it, with keys as they read.
//!
//! A row that a transaction has changed carries its stamp, which is its lock: such locks are in no list, and those that
//! somebody waits for are made up here from the waits. Each row of `data_lock_waits` has its two locks in `data_locks`.

use super::runtime::lock_id;
use super::{Emit, Equals, lent, lent_or_null};
use crate::state::State;
use gannet_engine::lock::{LockKind, Mode, Party, WaitInfo};
use gannet_schema::{RowSource, Table};
use gannet_types::key::{self, KeyPart};
use gannet_types::{Result, Value, ValueRef};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Bound;
use std::sync::Arc;

/// Locks that are listed at most: a listing is bounded like everything else.
const MOST_LOCKS: usize = 100_000;

/// What a tree is: a table, and its index. `None`: the rows of a table without a primary key.
struct Place {
    table: Arc<Table>,
    index: Option<usize>,
}

fn places(state: &State) -> HashMap<u64, Place> {
    let mut places = HashMap::new();
    for table in state.snapshot.all_tables().filter(|t| t.source == RowSource::Engine) {
        for (i, index) in table.indexes.iter().enumerate() {
            places.insert(index.tree.0, Place { table: table.clone(), index: Some(i) });
        }
        places.insert(table.row_tree.0, Place { table: table.clone(), index: table.clustered });
    }
    places
}

impl Place {
    fn index_name(&self) -> &str {
        self.index.map_or("GEN_CLUST_INDEX", |i| &self.table.indexes[i].name)
    }

    /// The values of a key, as InnoDB shows them: `'a', 5`. What no value can be had from is hexadecimal.
    fn data(&self, key: &[u8]) -> String {
        let own = self.index.map_or(&[][..], |i| self.table.key_parts(i));
        let behind = self.table.clustered.filter(|c| Some(*c) != self.index);
        let behind = behind.map_or(&[][..], |c| self.table.key_parts(c));
        let (mut shown, mut rest) = (Vec::new(), key);
        for part in own.iter().chain(behind).take_while(|_| !key.is_empty()) {
            match value(part, &mut rest) {
                Some(text) => shown.push(text),
                None => break,
            }
        }
        if !rest.is_empty() || shown.is_empty() {
            shown.push(hex(rest));
        }
        shown.join(", ")
    }
}

/// One value, and what is behind it.
fn value(part: &KeyPart, rest: &mut &[u8]) -> Option<String> {
    if rest.is_empty() || !part.is_invertible() {
        return None;
    }
    let before = *rest;
    let Ok(value) = key::decode(part, rest) else {
        *rest = before;
        return None;
    };
    let mut out = Vec::new();
    value.write_text(&mut out);
    let shown = String::from_utf8_lossy(&out).into_owned();
    Some(match value {
        Value::Null => "NULL".into(),
        Value::Str(..) => format!("'{shown}'"),
        _ => shown,
    })
}

fn hex(key: &[u8]) -> String {
    let shown = &key[..key.len().min(64)];
    shown.iter().fold("0x".to_string(), |s, b| s + &format!("{b:02X}"))
}

const SUPREMUM: &str = "supremum pseudo-record";

/// Tree, mode, and the key that the lock ends at; `None`: behind all keys. Nothing for locks that are no rows'.
fn described(kind: &LockKind) -> Option<(u64, &'static str, Option<&[u8]>)> {
    let of = |mode, shared, exclusive| match mode {
        Mode::Shared => shared,
        Mode::Exclusive => exclusive,
    };
    Some(match kind {
        LockKind::Record { tree, key, mode } => (tree.0, of(*mode, "S,REC_NOT_GAP", "X,REC_NOT_GAP"), Some(key)),
        LockKind::Transaction { row: Some((tree, key)), .. } => (tree.0, "X,REC_NOT_GAP", Some(key)),
        LockKind::Gap { tree, high, .. } => (tree.0, "X,GAP", high.as_ref().map(|(key, _)| &**key)),
        // The rows up to this one, and the gaps before them.
        LockKind::Rows { tree, high, mode, .. } => (tree.0, of(*mode, "S", "X"), high.as_ref().map(|(key, _)| &**key)),
        LockKind::Insert { tree, key } => (tree.0, "X,GAP,INSERT_INTENTION", Some(key)),
        LockKind::Transaction { row: None, .. } | LockKind::Metadata { .. } => return None,
    })
}

/// A lock of a row, held or waited for.
struct Lock {
    party: Party,
    tree: u64,
    mode: &'static str,
    granted: bool,
    /// `None`: behind all keys.
    key: Option<Vec<u8>>,
    /// Of a gap: the key that it begins at, `None` before all keys.
    gap: Option<Option<Vec<u8>>>,
}

/// A row that is locked with the gap before it, and the gap behind all rows, are one lock each, as in InnoDB. A gap has
/// no mode of its own: it gets that of the rows beside it.
fn join_gaps(locks: &mut BTreeMap<String, Lock>) {
    let mut rows: HashMap<(u64, u64), BTreeMap<Vec<u8>, Vec<String>>> = HashMap::new();
    let mut gaps = Vec::new();
    for (id, l) in locks.iter().filter(|(_, l)| l.granted) {
        let place = (l.party.owner, l.tree);
        match (&l.gap, &l.key) {
            (Some(low), high) => gaps.push((id.clone(), place, low.clone(), high.clone())),
            (None, Some(key)) => rows.entry(place).or_default().entry(key.clone()).or_default().push(id.clone()),
            (None, None) => {}
        }
    }
    for (id, place, low, high) in gaps {
        let own = rows.entry(place).or_default();
        let mut modes = (false, false);
        let (from, to) = (
            low.as_ref().map_or(Bound::Unbounded, Bound::Included),
            high.as_ref().map_or(Bound::Unbounded, Bound::Included),
        );
        for (key, id) in own.range::<Vec<u8>, _>((from, to)).flat_map(|(key, ids)| ids.iter().map(move |id| (key, id)))
        {
            let Some(l) = locks.get_mut(id) else { continue };
            let whole = match l.mode {
                "S" | "S,REC_NOT_GAP" => "S",
                "X" | "X,REC_NOT_GAP" => "X",
                _ => continue,
            };
            modes = (modes.0 || whole == "S", modes.1 || whole == "X");
            if low.as_ref() != Some(key) {
                l.mode = whole;
            }
        }
        let ends_at_row = high.as_ref().is_some_and(|key| own.contains_key(key));
        if ends_at_row {
            locks.remove(&id);
        } else if let Some(l) = locks.get_mut(&id) {
            l.mode = match (modes, &high) {
                ((true, false), Some(_)) => "S,GAP",
                ((true, false), None) => "S",
                (_, Some(_)) => "X,GAP",
                (_, None) => "X",
            };
        }
    }
}

/// A wait for a row.
struct Wait {
    party: Party,
    tree: u64,
    id: String,
    /// Those that hold the lock or wait in front, and their locks.
    blockers: Vec<(Party, String)>,
}

/// Locks and waits of one moment.
pub(super) struct Listing {
    places: HashMap<u64, Place>,
    waits: Vec<Wait>,
    /// By owner and id.
    locks: BTreeMap<String, Lock>,
}

impl Listing {
    pub(super) fn of(state: &State) -> Listing {
        let table = state.server.engine.lock_table();
        let mut locks = BTreeMap::new();
        let mut add = |id: &str, party: &Party, kind: &LockKind, granted: bool| {
            let Some((tree, mode, key)) = described(kind) else { return };
            // What is waited for is not held, whatever else says so.
            if !locks.contains_key(id) {
                let gap = match kind {
                    LockKind::Gap { low, .. } => Some(low.as_ref().map(|(key, _)| key.clone())),
                    _ => None,
                };
                // Whoever keeps a row from a gap has locked the gap.
                let mode = if granted && mode.ends_with("INSERT_INTENTION") { "X,GAP" } else { mode };
                let key = key.map(<[u8]>::to_vec);
                locks.insert(id.to_owned(), Lock { party: *party, tree, mode, granted, key, gap });
            }
        };
        let mut all = table.waits();
        all.retain(|w| described(&w.waits_for).is_some());
        let wait = |w: &WaitInfo| Wait {
            party: w.party,
            tree: described(&w.waits_for).map_or(0, |(tree, ..)| tree),
            id: lock_id(&w.party, &w.waits_for),
            blockers: w.blockers.iter().map(|b| (*b, lock_id(b, &w.waits_for))).collect(),
        };
        let waits: Vec<Wait> = all.iter().map(wait).collect();
        waits.iter().zip(&all).for_each(|(w, of)| add(&w.id, &w.party, &of.waits_for, false));
        for (w, of) in waits.iter().zip(&all) {
            w.blockers.iter().for_each(|(blocker, id)| add(id, blocker, &of.waits_for, true));
        }
        let waited: HashSet<(u64, u64, &[u8])> = all
            .iter()
            .filter_map(|w| described(&w.waits_for).map(|(tree, _, key)| (w.party.owner, tree, key.unwrap_or(&[]))))
            .collect();
        for l in table.locks(MOST_LOCKS) {
            // Who waits for a row has a place in its queue, which is not yet the lock.
            let queued = described(&l.kind)
                .is_some_and(|(tree, _, key)| waited.contains(&(l.party.owner, tree, key.unwrap_or(&[]))));
            if !queued {
                add(&lock_id(&l.party, &l.kind), &l.party, &l.kind, l.granted);
            }
        }
        drop(waited);
        join_gaps(&mut locks);
        Listing { places: places(state), waits, locks }
    }

    /// The key of a lock as it is shown.
    fn data(&self, lock: &Lock) -> String {
        match (&lock.key, self.places.get(&lock.tree)) {
            (None, _) => SUPREMUM.to_string(),
            (Some(key), Some(place)) => place.data(key),
            (Some(key), None) => hex(key),
        }
    }
}

pub(super) fn data_locks(state: &mut State, equals: &Equals<'_>, _: Emit<'_>) -> Result<()> {
    let (events, data) = (equals.wants(&["EVENT_ID"]), equals.wants(&["LOCK_DATA"]));
    let listing = equals.locks(state);
    // Each owner's intention on each table, as InnoDB has it.
    let mut tables: BTreeMap<(u64, u64), (Party, &Place, bool)> = BTreeMap::new();
    for l in listing.locks.values() {
        if let Some(place) = listing.places.get(&l.tree) {
            let of = tables.entry((l.party.owner, place.table.id.0)).or_insert((l.party, place, false));
            of.2 |= l.mode.starts_with('X');
        }
    }
    for ((owner, table), (party, place, exclusive)) in tables {
        let mode = if exclusive { "IX" } else { "IS" };
        let id = format!("{owner}:table:{table}");
        row((state, events), &id, &party, (Some(place), table), ("TABLE", mode, true, None), equals)?;
    }
    for (id, l) in &listing.locks {
        let data = if data { listing.data(l) } else { String::new() };
        let lock = ("RECORD", l.mode, l.granted, Some(&*data));
        row((state, events), id, &l.party, (listing.places.get(&l.tree), l.tree), lock, equals)?;
    }
    Ok(())
}

/// The number of the statement that a session waits in, where somebody asks for it.
fn event((state, wanted): (&State, bool), thread: u64, granted: bool) -> ValueRef<'static> {
    let waits = (wanted && !granted).then(|| state.server.registry.get(thread)).flatten();
    waits.map_or(ValueRef::Null, |e| ValueRef::UInt(e.deeds.history.count() + 1))
}

fn row(
    events: (&State, bool),
    id: &str,
    party: &Party,
    (place, object): (Option<&Place>, u64),
    (kind, mode, granted, data): (&str, &str, bool, Option<&str>),
    equals: &Equals<'_>,
) -> Result<()> {
    let trx = gannet_core::status::shown_trx(party.trx, party.owner);
    equals.lend(&[
        lent("INNODB"),
        lent(id),
        ValueRef::UInt(trx),
        ValueRef::UInt(party.thread),
        event(events, party.thread, granted),
        lent_or_null(place.map(|p| &*p.table.schema)),
        lent_or_null(place.map(|p| &*p.table.name)),
        ValueRef::Null,
        ValueRef::Null,
        lent_or_null(place.filter(|_| data.is_some()).map(Place::index_name)),
        ValueRef::UInt(object),
        lent(kind),
        lent(mode),
        lent(if granted { "GRANTED" } else { "WAITING" }),
        lent_or_null(data),
    ])
}

pub(super) fn data_lock_waits(state: &mut State, equals: &Equals<'_>, _: Emit<'_>) -> Result<()> {
    let events = equals.wants(&["REQUESTING_EVENT_ID"]);
    let trx = |p: &Party| ValueRef::UInt(gannet_core::status::shown_trx(p.trx, p.owner));
    for w in &equals.locks(state).waits {
        for (blocker, id) in &w.blockers {
            equals.lend(&[
                lent("INNODB"),
                lent(&w.id),
                trx(&w.party),
                ValueRef::UInt(w.party.thread),
                event((state, events), w.party.thread, false),
                ValueRef::UInt(w.tree),
                lent(id),
                trx(blocker),
                ValueRef::UInt(blocker.thread),
                ValueRef::Null,
                ValueRef::UInt(w.tree),
            ])?;
        }
    }
    Ok(())
}
