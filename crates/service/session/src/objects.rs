//! Foreign servers and resource groups: entries of the dictionary.
//!
//! A server names where a FEDERATED table's rows would be; a resource group, processors and a priority of threads. Both
//! are kept as they were defined, for `mysql.servers` and `RESOURCE_GROUPS`. No table is FEDERATED here, and statements
//! run on workers that serve all sessions, so nothing else follows, and SET RESOURCE GROUP says so (3659).
//!
//! An entry's value is its fields in order, each ended by a zero byte.

use super::Session;
use super::lists::alone;
use super::reply::{Done, RowsSink};
use gannet_catalog::{Accounts, Catalog};
use gannet_core::kept::{tokens, word};
use gannet_engine::TxnOptions;
use gannet_parser::LexMode;
use gannet_parser::ast::{StorageObject, StorageStatement, StorageVerb};
use gannet_parser::lexer::{Tok, unquote_string};
use gannet_types::{ErrorCode, Result, SqlError, sql_err};

/// Fields of a server, in the order of `mysql.servers`.
const SERVER: [&str; 8] = ["HOST", "DATABASE", "USER", "PASSWORD", "PORT", "SOCKET", "WRAPPER", "OWNER"];
/// Fields of a group: type, enabled, processors, priority.
const GROUP: usize = 4;
/// The groups that every server has: a session's threads are in the first.
pub(crate) const OWN_GROUPS: [(&str, &str); 2] = [("USR_default", "USER"), ("SYS_default", "SYSTEM")];
/// Longest name of either.
const LONGEST: usize = 64;

/// The entries of a kind, by name.
pub(crate) fn all(catalog: &Catalog, entries: Accounts<'_>) -> Result<Vec<(String, Vec<String>)>> {
    let options = TxnOptions { read_only: true, autocommit: true, ..TxnOptions::default() };
    let mut txn = catalog.engine().try_begin(options).map_err(gannet_exec::error::from_engine)?;
    let all =
        entries.all(&mut txn).and_then(|all| txn.commit().map(|_| all)).map_err(gannet_exec::error::from_engine)?;
    let fields = |bytes: Vec<u8>| {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        text.split_terminator('\0').map(str::to_owned).collect()
    };
    Ok(all.into_iter().map(|(name, bytes)| (name, fields(bytes))).collect())
}

/// What is stored beside schemas: servers and resource groups; error 1235 for tablespaces and the like.
pub(crate) fn storage(session: &mut Session, s: &StorageStatement) -> Result<Done> {
    match s.object {
        StorageObject::Server | StorageObject::ResourceGroup => define(session, s),
        StorageObject::Instance
        | StorageObject::Tablespace
        | StorageObject::UndoTablespace
        | StorageObject::LogfileGroup
        | StorageObject::SpatialReferenceSystem
        | StorageObject::Sequence => {
            Err(SqlError::unsupported("tablespaces, log file groups, spatial reference systems and sequences"))
        }
    }
}

/// CREATE, ALTER, DROP of either, and SET RESOURCE GROUP. What defines commits first, also if it fails then.
fn define(session: &mut Session, s: &StorageStatement) -> Result<Done> {
    let servers = s.object == StorageObject::Server;
    if !servers && (s.existence.if_exists || s.existence.or_replace) {
        return Err(syntax());
    }
    if s.verb == StorageVerb::Set {
        return define_alone(session, s, servers);
    }
    if servers && !session.locked.is_empty() {
        return Err(sql_err!(TableNotLocked, "servers"));
    }
    session.commit_implicitly()?;
    session.require_writable()?;
    alone(session, |session| define_alone(session, s, servers))
}

/// The name of a server or group: a server's is cut. Errors 1525, 1470.
fn checked_name(name: &str, servers: bool) -> Result<&str> {
    let end = name.char_indices().nth(LONGEST).map_or(name.len(), |(at, _)| at);
    match servers {
        true if name.is_empty() || name.contains('\0') => Err(sql_err!(WrongValue, "server name", name)),
        true => Ok(&name[..end]),
        false if name.is_empty() || end < name.len() || name.contains('\0') => {
            Err(sql_err!(WrongStringLength, name, "resource group", LONGEST))
        }
        false => Ok(name),
    }
}

