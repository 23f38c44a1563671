//! What the start settles before the store is opened: directories, defaults, limits of the machine.

use crate::Core;
use crate::log::ErrorLog;
use crate::options::ServerOptions;
use crate::vars::{self, Live, VarSet, VarValue};
use gannet_engine::{EngineError, FlushPolicy};
use gannet_runtime::ListenerOptions;
use gannet_runtime::fs::{Readers, write_plain};
use gannet_types::charset::Charset;
use gannet_types::{Collation, TimeZone};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

/// Descriptors that are not connections: files, rings, listeners.
const OWN_DESCRIPTORS: u64 = 128;

/// As many descriptors as the system allows; fewer than `max_connections` wants lower it, as in MySQL.
pub(crate) fn fit_descriptors(vars: &mut [VarValue], log: &ErrorLog) {
    let Ok(limit) = gannet_runtime::raise_descriptor_limit() else { return };
    vars[Live::OpenFilesLimit as usize] = VarValue::UInt(limit);
    let wanted = vars[Live::MaxConnections as usize].as_u64();
    let possible = limit.saturating_sub(OWN_DESCRIPTORS).max(1);
    if wanted > possible {
        log.warning(format!(
            "Changed limits: max_connections: {possible} (requested {wanted}): the system allows {limit} open files (ulimit -n)"
        ));
        vars[Live::MaxConnections as usize] = VarValue::UInt(possible);
    }
}

/// Threads kept beyond `max_connections` for clients that are told so.
const SPARE_THREADS: usize = 64;

/// A thread for each connection: there are only so many slots for threads. More `max_connections` would have clients
/// closed without a word.
pub(crate) fn fit_threads(vars: &mut [VarValue], log: &ErrorLog) {
    if vars[Live::ThreadHandling as usize].as_str() != "one-thread-per-connection" {
        return;
    }
    let wanted = vars[Live::MaxConnections as usize].as_u64();
    let possible = ListenerOptions::default().max_threads.saturating_sub(SPARE_THREADS).max(1) as u64;
    if wanted > possible {
        log.warning(format!(
            "Changed limits: max_connections: {possible} (requested {wanted}): thread_handling is one-thread-per-connection"
        ));
        vars[Live::MaxConnections as usize] = VarValue::UInt(possible);
    }
}

pub(crate) fn flush_policy(value: &VarValue) -> FlushPolicy {
    match value.as_u64() {
        0 => FlushPolicy::EverySecond,
        2 => FlushPolicy::WriteAtCommit,
        _ => FlushPolicy::AtCommit,
    }
}

/// Creates the data directory for its owner only, or makes sure that it is one.
pub(crate) fn prepare_datadir(options: &ServerOptions) -> std::result::Result<PathBuf, String> {
    use std::os::unix::fs::PermissionsExt;
    let dir = options.datadir();
    let made = gannet_runtime::fs::create_dir_all(&dir);
    made.map_err(|e| format!("cannot create the data directory {}: {e}", dir.display()))?;
    // Before anything is changed: it may be somebody else's.
    refuse_foreign(options, &dir)?;
    let meta = std::fs::metadata(&dir).map_err(|e| format!("cannot look at {}: {e}", dir.display()))?;
    if meta.permissions().mode() & 0o077 != 0 {
        let tightened = std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700));
        tightened.map_err(|e| format!("{} is open to others and cannot be closed: {e}", dir.display()))?;
    }
    std::fs::canonicalize(&dir).map_err(|e| format!("cannot resolve {}: {e}", dir.display()))
}

/// What may be in a directory that holds no store yet: files of a start that was interrupted or refused, or that
/// options name, and what a new file system has. (Of a store without its control file the engine says what is
/// missing.)
const EXPECTED: &[&str] =
    &["auto.cnf", "control", "data.gnt", "double.gnt", "log", "persisted-variables", "lost+found"];
const EXPECTED_ENDS: &[&str] = &[".pem", ".log", ".pid", ".sock", ".lock", ".spill"];
/// What MySQL and MariaDB have in their data directories.
const OF_OTHERS: &[&str] =
    &["ibdata1", "mysql.ibd", "mysql", "ib_logfile0", "#innodb_redo", "aria_log_control", "undo001"];

