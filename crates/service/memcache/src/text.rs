//! The commands of the text protocol.

use crate::client::{Client, Old, Route, for_write};
use crate::config::Policy;
use crate::container::{Columns, Facts};
use gannet_core::accounts::{Privilege, Privileges};
use gannet_exec::kv::{Become, StoredRow};
use gannet_telemetry::{Counter, add, count};
use gannet_types::{ErrorCode, Result, SqlError};
use gannet_wire::memcached::parse::{Command, Keys, Store, Verb};
use gannet_wire::memcached::unsigned;

/// What `version` answers: clients read three numbers.
pub(crate) const VERSION: &str = "1.6.18";

/// The line for an error.
pub(crate) fn told(e: &SqlError, out: &mut Vec<u8>) {
    match e.code() {
        ErrorCode::DataTooLong => out.extend_from_slice(b"SERVER_ERROR object too large for cache"),
        ErrorCode::OutOfResources => out.extend_from_slice(b"SERVER_ERROR out of memory writing get response"),
        ErrorCode::LockWaitTimeout => out.extend_from_slice(b"SERVER_ERROR lock wait timeout"),
        ErrorCode::TableaccessDenied => out.extend_from_slice(b"CLIENT_ERROR access denied"),
        _ => {
            out.extend_from_slice(format!("SERVER_ERROR {} ", e.number()).as_bytes());
            out.extend(e.message().bytes().map(|b| if b.is_ascii_control() { b' ' } else { b }));
        }
    }
    out.extend_from_slice(b"\r\n");
}

pub(crate) fn line(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(b"\r\n");
}

pub(crate) fn number(out: &mut Vec<u8>, n: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
}

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Outcome {
    Done,
    NotStored,
    Exists,
    NotFound,
    NotANumber,
    Number(u64),
}

/// Serves a command of the text protocol: appends its answer to `out`.
pub(crate) fn serve(client: &mut Client, command: &Command<'_>, out: &mut Vec<u8>) {
    let mark = out.len();
    let (outcome, noreply) = match command {
        Command::Get { keys, cas } => (get(client, *keys, *cas, out), false),
        Command::GetAndTouch { expiry, keys, cas } => (get_and_touch(client, *keys, *cas, *expiry, out), false),
        Command::Store(store) => (text_of_store(client, store, out), store.noreply),
        Command::TooLarge { key, verb, noreply } => (too_large(client, key, *verb, out), *noreply),
        Command::BadChunk { noreply } => {
            line(out, gannet_wire::memcached::parse::BAD_CHUNK);
            (Ok(()), *noreply)
        }
        Command::Delete { key, noreply } => (delete(client, key, out), *noreply),
        Command::Count { key, delta, up, noreply } => (text_of_count(client, key, *delta, *up, out), *noreply),
        Command::Touch { key, expiry, noreply } => (touch(client, key, *expiry, out), *noreply),
        Command::FlushAll { delay, noreply } => (flush_all(client, *delay, out), *noreply),
        Command::Stats { of } => (crate::stats::answer(client, of, out), false),
        Command::Verbosity { noreply } => {
            line(out, "OK");
            (Ok(()), *noreply)
        }
        // The meta commands are served elsewhere.
        _ => {
            line(out, &format!("VERSION {VERSION}"));
            (Ok(()), false)
        }
    };
    if let Err(e) = outcome {
        out.truncate(mark);
        told(&e, out);
    }
    if noreply {
        out.truncate(mark);
    }
}

