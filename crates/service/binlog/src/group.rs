//! What a commit carries for the binary log: a transaction's events, without what follows from the order of commits
//! (numbers, positions, checksums). Little-endian:
//!
//! ```text
//! 0   u8   2
//! 1   u8   1: a GTID of its own; 2: a definition, which ends with its statement; 4: a branch that is prepared; 8: of
//!          the items, those behind are in a file; 16: the events are to be compressed; 32: foreign keys link its rows
//!          with others; 64: what the first server said of it
//! 2   u32  connection id
//! 6   u64  microseconds since 1970: of the commit
//! 14  u64  bytes of all items
//! 22  u32  number of items
//! 26 [uuid, u64 number]
//! .. [u64 number of the file, u64 its length]
//! .. [u64 microseconds since 1970: of the first server's commit, 2^55: of this one's; u32 version of that server,
//!     2^32 - 1: of this one]
//! ..  ...  items: kind (u8), seconds since 1970 (u32), length of the body (u32), body
//! ```
//!
//! A GTID event goes before the items, then BEGIN unless they are a definition's or a branch's, and behind them XID,
//! where there was BEGIN. A table map has for flags the number of its table's keys ([`crate::writeset::Known`]).

use crate::event::{HEADER, kind};
use crate::image::RowEncoder;
use crate::marks::{Mark, Marks};
use crate::rows::{Change, Columns, flags, put_head};
use gannet_base::{DecodeError, Reader, Writer};
use gannet_types::gtid::Uuid;
use gannet_types::rowref::RowRef;
use std::ops::Range;

/// First byte of a payload.
pub const GROUP: u8 = 2;
/// First byte of the payload that has a new file begin.
pub const ROTATE: u8 = 3;

const OWN_GTID: u8 = 1;
const DEFINITION: u8 = 2;
const PREPARED: u8 = 4;
const SPILLED: u8 = 8;
const COMPRESSED: u8 = 16;
const LINKED: u8 = 32;
const FIRST: u8 = 64;
/// Bytes before the items, without a GTID.
const HEAD: usize = 26;
const GTID: usize = 24;
const FILE: usize = 16;
const FIRST_SERVER: usize = 12;
/// Bytes before an item's body.
const ITEM: usize = 9;
/// Where the flags stand in the body of rows.
const ROWS_FLAGS: usize = 6;

/// No more rows are added to an event of this size, unless another one is given.
const EVENT: usize = 8192;

/// The time of a commit that nobody has said: beyond all that an event can hold.
pub const UNKNOWN_TIME: u64 = 1 << 55;
/// A version that is not known.
pub const UNKNOWN_VERSION: u32 = 999_999;

/// How a group stands among its events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Frame {
    /// Rows, between BEGIN and XID.
    #[default]
    Rows,
    /// A statement that commits itself.
    Definition,
    /// From XA START to the event that prepares the branch.
    Prepared,
}

/// The first part of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Head {
    /// What stands around the items.
    pub frame: Frame,
    /// Of the connection.
    pub thread_id: u32,
    /// Microseconds since 1970.
    pub committed_us: u64,
    /// Bytes of all items.
    pub bytes: u64,
    /// How many.
    pub items: u32,
    /// Of `gtid_next`, or the first server.
    pub gtid: Option<(Uuid, u64)>,
    /// The items that do not follow.
    pub file: Option<SpilledTo>,
    /// Its events become one that is compressed.
    pub compressed: bool,
    /// Foreign keys link its rows with others: it is applied alone.
    pub linked: bool,
    /// Another server has committed it first, or a session says so.
    pub first: Option<First>,
}

/// What is said of the server that committed a transaction first; `None`: it is this one's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct First {
    /// Microseconds since 1970: of its commit there; 0: unknown.
    pub committed_us: Option<u64>,
    /// 80400 for 8.4.0; 999999: unknown.
    pub version: Option<u32>,
}

/// Items in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SpilledTo {
    /// Number of the file.
    pub number: u64,
    /// Its length.
    pub bytes: u64,
}