fn define_alone(session: &mut Session, s: &StorageStatement, servers: bool) -> Result<Done> {
    let core = session.server.clone();
    let catalog = &core.catalog;
    let name = checked_name(&s.name.text, servers)?;
    let known = all(catalog, entries_of(catalog, servers))?;
    let old = known.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
    let own = !servers && OWN_GROUPS.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
    let missing = || match servers {
        true => sql_err!(ForeignServerDoesntExist, name),
        false => sql_err!(ResourceGroupNotExists, name),
    };
    match s.verb {
        StorageVerb::Set => return set_group(session, name, old.map(|(_, fields)| &fields[..]), own, missing),
        StorageVerb::Create if old.is_some() && s.existence.if_exists => {
            session.note(&sql_err!(ForeignServerExists, name));
            return Ok(Done::default());
        }
        StorageVerb::Create if s.existence.or_replace => {}
        StorageVerb::Create if old.is_some() || own => {
            return Err(match servers {
                true => sql_err!(ForeignServerExists, name),
                false => sql_err!(ResourceGroupExists, name),
            });
        }
        StorageVerb::Alter | StorageVerb::Drop if own => {
            let what = if s.verb == StorageVerb::Alter { "Alter" } else { "Drop" };
            return Err(sql_err!(DisallowedOperation, what, "default resource groups."));
        }
        StorageVerb::Drop if old.is_none() && servers && s.existence.if_exists => {
            return Ok(Done { affected: 1, ..Done::default() });
        }
        StorageVerb::Alter | StorageVerb::Drop if old.is_none() => return Err(missing()),
        _ => {}
    }
    let before = old.filter(|_| s.verb != StorageVerb::Create).map(|(_, fields)| fields.clone());
    let after = match (s.verb, servers) {
        (StorageVerb::Drop, _) => None,
        (_, true) => Some(server(s, before.unwrap_or_else(|| vec![String::new(); SERVER.len()]))?),
        (_, false) => Some(group(s, before)?),
    };
    let stored_name = old.map_or(name, |(n, _)| n).to_owned();
    store(session, servers, &[(stored_name, after)])?;
    Ok(Done { affected: u64::from(servers), ..Done::default() })
}

fn entries_of(catalog: &Catalog, servers: bool) -> Accounts<'_> {
    if servers { catalog.servers() } else { catalog.resource_groups() }
}

/// The servers become those of rows of `mysql.servers`.
pub(super) fn replace_servers(session: &mut Session, rows: &RowsSink) -> Result<()> {
    let catalog = &session.server.catalog;
    let mut changes: Vec<Change> = all(catalog, catalog.servers())?.into_iter().map(|(name, _)| (name, None)).collect();
    for row in &rows.rows {
        let mut texts = row.iter().map(|value| {
            let mut out = Vec::new();
            value.write_text(&mut out);
            String::from_utf8_lossy(&out).into_owned()
        });
        let Some(name) = texts.next() else { continue };
        let fields: Vec<String> = texts.collect();
        if name.is_empty() || fields.iter().any(|f| f.contains('\0')) || name.contains('\0') {
            return Err(sql_err!(WrongStringLength, name, "server name", LONGEST));
        }
        changes.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
        changes.push((name, Some(fields)));
    }
    store(session, true, &changes)
}

/// An entry's name, and what becomes of it.
type Change = (String, Option<Vec<String>>);

/// Writes entries, or removes them, which were read [`alone`].
fn store(session: &mut Session, servers: bool, changes: &[Change]) -> Result<()> {
    debug_assert!(session.work.locks().has_lists());
    let server = session.server.clone();
    let (catalog, entries) = (&server.catalog, entries_of(&server.catalog, servers));
    let mut txn = catalog.engine().try_begin(TxnOptions::default()).map_err(gannet_exec::error::from_engine)?;
    let written = changes.iter().try_for_each(|(name, fields)| match fields {
        Some(fields) => {
            let bytes: String = fields.iter().flat_map(|f| [f.as_str(), "\0"]).collect();
            entries.put(&mut txn, name, bytes.as_bytes())
        }
        None => entries.remove(&mut txn, name).map(drop),
    });
    let done = written.and_then(|()| entries.commit(&mut txn, super::words::words(session).as_ref()));
    done.map_err(gannet_exec::error::from_engine)
}

