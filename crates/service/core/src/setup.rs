//! Of whom and of what performance_schema collects: the rows of `setup_actors`, `setup_objects` and
//! `setup_instruments` (MySQL manual, "Performance Schema Setup Tables"). They last as long as the server.

use crate::ledger::Kind;
use crate::usual::changed;
use gannet_base::sync::RwLock;
use gannet_base::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use std::collections::BTreeSet;

/// Any name, in a row of `setup_actors` or `setup_objects`.
pub const ANY: &str = "%";

/// What is collected of a session: INSTRUMENTED and HISTORY of its row in `threads`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Anything.
    pub instrumented: bool,
    /// The statements and transactions that have ended are listed.
    pub history: bool,
}

impl Watched {
    pub const ALL: Watched = Watched { instrumented: true, history: true };
}

/// A [`Watched`] that others change.
#[derive(Debug, Default)]
pub struct WatchedCell(AtomicU8);

impl WatchedCell {
    /// Everything is collected.
    #[inline]
    pub fn is_all(&self) -> bool {
        self.0.load(Relaxed) == 0
    }

    pub fn get(&self) -> Watched {
        let not = self.0.load(Relaxed);
        Watched { instrumented: not & 1 == 0, history: not & 2 == 0 }
    }

    pub fn set(&self, watched: Watched) {
        let not = u8::from(!watched.instrumented) | u8::from(!watched.history) << 1;
        if self.0.swap(not, Relaxed) != not {
            changed();
        }
    }
}

/// A row of `setup_actors`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    pub host: String,
    pub user: String,
    pub role: String,
    pub watched: Watched,
}

/// A row of `setup_objects`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// As the column's member: `TABLE`.
    pub kind: String,
    pub schema: String,
    pub name: String,
    pub enabled: bool,
}

/// Kinds of objects, as members of `OBJECT_TYPE`.
pub const OBJECTS: &[&str] = &["EVENT", "FUNCTION", "PROCEDURE", "TABLE", "TRIGGER"];

/// All of it.
pub struct Setup {
    actors: RwLock<Vec<Actor>>,
    objects: RwLock<Vec<Object>>,
    /// Some instrument is off.
    some_off: AtomicBool,
    /// Kinds of statements of which nothing is collected.
    off: RwLock<BTreeSet<Kind>>,
    /// Nor of transactions.
    no_transactions: AtomicBool,
}

impl Default for Setup {
    fn default() -> Self {
        let everybody = Actor { host: ANY.into(), user: ANY.into(), role: ANY.into(), watched: Watched::ALL };
        let objects = OBJECTS.iter().flat_map(|kind| {
            let of = |(schema, on): (&str, bool)| {
                let (kind, schema, name) = (kind.to_string(), schema.to_owned(), ANY.to_owned());
                Object { kind, schema, name, enabled: on }
            };
            [("mysql", false), ("performance_schema", false), ("information_schema", false), (ANY, true)].map(of)
        });
        Setup {
            actors: RwLock::new(vec![everybody]),
            objects: RwLock::new(objects.collect()),
            some_off: AtomicBool::new(false),
            off: RwLock::new(BTreeSet::new()),
            no_transactions: AtomicBool::new(false),
        }
    }
}

impl Setup {
    pub fn actors(&self) -> Vec<Actor> {
        self.actors.read().clone()
    }

    /// Sessions that log in from now on are looked up in these.
    pub fn set_actors(&self, actors: Vec<Actor>) {
        *self.actors.write() = actors;
    }

    /// What is collected of a client that logs in: as the row says that names most of it, the user before the host;
    /// nothing without one.
    pub fn of_client(&self, user: &str, host: &str) -> Watched {
        let actors = self.actors.read();
        let named = |one: &str, name: &str| match one {
            ANY => Some(0),
            one => (one == name).then_some(1),
        };
        let fits = |a: &Actor| Some((named(&a.user, user)? * 2 + named(&a.host, host)?, a.watched));
        let best = actors.iter().filter_map(fits).max_by_key(|(names, _)| *names);
        best.map_or(Watched { instrumented: false, history: false }, |(_, watched)| watched)
    }