/// Holds the items of a large transaction, beyond what is gathered in memory.
pub trait Spill: Send + Sync + std::fmt::Debug {
    /// Appends bytes.
    fn append(&mut self, bytes: &[u8]) -> std::io::Result<()>;
    /// Only the first `len` bytes stay.
    fn truncate(&mut self, len: u64) -> std::io::Result<()>;
    /// Reads a byte.
    fn byte(&mut self, at: u64) -> std::io::Result<u8>;
    /// Writes over bytes.
    fn overwrite(&mut self, at: u64, bytes: &[u8]) -> std::io::Result<()>;
    /// Makes all of it durable, and tells where it is.
    fn seal(&mut self) -> std::io::Result<SpilledTo>;
    /// A commit refers to it: it is another one's to remove.
    fn keep(&mut self);
}

impl Head {
    /// Appends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let frame = match self.frame {
            Frame::Rows => 0,
            Frame::Definition => DEFINITION,
            Frame::Prepared => PREPARED,
        };
        let own = if self.gtid.is_some() { OWN_GTID } else { 0 };
        let file = if self.file.is_some() { SPILLED } else { 0 };
        let linked = if self.linked { LINKED } else { 0 };
        let first = if self.first.is_some() { FIRST } else { 0 };
        let bits = frame | own | file | linked | first | if self.compressed { COMPRESSED } else { 0 };
        // In one piece: each commit has it.
        let mut front = [0; HEAD];
        (front[0], front[1]) = (GROUP, bits);
        front[2..6].copy_from_slice(&self.thread_id.to_le_bytes());
        front[6..14].copy_from_slice(&self.committed_us.to_le_bytes());
        front[14..22].copy_from_slice(&self.bytes.to_le_bytes());
        front[22..].copy_from_slice(&self.items.to_le_bytes());
        out.extend_from_slice(&front);
        let mut w = Writer::new(out);
        if let Some((uuid, number)) = self.gtid {
            w.bytes(&uuid.0).u64(number);
        }
        if let Some(SpilledTo { number, bytes }) = self.file {
            w.u64(number).u64(bytes);
        }
        if let Some(First { committed_us, version }) = self.first {
            w.u64(committed_us.unwrap_or(UNKNOWN_TIME)).u32(version.unwrap_or(u32::MAX));
        }
    }

    /// Reads it; the items follow.
    pub fn decode(r: &mut Reader<'_>) -> Result<Head, DecodeError> {
        let front: [u8; HEAD] = r.array()?;
        let [kind, bits, rest @ ..] = front;
        if kind != GROUP || bits & !(OWN_GTID | DEFINITION | PREPARED | SPILLED | COMPRESSED | LINKED | FIRST) != 0 {
            return Err(r.invalid("group of the binary log"));
        }
        let frame = match bits & (DEFINITION | PREPARED) {
            0 => Frame::Rows,
            DEFINITION => Frame::Definition,
            PREPARED => Frame::Prepared,
            _ => return Err(r.invalid("group of the binary log")),
        };
        let mut fixed = Reader::new(&rest);
        let (thread_id, committed_us, length, items) = (fixed.u32()?, fixed.u64()?, fixed.u64()?, fixed.u32()?);
        let gtid = if bits & OWN_GTID != 0 { Some((Uuid(r.array()?), r.u64()?)) } else { None };
        let file = if bits & SPILLED != 0 { Some(SpilledTo { number: r.u64()?, bytes: r.u64()? }) } else { None };
        let first = if bits & FIRST != 0 { Some((r.u64()?, r.u32()?)) } else { None };
        let first = first.map(|(committed_us, version)| First {
            committed_us: (committed_us != UNKNOWN_TIME).then_some(committed_us),
            version: (version != u32::MAX).then_some(version),
        });
        let (compressed, linked) = (bits & COMPRESSED != 0, bits & LINKED != 0);
        Ok(Head { frame, thread_id, committed_us, bytes: length, items, gtid, file, compressed, linked, first })
    }

    /// Bytes that it takes.
    pub fn len(&self) -> usize {
        let optional = [(self.gtid.is_some(), GTID), (self.file.is_some(), FILE), (self.first.is_some(), FIRST_SERVER)];
        HEAD + optional.iter().map(|(there, bytes)| if *there { *bytes } else { 0 }).sum::<usize>()
    }

    /// It is never empty.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Bytes of the items as events.
    pub fn event_bytes(&self, tail: usize) -> u64 {
        let items = u64::from(self.items);
        (self.bytes + items * (HEADER + tail) as u64).saturating_sub(items * ITEM as u64)
    }
}

/// An event to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Item<'a> {
    /// Of the event.
    pub kind: u8,
    /// Seconds since 1970.
    pub timestamp: u32,
    /// Its body.
    pub body: &'a [u8],
}

