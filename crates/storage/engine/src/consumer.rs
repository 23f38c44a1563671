//! Payloads of transactions for the consumers of the log.
//!
//! A transaction may commit with a payload ([`Txn::commit_with`](crate::Txn::commit_with)). It is cut into pieces, a
//! record of the log of kind `Payload` each:
//!
//! ```text
//! 0  u64  id of the transaction
//! 8  u64  offset of the piece in the payload | flags << 56
//! 16 ...  the piece
//! ```
//!
//! Flags: 1 the last piece, and the next record commits or prepares the transaction; 2 the last piece, of a
//! transaction without changes, which this piece commits; 4 no piece: the commit has failed, and the pieces before are
//! void. Pieces of several transactions may alternate.
//!
//! The last piece and the commit, or what prepares, are one reservation in the log. So a commit that survives a crash
//! has all of its payload before it, and a payload without its commit belongs to a transaction that is rolled back.
//! Pieces from one incarnation of the server are void in the next if their commit is missing.
//!
//! INV-CNS-1: a position to which a consumer has let the log go lies at or before the first piece of every commit that
//! it has not dealt with.

use std::collections::HashMap;
use std::io::Read;

use gannet_base::{Lsn, PageNo};
use gannet_buffer::Mtr;
use gannet_log::{ConsumerStatus, Follower, Hold, MAX_PAYLOAD, Position, Record, RecordKind};

use crate::plant::{Fault, planted};
use crate::store::Store;
use crate::undo::record::COMMITTED;
use crate::writer::Writer;
use crate::{Engine, EngineError, Result, TrxId};

const HEADER: usize = 16;
/// Longest piece in bytes.
const PIECE: usize = MAX_PAYLOAD - HEADER;
/// Longest memory that is kept for the next payload.
const SPARE: usize = 64 << 10;
/// Bytes of memory for the first read.
const SHORT: usize = 1 << 10;
const LAST: u8 = 1;
const ALONE: u8 = 2;
const VOID: u8 = 4;
/// Bytes of log that a consumer with nothing to do passes over before it lets go of them.
const STRIDE: u64 = 1 << 20;

fn header(trx: TrxId, offset: u64, flags: u8) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    bytes[..8].copy_from_slice(&trx.0.to_le_bytes());
    bytes[8..].copy_from_slice(&(offset | u64::from(flags) << 56).to_le_bytes());
    bytes
}

/// A piece as it was read back.
struct Piece<'a> {
    trx: u64,
    offset: u64,
    flags: u8,
    bytes: &'a [u8],
}

impl Piece<'_> {
    fn decode(payload: &[u8]) -> Option<Piece<'_>> {
        let (trx, rest) = payload.split_first_chunk()?;
        let (word, bytes) = rest.split_first_chunk()?;
        let word = u64::from_le_bytes(*word);
        let piece =
            Piece { trx: u64::from_le_bytes(*trx), offset: word & ((1 << 56) - 1), flags: (word >> 56) as u8, bytes };
        matches!(piece.flags, 0 | LAST | ALONE | VOID).then_some(piece)
    }
}

/// A commit of several records that has begun. When it is dropped, consumers that begin to follow need not regard it.
struct Chain<'a> {
    store: &'a Store,
    start: Lsn,
}

impl<'a> Chain<'a> {
    fn begin(store: &'a Store) -> Chain<'a> {
        let mut chains = store.chains.lock();
        let start = store.log.tail_lsn();
        chains.push(start);
        Chain { store, start }
    }
}

impl Drop for Chain<'_> {
    fn drop(&mut self) {
        let mut chains = self.store.chains.lock();
        if let Some(at) = chains.iter().position(|start| *start == self.start) {
            chains.swap_remove(at);
        }
    }
}

/// A payload in memory: its two halves, of which each may be empty.
pub type Parts<'a> = [&'a [u8]; 2];

