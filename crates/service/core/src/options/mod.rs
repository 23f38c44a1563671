//! Options: command line and `my.cnf`, over the declarations of the system variables.

mod collected;
mod file;
mod log_room;
mod names;

use crate::vars::{self, Effect, Kind, Live, VarId, VarSet, VarValue};
use collected::{Collected, Taken};
pub(crate) use log_room::settle as settle_log_room;
use names::{NO_MEANING, UNSUPPORTED, nearest};
use std::path::{Path, PathBuf};

/// How to start a server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Global values of all variables.
    pub vars: VarSet,
    /// What the error log says at start.
    pub warnings: Vec<String>,
    /// `--innodb-buffer-pool-size` was not given: the value was chosen.
    pub pool_size_chosen: bool,
    /// No option gave the log's capacity: it follows the room on the disk.
    pub log_capacity_chosen: bool,
    /// `--skip-grant-tables`: every client may do everything, and connects over the UNIX socket.
    pub skip_grant_tables: bool,
    /// Variables that the command line gave, option files apart.
    on_command_line: Vec<VarId>,
    /// Options about GTIDs, and whether they want them.
    gtids_asked: Vec<(String, bool)>,
    /// What performance_schema collects from the start on.
    pub(crate) collected: Collected,
}

/// What a command line asks for.
#[derive(Debug)]
pub enum Request {
    /// Start a server.
    Serve(Box<ServerOptions>),
    /// Print the help.
    Help,
    /// Print the version.
    Version,
}

impl ServerOptions {
    /// All defaults, with the data in `datadir`.
    pub fn new(datadir: &Path) -> Self {
        let mut it = Self {
            vars: vars::defaults(),
            warnings: Vec::new(),
            pool_size_chosen: true,
            log_capacity_chosen: true,
            skip_grant_tables: false,
            on_command_line: Vec::new(),
            gtids_asked: Vec::new(),
            collected: Collected::default(),
        };
        it.set(Live::Datadir, VarValue::text(&datadir.to_string_lossy()));
        it.set(Live::InnodbBufferPoolSize, VarValue::uint(sensible_pool_bytes()));
        it
    }

    /// Sets a variable, unchecked.
    pub fn set(&mut self, id: Live, value: VarValue) {
        self.vars[id as usize] = value;
    }

    /// A variable's value.
    pub fn get(&self, id: Live) -> &VarValue {
        &self.vars[id as usize]
    }

    /// The command line itself gave the variable a value.
    pub fn is_on_command_line(&self, id: VarId) -> bool {
        self.on_command_line.contains(&id)
    }

    /// The data directory.
    pub fn datadir(&self) -> PathBuf {
        PathBuf::from(self.get(Live::Datadir).as_str())
    }

