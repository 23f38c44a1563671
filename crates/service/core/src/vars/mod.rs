//! System variables: declarations ([`def`], [`live`], [`known`]), values, global and session storage.

pub mod def;
pub mod known;
pub mod live;
pub mod persist;
mod value;

pub use def::{Effect, Kind, Persist, Scope, Switch, Then, VarDef, VarValue};
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

/// Older names of variables, which MySQL lists beside the newer ones.
#[rustfmt::skip]
pub const SYNONYMS: &[(&str, &str)] = &[
    ("init_slave", "init_replica"),
    ("log_slave_updates", "log_replica_updates"),
    ("log_slow_slave_statements", "log_slow_replica_statements"),
    ("master_verify_checksum", "source_verify_checksum"),
    ("pseudo_slave_mode", "pseudo_replica_mode"),
    ("rpl_semi_sync_master_enabled", "rpl_semi_sync_source_enabled"),
    ("rpl_semi_sync_master_timeout", "rpl_semi_sync_source_timeout"),
    ("rpl_semi_sync_master_trace_level", "rpl_semi_sync_source_trace_level"),
    ("rpl_semi_sync_master_wait_for_slave_count", "rpl_semi_sync_source_wait_for_replica_count"),
    ("rpl_semi_sync_master_wait_no_slave", "rpl_semi_sync_source_wait_no_replica"),
    ("rpl_semi_sync_master_wait_point", "rpl_semi_sync_source_wait_point"),
    ("rpl_semi_sync_slave_enabled", "rpl_semi_sync_replica_enabled"),
    ("rpl_semi_sync_slave_trace_level", "rpl_semi_sync_replica_trace_level"),
    ("rpl_stop_slave_timeout", "rpl_stop_replica_timeout"),
    ("skip_slave_start", "skip_replica_start"),
    ("slave_allow_batching", "replica_allow_batching"),
    ("slave_checkpoint_group", "replica_checkpoint_group"),
    ("slave_checkpoint_period", "replica_checkpoint_period"),
    ("slave_compressed_protocol", "replica_compressed_protocol"),
    ("slave_exec_mode", "replica_exec_mode"),
    ("slave_load_tmpdir", "replica_load_tmpdir"),
    ("slave_max_allowed_packet", "replica_max_allowed_packet"),
    ("slave_net_timeout", "replica_net_timeout"),
    ("slave_parallel_type", "replica_parallel_type"),
    ("slave_parallel_workers", "replica_parallel_workers"),
    ("slave_pending_jobs_size_max", "replica_pending_jobs_size_max"),
    ("slave_preserve_commit_order", "replica_preserve_commit_order"),
    ("slave_skip_errors", "replica_skip_errors"),
    ("slave_sql_verify_checksum", "replica_sql_verify_checksum"),
    ("slave_transaction_retries", "replica_transaction_retries"),
    ("slave_type_conversions", "replica_type_conversions"),
    ("sql_slave_skip_counter", "sql_replica_skip_counter"),
    ("sync_master_info", "sync_source_info"),
];

/// Names that mean another variable. They are found, not listed.
const ALIASES: &[(&str, &str)] = &[
    ("tx_isolation", "transaction_isolation"),
    ("tx_read_only", "transaction_read_only"),
    ("storage_engine", "default_storage_engine"),
];

/// Finds a variable by name, in any case; `-` counts as `_`.
pub fn find(name: &str) -> Option<VarId> {
    static INDEX: OnceLock<HashMap<&'static str, VarId>> = OnceLock::new();
    let index = INDEX.get_or_init(|| {
        let names = all().iter().enumerate().map(|(i, d)| (d.name, VarId(i as u16)));
        let mut index: HashMap<&'static str, VarId> = names.collect();
        for (alias, name) in SYNONYMS.iter().chain(ALIASES) {
            if let Some(id) = index.get(name).copied() {
                index.insert(alias, id);
            }
        }
        index
    });
    if let Some(id) = index.get(name) {
        return Some(*id);
    }
    let folded = name.to_ascii_lowercase().replace('-', "_");
    index.get(folded.as_str()).copied()
}