/// Refuses a directory with files of others, such as a data directory of MySQL's, in which a new store would lie
/// beside the data that was meant.
fn refuse_foreign(options: &ServerOptions, dir: &Path) -> std::result::Result<(), String> {
    let entries = gannet_runtime::fs::read_dir(dir);
    let entries = entries.map_err(|e| format!("cannot look into the data directory {}: {e}", dir.display()))?;
    let names: Vec<String> =
        entries.iter().filter_map(|p| p.file_name()).map(|n| n.to_string_lossy().into_owned()).collect();
    // A store, or what is left of one: the engine says what is missing.
    if names.iter().any(|n| ["control", "data.gnt"].contains(&n.as_str())) {
        return Ok(());
    }
    if let Some(found) = names.iter().find(|n| OF_OTHERS.contains(&n.as_str())) {
        return Err(format!(
            "{} is a data directory of MySQL or MariaDB (it has '{found}'), whose files Gannet does not read; start with an empty \
             --datadir, dump the data from the other server with mysqldump, and load the dump with mysql (or gannet sql)",
            dir.display()
        ));
    }
    let named = |name: &str| {
        let texts = options.vars.iter().map(VarValue::as_str).filter(|text| !text.is_empty());
        texts.into_iter().any(|text| Path::new(text).file_name().is_some_and(|n| n == name))
    };
    let expected = |name: &str| {
        EXPECTED.contains(&name)
            || name.starts_with('.')
            || EXPECTED_ENDS.iter().any(|e| name.ends_with(e))
            || named(name)
    };
    match names.iter().find(|n| !expected(n)) {
        None => Ok(()),
        Some(found) => Err(format!(
            "the data directory {} has files of others (such as '{found}') and no store (no file 'control'); start with an empty \
             directory, or one that does not exist",
            dir.display()
        )),
    }
}

pub(crate) fn open_log(options: &ServerOptions, datadir: &Path) -> std::result::Result<ErrorLog, String> {
    let name = options.get(Live::LogError).as_str();
    if name.is_empty() || name == "stderr" {
        return Ok(ErrorLog::to_stderr());
    }
    let path = datadir.join(name);
    ErrorLog::to_file(&path).map_err(|e| format!("cannot open the error log {}: {e}", path.display()))
}

/// What the error log takes, and what it goes through.
pub(crate) fn settle_log(vars: &VarSet, log: &ErrorLog) -> std::result::Result<(), String> {
    log.set_verbosity(vars[Live::LogErrorVerbosity as usize].as_u64());
    log.set_services(vars[Live::LogErrorServices as usize].as_str()).map_err(|e| e.to_string())
}

/// The logs of statements and the metrics, as the options say.
pub(crate) fn start_watching(core: &Core) {
    crate::statement_log::start(&core.logs, &core.globals, &core.log);
    core.monitors.start(core);
}