/// Appends `VALUE` with its data.
fn item(columns: &Columns, key: &[u8], row: StoredRow<'_>, facts: Facts, cas: bool, out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(b"VALUE ");
    out.extend_from_slice(key);
    out.push(b' ');
    number(out, facts.flags);
    out.push(b' ');
    let mut made = Vec::new();
    let value = match columns.plain(row)? {
        Some(value) => value,
        None => {
            columns.value(row, &mut made)?;
            &made
        }
    };
    number(out, value.len());
    if cas {
        out.push(b' ');
        number(out, columns.token(row, facts)?);
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
    Ok(())
}

fn get(client: &mut Client, keys: Keys<'_>, cas: bool, out: &mut Vec<u8>) -> Result<()> {
    client.allow(Policy::Get)?;
    if keys.iter().any(|key| key.starts_with(b"@@")) {
        for key in keys.iter() {
            match client.route(key)? {
                Route::Key(short) => get_some(client, std::iter::once(short), Some(key), cas, out)?,
                Route::Switched(to) => {
                    out.extend_from_slice(b"VALUE ");
                    out.extend_from_slice(key);
                    line(out, &format!(" 0 {}{}\r\n{to}", to.len(), if cas { " 0" } else { "" }));
                }
            }
        }
    } else {
        get_some(client, keys.iter(), None, cas, out)?;
    }
    out.extend_from_slice(b"END\r\n");
    Ok(())
}

/// Appends the items of some keys; `shown`: under another name.
fn get_some<'k>(
    client: &mut Client,
    keys: impl Iterator<Item = &'k [u8]> + Clone,
    shown: Option<&[u8]>,
    cas: bool,
    out: &mut Vec<u8>,
) -> Result<()> {
    let (mut hits, mut misses) = (0, 0);
    let mut room = client.take_room();
    let read = client.read(keys.clone(), |key, found| {
        match found {
            Some((columns, row, facts)) => {
                hits += 1;
                item(columns, shown.unwrap_or(key), row, facts, cas, out)?;
                room.answer(out.len())?;
            }
            None => misses += 1,
        }
        Ok(())
    });
    client.give_room(room);
    read?;
    if client.notes_reads() {
        keys.for_each(|key| client.note_read(key));
    }
    add(Counter::MemcachedCmdGet, hits + misses);
    add(Counter::MemcachedGetHits, hits);
    add(Counter::MemcachedGetMisses, misses);
    Ok(())
}

/// The key in the container that it names, where it names one.
pub(crate) fn routed<'k>(client: &mut Client, key: &'k [u8], what: Policy) -> Result<&'k [u8]> {
    client.allow(what)?;
    if !key.starts_with(b"@@") {
        return Ok(key);
    }
    match client.route(key)? {
        Route::Key(key) => Ok(key),
        Route::Switched(_) => Err(SqlError::unsupported("a container without a key")),
    }
}

fn get_and_touch(client: &mut Client, keys: Keys<'_>, cas: bool, expiry: i32, out: &mut Vec<u8>) -> Result<()> {
    let expiry = client.now.expiry(expiry);
    for shown in keys.iter() {
        let mark = out.len();
        let key = routed(client, shown, Policy::Get)?;
        let hit = client.alter(key, touch_needs(), |old, making| {
            out.truncate(mark);
            let Some((row, facts)) = old.live else { return Ok((Become::Same, false)) };
            item(making.columns, shown, row, facts, cas, out)?;
            Ok((making.facts(Facts { expiry, ..facts })?, true))
        })?;
        let mut room = client.take_room();
        let answered = room.answer(out.len());
        client.give_room(room);
        answered?;
        count(Counter::MemcachedCmdTouch);
        count(if hit { Counter::MemcachedTouchHits } else { Counter::MemcachedTouchMisses });
        count(if hit { Counter::MemcachedGetHits } else { Counter::MemcachedGetMisses });
    }
    out.extend_from_slice(b"END\r\n");
    Ok(())
}

/// Deletes all items, now or when the time has come: relative up to 30 days, as an expiry is.
fn flush_all(client: &mut Client, delay: i32, out: &mut Vec<u8>) -> Result<()> {
    client.allow(Policy::Flush)?;
    count(Counter::MemcachedCmdFlush);
    let wait = client.now.expiry(delay) - client.now.s();
    if delay > 0 && wait > 0 {
        client.flush_later(wait)?
    } else {
        client.flush()?
    }
    line(out, "OK");
    Ok(())
}

fn touch_needs() -> Privileges {
    Privileges::of(&[Privilege::Select, Privilege::Update])
}

fn text_of_store(client: &mut Client, s: &Store<'_>, out: &mut Vec<u8>) -> Result<()> {
    let outcome = store(client, s)?;
    count(Counter::MemcachedCmdSet);
    line(
        out,
        match outcome {
            Outcome::Exists => "EXISTS",
            Outcome::NotFound => "NOT_FOUND",
            Outcome::NotStored => "NOT_STORED",
            _ => "STORED",
        },
    );
    Ok(())
}