impl<'a> Item<'a> {
    /// Appends it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        Writer::new(out).u8(self.kind).u32(self.timestamp).u32(self.body.len() as u32).bytes(self.body);
    }

    /// Reads the next.
    pub fn decode(r: &mut Reader<'a>) -> Result<Item<'a>, DecodeError> {
        let (kind, timestamp, length) = (r.u8()?, r.u32()?, r.u32()?);
        Ok(Item { kind, timestamp, body: r.bytes(length as usize)? })
    }
}

/// Events before and behind the rows of a group: kinds and bodies.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Around {
    /// Before.
    pub before: Vec<(u8, Vec<u8>)>,
    /// Behind.
    pub after: Vec<(u8, Vec<u8>)>,
}

/// What the rows of a table are logged by.
#[derive(Debug)]
pub struct Shape {
    /// The number in its events.
    pub id: u64,
    /// Body of its table map.
    pub map: Box<[u8]>,
    /// Its images.
    pub encoder: RowEncoder,
    /// All its columns.
    pub all: Columns,
    /// Those that a row is found by: a key's, or all.
    pub key: Columns,
    /// Those and all that are not long.
    pub short: Columns,
    /// Where its columns stand in the rows.
    pub ordinals: Box<[u32]>,
}

impl Shape {
    /// The columns that `has`, which is asked for a column here and in the rows.
    pub fn columns(&self, has: impl Fn(usize, usize) -> bool) -> Columns {
        Columns::of(self.ordinals.len(), |i| has(i, self.ordinals[i] as usize))
    }
}

/// The columns in the images of a change.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Present<'a> {
    /// In the image before; of an insert, in its only one.
    pub before: &'a Columns,
    /// In the image after, of an update.
    pub after: &'a Columns,
    /// Of an update of a table with documents: changes of these stand in their place where they are shorter.
    pub partial: bool,
}

impl Present<'_> {
    /// They are all: of most events.
    fn is_full(&self, shape: &Shape) -> bool {
        std::ptr::eq(self.before, &shape.all) && std::ptr::eq(self.after, &shape.all)
    }
}

/// The rows event that is being filled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Open {
    /// Where its item begins.
    at: usize,
    table: u64,
    change: Change,
    /// Its images have all columns; else those of [`Gathered::present`].
    full: bool,
    /// Documents may be changes of documents.
    partial: bool,
}

/// Gathers the items of a transaction. A row that is rolled back goes: rows are entered with the undo records that
/// undo them.
#[derive(Debug, Default)]
pub struct Gathered {
    bytes: Vec<u8>,
    /// What comes before the bytes, whole items, and how much it is. All positions count from there.
    spill: Option<Box<dyn Spill>>,
    base: usize,
    /// What was spilled is lost: the commit fails.
    lost: Option<std::io::Error>,
    items: u32,
    marks: Marks,
    /// Marks of statements that have ended: the last row of each is enough, as savepoints lie between statements.
    ended: usize,
    open: Option<Open>,
    /// The columns in the images of the open event, where these are not all.
    present: (Columns, Columns),
    /// What comes before the bytes in a payload, for its memory.
    front: Vec<u8>,
    /// Of the statement that runs.
    timestamp: u32,
    flags: u16,
    /// No more rows are added to an event of so many bytes, where that is not the usual size.
    most: Option<usize>,
    /// Text of the statement that runs, and where it stands before its rows.
    text: Option<Vec<u8>>,
    text_at: Option<usize>,
}

impl Gathered {
    /// No more rows are added to an event of so many bytes: `binlog_row_event_max_size`.
    pub fn limit_events(&mut self, bytes: usize) {
        self.most = Some(bytes);
    }

    /// A statement begins; its text where `binlog_rows_query_log_events` asks for it. Flags are those of rows events.
    pub fn begin_statement(&mut self, timestamp: u32, flags: u16, text: Option<Vec<u8>>) {
        self.close();
        if self.marks.len() > self.ended + 1
            && let Some(last) = self.marks.last()
        {
            self.marks.truncate(self.ended);
            self.marks.push(last);
        }
        self.ended = self.marks.len();
        (self.timestamp, self.flags, self.text, self.text_at) = (timestamp, flags, text, None);
    }

    /// Nothing was gathered, or nothing stands.
    pub fn is_empty(&self) -> bool {
        self.items == 0
    }

