//! SET PERSIST: values that survive a restart.
//!
//! They are kept in `persisted-variables` in the data directory, a text file: one line a variable, tab-separated: name,
//! value (`\N` for NULL; tab, newline and backslash escaped), time (microseconds since 1970), user, host. The file is read before the
//! store opens, and its values win over the command line, as in MySQL. It is replaced as a whole: written beside, synced, renamed.

use super::{VarId, VarSet, VarValue, find};
use gannet_base::sync::Mutex;
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
    /// By whom.
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
    /// Reads the file, if there is one.
    pub fn load(datadir: &Path) -> Result<Self, String> {
        let path = datadir.join(FILE);
        let map = match std::fs::read_to_string(&path) {
            Ok(text) => parse(&text).map_err(|e| format!("{}: {e}", path.display()))?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => PersistedMap::new(),
            Err(e) => return Err(format!("{} cannot be read: {e}", path.display())),
        };
        Ok(Self { path, map: Mutex::new(map) })
    }

    /// Puts the values over those of a start.
    pub fn apply(&self, vars: &mut VarSet) {
        for (name, p) in self.map.lock().iter() {
            if let Some(id) = find(name) {
                vars[id.index()] = p.value.clone();
            }
        }
    }

    /// What is persisted now.
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
        let mut file = std::fs::File::create(&beside)?;
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
        for bad in ["x", "max_connections\tx\t1\tu\th", "nonesuch\t1\t1\tu\th", "port\t1\tx\tu\th"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