/// Where the payload of a commit comes from.
pub(crate) enum Payload<'a> {
    Read(&'a mut dyn Read),
    Parts(Parts<'a>),
}

/// Bytes of a payload in memory.
fn len(parts: &Parts<'_>) -> usize {
    parts[0].len() + parts[1].len()
}

/// Whether a payload fits into one piece.
pub(crate) fn is_short(parts: &Parts<'_>) -> bool {
    len(parts) <= PIECE
}

/// Commits what `w` has written, with a payload. Returns the commit's LSN.
pub(crate) fn commit(store: &Store, w: &Writer, payload: Payload<'_>) -> Result<Lsn> {
    let end = |last: &[&[u8]]| w.end_behind(store, COMMITTED, last);
    match payload {
        Payload::Parts(parts) if is_short(&parts) => last_piece(store, w, 0, parts, end),
        Payload::Parts([front, rest]) => carry(store, w, &mut front.chain(rest), end),
        Payload::Read(payload) => carry(store, w, payload, end),
    }
}

/// Appends a mini-transaction that ends a transaction or prepares it, right behind the last piece of its payload,
/// unless that is empty: either both are in the log or neither is.
pub(crate) fn behind(store: &Store, consumers: &[&[u8]], mtr: Mtr<'_>, at: impl FnOnce(Lsn)) -> Lsn {
    if consumers.is_empty() {
        return mtr.commit_with(at);
    }
    if planted(Fault::PayloadApart) {
        store.log.append(RecordKind::Payload, consumers);
        return mtr.commit_with(at);
    }
    mtr.commit_behind(consumers, at)
}

/// Appends the mini-transaction that is all that `w` has written and commits it, behind a payload that is empty or
/// [short](is_short).
pub(crate) fn commit_change(store: &Store, w: &Writer, mtr: Mtr<'_>, parts: Parts<'_>) -> Lsn {
    let at = |lsn| w.ended(store, lsn);
    match len(&parts) {
        0 => mtr.commit_with(at),
        _ => behind(store, &[&header(w.id, 0, LAST), parts[0], parts[1]], mtr, at),
    }
}

/// Appends the last piece of a payload, and what ends `w` with it.
fn last_piece(
    store: &Store,
    w: &Writer,
    offset: u64,
    [front, rest]: Parts<'_>,
    end: impl FnOnce(&[&[u8]]) -> Result<Lsn>,
) -> Result<Lsn> {
    if !w.begin.is_none() {
        return end(&[&header(w.id, offset, LAST), front, rest]);
    }
    store.log.admit()?;
    let parts: [&[u8]; 3] = [&header(w.id, offset, ALONE), front, rest];
    Ok(store.log.append_with(RecordKind::Payload, &parts, |lsn| store.trx.end(w.id, lsn)))
}

/// Writes a payload, its last piece by `end`: together with what commits or prepares `w`, which has written something.
pub(crate) fn carry(
    store: &Store,
    w: &Writer,
    payload: &mut dyn Read,
    end: impl FnOnce(&[&[u8]]) -> Result<Lsn>,
) -> Result<Lsn> {
    let mut chain = None;
    let outcome = pieces(store, w, payload, &mut chain, end);
    if outcome.is_err() && chain.is_some() {
        store.log.append(RecordKind::Payload, &[&header(w.id, 0, VOID)]);
    }
    outcome
}

fn pieces<'a>(
    store: &'a Store,
    w: &Writer,
    payload: &mut dyn Read,
    chain: &mut Option<Chain<'a>>,
    end: impl FnOnce(&[&[u8]]) -> Result<Lsn>,
) -> Result<Lsn> {
    let most = store.log.capacity() / 4;
    let (mut offset, mut piece, mut next) = (0, Vec::new(), Vec::new());
    read_piece(payload, &mut piece)?;
    while piece.len() == PIECE {
        read_piece(payload, &mut next)?;
        if next.is_empty() {
            break;
        }
        if offset + (piece.len() + next.len()) as u64 > most {
            return Err(EngineError::PayloadTooLong { most });
        }
        store.log.admit()?;
        chain.get_or_insert_with(|| Chain::begin(store));
        store.log.append(RecordKind::Payload, &[&header(w.id, offset, 0), &piece]);
        offset += piece.len() as u64;
        std::mem::swap(&mut piece, &mut next);
    }
    last_piece(store, w, offset, [&piece, &[]], end)
}

/// Reads a piece, shorter than [`PIECE`] at the end only.
fn read_piece(payload: &mut dyn Read, piece: &mut Vec<u8>) -> Result<()> {
    // Most payloads are short: memory for one that is, and no more is asked for until it is full.
    let mut len = 0;
    loop {
        if len == piece.len() {
            if len == PIECE {
                return Ok(());
            }
            piece.resize((len * 4).clamp(SHORT, PIECE), 0);
        }
        match payload.read(&mut piece[len..]) {
            Ok(0) => break,
            Ok(n) => len += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(crate::control::io("read what the log's consumers are to be told")(e)),
        }
    }
    piece.truncate(len);
    Ok(())
}