    /// Bytes of memory that it holds.
    pub fn len(&self) -> usize {
        self.bytes.len() + self.marks.bytes()
    }

    /// Adds a changed row; `records` are its undo records in the transaction.
    pub fn row(
        &mut self,
        records: Range<u64>,
        shape: &Shape,
        change: Change,
        present: Present<'_>,
        (before, after): (RowRef<'_>, RowRef<'_>),
    ) {
        self.settle(records.start);
        let full = present.is_full(shape);
        let fits = |o: &Open| {
            let same = o.table == shape.id && o.change == change && o.full == full && o.partial == present.partial;
            let columns = full || self.present.0 == *present.before && self.present.1 == *present.after;
            same && columns && self.end() - o.at < self.most.unwrap_or(EVENT)
        };
        let at = match self.open.filter(fits) {
            Some(open) => open.at,
            None => self.open_rows(shape, change, present),
        };
        let (first, second) = match full {
            true => (None, None),
            false => (Some(present.before), Some(present.after)),
        };
        let out = &mut self.bytes;
        let encoded = match change {
            Change::Write => shape.encoder.encode(after, first, out),
            Change::Delete => shape.encoder.encode(before, first, out),
            Change::Update if full && !present.partial => shape.encoder.encode_update((before, after), out),
            Change::Update => {
                let encoded = shape.encoder.encode(before, first, out);
                encoded.and_then(|()| match present.partial {
                    true => shape.encoder.encode_changes((before, after), present.after, out),
                    false => shape.encoder.encode(after, second, out),
                })
            }
        };
        if let Err(e) = encoded {
            self.lost = Some(std::io::Error::other(e));
        }
        self.marks.push(Mark { records: records.end, len: self.end(), items: self.items, at });
    }

    /// Where the next item begins.
    fn end(&self) -> usize {
        self.base + self.bytes.len()
    }

    /// Bytes of all events.
    pub fn all(&self) -> usize {
        self.end()
    }

    /// Bytes of events that are held in memory.
    pub fn held(&self) -> usize {
        self.bytes.len()
    }

    /// The event that is being filled ends; the next row begins another.
    pub fn end_event(&mut self) {
        self.close();
    }

    /// Bytes that are held, but for the event that is being filled.
    pub fn spillable(&self) -> usize {
        self.open.map_or(self.end(), |open| open.at) - self.base
    }

    /// Moves the whole events to a file, which `make` makes for the first of them.
    pub fn spill(&mut self, make: impl FnOnce() -> std::io::Result<Box<dyn Spill>>) -> std::io::Result<()> {
        let n = self.spillable();
        let mut spill = match self.spill.take() {
            Some(spill) => spill,
            None => make()?,
        };
        let done = self.bytes.get(..n).map_or(Ok(()), |bytes| spill.append(bytes));
        self.spill = Some(spill);
        done?;
        self.bytes.drain(..n);
        self.base += n;
        Ok(())
    }

    /// Begins a rows event, behind a table map unless the one before is of the same table and statement.
    fn open_rows(&mut self, shape: &Shape, change: Change, present: Present<'_>) -> usize {
        let mapped = self.open.is_some_and(|o| o.table == shape.id);
        self.end_item();
        if !mapped {
            self.end_statement();
            if self.text_at.is_none_or(|at| at >= self.end())
                && let Some(text) = self.text.take()
            {
                self.text_at = Some(self.end());
                self.item(kind::ROWS_QUERY, |out| crate::format::put_rows_query(&text, out));
                self.text = Some(text);
            }
            self.item(kind::TABLE_MAP, |out| out.extend_from_slice(&shape.map));
        }
        let at = self.bytes.len();
        self.bytes.resize(at + ITEM, 0);
        let after = (change == Change::Update).then_some(present.after);
        put_head(shape.id, self.flags, shape.encoder.len(), present.before, after, &mut self.bytes);
        let kind = if present.partial { kind::PARTIAL_UPDATE_ROWS } else { change.kind() };
        fill(&mut self.bytes, at, kind, self.timestamp);
        self.items += 1;
        let full = present.is_full(shape);
        if !full {
            self.present = (present.before.clone(), present.after.clone());
        }
        let at = self.base + at;
        self.open = Some(Open { at, table: shape.id, change, full, partial: present.partial });
        at
    }