    pub fn objects(&self) -> Vec<Object> {
        self.objects.read().clone()
    }

    pub fn set_objects(&self, objects: Vec<Object>) {
        *self.objects.write() = objects;
    }

    /// Which objects of a kind are shown: the row decides that names most of it.
    pub fn shows(&self, kind: &str) -> impl Fn(&str, &str) -> bool + use<> {
        let of_kind: Vec<Object> = self.objects.read().iter().filter(|o| o.kind == kind).cloned().collect();
        move |schema, name| {
            let fits = |o: &&Object| (o.schema == ANY || o.schema == schema) && (o.name == ANY || o.name == name);
            let names = |o: &&Object| (o.schema != ANY, o.name != ANY);
            of_kind.iter().filter(fits).max_by_key(names).is_some_and(|o| o.enabled)
        }
    }

    /// Some instrument is off.
    #[inline]
    pub fn some_off(&self) -> bool {
        self.some_off.load(Relaxed)
    }

    /// Statements of the kind are collected.
    pub fn is_on(&self, kind: Kind) -> bool {
        !self.off.read().contains(&kind)
    }

    /// Transactions are.
    pub fn transactions(&self) -> bool {
        !self.no_transactions.load(Relaxed)
    }

    /// Switches statements of a kind, or (`None`) transactions.
    pub fn switch(&self, kind: Option<Kind>, on: bool) {
        let mut off = self.off.write();
        match kind {
            None => self.no_transactions.store(!on, Relaxed),
            Some(kind) if on => drop(off.remove(&kind)),
            Some(kind) => drop(off.insert(kind)),
        }
        self.some_off.store(!off.is_empty() || !self.transactions(), Relaxed);
        changed();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_row_that_names_most_decides() {
        let setup = Setup::default();
        assert_eq!(setup.of_client("a", "h"), Watched::ALL);
        let actor = |user: &str, host: &str, instrumented, history| Actor {
            host: host.into(),
            user: user.into(),
            role: ANY.into(),
            watched: Watched { instrumented, history },
        };
        // The manual's example: nobody but joe from two places.
        setup.set_actors(vec![
            actor(ANY, ANY, false, false),
            actor("joe", "localhost", true, true),
            actor("joe", "hosta.example.com", true, false),
            actor("sam", ANY, false, true),
            actor(ANY, "hosta.example.com", true, true),
        ]);
        let of = |user, host| {
            let Watched { instrumented, history } = setup.of_client(user, host);
            (instrumented, history)
        };
        assert_eq!(of("joe", "localhost"), (true, true));
        assert_eq!(of("joe", "hosta.example.com"), (true, false));
        assert_eq!(of("joe", "hostb.example.com"), (false, false));
        assert_eq!(of("sam", "hosta.example.com"), (false, true));
        assert_eq!(of("mary", "hosta.example.com"), (true, true));
        setup.set_actors(Vec::new());
        assert_eq!(of("mary", "hosta.example.com"), (false, false));
        let object = |schema: &str, name: &str, enabled| Object {
            kind: "TABLE".into(),
            schema: schema.into(),
            name: name.into(),
            enabled,
        };
        setup.set_objects(vec![
            object("db1", "t1", true),
            object("db1", "t2", true),
            object("db2", ANY, true),
            object("db3", ANY, false),
            object(ANY, ANY, true),
            object("db1", ANY, false),
        ]);
        let shows = setup.shows("TABLE");
        assert!(
            shows("db1", "t1") && !shows("db1", "t3") && shows("db2", "x") && !shows("db3", "x") && shows("d", "x")
        );
        assert!(!setup.shows("EVENT")("d", "e"));
    }
}