/// The words of what follows the name; texts without their quotes.
fn words(s: &StorageStatement) -> Vec<(Tok, String)> {
    let (text, mode) = (s.rest.0.as_bytes(), LexMode::default());
    let one = |t: gannet_parser::lexer::Token| {
        let bytes = word(text, &t);
        let bytes = if t.kind == Tok::Str { unquote_string(bytes, mode) } else { bytes.to_vec() };
        (t.kind, String::from_utf8_lossy(&bytes).into_owned())
    };
    tokens(text, mode).map(one).collect()
}

fn syntax() -> SqlError {
    let text = "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the \
                right syntax to use";
    sql_err!(Parse, text, "", 1)
}

/// `FOREIGN DATA WRAPPER name OPTIONS (option value, ...)`; ALTER has the options alone.
fn server(s: &StorageStatement, mut fields: Vec<String>) -> Result<Vec<String>> {
    fields.resize(SERVER.len(), String::new());
    let all = words(s);
    let mut rest = &all[..];
    let is = |w: &(Tok, String), text: &str| w.0 != Tok::Str && w.1.eq_ignore_ascii_case(text);
    if s.verb == StorageVerb::Create {
        match rest {
            [a, b, c, wrapper, more @ ..] if is(a, "FOREIGN") && is(b, "DATA") && is(c, "WRAPPER") => {
                fields[6] = wrapper.1.trim_matches('`').to_owned();
                rest = more;
            }
            _ => return Err(syntax()),
        }
    }
    let [options, open, list @ .., close] = rest else { return Err(syntax()) };
    if !is(options, "OPTIONS") || open.1 != "(" || close.1 != ")" || list.is_empty() {
        return Err(syntax());
    }
    for option in list.split(|w| w.0 != Tok::Str && w.1 == ",") {
        let [name, value] = option else { return Err(syntax()) };
        let at = SERVER.iter().position(|n| is(name, n)).filter(|at| *at != 6).ok_or_else(syntax)?;
        let number = value.0 != Tok::Str;
        if number != (at == 4) || number && value.1.parse::<u32>().is_err() || value.1.contains('\0') {
            return Err(syntax());
        }
        fields[at] = value.1.clone();
    }
    Ok(fields)
}

/// `TYPE = SYSTEM|USER`, `VCPU = list`, `THREAD_PRIORITY = n`, `ENABLE|DISABLE`; of a new group, or of one that is
/// there.
fn group(s: &StorageStatement, before: Option<Vec<String>>) -> Result<Vec<String>> {
    let creates = before.is_none();
    let all = words(s);
    let mut fields = before.unwrap_or_else(|| vec![String::new(), "1".into(), String::new(), "0".into()]);
    fields.resize(GROUP, String::new());
    let mut rest = &all[..];
    let upper = |w: &(Tok, String)| w.1.to_ascii_uppercase();
    while let [first, more @ ..] = rest {
        let more = match more {
            [eq, more @ ..] if eq.1 == "=" => more,
            more => more,
        };
        rest = match (upper(first).as_str(), more) {
            ("TYPE", [kind, more @ ..]) if creates && matches!(upper(kind).as_str(), "SYSTEM" | "USER") => {
                fields[0] = upper(kind);
                more
            }
            ("VCPU", more) => {
                let n = more
                    .iter()
                    .take_while(|w| w.1.bytes().all(|b| b.is_ascii_digit() || matches!(b, b',' | b'-')))
                    .count();
                let list: String = more[..n].iter().map(|w| w.1.as_str()).collect();
                fields[2] = processors(&list)?;
                &more[n..]
            }
            ("THREAD_PRIORITY", [minus, n, more @ ..]) if minus.1 == "-" => {
                fields[3] = format!("-{}", n.1);
                more
            }
            ("THREAD_PRIORITY", [n, more @ ..]) => {
                fields[3] = n.1.clone();
                more
            }
            ("ENABLE", _) => {
                fields[1] = "1".into();
                more
            }
            ("DISABLE", [force, more @ ..]) if !creates && upper(force) == "FORCE" => {
                fields[1] = "0".into();
                more
            }
            ("DISABLE", _) => {
                fields[1] = "0".into();
                more
            }
            _ => return Err(syntax()),
        };
    }
    if fields[0].is_empty() {
        return Err(syntax());
    }
    let priority: i64 = fields[3].parse().map_err(|_| syntax())?;
    let (least, most) = if fields[0] == "SYSTEM" { (-20, 0) } else { (0, 19) };
    if !(least..=most).contains(&priority) {
        let kind = if fields[0] == "SYSTEM" { "System" } else { "User" };
        return Err(sql_err!(InvalidThreadPriority, priority, kind, s.name.text, least, most));
    }
    Ok(fields)
}