/// All variables with the names they are listed by, in the order of these.
pub fn sorted() -> &'static [(&'static str, VarId)] {
    static SORTED: OnceLock<Vec<(&'static str, VarId)>> = OnceLock::new();
    SORTED.get_or_init(|| {
        let own = all().iter().enumerate().map(|(i, d)| (d.name, VarId(i as u16)));
        let synonyms = SYNONYMS.iter().filter_map(|(alias, name)| Some((*alias, find(name)?)));
        let mut ids: Vec<_> = own.chain(synonyms).collect();
        ids.sort_unstable();
        ids
    })
}

/// A value for each variable.
pub type VarSet = Vec<VarValue>;

/// The account that set a global value since the start.
#[derive(Clone, Debug)]
pub struct SetBy {
    /// When, microseconds since 1970.
    pub at_us: u64,
    /// User of the session.
    pub user: String,
    /// Its host.
    pub host: String,
}

/// The global values. Sessions keep the set they started with; setting one makes a new set.
pub struct GlobalVars {
    current: RwLock<Arc<VarSet>>,
    /// What SET GLOBAL has changed.
    set_by: RwLock<HashMap<VarId, SetBy>>,
}

impl GlobalVars {
    /// From a set, usually [`defaults`] as changed by options.
    pub fn new(set: VarSet) -> Self {
        Self { current: RwLock::new(Arc::new(set)), set_by: RwLock::default() }
    }

    /// The values now.
    pub fn snapshot(&self) -> Arc<VarSet> {
        self.current.read().clone()
    }

    /// One value.
    pub fn get(&self, id: impl Into<VarId>) -> VarValue {
        self.current.read()[usize::from(id.into().0)].clone()
    }

    /// Notes which account has set a value.
    pub fn note_setter(&self, id: VarId, by: SetBy) {
        self.set_by.write().insert(id, by);
    }

    /// The account that has set a value since the start.
    pub fn setter(&self, id: VarId) -> Option<SetBy> {
        self.set_by.read().get(&id).cloned()
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

/// One session's values: the global values at its start, and those it has set since.
#[derive(Debug, Clone)]
pub struct SessionVars {
    base: Arc<VarSet>,
    own: Vec<(VarId, VarValue)>,
    /// Bit `id % 64` is set for each variable in `own`: statements read a dozen variables, of which few were set.
    marks: u64,
    /// Counts what was set.
    changes: u32,
}

impl SessionVars {
    /// A session that starts now.
    pub fn new(globals: &GlobalVars) -> Self {
        Self { base: globals.snapshot(), own: Vec::new(), marks: 0, changes: 0 }
    }

    /// One value.
    #[inline]
    pub fn get(&self, id: impl Into<VarId>) -> &VarValue {
        let id = id.into();
        match self.marks >> (id.0 % 64) & 1 {
            0 => &self.base[usize::from(id.0)],
            _ => self.find(id),
        }
    }

    /// The value of a variable that may have been set.
    fn find(&self, id: VarId) -> &VarValue {
        let own = self.own.iter().find(|(i, _)| *i == id);
        own.map_or(&self.base[usize::from(id.0)], |(_, v)| v)
    }

    /// Another number after each change.
    #[inline]
    pub fn changes(&self) -> u32 {
        self.changes
    }

    /// Sets one value.
    pub fn set(&mut self, id: impl Into<VarId>, value: VarValue) {
        let id = id.into();
        self.changes = self.changes.wrapping_add(1);
        match self.own.iter_mut().find(|(i, _)| *i == id) {
            Some((_, v)) => *v = value,
            None => {
                self.own.push((id, value));
                self.marks |= 1 << (id.0 % 64);
            }
        }
    }
}

impl std::ops::Index<Live> for SessionVars {
    type Output = VarValue;
    #[inline]
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
            // Variables of components are called `component.name`.
            let own = d.name.strip_prefix("validate_password.").unwrap_or(d.name);
            assert!(own.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'), "{}", d.name);
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
    fn synonyms_name_variables() {
        for (alias, name) in SYNONYMS.iter().chain(ALIASES) {
            assert!(all().iter().any(|d| d.name == *name), "{name}");
            assert!(find(alias).is_some() && all().iter().all(|d| d.name != *alias), "{alias}");
        }
    }

    /// `docs/variables.md` says what each variable does here. Written anew by
    /// `GANNET_BLESS=1 cargo test -p gannet-core --lib the_manual_page`.
    #[test]
    fn the_manual_page_is_up_to_date() {
        let mut text = String::from(
            "# System variables\n\nMade from the declarations in `crates/service/core/src/vars`.\n\n\
             *works*: as in MySQL. *fact*: a fact about the server, which cannot be set. *no effect*: it sizes or\n\
             paces something that Gannet does not have; it can be set and is shown, and no result depends on it.\n\
             *default only*: what it turns on is not there; any value but the default is refused with error 1235.\n\n\
             | variable | scope | dynamic | type | default | here |\n|---|---|---|---|---|---|\n",
        );
        for (name, id) in sorted() {
            let d = id.def();
            let kind = match d.kind {
                Kind::Bool => "boolean".to_string(),
                Kind::Int { min, max, .. } => format!("{min} to {max}"),
                Kind::Double { min, max } => format!("{min} to {max:e}"),
                Kind::Text | Kind::NullableText => "text".into(),
                Kind::Enum(names) => names.join(", "),
                Kind::Set(_) | Kind::SqlMode => "set".into(),
                Kind::Flags(_) => "flags".into(),
            };
            let here = match d.effect {
                Effect::Live => "works",
                Effect::Fact => "fact",
                Effect::Tuning => "no effect",
                Effect::DefaultOnly => "default only",
            };
            let scope = format!("{:?}", d.scope).to_lowercase();
            let default = d.initial.value().display(&d.kind).unwrap_or_else(|| "NULL".into());
            let default = default.replace('|', "\\|");
            let dynamic = if d.dynamic { "yes" } else { "no" };
            text.push_str(&format!("| `{name}` | {scope} | {dynamic} | {kind} | {default} | {here} |\n"));
        }
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/variables.md");
        if std::env::var_os("GANNET_BLESS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap();
        let differs = written.lines().zip(text.lines()).find(|(written, made)| written != made);
        assert!(written == text, "docs/variables.md is not what the declarations say, first at {differs:?}");
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

    #[test]
    fn each_variable_has_its_own_value() {
        let g = GlobalVars::new(defaults());
        let mut s = SessionVars::new(&g);
        for n in (0..all().len() as u16).step_by(3) {
            s.set(VarId(n), VarValue::Int(1_000_000 + i64::from(n)));
        }
        for (n, d) in all().iter().enumerate() {
            let set = VarValue::Int(1_000_000 + n as i64);
            assert_eq!(*s.get(VarId(n as u16)), if n % 3 == 0 { set } else { d.initial.value() }, "{}", d.name);
        }
    }
}
