//! System variables: declarations ([`def`], [`live`], [`known`]), values, global and session storage.

pub mod def;
pub mod known;
pub mod live;
mod value;

pub use def::{Effect, Kind, Scope, VarDef, VarValue};
pub use live::Live;
pub use value::{Checked, parse_size};

use gannet_base::sync::RwLock;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// A variable: position in [`all`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VarId(u16);

impl From<Live> for VarId {
    fn from(live: Live) -> Self {
        VarId(live as u16)
    }
}

impl VarId {
    /// Its declaration.
    pub fn def(self) -> &'static VarDef {
        &all()[usize::from(self.0)]
    }

    /// Its position in [`all`] and in a [`VarSet`].
    pub fn index(self) -> usize {
        self.0.into()
    }

    /// The id that code knows it by.
    pub fn is(self, live: Live) -> bool {
        self.0 == live as u16
    }
}

/// All declarations; [`Live`] ones first, in that order.
pub fn all() -> &'static [VarDef] {
    static ALL: OnceLock<Vec<VarDef>> = OnceLock::new();
    ALL.get_or_init(|| live::LIVE.iter().chain(known::TUNING).chain(known::DEFAULT_ONLY).copied().collect())
}

/// Names that mean another variable. They are found, not listed.
const ALIASES: &[(&str, Live)] = &[
    ("tx_isolation", Live::TransactionIsolation),
    ("tx_read_only", Live::TransactionReadOnly),
    ("storage_engine", Live::DefaultStorageEngine),
];

/// Finds a variable by name, in any case; `-` counts as `_`.
pub fn find(name: &str) -> Option<VarId> {
    static INDEX: OnceLock<HashMap<&'static str, VarId>> = OnceLock::new();
    let index = INDEX.get_or_init(|| {
        let names = all().iter().enumerate().map(|(i, d)| (d.name, VarId(i as u16)));
        names.chain(ALIASES.iter().map(|(n, l)| (*n, (*l).into()))).collect()
    });
    if let Some(id) = index.get(name) {
        return Some(*id);
    }
    let folded = name.to_ascii_lowercase().replace('-', "_");
    index.get(folded.as_str()).copied()
}

/// All variables, by name.
pub fn sorted() -> &'static [VarId] {
    static SORTED: OnceLock<Vec<VarId>> = OnceLock::new();
    SORTED.get_or_init(|| {
        let mut ids: Vec<VarId> = (0..all().len()).map(|i| VarId(i as u16)).collect();
        ids.sort_by_key(|id| id.def().name);
        ids
    })
}

/// A value for each variable.
pub type VarSet = Vec<VarValue>;

/// The global values. Sessions keep the set they started with; setting one makes a new set.
pub struct GlobalVars {
    current: RwLock<Arc<VarSet>>,
}

impl GlobalVars {
    /// From a set, usually [`defaults`] as changed by options.
    pub fn new(set: VarSet) -> Self {
        Self { current: RwLock::new(Arc::new(set)) }
    }

    /// The values now.
    pub fn snapshot(&self) -> Arc<VarSet> {
        self.current.read().clone()
    }

    /// One value.
    pub fn get(&self, id: impl Into<VarId>) -> VarValue {
        self.current.read()[usize::from(id.into().0)].clone()
    }

    /// Sets one value.
    pub fn set(&self, id: impl Into<VarId>, value: VarValue) {
        Arc::make_mut(&mut self.current.write())[usize::from(id.into().0)] = value;
    }
}

/// The defaults of all variables.
pub fn defaults() -> VarSet {
    all().iter().map(|d| d.initial.value()).collect()
}

/// One session's values: the global ones of its start, and what it has set since.
#[derive(Debug, Clone)]
pub struct SessionVars {
    base: Arc<VarSet>,
    own: Vec<(VarId, VarValue)>,
}

impl SessionVars {
    /// A session that starts now.
    pub fn new(globals: &GlobalVars) -> Self {
        Self { base: globals.snapshot(), own: Vec::new() }
    }

    /// One value.
    pub fn get(&self, id: impl Into<VarId>) -> &VarValue {
        let id = id.into();
        let own = self.own.iter().find(|(i, _)| *i == id);
        own.map_or(&self.base[usize::from(id.0)], |(_, v)| v)
    }

    /// Sets one value.
    pub fn set(&mut self, id: impl Into<VarId>, value: VarValue) {
        let id = id.into();
        match self.own.iter_mut().find(|(i, _)| *i == id) {
            Some((_, v)) => *v = value,
            None => self.own.push((id, value)),
        }
    }
}

impl std::ops::Index<Live> for SessionVars {
    type Output = VarValue;
    fn index(&self, id: Live) -> &VarValue {
        self.get(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_well_formed() {
        let mut seen = std::collections::HashSet::new();
        for d in all() {
            assert!(seen.insert(d.name), "{} twice", d.name);
            assert!(d.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'), "{}", d.name);
            if let Kind::Enum(names) = d.kind {
                let def::Initial::Text(t) = d.initial else { panic!("{}", d.name) };
                assert!(names.contains(&t), "{}: {t}", d.name);
            }
        }
    }

    #[test]
    fn every_default_passes_its_own_check() {
        for d in all() {
            let v = d.initial.value();
            let text = v.display(&d.kind);
            if let Some(text) = text {
                let parsed = d.parse(&text).unwrap_or_else(|e| panic!("{}: {e}", d.name));
                assert_eq!(parsed.value, v, "{}", d.name);
                assert!(parsed.adjusted.is_none(), "{}", d.name);
            }
        }
    }

    #[test]
    fn aliases_and_case() {
        assert!(find("TX_isolation").unwrap().is(Live::TransactionIsolation));
        assert!(find("innodb-flush-log-at-trx-commit").unwrap().is(Live::InnodbFlushLogAtTrxCommit));
        assert_eq!(find("nonesuch"), None);
    }

    #[test]
    fn sessions_keep_the_globals_of_their_start() {
        let g = GlobalVars::new(defaults());
        let mut s = SessionVars::new(&g);
        g.set(Live::WaitTimeout, VarValue::Int(7));
        assert_eq!(s[Live::WaitTimeout], VarValue::Int(28800));
        s.set(Live::WaitTimeout, VarValue::Int(9));
        assert_eq!(s[Live::WaitTimeout], VarValue::Int(9));
        assert_eq!(SessionVars::new(&g)[Live::WaitTimeout], VarValue::Int(7));
    }
}