/// A transaction that has committed with a payload.
#[derive(Debug)]
pub struct Committed {
    /// Its commit.
    pub lsn: Lsn,
    /// Its payload.
    pub payload: Vec<u8>,
    /// The position of a consumer that has dealt with it.
    position: Position,
}

/// The part of a payload that was read so far.
struct Begun {
    start: Lsn,
    epoch: u64,
    bytes: Vec<u8>,
}

/// Follows the log: returns the payloads of committed transactions in the order of their commits, as soon as these
/// are durable.
///
/// It holds whole payloads in memory, also those of commits that are under way; each may have a quarter of the log's
/// capacity. After it is dropped, the log is kept for its name from the last position on, within its bound.
/// [`Engine::consumer`] goes on from there, and may return again what was [done](Consumer::done) shortly before a
/// crash.
pub struct Consumer {
    follower: Follower,
    begun: HashMap<u64, Begun>,
    epoch: u64,
    /// The next record commits this transaction; its payload, as far as that is known.
    due: Option<(u64, Option<Begun>)>,
    /// Memory for a payload.
    spare: Vec<u8>,
    /// Commits at or below are dealt with.
    skip: Lsn,
    /// The commit given last, and the last that is dealt with.
    given: Lsn,
    done: Lsn,
}

impl Consumer {
    /// The next payload; waits for it. `None` when the store is being closed or the task was interrupted.
    ///
    /// [`EngineError::CutOff`] when the log that it had yet to read was recycled.
    pub fn next(&mut self) -> Result<Option<Committed>> {
        loop {
            if let Some(committed) = self.poll()? {
                return Ok(Some(committed));
            }
            if !self.follower.wait()? {
                return Ok(None);
            }
        }
    }

    /// The next payload, if it is durable already.
    pub fn poll(&mut self) -> Result<Option<Committed>> {
        let mut passed = self.follower.at();
        loop {
            if self.due.is_none() && self.follower.epoch() == self.epoch {
                self.follower.pass_changes();
            }
            let Some((epoch, record)) = self.follower.next()? else {
                self.pass()?;
                return Ok(None);
            };
            if epoch != self.epoch {
                (self.epoch, self.due) = (epoch, None);
                self.begun.clear();
            }
            let committed = note((&mut self.begun, &mut self.due), &mut self.spare, epoch, &record)?;
            let lsn = record.lsn;
            if let Some((trx, begun)) = committed
                && lsn > self.skip
            {
                let Some(begun) = begun else {
                    return Err(damaged(lsn, format!("the payload of transaction {trx} has no beginning")));
                };
                self.given = lsn;
                return Ok(Some(Committed { lsn, payload: begun.bytes, position: self.position(lsn) }));
            }
            if lsn.since(passed) >= STRIDE {
                self.pass()?;
                passed = lsn;
            }
        }
    }

    /// Waits until more of the log is durable, as [`Consumer::next`] does. False: no more will be.
    pub fn wait(&self) -> Result<bool> {
        Ok(self.follower.wait()?)
    }

    /// True when much of the log waits to be read. Else the task that calls is woken when it does, or when no more will
    /// be; perhaps for nothing.
    pub fn has_much(&mut self) -> bool {
        self.follower.has_much()
    }

    /// All commits that are durable up to here were returned.
    pub fn at(&self) -> Lsn {
        self.follower.at()
    }

    /// The position up to which the log is dealt with, or the beginning of the oldest payload that is incomplete.
    fn position(&self, done: Lsn) -> Position {
        let first = self.begun.values().min_by_key(|b| b.start).filter(|_| !planted(Fault::LetGoEarly));
        let (from, epoch) = first.map_or((self.follower.at(), self.follower.epoch()), |b| (b.start, b.epoch));
        Position { from, epoch, done }
    }

    /// Releases the log that was passed over, unless a payload that was returned is not dealt with. Between the last
    /// piece and its commit there is nothing to release.
    fn pass(&mut self) -> Result<()> {
        if self.given == self.done && self.due.is_none() {
            // What is returned again after a restart is dealt with.
            let position = self.position(self.follower.at().max(self.done));
            self.follower.retention().release_to(position)?;
        }
        Ok(())
    }

    /// This one, and all given before, are dealt with: they are not given again, unless the server is killed shortly
    /// after.
    pub fn done(&mut self, committed: &Committed) -> Result<()> {
        if committed.lsn > self.done {
            self.done = committed.lsn;
            self.follower.retention().release_to(committed.position)?;
        }
        Ok(())
    }