/// `set` and its kin.
fn store(client: &mut Client, s: &Store<'_>) -> Result<Outcome> {
    let key = routed(client, s.key, Policy::Set)?;
    let facts = Facts { flags: s.flags, state: 0, expiry: client.now.expiry(s.expiry) };
    let outcome = client.alter(key, for_write(), |old: Old<'_>, making| {
        let kept = |outcome| Ok((Become::Same, outcome));
        let value = match (s.verb, old.live) {
            (Verb::Add, Some(_)) | (Verb::Replace | Verb::Append | Verb::Prepend, None) => {
                return kept(Outcome::NotStored);
            }
            (Verb::Cas, None) => return kept(Outcome::NotFound),
            (Verb::Cas, Some((row, facts))) if making.columns.token(row, facts)? != s.cas => {
                return kept(Outcome::Exists);
            }
            (Verb::Append | Verb::Prepend, Some((row, facts))) => {
                let mut value = Vec::new();
                making.columns.value(row, &mut value)?;
                match s.verb {
                    Verb::Append => value.extend_from_slice(s.data),
                    _ => drop(value.splice(0..0, s.data.iter().copied())),
                }
                return Ok((making.value(old, &value, Facts { state: 0, ..facts })?, Outcome::Done));
            }
            _ => s.data,
        };
        Ok((making.item(old, value, (facts, None))?, Outcome::Done))
    })?;
    if let Outcome::Done = outcome {
        client.note_set(key);
    }
    if s.verb == Verb::Cas {
        count(match outcome {
            Outcome::NotFound => Counter::MemcachedCasMisses,
            Outcome::Exists => Counter::MemcachedCasBadval,
            _ => Counter::MemcachedCasHits,
        });
    }
    Ok(outcome)
}

/// A value that is too large was dropped. What a set would have replaced must not be found any more.
fn too_large(client: &mut Client, key: &[u8], verb: Verb, out: &mut Vec<u8>) -> Result<()> {
    count(Counter::MemcachedStoreTooLarge);
    if verb == Verb::Set {
        remove(client, key)?;
    }
    line(out, gannet_wire::memcached::parse::TOO_LARGE);
    Ok(())
}

/// Deletes an item, if it is there.
pub(crate) fn remove(client: &mut Client, key: &[u8]) -> Result<bool> {
    let key = routed(client, key, Policy::Delete)?;
    let needs = Privileges::of(&[Privilege::Select, Privilege::Delete]);
    client.alter(key, needs, |old, _| {
        let live = old.live.is_some();
        Ok((if live { Become::Gone } else { Become::Same }, live))
    })
}

fn delete(client: &mut Client, key: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let gone = remove(client, key)?;
    count(if gone { Counter::MemcachedDeleteHits } else { Counter::MemcachedDeleteMisses });
    line(out, if gone { "DELETED" } else { "NOT_FOUND" });
    Ok(())
}

fn text_of_count(client: &mut Client, key: &[u8], delta: u64, up: bool, out: &mut Vec<u8>) -> Result<()> {
    let key = routed(client, key, Policy::Set)?;
    let outcome = client.alter(key, touch_needs(), |old, making| {
        let Some((row, facts)) = old.live else { return Ok((Become::Same, Outcome::NotFound)) };
        let mut text = Vec::new();
        if !making.columns.is_multiple() {
            making.columns.value(row, &mut text)?;
        }
        let Some(n) = unsigned(&text) else { return Ok((Become::Same, Outcome::NotANumber)) };
        let n = if up { n.wrapping_add(delta) } else { n.saturating_sub(delta) };
        Ok((making.value(old, itoa::Buffer::new().format(n).as_bytes(), facts)?, Outcome::Number(n)))
    })?;
    count(match (outcome, up) {
        (Outcome::NotFound, true) => Counter::MemcachedIncrMisses,
        (Outcome::NotFound, false) => Counter::MemcachedDecrMisses,
        (_, true) => Counter::MemcachedIncrHits,
        (_, false) => Counter::MemcachedDecrHits,
    });
    match outcome {
        Outcome::Number(n) => {
            number(out, n);
            out.extend_from_slice(b"\r\n");
        }
        Outcome::NotANumber => line(out, "CLIENT_ERROR cannot increment or decrement non-numeric value"),
        _ => line(out, "NOT_FOUND"),
    }
    Ok(())
}

fn touch(client: &mut Client, key: &[u8], expiry: i32, out: &mut Vec<u8>) -> Result<()> {
    let expiry = client.now.expiry(expiry);
    let key = routed(client, key, Policy::Set)?;
    let hit = client.alter(key, touch_needs(), |old, making| match old.live {
        Some((_, facts)) => Ok((making.facts(Facts { expiry, ..facts })?, true)),
        None => Ok((Become::Same, false)),
    })?;
    count(Counter::MemcachedCmdTouch);
    count(if hit { Counter::MemcachedTouchHits } else { Counter::MemcachedTouchMisses });
    line(out, if hit { "TOUCHED" } else { "NOT_FOUND" });
    Ok(())
}