    /// Reads a command line (without the program's name) and the option files it names.
    pub fn parse(args: &[String]) -> Result<Request, String> {
        let mut given = Vec::new();
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            match arg.as_str() {
                "--help" | "-?" | "-h" if arg != "-h" || rest.len() == 0 => return Ok(Request::Help),
                "--version" | "-V" => return Ok(Request::Version),
                "--no-defaults" | "--verbose" | "-v" | "--console" => continue,
                _ => {}
            }
            let (name, value) = split(arg)?;
            let value = match value {
                None if takes_value(&name) => {
                    Some(rest.next().ok_or(format!("option --{name} needs a value"))?.clone())
                }
                other => other,
            };
            if matches!(name.as_str(), "defaults-file" | "defaults-extra-file") {
                let path = value.ok_or(format!("option --{name} needs a value"))?;
                given.extend(file::read(Path::new(&path))?);
                continue;
            }
            given.push(Given { name, value, origin: String::new() });
        }
        Self::assemble(given).map(|o| Request::Serve(Box::new(o)))
    }

    fn assemble(given: Vec<Given>) -> Result<Self, String> {
        let mut it = Self::new(Path::new("./gannet-data"));
        let mut meaningless: Vec<String> = Vec::new();
        let mut old_redo: (Option<u64>, u64) = (None, 2);
        let mut redo_given = false;
        for g in given {
            let applied = it.apply(&g)?;
            if let Applied::Live(id) = applied
                && g.origin.is_empty()
            {
                it.on_command_line.push(id);
            }
            match applied {
                Applied::Live(id) if id.is(Live::InnodbBufferPoolSize) => it.pool_size_chosen = false,
                Applied::Live(id) if id.is(Live::InnodbRedoLogCapacity) => redo_given = true,
                Applied::Live(_) | Applied::Plain => {}
                Applied::OldRedoSize(n) => old_redo.0 = Some(n),
                Applied::OldRedoFiles(n) => old_redo.1 = n,
                Applied::Meaningless(name) => meaningless.push(name),
            }
        }
        if let (Some(size), false) = (old_redo.0, redo_given) {
            // As MySQL 8.4 does when only the old options are given.
            let capacity = VarId::from(Live::InnodbRedoLogCapacity).def().parse(&(size * old_redo.1).to_string());
            it.set(Live::InnodbRedoLogCapacity, capacity.map_err(|e| e.to_string())?.value);
        }
        it.log_capacity_chosen = !redo_given && old_redo.0.is_none();
        let logged = it.get(Live::LogBin).as_bool();
        if let Some((name, _)) = it.gtids_asked.iter().find(|(_, on)| *on != logged) {
            let other = if logged {
                "transactions in the binary log have GTIDs always (--skip-log-bin: no log)"
            } else {
                "GTIDs need a binary log"
            };
            return Err(format!("option --{name}: not supported yet; {other}"));
        }
        if !meaningless.is_empty() {
            meaningless.dedup();
            it.warnings
                .push(format!("these options have no meaning in Gannet and do nothing: {}", meaningless.join(", ")));
        }
        Ok(it)
    }

    fn apply(&mut self, g: &Given) -> Result<Applied, String> {
        let at = |e: String| if g.origin.is_empty() { e } else { format!("{}: {e}", g.origin) };
        let (loose, name) = match g.name.strip_prefix("loose-") {
            Some(rest) => (true, rest),
            None => (false, g.name.as_str()),
        };
        match self.apply_named(name, g.value.as_deref()) {
            Err(Refused::Unknown) if loose => Ok(Applied::Meaningless(g.name.clone())),
            Err(Refused::Unknown) => {
                let hint = nearest(name).map(|n| format!("; did you mean --{n}?")).unwrap_or_default();
                Err(at(format!("unknown option --{name}{hint}")))
            }
            Err(Refused::Because(why)) => Err(at(why)),
            Ok(applied) => Ok(applied),
        }
    }

    fn apply_named(&mut self, name: &str, value: Option<&str>) -> Result<Applied, Refused> {
        let because = |what: String| Refused::Because(what);
        match self.collected.take(name, value) {
            Some(Ok(Taken::Whole)) => return Ok(Applied::Plain),
            Some(Ok(Taken::Partly(what))) => return Ok(Applied::Meaningless(what)),
            Some(Err(why)) => return Err(because(why)),
            None => {}
        }
        match name {
            "default-time-zone" => return self.apply_named("time-zone", value),
            "innodb-log-file-size" | "innodb-log-files-in-group" => {
                let n = value.and_then(vars::parse_size).and_then(|n| u64::try_from(n).ok());
                let n = n.ok_or_else(|| because(format!("--{name}: '{}' is not a size", value.unwrap_or(""))))?;
                let size = name == "innodb-log-file-size";
                return Ok(if size { Applied::OldRedoSize(n) } else { Applied::OldRedoFiles(n) });
            }
            "user" => {
                self.warnings.push(format!("--user={} does nothing: start Gannet as that user", value.unwrap_or("")));
                return Ok(Applied::Meaningless(name.into()));
            }
            "skip-grant-tables" => {
                let on = value.is_none_or(|v| !matches!(v.to_ascii_lowercase().as_str(), "0" | "off" | "false"));
                self.skip_grant_tables = on;
                return Ok(Applied::Plain);
            }
            "log-bin" => {
                self.set(Live::LogBin, VarValue::bool(true));
                self.set(Live::LogBinBasename, VarValue::text(value.unwrap_or("binlog")));
                return Ok(Applied::Plain);
            }
            "gtid-mode" | "enforce-gtid-consistency" => {
                // Settled by the binary log: ON with it, OFF without.
                let id = if name == "gtid-mode" { Live::GtidMode } else { Live::EnforceGtidConsistency };
                let checked = VarId::from(id).def().parse(value.unwrap_or("ON"));
                let checked = checked.map_err(|e| because(format!("option --{name}: {e}")))?;
                self.gtids_asked.push((name.to_owned(), checked.value.as_str() == "ON"));
                return Ok(Applied::Plain);
            }
            "log-error" if value.is_none() => return self.apply_named(name, Some("gannet.err")),
            _ => {}
        }
        if let Some(why) = UNSUPPORTED.iter().find(|(n, _)| *n == name).map(|(_, why)| why) {
            return Err(because(format!("option --{name}: {why}")));
        }
        if let Some(id) = vars::find(name).filter(|id| id.def().option) {
            return self.apply_var(id, name, value);
        }
        if NO_MEANING.contains(&name) {
            return Ok(Applied::Meaningless(name.into()));
        }
        let negated = name.strip_prefix("skip-").or(name.strip_prefix("disable-"));
        let (base, on) = match (negated, name.strip_prefix("enable-")) {
            (Some(base), _) => (base, "0"),
            (None, Some(base)) => (base, "1"),
            (None, None) => return Err(Refused::Unknown),
        };
        match (vars::find(base), NO_MEANING.contains(&base)) {
            (Some(id), _) if id.is(Live::LogBin) && on == "0" => {
                self.set(Live::LogBin, VarValue::bool(false));
                Ok(Applied::Plain)
            }
            (Some(id), _) if id.def().kind == Kind::Bool && id.def().option => self.apply_var(id, base, Some(on)),
            (_, true) => Ok(Applied::Meaningless(name.into())),
            _ => Err(Refused::Unknown),
        }
    }

    fn apply_var(&mut self, id: VarId, name: &str, value: Option<&str>) -> Result<Applied, Refused> {
        let def = id.def();
        let text = match (value, def.kind) {
            (Some(v), _) => v,
            (None, Kind::Bool) => "1",
            (None, _) => return Err(Refused::Because(format!("option --{name} needs a value"))),
        };
        let checked = def.parse(text).map_err(|e| Refused::Because(format!("option --{name}: {e}")))?;
        match def.effect {
            Effect::DefaultOnly if checked.value != def.initial.value() => {
                return Err(Refused::Because(format!(
                    "option --{name}={text}: not supported yet; only the default is there"
                )));
            }
            Effect::Tuning => {
                self.vars[id.index()] = checked.value;
                return Ok(Applied::Meaningless(name.into()));
            }
            _ => {}
        }
        if let Some(asked) = checked.adjusted {
            let shown = checked.value.display(&def.kind).unwrap_or_default();
            self.warnings.push(format!("option --{name}={asked} was adjusted to {shown}"));
        }
        if id.is(Live::MaxJoinSize) {
            self.vars[VarId::from(Live::SqlBigSelects).index()] =
                VarValue::Int(i64::from(checked.value.as_u64() == u64::MAX));
        }
        self.vars[id.index()] = checked.value;
        Ok(Applied::Live(id))
    }
}