/// Defaults that depend on other values or on the machine.
pub(crate) fn settle_defaults(vars: &mut VarSet, datadir: &Path) {
    crate::pool::settle(vars);
    let mut set = |id: Live, value: &str| vars[id as usize] = VarValue::text(value);
    set(Live::Datadir, &format!("{}/", datadir.display()));
    if let Ok(name) = std::fs::read_to_string("/proc/sys/kernel/hostname") {
        set(Live::Hostname, name.trim());
    }
    let names = crate::statement_log::default_names(vars[Live::Hostname as usize].as_str());
    for (id, name) in names {
        if vars[id as usize].as_str().is_empty() {
            vars[id as usize] = VarValue::text(&datadir.join(name).to_string_lossy());
        }
    }
    if vars[Live::RelayLog as usize].as_str().is_empty() {
        let name = format!("{}-relay-bin", vars[Live::Hostname as usize].as_str());
        vars[Live::RelayLog as usize] = VarValue::text(&name);
    }
    let relay = datadir.join(vars[Live::RelayLog as usize].as_str()).with_extension("").to_string_lossy().into_owned();
    let mut set = |id: Live, value: &str| vars[id as usize] = VarValue::text(value);
    set(Live::RelayLogBasename, &relay);
    set(Live::RelayLogIndex, &format!("{relay}.index"));
    set(Live::SystemTimeZone, &zone_name());
    set(Live::ServerUuid, &server_uuid(datadir));
    if vars[Live::Tmpdir as usize].as_str().is_empty() {
        vars[Live::Tmpdir as usize] = VarValue::text(&datadir.to_string_lossy());
    }
    if vars[Live::Socket as usize].as_str().is_empty() {
        vars[Live::Socket as usize] = VarValue::text(&datadir.join("gannet.sock").to_string_lossy());
    }
    let (charset, collation) = (Live::CharacterSetServer as usize, Live::CollationServer as usize);
    let defaults = vars::defaults();
    if vars[collation] == defaults[collation]
        && let Ok(cs) = Charset::by_name(vars[charset].as_str())
    {
        let name = Collation::default_of(cs).name;
        vars[collation] = VarValue::text(name);
    } else if let Ok(c) = Collation::by_name(vars[collation].as_str()) {
        vars[charset] = VarValue::text(c.charset.name());
    }
    for (to, from) in [
        (Live::CharacterSetDatabase, Live::CharacterSetServer),
        (Live::CollationDatabase, Live::CollationServer),
        (Live::CharacterSetClient, Live::CharacterSetServer),
        (Live::CharacterSetConnection, Live::CharacterSetServer),
        (Live::CharacterSetResults, Live::CharacterSetServer),
        (Live::CollationConnection, Live::CollationServer),
    ] {
        vars[to as usize] = vars[from as usize].clone();
    }
}

/// The abbreviation of the machine's zone, as `system_time_zone` shows it.
pub(crate) fn zone_name() -> String {
    match TimeZone::system().offset_at(gannet_runtime::WallTime::now().seconds() as i64) {
        0 => "UTC".into(),
        s => format!("{}{:02}:{:02}", if s < 0 { '-' } else { '+' }, s.abs() / 3600, s.abs() / 60 % 60),
    }
}

/// The server's UUID: made at the first start, kept in `auto.cnf` as MySQL does.
pub(crate) fn server_uuid(datadir: &Path) -> String {
    let path = datadir.join("auto.cnf");
    if let Ok(text) = std::fs::read_to_string(&path)
        && let Some(uuid) = text.lines().find_map(|l| l.strip_prefix("server-uuid="))
    {
        return uuid.trim().into();
    }
    let (a, b) = (gannet_runtime::random_u64(), gannet_runtime::random_u64());
    // Version 4, variant 1.
    let (a, b) = (a & !0xF000 | 0x4000, b >> 2 | 1 << 63);
    let uuid = format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        a >> 32,
        a >> 16 & 0xFFFF,
        a & 0xFFFF,
        b >> 48,
        b & 0xFFFF_FFFF_FFFF
    );
    // Without it the next start makes another one; nothing here depends on it yet.
    let _ = write_plain(&path, Readers::Group, format!("[auto]\nserver-uuid={uuid}\n").as_bytes());
    uuid
}

/// `bind_address`: addresses or names, separated by commas; `*` is everything.
pub(crate) fn bind_addresses(list: &str, port: u16) -> std::result::Result<Vec<SocketAddr>, String> {
    let mut all = Vec::new();
    for name in list.split(',').map(str::trim).filter(|n| !n.is_empty()) {
        let name = if name == "*" { "::" } else { name };
        match name.parse::<IpAddr>() {
            Ok(ip) => all.push(SocketAddr::new(ip, port)),
            Err(_) => {
                let found =
                    (name, port).to_socket_addrs().map_err(|e| format!("cannot resolve --bind-address={name}: {e}"))?;
                // One address a name: a machine's name often has two that overlap.
                all.extend(found.take(1));
            }
        }
    }
    if all.is_empty() { Err("--bind-address names no address".into()) } else { Ok(all) }
}

pub(crate) fn open_error(datadir: &Path, e: &EngineError) -> String {
    match e {
        EngineError::DataDirInUse(_) => format!("the data directory {} is in use by another server", datadir.display()),
        EngineError::Corrupt { .. } => {
            format!("the data in {} cannot be opened: data.gnt: {e}", datadir.display())
        }
        other => format!("the data in {} cannot be opened: {other}", datadir.display()),
    }
}
