//! The checker: from a recorded history to the anomaly in it, if there is one.
//!
//! After A. Adya, "Weak Consistency" (MIT, 1999) and K. Kingsbury, P. Alvaro, "Elle" (VLDB 2020), with this difference:
//! what a transaction reads and what it locks may be of different moments, as in InnoDB, so a transaction is several
//! nodes. One holds its writes and its locking reads: it is where the transaction ends, since locks are kept until
//! then. Plain reads are a node of their own: one for the transaction (REPEATABLE READ: one snapshot), one for each
//! statement (READ COMMITTED), the same as the writes (SERIALIZABLE), none (READ UNCOMMITTED). The edges say who comes
//! before whom: `ww` a version and the next one, `wr` a version and who read it, `rw` who read a version and who wrote
//! the next one, `rt` what was acknowledged before the other began. A cycle is an anomaly.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Number of a version of a row; each is written once. 0 is what was there at the start.
pub type Version = u64;
/// Number of a transaction; 0 wrote what was there at the start.
pub type Txn = usize;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

/// What a statement saw or did.
#[derive(Clone, Debug)]
pub enum Op {
    /// By key: the version found, `None` where there was no row. `whole`: a range, so that its gaps count too.
    Read { locking: bool, range: bool, found: Vec<(u64, Option<Version>)> },
    /// `before`: what the transaction found when it had locked the row. `row`: false for a deletion.
    Write { key: u64, version: Version, before: Option<Version>, row: bool },
}

#[derive(Clone, Debug)]
pub struct Record {
    pub level: Level,
    pub committed: bool,
    /// Moments on a clock that all share: the first statement's begin, the acknowledgement.
    pub begin: u64,
    pub end: u64,
    /// Statements with the moments when they began.
    pub ops: Vec<(u64, Op)>,
}

#[derive(Clone, Default, Debug)]
pub struct History {
    pub txns: Vec<Record>,
    /// By key: who wrote which version, in the order in which it was done. Rolled back ones included.
    pub order: BTreeMap<u64, Vec<(Txn, Version)>>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Anomaly {
    /// Write cycle, or a row written over before its writer ended.
    G0,
    /// Aborted read.
    G1a,
    /// Intermediate read.
    G1b,
    /// Circular information flow.
    G1c,
    /// A version was written over by who had read, with a lock, the one before.
    LostUpdate,
    /// A cycle with one anti-dependency: read skew.
    GSingle,
    /// A cycle with several: write skew.
    G2Item,
    /// The same by way of a row that was not there.
    Phantom,
    /// What was acknowledged before is not seen.
    Stale,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Ww(u64),
    Wr(u64),
    Rw(u64),
    /// An anti-dependency on a row that was not there.
    RwGap(u64),
    Rt,
}

/// A version's writer, whether it is a row, its number among the committed versions of the key.
struct Place {
    writer: Txn,
    row: bool,
    at: usize,
}

struct Checker<'a> {
    h: &'a History,
    /// By key: committed versions in order.
    committed: BTreeMap<u64, Vec<(Txn, Version)>>,
    place: BTreeMap<(u64, Version), Place>,
    edges: Vec<Vec<(usize, Kind)>>,
    /// By node: when it began, and its transaction.
    nodes: Vec<(u64, Txn)>,
}

/// The first anomaly found, with a sentence that shows it.
pub fn check(h: &History) -> Option<(Anomaly, String)> {
    let mut c = Checker {
        h,
        committed: BTreeMap::new(),
        place: BTreeMap::new(),
        edges: vec![Vec::new(); h.txns.len()],
        nodes: h.txns.iter().enumerate().map(|(t, r)| (r.begin, t)).collect(),
    };
    c.place_versions().or_else(|| c.add_reads()).or_else(|| {
        c.add_writes();
        c.add_time();
        c.cycle()
    })
}

