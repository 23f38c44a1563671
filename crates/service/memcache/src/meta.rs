//! The commands of the meta protocol.

use crate::client::{Client, for_write};
use crate::config::Policy;
use crate::container::{Columns, Facts, SENT, STALE};
use crate::reads::Known;
use crate::text::{line, number, routed, told};
use gannet_core::accounts::{Privilege, Privileges};
use gannet_exec::kv::{Become, StoredRow};
use gannet_telemetry::{Counter, count};
use gannet_types::Result;
use gannet_wire::memcached::flags::{MetaFlags, Mode, UNDECODABLE};
use gannet_wire::memcached::parse::Command;
use gannet_wire::memcached::{base64, unsigned};

const NO_STATE: &str = "CLIENT_ERROR invalid flag";

/// A command's key: as it was sent, and what it stands for.
struct Key<'b> {
    sent: &'b [u8],
    decoded: Option<Vec<u8>>,
}

impl<'b> Key<'b> {
    fn of(sent: &'b [u8], encoded: bool) -> Option<Key<'b>> {
        let decoded = if encoded { Some(base64::decode(sent)?) } else { None };
        Some(Key { sent, decoded })
    }

    fn bytes(&self) -> &[u8] {
        self.decoded.as_deref().unwrap_or(self.sent)
    }
}

/// What may come back of an item.
#[derive(Clone, Copy, Default)]
struct Item {
    facts: Facts,
    size: usize,
    token: u64,
    won: bool,
    /// The state before it was told.
    state: u32,
    /// The expiry that T gives it, and N where it is new: what stands behind these flags sees it.
    touched: Option<i64>,
    made: Option<i64>,
    known: Known,
}

impl Item {
    /// A flag gives it another expiry.
    fn pass(&mut self, letter: u8) {
        let expiry = match letter {
            b'T' => self.touched,
            b'N' => self.made,
            _ => None,
        };
        self.facts.expiry = expiry.unwrap_or(self.facts.expiry);
    }

