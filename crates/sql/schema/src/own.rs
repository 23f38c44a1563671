//! Views and routines that the server itself has in a schema, beside what users keep there. They are no rows of the
//! dictionary: the program brings them, so a newer program has newer ones. Making them means binding a hundred queries,
//! which is not done before somebody looks for one.

use crate::names::fold_name;
use crate::program::{Routine, RoutineKind};
use crate::table::Table;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// Views by name, routines by folded name.
#[derive(Debug, Default)]
pub struct OwnObjects {
    views: BTreeMap<Arc<str>, Arc<Table>>,
    routines: BTreeMap<(RoutineKind, Box<str>), Arc<Routine>>,
}

impl OwnObjects {
    /// Puts these together.
    pub fn new(views: impl IntoIterator<Item = Arc<Table>>, routines: impl IntoIterator<Item = Arc<Routine>>) -> Self {
        let named = |r: Arc<Routine>| ((r.kind, fold_name(&r.name).into()), r);
        OwnObjects {
            views: views.into_iter().map(|t| (t.name.clone(), t)).collect(),
            routines: routines.into_iter().map(named).collect(),
        }
    }

    /// The views, by name.
    pub fn views(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.views.values()
    }

    /// The routines: procedures by name, then functions.
    pub fn routines(&self) -> impl Iterator<Item = &Arc<Routine>> {
        self.routines.values()
    }
}

/// The server's own objects of one schema.
#[derive(Debug)]
pub struct Own {
    make: fn() -> OwnObjects,
    made: OnceLock<OwnObjects>,
}

impl Own {
    /// Objects that `make` makes, once in the life of the process.
    pub const fn new(make: fn() -> OwnObjects) -> Self {
        Self { make, made: OnceLock::new() }
    }

    /// All of them; makes them if need be.
    pub fn objects(&self) -> &OwnObjects {
        self.made.get_or_init(self.make)
    }

    /// All of them, if they are made.
    pub(crate) fn made(&self) -> Option<&OwnObjects> {
        self.made.get()
    }

    pub(crate) fn view(&self, name: &str) -> Option<&Arc<Table>> {
        self.objects().views.get(name)
    }

    pub(crate) fn routine(&self, kind: RoutineKind, name: &str) -> Option<&Arc<Routine>> {
        self.objects().routines.get(&(kind, fold_name(name).into()))
    }
}