    /// Gives the memory of a payload back, for the next one.
    pub fn reuse(&mut self, mut payload: Vec<u8>) {
        if payload.capacity() <= SPARE {
            payload.clear();
            self.spare = payload;
        }
    }

    /// Whether its name was known, so that it goes on where it stopped.
    pub fn is_resumed(&self) -> bool {
        self.follower.retention().is_resumed()
    }

    /// All commits up to here are dealt with, or before it began.
    pub fn begins_behind(&self) -> Lsn {
        self.skip
    }

    /// Drops its name for good: the log is not kept for it any more.
    pub fn forget(self) -> Result<()> {
        Ok(self.follower.into_retention().forget()?)
    }
}

/// Takes note of a record. Returns the transaction that commits by it, with its payload as far as that is known.
fn note(
    (all, due): (&mut HashMap<u64, Begun>, &mut Option<(u64, Option<Begun>)>),
    spare: &mut Vec<u8>,
    epoch: u64,
    record: &Record<'_>,
) -> Result<Option<(u64, Option<Begun>)>> {
    if record.kind == RecordKind::Mtr {
        return Ok(due.take());
    }
    let piece = Piece::decode(record.payload).filter(|_| due.is_none());
    let piece = piece.ok_or_else(|| damaged(record.lsn, "a payload's record makes no sense".to_owned()))?;
    if piece.flags == VOID {
        all.remove(&piece.trx);
        return Ok(None);
    }
    let begun = match piece.offset {
        0 => {
            let mut bytes = std::mem::take(spare);
            bytes.extend_from_slice(piece.bytes);
            Some(Begun { start: record.start, epoch, bytes })
        }
        _ => all.remove(&piece.trx),
    };
    let Some(mut begun) = begun else {
        match piece.flags {
            LAST => *due = Some((piece.trx, None)),
            ALONE => return Ok(Some((piece.trx, None))),
            _ => {}
        }
        return Ok(None);
    };
    if piece.offset > 0 {
        if begun.bytes.len() as u64 != piece.offset {
            return Err(damaged(record.lsn, format!("the payload of transaction {} has a hole", piece.trx)));
        }
        begun.bytes.extend_from_slice(piece.bytes);
    }
    match piece.flags {
        LAST => *due = Some((piece.trx, Some(begun))),
        ALONE => return Ok(Some((piece.trx, Some(begun)))),
        _ => drop(all.insert(piece.trx, begun)),
    }
    Ok(None)
}

fn damaged(lsn: Lsn, what: String) -> EngineError {
    EngineError::Corrupt { page: PageNo::ZERO, lsn, what }
}

impl Engine {
    /// Follows the log under this name: a known name goes on from its position, a new name begins now. The log is
    /// kept for the name until the consumer says that it is done, within the bound of `hold`; also while no consumer
    /// follows under it, and over restarts. The name is durable on return.
    ///
    /// [`EngineError::NameInUse`], and [`EngineError::CutOff`] for a name that has lost its place: it has to be
    /// [forgotten](Engine::forget_consumer) before it begins anew.
    pub fn consumer(&self, name: &str, hold: Hold) -> Result<Consumer> {
        let store = &*self.store;
        store.check_running()?;
        // A commit that began before and ends after this moment is returned, so the name begins where that commit
        // began. A commit that is not in the list yet begins at the present tail or after it.
        let begin = || {
            let chains = store.chains.lock();
            chains.iter().copied().min().unwrap_or(store.log.tail_lsn())
        };
        let retention = store.log.retain(name, hold, begin)?;
        let skip = retention.position()?.done;
        let follower = retention.follow()?;
        let epoch = follower.epoch();
        let spare = Vec::new();
        Ok(Consumer { follower, begun: HashMap::new(), epoch, due: None, spare, skip, given: skip, done: skip })
    }

    /// Drops a name for good; false when there is none. [`EngineError::NameInUse`] while a consumer follows under it.
    pub fn forget_consumer(&self, name: &str) -> Result<bool> {
        Ok(self.store.log.forget_consumer(name)?)
    }

    /// The consumers for which the log is kept.
    pub fn consumers(&self) -> Vec<ConsumerStatus> {
        self.store.log.consumers()
    }
}

/// Changes what a consumer may hold back of the log.
pub fn bound_consumer(engine: &Engine, name: &str, bound_bytes: u64) {
    gannet_log::bound_consumer(&engine.store.log, name, bound_bytes);
}