    /// Its expiry behind all flags.
    fn expiry(mut self, flags: &MetaFlags<'_>) -> i64 {
        flags.letters().iter().for_each(|letter| self.pass(*letter));
        self.facts.expiry
    }
}

/// What became of a change.
enum Outcome {
    Done,
    /// A counter that was there is not told to who is quiet; one that was made is.
    Number(u64, Item),
    NotStored,
    Exists,
    NotFound,
    NotANumber,
    Refused(&'static str),
}

/// Serves a command of the meta protocol: appends its answer to `out`.
pub(crate) fn serve(client: &mut Client, command: &Command<'_>, out: &mut Vec<u8>) {
    count(Counter::MemcachedCmdMeta);
    let mark = out.len();
    let outcome = match command {
        Command::MetaGet { key, flags } => with_key(key, flags, out, |key, out| get(client, key, flags, out)),
        Command::MetaSet { key, flags, data } => {
            with_key(key, flags, out, |key, out| set(client, key, flags, data, out))
        }
        Command::MetaTooLarge { key, flags } => {
            with_key(key, flags, out, |key, out| too_large(client, key, flags, out))
        }
        Command::MetaDelete { key, flags } => with_key(key, flags, out, |key, out| delete(client, key, flags, out)),
        Command::MetaCount { key, flags } => with_key(key, flags, out, |key, out| arithmetic(client, key, flags, out)),
        Command::MetaDebug { key, base64 } => debug(client, key, *base64, out),
        _ => {
            line(out, "MN");
            Ok(())
        }
    };
    if let Err(e) = outcome {
        out.truncate(mark);
        told(&e, out);
    }
}

fn with_key<'b>(
    key: &'b [u8],
    flags: &MetaFlags<'_>,
    out: &mut Vec<u8>,
    f: impl FnOnce(&Key<'b>, &mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    match Key::of(key, flags.base64) {
        Some(key) => f(&key, out),
        None => {
            line(out, UNDECODABLE);
            Ok(())
        }
    }
}

/// Appends what a flag asks back, in the order asked; `item` for those of a get or a counter.
fn asked(out: &mut Vec<u8>, flags: &MetaFlags<'_>, key: &Key<'_>, item: Option<(&Item, i64)>, letters: &[u8]) {
    let mut item = item.map(|(item, now_s)| (*item, now_s));
    for letter in flags.letters().iter().copied() {
        if let Some((item, _)) = &mut item {
            item.pass(letter);
        }
        if !letters.contains(&letter) {
            continue;
        }
        if letter != b'O' {
            out.extend_from_slice(&[b' ', letter]);
        }
        match (letter, item) {
            (b'O', _) => {
                out.push(b' ');
                out.extend_from_slice(flags.opaque);
            }
            (b'k', _) => match &key.decoded {
                Some(key) => {
                    base64::encode(key, out);
                    out.extend_from_slice(b" b");
                }
                None => out.extend_from_slice(key.sent),
            },
            (b's', Some((item, _))) => number(out, item.size),
            (b'c', Some((item, _))) => number(out, item.token),
            (b'f', Some((item, _))) => number(out, item.facts.flags),
            (b't', Some((item, _))) if item.facts.expiry == 0 => out.extend_from_slice(b"-1"),
            (b't', Some((item, now_s))) => number(out, item.facts.expiry.saturating_sub(now_s).max(0)),
            (b'h', Some((item, _))) => out.push(if item.known.hit { b'1' } else { b'0' }),
            (b'l', Some((item, now_s))) if item.known.at_s > 0 => number(out, (now_s - item.known.at_s).max(0)),
            _ => out.push(b'0'),
        }
    }
}

/// W, X and Z, which nobody asks for.
fn state(out: &mut Vec<u8>, item: &Item) {
    for (letter, set) in [(b'Z', item.state & SENT != 0), (b'X', item.state & STALE != 0), (b'W', item.won)] {
        if set {
            out.extend_from_slice(&[b' ', letter]);
        }
    }
}

/// Appends the answer to `mg` for an item.
fn hit(out: &mut Vec<u8>, flags: &MetaFlags<'_>, key: &Key<'_>, (item, value, now_s): (&Item, &[u8], i64)) {
    if flags.has(b'v') {
        out.extend_from_slice(b"VA ");
        number(out, value.len());
    } else {
        out.extend_from_slice(b"HD");
    }
    asked(out, flags, key, Some((item, now_s)), b"scfthlOk");
    state(out, item);
    out.extend_from_slice(b"\r\n");
    if flags.has(b'v') {
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
    }
}

fn value_of<'v>(columns: &Columns, row: StoredRow<'v>, made: &'v mut Vec<u8>) -> Result<&'v [u8]> {
    match columns.plain(row)? {
        Some(value) => Ok(value),
        None => {
            made.clear();
            columns.value(row, made)?;
            Ok(made)
        }
    }
}

fn get(client: &mut Client, key: &Key<'_>, flags: &MetaFlags<'_>, out: &mut Vec<u8>) -> Result<()> {
    let stored = routed(client, key.bytes(), Policy::Get)?;
    let changes = flags.expiry.is_some() || flags.vivify.is_some() || flags.recache.is_some();
    let (now_s, mark) = (client.now.s(), out.len());
    let known = if flags.has(b'h') || flags.has(b'l') { client.known(stored)? } else { Known::default() };
    let (mut found, mut wins) = (false, false);
    if !changes {
        client.read(std::iter::once(stored), |_, row| {
            let Some((columns, row, facts)) = row else { return Ok(()) };
            (found, wins) = (true, facts.state & (STALE | SENT) == STALE);
            let token = if flags.has(b'c') { columns.token(row, facts)? } else { 0 };
            let mut made = Vec::new();
            let value = value_of(columns, row, &mut made)?;
            let item = Item { facts, size: value.len(), token, state: facts.state, known, ..Item::default() };
            hit(out, flags, key, (&item, value, now_s));
            Ok(())
        })?;
    }
    if changes || wins {
        out.truncate(mark);
        found = get_and_change(client, key, flags, known, out)?;
    }
    if found && !flags.has(b'u') {
        client.note_read(stored);
    }
    count(if found { Counter::MemcachedGetHits } else { Counter::MemcachedGetMisses });
    count(Counter::MemcachedCmdGet);
    if !found && !flags.quiet {
        out.extend_from_slice(b"EN");
        asked(out, flags, key, None, b"Ok");
        out.extend_from_slice(b"\r\n");
    }
    Ok(())
}

/// `mg` that touches the item, makes it, or lets the first client renew it. Whether there was one, or is one now.
fn get_and_change(
    client: &mut Client,
    key: &Key<'_>,
    flags: &MetaFlags<'_>,
    known: Known,
    out: &mut Vec<u8>,
) -> Result<bool> {
    let (now, mark) = (client.now, out.len());
    let mut refused = false;
    let stored = routed(client, key.bytes(), Policy::Get)?;
    let made = client.alter(stored, for_write(), |old, making| {
        out.truncate(mark);
        refused = (flags.vivify.is_some() || flags.recache.is_some()) && !making.columns.has_state();
        if refused {
            return Ok((Become::Same, None));
        }
        let Some((row, before)) = old.live else {
            let Some(expiry) = flags.vivify else { return Ok((Become::Same, None)) };
            let facts = Facts { flags: 0, state: SENT, expiry: 0 };
            let (touched, made) = (flags.expiry.map(|e| now.expiry(e)), Some(now.expiry(expiry)));
            let item = Item { facts, won: true, touched, made, ..Item::default() };
            let facts = Facts { expiry: item.expiry(flags), ..facts };
            return Ok((making.item(old, b"", (facts, None))?, Some(Some(item))));
        };
        let touched = flags.expiry.map(|expiry| now.expiry(expiry));
        let mut item = Item { facts: before, state: before.state, touched, known, ..Item::default() };
        let mut passed = item;
        for letter in flags.letters() {
            passed.pass(*letter);
            if let (b'R', Some(least)) = (letter, flags.recache) {
                let soon = passed.facts.expiry != 0 && passed.facts.expiry < now.expiry(least);
                item.won |= soon && before.state & SENT == 0;
            }
        }
        item.won |= before.state & (STALE | SENT) == STALE;
        let state = if item.won { before.state | SENT } else { before.state };
        let after = Facts { state, expiry: passed.facts.expiry, ..before };
        item.token = if flags.has(b'c') { making.columns.token(row, before)? } else { 0 };
        let mut made = Vec::new();
        let value = value_of(making.columns, row, &mut made)?;
        item.size = value.len();
        hit(out, flags, key, (&item, value, now.s()));
        let becomes = if after == before { Become::Same } else { making.facts(after)? };
        Ok((becomes, Some(None)))
    })?;
    if refused {
        out.truncate(mark);
        line(out, NO_STATE);
        return Ok(true);
    }
    if let Some(Some(item)) = made {
        let token = if flags.has(b'c') { client.written_token()? } else { 0 };
        let item = Item { token, ..item };
        client.note_set(stored);
        hit(out, flags, key, (&item, b"", now.s()));
    }
    Ok(made.is_some())
}

/// Ends an answer that is a word and what is asked back.
fn said(out: &mut Vec<u8>, word: &str, flags: &MetaFlags<'_>, key: &Key<'_>, token: Option<u64>) {
    out.extend_from_slice(word.as_bytes());
    match token {
        Some(token) => asked(out, flags, key, Some((&Item { token, ..Item::default() }, 0)), b"Okc"),
        None => asked(out, flags, key, None, b"Ok"),
    }
    out.extend_from_slice(b"\r\n");
}

/// Appends the answer to a change, unless it is what is expected and the client is quiet.
fn answer(client: &Client, outcome: Outcome, flags: &MetaFlags<'_>, key: &Key<'_>, out: &mut Vec<u8>) -> Result<()> {
    match outcome {
        Outcome::Done if flags.quiet => {}
        Outcome::Number(_, item) if flags.quiet && item.made.is_none() => {}
        Outcome::Done => {
            let token = if flags.has(b'c') { Some(client.written_token()?) } else { None };
            said(out, "HD", flags, key, token);
        }
        Outcome::Number(n, item) => {
            let text = n.to_string();
            let token = if flags.has(b'c') { client.written_token()? } else { 0 };
            let item = Item { token, ..item };
            if flags.has(b'v') {
                out.extend_from_slice(b"VA ");
                number(out, text.len());
            } else {
                out.extend_from_slice(b"HD");
            }
            asked(out, flags, key, Some((&item, client.now.s())), b"tcOk");
            out.extend_from_slice(b"\r\n");
            if flags.has(b'v') {
                line(out, &text);
            }
        }
        Outcome::NotStored => said(out, "NS", flags, key, None),
        Outcome::Exists => said(out, "EX", flags, key, None),
        Outcome::NotFound => said(out, "NF", flags, key, None),
        Outcome::NotANumber => line(out, "CLIENT_ERROR cannot increment or decrement non-numeric value"),
        Outcome::Refused(why) => line(out, why),
    }
    Ok(())
}

fn set(client: &mut Client, key: &Key<'_>, flags: &MetaFlags<'_>, data: &[u8], out: &mut Vec<u8>) -> Result<()> {
    count(Counter::MemcachedCmdSet);
    let (now, stored) = (client.now, routed(client, key.bytes(), Policy::Set)?);
    let outcome = client.alter(stored, for_write(), |old, making| {
        let kept = |outcome| Ok((Become::Same, outcome));
        if flags.new_cas.is_some() && !making.columns.takes_cas() {
            return kept(Outcome::Refused(NO_STATE));
        }
        let mut facts = Facts { flags: flags.client_flags, state: 0, expiry: now.expiry(flags.expiry.unwrap_or(0)) };
        match (flags.mode, old.live) {
            // With a token it is a compare-and-set.
            (Mode::Replace, None) if flags.cas.is_some() => return kept(Outcome::NotFound),
            (Mode::Add, Some(_)) | (Mode::Replace | Mode::Append | Mode::Prepend, None) => {
                return kept(Outcome::NotStored);
            }
            _ => {}
        }
        // What is added had none, and for what stands before or behind a value 0 is no number.
        let cas = flags.cas.filter(|cas| match flags.mode {
            Mode::Add => false,
            Mode::Append | Mode::Prepend => *cas != 0,
            _ => true,
        });
        if let Some(cas) = cas {
            let Some((row, before)) = old.live else { return kept(Outcome::NotFound) };
            if making.columns.token(row, before)? != cas {
                // A change that comes late, of an item that is known to be old: it is taken, and stays to be renewed.
                if !flags.invalidate {
                    return kept(Outcome::Exists);
                }
                if !making.columns.has_state() {
                    return kept(Outcome::Refused(NO_STATE));
                }
                (facts.state, facts.expiry) = (STALE | SENT, before.expiry);
            }
        }
        if let (Mode::Append | Mode::Prepend, Some((row, before))) = (flags.mode, old.live) {
            let mut value = Vec::new();
            making.columns.value(row, &mut value)?;
            match flags.mode {
                Mode::Append => value.extend_from_slice(data),
                _ => drop(value.splice(0..0, data.iter().copied())),
            }
            let facts = Facts { state: 0, ..before };
            return Ok((making.value(old, &value, facts)?, Outcome::Done));
        }
        Ok((making.item(old, data, (facts, flags.new_cas))?, Outcome::Done))
    })?;
    if flags.cas.is_some() && matches!(flags.mode, Mode::Set | Mode::Replace) {
        count_cas(&outcome);
    }
    if let Outcome::Done = outcome {
        client.note_set(stored);
    }
    let word = match outcome {
        Outcome::NotStored => "NS",
        Outcome::Exists => "EX",
        Outcome::NotFound => "NF",
        other => return answer(client, other, flags, key, out),
    };
    // What was not stored has no number.
    said(out, word, flags, key, Some(0));
    Ok(())
}

fn count_cas(outcome: &Outcome) {
    count(match outcome {
        Outcome::NotFound => Counter::MemcachedCasMisses,
        Outcome::Exists => Counter::MemcachedCasBadval,
        _ => Counter::MemcachedCasHits,
    });
}

/// A value that is too large was dropped. What a set would have replaced must not be found any more.
fn too_large(client: &mut Client, key: &Key<'_>, flags: &MetaFlags<'_>, out: &mut Vec<u8>) -> Result<()> {
    count(Counter::MemcachedStoreTooLarge);
    if flags.mode == Mode::Set {
        crate::text::remove(client, key.bytes())?;
    }
    line(out, gannet_wire::memcached::parse::TOO_LARGE);
    Ok(())
}

fn delete(client: &mut Client, key: &Key<'_>, flags: &MetaFlags<'_>, out: &mut Vec<u8>) -> Result<()> {
    let now = client.now;
    let mut needs = Privileges::of(&[Privilege::Select, Privilege::Delete]);
    if flags.invalidate {
        needs = Privileges::of(&[Privilege::Select, Privilege::Update]);
    }
    let stored = routed(client, key.bytes(), Policy::Delete)?;
    let outcome = client.alter(stored, needs, |old, making| {
        let Some((row, mut facts)) = old.live else { return Ok((Become::Same, Outcome::NotFound)) };
        if flags.cas.is_some_and(|cas| making.columns.token(row, facts).is_ok_and(|token| token != cas)) {
            return Ok((Become::Same, Outcome::Exists));
        }
        if !flags.invalidate {
            return Ok((Become::Gone, Outcome::Done));
        }
        if !making.columns.has_state() {
            return Ok((Become::Same, Outcome::Refused(NO_STATE)));
        }
        facts.state = STALE;
        if let Some(expiry) = flags.expiry {
            facts.expiry = now.expiry(expiry);
        }
        Ok((making.renewed(old, facts)?, Outcome::Done))
    })?;
    match &outcome {
        Outcome::Done => count(Counter::MemcachedDeleteHits),
        _ => count(Counter::MemcachedDeleteMisses),
    }
    let word = match outcome {
        Outcome::Done if flags.quiet => return Ok(()),
        Outcome::Done => "HD",
        other => return answer(client, other, flags, key, out),
    };
    said(out, word, flags, key, None);
    Ok(())
}

fn arithmetic(client: &mut Client, key: &Key<'_>, flags: &MetaFlags<'_>, out: &mut Vec<u8>) -> Result<()> {
    let (now, delta) = (client.now, flags.delta.unwrap_or(1));
    let up = flags.mode != Mode::Down;
    let stored = routed(client, key.bytes(), Policy::Set)?;
    let outcome = client.alter(stored, for_write(), |old, making| {
        let touched = flags.expiry.map(|expiry| now.expiry(expiry));
        let Some((row, facts)) = old.live else {
            let Some(expiry) = flags.vivify else { return Ok((Become::Same, Outcome::NotFound)) };
            let item = Item { touched, made: Some(now.expiry(expiry)), ..Item::default() };
            let facts = Facts { expiry: item.expiry(flags), ..item.facts };
            let value = flags.initial.to_string();
            let becomes = making.item(old, value.as_bytes(), (facts, flags.new_cas))?;
            return Ok((becomes, Outcome::Number(flags.initial, item)));
        };
        let mut text = Vec::new();
        if !making.columns.is_multiple() {
            making.columns.value(row, &mut text)?;
        }
        // In memcached's order.
        if text.is_empty() {
            return Ok((Become::Same, Outcome::NotANumber));
        }
        if let Some(cas) = flags.cas.filter(|cas| *cas != 0)
            && making.columns.token(row, facts)? != cas
        {
            return Ok((Become::Same, Outcome::Exists));
        }
        let Some(n) = unsigned(&text) else { return Ok((Become::Same, Outcome::NotANumber)) };
        let n = if up { n.wrapping_add(delta) } else { n.saturating_sub(delta) };
        let item = Item { facts, touched, ..Item::default() };
        let facts = Facts { expiry: item.expiry(flags), ..facts };
        Ok((making.value(old, n.to_string().as_bytes(), facts)?, Outcome::Number(n, item)))
    })?;
    count(match (&outcome, up) {
        (Outcome::NotFound, true) => Counter::MemcachedIncrMisses,
        (Outcome::NotFound, false) => Counter::MemcachedDecrMisses,
        (_, true) => Counter::MemcachedIncrHits,
        (_, false) => Counter::MemcachedDecrHits,
    });
    answer(client, outcome, flags, key, out)
}

/// `me`: one line for people.
fn debug(client: &mut Client, sent: &[u8], encoded: bool, out: &mut Vec<u8>) -> Result<()> {
    let Some(key) = Key::of(sent, encoded) else {
        line(out, UNDECODABLE);
        return Ok(());
    };
    let now_s = client.now.s();
    let mut found = false;
    let stored = routed(client, key.bytes(), Policy::Get)?;
    client.read(std::iter::once(stored), |key, row| {
        let Some((columns, row, facts)) = row else { return Ok(()) };
        found = true;
        out.extend_from_slice(b"ME ");
        out.extend_from_slice(key);
        let exp = if facts.expiry == 0 { -1 } else { facts.expiry - now_s };
        let (token, size) = (columns.token(row, facts)?, row.bytes().len());
        out.extend_from_slice(format!(" exp={exp} la=0 cas={token} fetch=no cls=1 size={size}\r\n").as_bytes());
        Ok(())
    })?;
    if !found {
        line(out, "EN");
    }
    Ok(())
}
