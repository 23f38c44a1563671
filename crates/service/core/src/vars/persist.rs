//! SET PERSIST: values that survive a restart.
//!
//! They are kept in `persisted-variables` in the data directory, a text file: one line a variable, tab-separated:
//! name, value (`\N` for NULL; tab, newline and backslash escaped), time (microseconds since 1970), user, host. The
//! file is read before the store opens. Its values win over those of option files, as in MySQL. An option on the
//! command line wins over the file, so that the administrator who starts the server has the last word.
//! `persisted_globals_load=OFF` leaves the file out. It is replaced as a whole: written beside, synced, renamed.
//!
//! A variable's declaration says whether it may be persisted ([`Persist`]). A value in the file for a variable that
//! may not is left out, with a warning.

use super::{Live, Persist, VarId, VarSet, VarValue, find};
use crate::options::ServerOptions;
use gannet_base::sync::Mutex;
use gannet_runtime::fs::{Readers, plain_file};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

const FILE: &str = "persisted-variables";

/// One persisted value.
#[derive(Clone, Debug, PartialEq)]
pub struct Persisted {
    /// The value.
    pub value: VarValue,
    /// When it was persisted, microseconds since 1970.
    pub at_us: u64,
    /// The user that persisted it.
    pub user: String,
    /// From where.
    pub host: String,
}

/// All of them.
pub type PersistedMap = BTreeMap<&'static str, Persisted>;

/// The persisted variables of a server.
pub struct PersistedVars {
    path: PathBuf,
    map: Mutex<PersistedMap>,
    /// Values that hold at this start.
    loaded: Vec<(VarId, VarValue)>,
    /// Warnings for the error log about values that are left out.
    pub warnings: Vec<String>,
}

fn escape(s: &str) -> String {
    s.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n")
}

fn unescape(s: &str) -> String {
    let mut out = String::with_capacity(s.len());
    let mut chars = s.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => out.push(match chars.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some(other) => other,
                None => '\\',
            }),
            (c, false) => out.push(c),
        }
    }
    out
}

fn line(name: &str, p: &Persisted) -> String {
    let shown = p.value.display(&find(name).map_or(super::Kind::Text, |id| id.def().kind));
    let value = shown.map_or("\\N".to_string(), |v| escape(&v));
    format!("{name}\t{value}\t{}\t{}\t{}\n", p.at_us, escape(&p.user), escape(&p.host))
}

fn parse(text: &str) -> Result<PersistedMap, String> {
    let mut map = PersistedMap::new();
    for (n, l) in text.lines().enumerate() {
        let bad = |what: &str| format!("line {}: {what}", n + 1);
        let fields: Vec<&str> = l.split('\t').collect();
        let [name, value, at, user, host] = fields[..] else { return Err(bad("five fields are due")) };
        let id = find(name).ok_or_else(|| bad(&format!("unknown variable {name}")))?;
        let value = match value {
            "\\N" => VarValue::Null,
            v => id.def().parse(&unescape(v)).map_err(|e| bad(e.message()))?.value,
        };
        let at_us = at.parse().map_err(|_| bad("a time is due"))?;
        map.insert(id.def().name, Persisted { value, at_us, user: unescape(user), host: unescape(host) });
    }
    Ok(map)
}