/// One option as it was given.
#[derive(Debug, Clone, PartialEq)]
struct Given {
    /// With dashes.
    name: String,
    value: Option<String>,
    /// File and line, or empty.
    origin: String,
}

enum Applied {
    Live(VarId),
    /// An option that is no variable.
    Plain,
    Meaningless(String),
    OldRedoSize(u64),
    OldRedoFiles(u64),
}

enum Refused {
    Unknown,
    Because(String),
}

/// Options that are no variables and take a value from the next argument.
const WITH_VALUE: &[&str] = &[
    "defaults-file",
    "defaults-extra-file",
    "user",
    "default-time-zone",
    "gtid-mode",
    "performance-schema-instrument",
];

fn takes_value(name: &str) -> bool {
    let plain = name.strip_prefix("loose-").unwrap_or(name);
    WITH_VALUE.contains(&plain)
        || plain != "log-error" && vars::find(plain).is_some_and(|id| id.def().option && id.def().kind != Kind::Bool)
}

fn split(arg: &str) -> Result<(String, Option<String>), String> {
    if let Some(long) = arg.strip_prefix("--") {
        let (name, value) = match long.split_once('=') {
            Some((n, v)) => (n, Some(v.to_string())),
            None => (long, None),
        };
        return Ok((name.to_ascii_lowercase().replace('_', "-"), value));
    }
    let (flag, rest) = arg.split_at_checked(2).unwrap_or((arg, ""));
    let name = match flag {
        "-P" => "port",
        "-S" => "socket",
        "-h" => "datadir",
        "-b" => "basedir",
        "-u" => "user",
        _ => return Err(format!("unexpected argument '{arg}'; options begin with --")),
    };
    Ok((name.into(), Some(rest.to_string()).filter(|r| !r.is_empty())))
}

/// An eighth of the memory this process may use, between 128 MiB and 4 GiB.
fn sensible_pool_bytes() -> u64 {
    (memory_bytes() / 8).clamp(128 << 20, 4 << 30) >> 20 << 20
}

/// The memory this process may use.
pub(crate) fn memory_bytes() -> u64 {
    let total = std::fs::read_to_string("/proc/meminfo").ok().and_then(|t| {
        let line = t.lines().find_map(|l| l.strip_prefix("MemTotal:"))?.trim().to_string();
        line.strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kb| kb << 10)
    });
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|t| t.trim().parse::<u64>().ok());
    total.unwrap_or(1 << 30).min(group.unwrap_or(u64::MAX))
}

/// The text of `gannet serve --help`.
pub fn help() -> String {
    let mut out = String::from(
        "Usage: gannet serve [options]\n\n\
         Serves MySQL clients. Without options: 127.0.0.1:3306 and a UNIX socket, data in ./gannet-data (created at the\n\
         first start). Options are MySQL's; sizes take K, M, G. No file is read unless --defaults-file names it.\n\n",
    );
    let line = |out: &mut String, name: &str, help: &str| {
        out.push_str(&format!("  --{name:<42} {help}\n"));
    };
    line(&mut out, "skip-grant-tables", "let everybody do everything, over the socket: to set a lost password");
    line(&mut out, "defaults-file=FILE", "read groups [mysqld], [server], [gannet] of a my.cnf");
    for def in vars::live::LIVE.iter().filter(|d| d.option && !d.help.is_empty()) {
        let default = def.initial.value().display(&def.kind).unwrap_or_default();
        let shown = if default.is_empty() || default.len() > 20 { String::new() } else { format!("={default}") };
        line(&mut out, &format!("{}{shown}", def.name.replace('_', "-")), def.help);
    }
    out.push_str(
        "\nNames take - or _; skip-NAME and disable-NAME turn a switch off; loose-NAME is no error when NAME is unknown.\n\
         Variables without a line here: see SHOW VARIABLES on a running server.\n",
    );
    out
}

#[cfg(test)]
mod tests;