/// A list of processors that the machine has, `0-3,5`: ascending, neighbours together.
fn processors(list: &str) -> Result<String> {
    let count = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let mut ranges = Vec::new();
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |n: &str| n.parse::<u64>().map_err(|_| syntax());
        let (first, last) = (number(first)?, number(last)?);
        if let Some(beyond) = [first, last].into_iter().find(|n| *n >= count) {
            return Err(sql_err!(InvalidVcpuId, beyond));
        }
        if first > last {
            return Err(sql_err!(InvalidVcpuRange, first, last));
        }
        ranges.push((first, last));
    }
    ranges.sort_unstable();
    ranges.dedup_by(|next, before| {
        let joins = next.0 <= before.1 + 1;
        before.1 = if joins { before.1.max(next.1) } else { before.1 };
        joins
    });
    let shown = |(first, last): &(u64, u64)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    Ok(ranges.iter().map(shown).collect::<Vec<_>>().join(","))
}

/// SET RESOURCE GROUP: nothing runs otherwise, and a warning says so.
fn set_group(
    session: &mut Session,
    name: &str,
    fields: Option<&[String]>,
    own: bool,
    missing: impl Fn() -> SqlError,
) -> Result<Done> {
    match fields {
        None if !own => return Err(missing()),
        Some([_, enabled, ..]) if enabled == "0" => return Err(sql_err!(ResourceGroupDisabled, name)),
        _ => {}
    }
    let why = "statements of all groups run on the same workers";
    session.running.diagnostics.warnings.warn(ErrorCode::AttributeIgnored, &[&"RESOURCE GROUP", &why]);
    Ok(Done::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_parser::ast::Statement;

    fn parsed(sql: &str) -> StorageStatement {
        match gannet_parser::parse(sql.as_bytes(), LexMode::default()).unwrap().statement {
            Statement::Storage(s) => *s,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn servers_and_groups_are_read() {
        let s =
            "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'u', PASSWORD 'a''b', PORT 3307, DATABASE 'd')";
        let fields = server(&parsed(s), vec![String::new(); 8]).unwrap();
        assert_eq!(fields, ["", "d", "u", "a'b", "3307", "", "mysql", ""]);
        let fields = server(&parsed("ALTER SERVER s OPTIONS (HOST 'h')"), fields).unwrap();
        assert_eq!((&*fields[0], &*fields[1]), ("h", "d"));
        for wrong in
            ["CREATE SERVER s OPTIONS (HOST 'h')", "ALTER SERVER s OPTIONS ()", "ALTER SERVER s OPTIONS (PORT 'x')"]
        {
            assert_eq!(server(&parsed(wrong), Vec::new()).unwrap_err().code(), ErrorCode::Parse, "{wrong}");
        }
        let made = group(&parsed("CREATE RESOURCE GROUP g TYPE=USER VCPU=0 THREAD_PRIORITY=5 DISABLE"), None).unwrap();
        assert_eq!(made, ["USER", "0", "0", "5"]);
        assert_eq!(group(&parsed("ALTER RESOURCE GROUP g ENABLE"), Some(made)).unwrap()[1], "1");
        let code = |sql: &str| group(&parsed(sql), None).unwrap_err().code();
        assert_eq!(code("CREATE RESOURCE GROUP g TYPE=USER THREAD_PRIORITY=-1"), ErrorCode::InvalidThreadPriority);
        assert_eq!(code("CREATE RESOURCE GROUP g TYPE=USER VCPU=0-9999"), ErrorCode::InvalidVcpuId);
        assert_eq!(code("CREATE RESOURCE GROUP g VCPU=0"), ErrorCode::Parse);
        if std::thread::available_parallelism().is_ok_and(|n| n.get() >= 2) {
            let of = |list: &str| processors(list).unwrap();
            assert_eq!([of("1,0"), of("0,0-1"), of("1-1"), of("0-0,0")], ["0-1", "0-1", "1", "0"]);
        }
    }
}