impl PersistedVars {
    /// Reads the file, if there is one, and decides which of its values hold with these options.
    pub fn load(datadir: &Path, options: &ServerOptions) -> Result<Self, String> {
        let path = datadir.join(FILE);
        let wanted = options.get(Live::PersistedGlobalsLoad).as_bool();
        let mut warnings = Vec::new();
        let read = match std::fs::read_to_string(&path) {
            Ok(text) => parse(&text).map_err(|e| format!("{}: {e}", path.display())),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(PersistedMap::new()),
            Err(e) => Err(format!("{} cannot be read: {e}", path.display())),
        };
        let map = match read {
            Ok(map) => map,
            Err(e) if wanted => return Err(format!("{e}\n(--persisted-globals-load=OFF starts without the file)")),
            Err(e) => {
                warnings.push(format!("{e}; the next SET PERSIST replaces the file"));
                PersistedMap::new()
            }
        };
        let administered = !options.get(Live::PersistOnlyAdminX509Subject).as_str().is_empty();
        let mut loaded = Vec::new();
        for (name, p) in &map {
            let Some(id) = find(name) else { continue };
            let may = match id.def().persist {
                Persist::Free => true,
                Persist::Restricted => administered,
                Persist::Never => false,
            };
            let own = id.is(Live::Components);
            if options.is_on_command_line(id) || !wanted && !own {
                continue;
            }
            if may || own {
                loaded.push((id, p.value.clone()))
            } else {
                warnings.push(format!("{}: {name} cannot be persisted; its value is left out", path.display()))
            }
        }
        Ok(Self { path, map: Mutex::new(map), loaded, warnings })
    }

    /// Puts the values that hold over those of a start.
    pub fn apply(&self, vars: &mut VarSet) {
        for (id, value) in &self.loaded {
            vars[id.index()] = value.clone();
        }
    }

    /// The variable has its value from the file.
    pub fn holds(&self, id: VarId) -> bool {
        self.loaded.iter().any(|(held, _)| *held == id)
    }

    /// What to say beside an error of the start: which values came from the file.
    pub fn note(&self) -> String {
        let shown = |(id, value): &(VarId, VarValue)| {
            format!("{}={}", id.def().name, value.display(&id.def().kind).unwrap_or_else(|| "NULL".into()))
        };
        let all: Vec<String> = self.loaded.iter().filter(|(id, _)| !id.is(Live::Components)).map(shown).collect();
        if all.is_empty() {
            String::new()
        } else {
            format!(
                "\n(persisted in {}: {}; an option on the command line wins over it, --persisted-globals-load=OFF starts without the file)",
                self.path.display(),
                all.join(", ")
            )
        }
    }

    /// The values that are persisted now.
    pub fn all(&self) -> PersistedMap {
        self.map.lock().clone()
    }

    /// One of them.
    pub fn get(&self, id: VarId) -> Option<Persisted> {
        self.map.lock().get(id.def().name).cloned()
    }

    /// Changes the map and the file; the map stays as it was when the file cannot be written.
    pub fn change(&self, change: impl FnOnce(&mut PersistedMap)) -> std::io::Result<()> {
        let mut map = self.map.lock();
        let mut next = map.clone();
        change(&mut next);
        let beside = self.path.with_extension("new");
        let mut file = plain_file(Readers::Group).write(true).truncate(true).open(&beside)?;
        for (name, p) in &next {
            file.write_all(line(name, p).as_bytes())?;
        }
        file.sync_all()?;
        std::fs::rename(&beside, &self.path)?;
        if let Some(dir) = self.path.parent() {
            std::fs::File::open(dir)?.sync_all()?;
        }
        *map = next;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_round_trip() {
        let mut map = PersistedMap::new();
        let mut put = |name: &'static str, value: VarValue| {
            let p = Persisted { value, at_us: 7, user: "a\tb".into(), host: "h\\n".into() };
            map.insert(name, p);
        };
        put("max_connections", VarValue::Int(200));
        put("character_set_results", VarValue::Null);
        put("mandatory_roles", VarValue::text("`x`@`%`,\n\\"));
        let text: String = map.iter().map(|(n, p)| line(n, p)).collect();
        assert_eq!(parse(&text).unwrap(), map);
        for (bad, why) in [
            ("x", "five fields are due"),
            ("max_connections\tx\t1\tu\th", "Variable 'max_connections' can't be set to the value of 'x'"),
            ("nonesuch\t1\t1\tu\th", "unknown variable nonesuch"),
            ("port\t1\tx\tu\th", "a time is due"),
        ] {
            assert_eq!(parse(bad), Err(format!("line 1: {why}")));
        }
    }
}
