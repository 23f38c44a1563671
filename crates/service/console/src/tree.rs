//! Who holds up whom: sessions that wait for locks, below the sessions that they wait for.

use crate::api::first;
use crate::http::Response;
use crate::json::{Json, Object};
use gannet_core::Core;
use gannet_core::registry::Activity;
use gannet_engine::TransactionInfo;
use gannet_engine::lock::{LockKind, WaitInfo};
use gannet_runtime::now_ns;
use std::collections::{BTreeMap, BTreeSet};

/// Sessions that are shown at most.
const MOST: usize = 1000;

struct Graph<'a> {
    core: &'a Core,
    waits: BTreeMap<u64, WaitInfo>,
    /// Sessions that wait for each.
    below: BTreeMap<u64, Vec<u64>>,
    transactions: BTreeMap<u64, TransactionInfo>,
    shown: BTreeSet<u64>,
}

/// The trees, those with most waiters first.
pub fn answer(core: &Core) -> Response {
    let waits: BTreeMap<u64, WaitInfo> =
        core.engine.lock_table().waits().into_iter().map(|w| (w.party.thread, w)).collect();
    let mut below: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (waiter, wait) in &waits {
        let blocker = wait.blockers.iter().map(|p| p.thread).find(|t| t != waiter).unwrap_or(0);
        below.entry(blocker).or_default().push(*waiter);
    }
    let transactions = core.engine.transactions(10_000).into_iter().map(|t| (t.owner_thread_id, t)).collect();
    let roots: Vec<u64> = below.keys().copied().filter(|id| !waits.contains_key(id)).collect();
    let mut graph = Graph { core, waits, below, transactions, shown: BTreeSet::new() };
    let mut counted: Vec<(usize, u64)> = roots.iter().map(|r| (graph.waiters(*r, &mut BTreeSet::new()), *r)).collect();
    counted.sort_by_key(|(n, id)| (std::cmp::Reverse(*n), *id));
    // Those that only wait for one another are a deadlock, which lasts until it is found.
    let mut json = Json::default();
    json.object(|o| {
        o.whole("waiters", graph.waits.len() as u64);
        o.list("roots", |l| {
            for (n, root) in counted {
                l.object(|o| {
                    o.whole("waiters", n as u64);
                    graph.node(root, o);
                });
            }
        });
    });
    Response::json(json.finish())
}

impl Graph<'_> {
    /// Sessions below one.
    fn waiters(&self, id: u64, seen: &mut BTreeSet<u64>) -> usize {
        let children = self.below.get(&id).map_or(&[][..], |c| c);
        children.iter().map(|c| if seen.insert(*c) { 1 + self.waiters(*c, seen) } else { 0 }).sum()
    }

    fn node(&mut self, id: u64, o: &mut Object<'_>) {
        let now = now_ns();
        let seconds = |since: u64| now.saturating_sub(since) as f64 / 1e9;
        o.whole("id", id);
        if let Some(entry) = self.core.registry.get(id) {
            let (activity, since) = entry.activity();
            let who = entry.who();
            o.text("user", &who.user);
            o.text("host", &who.host);
            o.maybe("schema", who.database.as_deref());
            o.text("state", if activity == Activity::Sleep { "sleeps in its transaction" } else { entry.state() });
            o.number("seconds", seconds(since));
            o.maybe("statement", entry.info().map(|i| first(&i)).as_deref());
        }
        if let Some(t) = self.transactions.get(&id) {
            o.number("transaction_seconds", if t.started_ns == 0 { 0.0 } else { seconds(t.started_ns) });
            o.whole("undo", t.undo_records);
            o.whole("locked", t.locks.as_ref().map_or(0, |l| l.records as u64));
        }
        if let Some(wait) = self.waits.get(&id) {
            o.number("waits", seconds(wait.since_ns));
            o.text("for", &wanted(self.core, &wait.waits_for));
        }
        let children = self.below.get(&id).cloned().unwrap_or_default();
        o.list("below", |l| {
            for child in children {
                if self.shown.len() < MOST && self.shown.insert(child) {
                    l.object(|o| self.node(child, o));
                }
            }
        });
    }
}

/// What is waited for, in words.
fn wanted(core: &Core, kind: &LockKind) -> String {
    let tree = match kind {
        LockKind::Metadata { name, mode, .. } => return format!("definition of {name} ({mode:?})"),
        LockKind::Transaction { row: None, .. } => return "a transaction's end".into(),
        LockKind::Transaction { row: Some((tree, _)), .. } => *tree,
        LockKind::Record { tree, .. }
        | LockKind::Gap { tree, .. }
        | LockKind::Rows { tree, .. }
        | LockKind::Insert { tree, .. } => *tree,
    };
    let what = match kind {
        LockKind::Gap { .. } => "gap",
        LockKind::Rows { .. } => "rows",
        LockKind::Insert { .. } => "place to insert",
        _ => "row",
    };
    let snapshot = core.catalog.snapshot();
    for table in snapshot.all_tables() {
        let index = match table.indexes.iter().find(|i| i.tree == tree) {
            Some(index) => &*index.name,
            None if table.row_tree == tree => table.clustered_index().map_or("GEN_CLUST_INDEX", |i| &*i.name),
            None => continue,
        };
        return format!("{what} of {}.{}, index {index}", table.schema, table.name);
    }
    what.into()
}