impl Checker<'_> {
    fn wrote(&self, t: Txn, version: Version) -> (bool, Option<Version>) {
        let found = self.h.txns[t].ops.iter().find_map(|(_, op)| match op {
            Op::Write { version: v, row, before, .. } if *v == version => Some((*row, *before)),
            _ => None,
        });
        found.unwrap_or((true, None))
    }

    /// Orders the committed versions, and compares each one's predecessor with what its writer found.
    fn place_versions(&mut self) -> Option<(Anomaly, String)> {
        for (&key, all) in &self.h.order {
            let versions: Vec<_> = all.iter().copied().filter(|&(t, _)| self.h.txns[t].committed).collect();
            let mut last = None;
            for (at, &(writer, version)) in versions.iter().enumerate() {
                let (row, before) = self.wrote(writer, version);
                if writer != 0 && before != last {
                    return Some((
                        Anomaly::G0,
                        format!("key {key}: T{writer} wrote {version} over {before:?}, not over {last:?}"),
                    ));
                }
                self.place.insert((key, version), Place { writer, row, at });
                last = row.then_some(version);
            }
            self.committed.insert(key, versions);
        }
        None
    }

    /// The node of a statement of `t`; `None` where what it sees is not bound to anything.
    fn node(&mut self, t: Txn, locking: bool, moment: u64, snapshot: &mut Option<usize>) -> Option<usize> {
        let level = self.h.txns[t].level;
        if locking || level == Level::Serializable {
            return Some(t);
        }
        if level == Level::ReadUncommitted {
            return None;
        }
        if level == Level::RepeatableRead
            && let Some(n) = *snapshot
        {
            return Some(n);
        }
        self.nodes.push((moment, t));
        self.edges.push(Vec::new());
        *snapshot = Some(self.nodes.len() - 1);
        *snapshot
    }

    fn add_reads(&mut self) -> Option<(Anomaly, String)> {
        for t in (0..self.h.txns.len()).filter(|&t| self.h.txns[t].committed) {
            let mut snapshot = None;
            let mut own = BTreeSet::new();
            for (moment, op) in &self.h.txns[t].ops {
                let (locking, range, found) = match op {
                    Op::Write { key, .. } => {
                        own.insert(*key);
                        continue;
                    }
                    Op::Read { locking, range, found } => (*locking, *range, found),
                };
                let Some(node) = self.node(t, locking, *moment, &mut snapshot) else { continue };
                // Its own rows say nothing about others.
                for &(key, version) in found.iter().filter(|(key, _)| !own.contains(key)) {
                    match version {
                        Some(v) => {
                            if let Some(bad) = self.read_version(t, node, key, v) {
                                return Some(bad);
                            }
                        }
                        None => self.read_gap(t, node, key, locking, range),
                    }
                }
            }
        }
        None
    }

    fn read_version(&mut self, t: Txn, node: usize, key: u64, version: Version) -> Option<(Anomaly, String)> {
        let Some(&Place { writer, at, .. }) = self.place.get(&(key, version)) else {
            return Some((Anomaly::G1a, format!("T{t} read version {version} of key {key}, which was rolled back")));
        };
        let versions = &self.committed[&key];
        let last = versions.iter().rposition(|&(w, _)| w == writer).unwrap_or(at);
        if last != at && writer != 0 && versions[at..=last].iter().all(|v| v.0 == writer) {
            return Some((
                Anomaly::G1b,
                format!("T{t} read version {version} of key {key}, which T{writer} wrote over itself"),
            ));
        }
        let next = versions[at + 1..].iter().find(|v| v.0 != writer).map(|v| v.0);
        self.edge(writer, node, Kind::Wr(key));
        if let Some(next) = next {
            self.edge(node, next, Kind::Rw(key));
        }
        None
    }

    /// There was no row: where it is clear since when, who wrote the next version comes later.
    fn read_gap(&mut self, t: Txn, node: usize, key: u64, locking: bool, range: bool) {
        let level = self.h.txns[t].level;
        if locking && level <= Level::ReadCommitted {
            return; // no gap locks
        }
        let Some(versions) = self.committed.get(&key) else { return };
        let is_row = |&(_, v): &(Txn, Version)| self.place[&(key, v)].row;
        let gaps = versions.iter().filter(|v| !is_row(v)).count() + usize::from(versions.first().is_some_and(is_row));
        if gaps != 1 || versions.first().is_some_and(|v| v.0 == 0) {
            return;
        }
        let writer = versions[0].0;
        if is_row(&versions[0]) {
            self.edge(node, writer, if range { Kind::RwGap(key) } else { Kind::Rw(key) });
        }
    }

    fn add_writes(&mut self) {
        let all: Vec<_> =
            self.committed.iter().flat_map(|(&k, v)| v.windows(2).map(move |w| (k, w[0].0, w[1].0))).collect();
        for (key, a, b) in all {
            self.edge(a, b, Kind::Ww(key));
        }
    }

    fn add_time(&mut self) {
        for a in (0..self.h.txns.len()).filter(|&t| self.h.txns[t].committed) {
            for b in 0..self.nodes.len() {
                let (begin, t) = self.nodes[b];
                if self.h.txns[t].committed && self.h.txns[a].end < begin {
                    self.edge(a, b, Kind::Rt);
                }
            }
        }
    }

    fn edge(&mut self, from: usize, to: usize, kind: Kind) {
        if from != to {
            self.edges[from].push((to, kind));
        }
    }

    /// The worst cycle there is: first among writes only, then with reads, then with anti-dependencies.
    fn cycle(&self) -> Option<(Anomaly, String)> {
        let ww = |k: Kind| matches!(k, Kind::Ww(_));
        let wr = |k: Kind| matches!(k, Kind::Ww(_) | Kind::Wr(_));
        let rw = |k: Kind| k != Kind::Rt;
        let found = self.shortest(&ww).or_else(|| self.shortest(&wr)).or_else(|| self.shortest(&rw));
        let cycle = found.or_else(|| self.shortest(&|_| true))?;
        let has = |f: &dyn Fn(Kind) -> bool| cycle.iter().filter(|(_, k)| f(*k)).count();
        let anti = has(&|k| matches!(k, Kind::Rw(_) | Kind::RwGap(_)));
        let anomaly = if has(&|k| k == Kind::Rt) > 0 {
            Anomaly::Stale
        } else if anti == 0 {
            if has(&wr) == has(&ww) { Anomaly::G0 } else { Anomaly::G1c }
        } else if has(&|k| matches!(k, Kind::RwGap(_))) > 0 {
            Anomaly::Phantom
        } else if let [(_, Kind::Rw(a)), (_, Kind::Ww(b))] | [(_, Kind::Ww(b)), (_, Kind::Rw(a))] = cycle[..]
            && a == b
        {
            Anomaly::LostUpdate
        } else if anti == 1 {
            Anomaly::GSingle
        } else {
            Anomaly::G2Item
        };
        let shown: Vec<String> = cycle.iter().map(|(n, k)| format!("T{} -{k:?}->", self.nodes[*n].1)).collect();
        Some((anomaly, shown.join(" ")))
    }

    /// A shortest cycle over edges of some kinds: nodes, each with the edge that leaves it.
    fn shortest(&self, kinds: &dyn Fn(Kind) -> bool) -> Option<Vec<(usize, Kind)>> {
        let mut best: Option<Vec<(usize, Kind)>> = None;
        for start in self.on_cycles(kinds) {
            let mut from: BTreeMap<usize, (usize, Kind)> = BTreeMap::new();
            let mut queue = VecDeque::from([start]);
            'search: while let Some(n) = queue.pop_front() {
                for &(to, kind) in self.edges[n].iter().filter(|e| kinds(e.1)) {
                    if from.contains_key(&to) {
                        continue;
                    }
                    from.insert(to, (n, kind));
                    if to == start {
                        break 'search;
                    }
                    queue.push_back(to);
                }
            }
            let Some(&(mut n, kind)) = from.get(&start) else { continue };
            let mut cycle = vec![(n, kind)];
            while n != start {
                let (before, kind) = from[&n];
                cycle.push((before, kind));
                n = before;
            }
            cycle.reverse();
            if best.as_ref().is_none_or(|b| cycle.len() < b.len()) {
                best = Some(cycle);
            }
        }
        best
    }

    /// Nodes left when those without edges in, or without edges out, are taken away one after the other.
    fn on_cycles(&self, kinds: &dyn Fn(Kind) -> bool) -> Vec<usize> {
        let mut alive = vec![true; self.nodes.len()];
        loop {
            let mut entered = vec![false; alive.len()];
            let mut left = vec![false; alive.len()];
            for (n, edges) in self.edges.iter().enumerate().filter(|(n, _)| alive[*n]) {
                for &(to, _) in edges.iter().filter(|e| kinds(e.1) && alive[e.0]) {
                    (left[n], entered[to]) = (true, true);
                }
            }
            let next: Vec<bool> = (0..alive.len()).map(|n| alive[n] && entered[n] && left[n]).collect();
            if next == alive {
                return (0..alive.len()).filter(|&n| alive[n]).collect();
            }
            alive = next;
        }
    }
}