    /// Adds a whole item.
    pub fn item(&mut self, kind: u8, write: impl FnOnce(&mut Vec<u8>)) {
        let at = self.bytes.len();
        self.bytes.resize(at + ITEM, 0);
        write(&mut self.bytes);
        self.items += 1;
        fill(&mut self.bytes, at, kind, self.timestamp);
    }

    /// The rows event that was filled is complete, and stays the last.
    fn end_item(&mut self) {
        if let Some(open) = self.open {
            set_length(&mut self.bytes, open.at - self.base);
        }
    }

    /// The last rows event is the last of its statement: readers forget the table maps behind it.
    fn end_statement(&mut self) {
        if let Some(open) = self.open.take()
            && let Some(flag) = self.bytes.get_mut(open.at - self.base + ITEM + ROWS_FLAGS)
        {
            *flag |= flags::STATEMENT_END as u8;
        }
    }

    fn close(&mut self) {
        self.end_item();
        self.end_statement();
    }

    /// Drops the rows beyond the transaction's first `records` undo records.
    pub fn settle(&mut self, records: u64) {
        if self.marks.last().is_none_or(|m| m.records <= records) {
            return;
        }
        let stand = self.marks.upto(records);
        self.marks.truncate(stand);
        let last = self.marks.last();
        self.ended = self.ended.min(stand);
        self.open = None;
        let Some(last) = last else {
            self.bytes.clear();
            (self.items, self.base, self.spill, self.lost) = (0, 0, None, None);
            return;
        };
        self.items = last.items;
        // Its event ends here now, and what follows begins with a table map.
        let Some(at) = last.at.checked_sub(self.base) else {
            if let Err(e) = self.cut_spilled(&last) {
                self.lost = Some(e);
            }
            return;
        };
        self.bytes.truncate(last.len - self.base);
        set_length(&mut self.bytes, at);
        self.bytes[at + ITEM + ROWS_FLAGS] |= flags::STATEMENT_END as u8;
    }

    /// What stands ends with a row that was spilled.
    #[cold]
    fn cut_spilled(&mut self, last: &Mark) -> std::io::Result<()> {
        self.bytes.clear();
        self.base = last.len;
        let Some(spill) = &mut self.spill else { return Ok(()) };
        spill.truncate(last.len as u64)?;
        let length = (last.len - last.at - ITEM) as u32;
        spill.overwrite(last.at as u64 + 5, &length.to_le_bytes())?;
        let flag = (last.at + ITEM + ROWS_FLAGS) as u64;
        let former = spill.byte(flag)?;
        spill.overwrite(flag, &[former | flags::STATEMENT_END as u8])
    }

    /// Takes the group of a transaction with so many undo records, and begins anew. `None`: there are no rows.
    pub fn take(&mut self, records: u64, head: Head) -> Option<Payload> {
        self.take_around(records, head, Around::default())
    }

    /// The same between other events. `None`: there are neither rows nor events before them.
    pub fn take_around(&mut self, records: u64, head: Head, around: Around) -> Option<Payload> {
        self.settle(records);
        self.close();
        let rows = (self.end(), self.items);
        for (kind, body) in &around.after {
            self.item(*kind, |out| out.extend_from_slice(body));
        }
        let before: usize = around.before.iter().map(|(_, body)| ITEM + body.len()).sum();
        let all = before + self.end();
        let (file, spill) = self.seal();
        let bytes = std::mem::take(&mut self.bytes);
        let items = std::mem::take(&mut self.items) + around.before.len() as u32;
        self.marks.clear();
        (self.ended, self.text) = (0, None);
        if items == 0 && head.gtid.is_none() {
            self.bytes = bytes;
            self.bytes.clear();
            return None;
        }
        let mut front = std::mem::take(&mut self.front);
        front.clear();
        Head { bytes: all as u64, items, file, ..head }.encode(&mut front);
        for (kind, body) in &around.before {
            Item { kind: *kind, timestamp: self.timestamp, body }.encode(&mut front);
        }
        Some(Payload { front, bytes, at: 0, rows, spill, lost: self.lost.take() })
    }

    /// The group of a transaction whose only changes are these rows, in two parts, and which commits with them. Then
    /// [`Gathered::clear`] drops it; if they do not commit yet they stay, and if they were not changed
    /// [`Gathered::withdraw`] takes them back. Only where [`Gathered::is_at_hand`].
    pub fn whole(&mut self, head: Head) -> [&[u8]; 2] {
        self.close();
        self.front.clear();
        Head { bytes: self.bytes.len() as u64, items: self.items, ..head }.encode(&mut self.front);
        [&self.front, &self.bytes]
    }

    /// All of it is in memory, and nothing is lost.
    pub fn is_at_hand(&self) -> bool {
        self.spill.is_none() && self.lost.is_none()
    }

    /// Takes back all rows; the statement goes on.
    pub fn withdraw(&mut self) {
        self.settle(0);
        (self.open, self.text_at) = (None, None);
    }

    /// All that is spilled is durable, and the rest with it.
    fn seal(&mut self) -> (Option<SpilledTo>, Option<Box<dyn Spill>>) {
        let Some(mut spill) = self.spill.take() else { return (None, None) };
        let sealed = spill.append(&self.bytes).and_then(|()| spill.seal());
        self.bytes.clear();
        self.base = 0;
        match sealed {
            Ok(file) => (Some(file), Some(spill)),
            Err(e) => {
                self.lost = Some(e);
                (Some(SpilledTo::default()), Some(spill))
            }
        }
    }

    /// Takes back the rows of a group that was not written; the transaction has so many undo records.
    pub fn take_back(&mut self, records: u64, payload: Payload) {
        let (len, items) = payload.rows;
        (self.bytes, self.spill, self.items, self.lost) = (payload.bytes, payload.spill, items, payload.lost);
        match &mut self.spill {
            None => self.bytes.truncate(len),
            Some(spill) => {
                self.base = len;
                if let Err(e) = spill.truncate(len as u64) {
                    self.lost = Some(e);
                }
            }
        }
        self.marks.clear();
        self.marks.push(Mark { records, len, items, at: 0 });
        self.ended = 1;
    }

    /// Gives the memory of a payload back, for the next transaction.
    pub fn reuse(&mut self, payload: Payload) {
        if self.bytes.capacity() == 0 && payload.bytes.capacity() <= 1 << 16 {
            (self.bytes, self.front) = (payload.bytes, payload.front);
            self.bytes.clear();
        }
    }

    /// Drops everything: the transaction is rolled back.
    pub fn clear(&mut self) {
        self.settle(0);
        (self.open, self.text) = (None, None);
    }
}

/// Fills in the front of the item that begins at `at` and ends with the bytes.
fn fill(bytes: &mut [u8], at: usize, kind: u8, timestamp: u32) {
    bytes[at] = kind;
    bytes[at + 1..at + 5].copy_from_slice(&timestamp.to_le_bytes());
    set_length(bytes, at);
}

fn set_length(bytes: &mut [u8], at: usize) {
    let length = (bytes.len() - at - ITEM) as u32;
    bytes[at + 5..at + ITEM].copy_from_slice(&length.to_le_bytes());
}

/// A group, to be read by the commit.
#[derive(Debug)]
pub struct Payload {
    front: Vec<u8>,
    bytes: Vec<u8>,
    at: usize,
    /// Where the rows end, and how many items they are.
    rows: (usize, u32),
    /// Where all but the front is, if it was too much.
    spill: Option<Box<dyn Spill>>,
    lost: Option<std::io::Error>,
}

impl Payload {
    /// Its size.
    pub fn len(&self) -> usize {
        self.front.len() + self.bytes.len()
    }

    /// It is never empty.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// All of it in two parts, where no file has a part of it.
    pub fn parts(&self) -> Option<[&[u8]; 2]> {
        (self.spill.is_none() && self.lost.is_none() && self.at == 0).then_some([&self.front, &self.bytes])
    }

    /// The events are to be compressed. Before it is read.
    pub fn compress(&mut self) {
        if let Some(bits) = self.front.get_mut(1) {
            *bits |= COMPRESSED;
        }
    }

    /// The commit that carries it is in the log, or may be.
    pub fn keep(&mut self) {
        if let Some(spill) = &mut self.spill {
            spill.keep();
        }
    }
}

impl std::io::Read for Payload {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if let Some(e) = &self.lost {
            // It stays lost: whoever takes the payload back must not get it without.
            return Err(std::io::Error::new(e.kind(), e.to_string()));
        }
        let rest = match self.front.get(self.at..) {
            Some(rest) if !rest.is_empty() => rest,
            _ => self.bytes.get(self.at - self.front.len()..).unwrap_or_default(),
        };
        let n = rest.len().min(out.len());
        out[..n].copy_from_slice(&rest[..n]);
        self.at += n;
        Ok(n)
    }
}
