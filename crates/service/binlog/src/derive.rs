//! From what commits carry to the events of a file, in the order of commits. All that is not in the payloads follows
//! from that order: the same payloads give the same bytes, but for what transactions are behind ([`crate::writeset`]),
//! which is known of the server's own life only.

use crate::event::{Appender, Checksum, HEADER, MAGIC, flags, kind};
use crate::format::{FormatDescription, Gtid, Rotate, put_gtids, version_number};
use crate::group::{Frame, Head, Item};
use crate::packed::{Packed, compress};
use crate::query::{Query, Settings};
use crate::writeset::{self, Dependencies, Known};
use gannet_base::sync::Arc;
use gannet_base::{DecodeError, Reader};
use gannet_types::gtid::{GtidSet, Source, Uuid};
use std::collections::BTreeSet;

/// Who writes the files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Writer {
    /// `server_id`
    pub server_id: u32,
    /// `server_uuid`
    pub uuid: Uuid,
    /// `version`
    pub version: String,
    /// `binlog_checksum`
    pub checksum: Checksum,
}

/// A transaction in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Derived {
    /// Its first event.
    pub gtid: Gtid,
    /// The others are compressed.
    pub compressed: bool,
    /// Bytes of the others in the file.
    pub size: u64,
    /// And before they were compressed.
    pub plain: u64,
}

/// Derives the events of one file after the other.
#[derive(Clone, Debug)]
pub struct Deriver {
    writer: Writer,
    source: Source,
    appender: Appender,
    /// Transactions in this file.
    sequence: u64,
    /// All in this file and before.
    executed: GtidSet,
    /// Numbers of this server that sessions have chosen: the others get the next ones.
    reserved: BTreeSet<u64>,
    /// The body of BEGIN.
    begin: Box<[u8]>,
    /// Of the writer.
    version: u32,
    dependencies: Box<Dependencies>,
}

fn begin() -> Box<[u8]> {
    let settings = Settings { flags2: Some(0), ..Settings::default() };
    let mut body = Vec::new();
    Query { thread_id: 0, seconds: 0, error: 0, schema: b"", settings, text: b"BEGIN" }.encode(&mut body);
    body.into()
}

impl Deriver {
    /// Goes on in a file at `position`, behind so many transactions of it and all of `executed`.
    pub fn new(writer: Writer, position: u64, sequence: u64, executed: GtidSet) -> Deriver {
        let appender = Appender { server_id: writer.server_id, checksum: writer.checksum, position };
        let (source, reserved) = (writer.uuid.into(), BTreeSet::new());
        let version = version_number(writer.version.as_bytes());
        let dependencies = Box::new(Dependencies::new(sequence));
        Deriver { source, writer, appender, sequence, executed, reserved, begin: begin(), version, dependencies }
    }

    /// Tables have these keys, in payloads from now on.
    pub fn trust(&mut self, known: &Arc<Known>) {
        self.dependencies.trust(known);
    }

    /// So many keys are remembered: `binlog_transaction_dependency_history_size`.
    pub fn remember(&mut self, most: usize) {
        self.dependencies.remember(most);
    }

    /// These numbers are taken.
    pub fn with_reserved(self, reserved: BTreeSet<u64>) -> Deriver {
        Deriver { reserved, ..self }
    }

    /// The numbers that are taken.
    pub fn reserved(&self) -> &BTreeSet<u64> {
        &self.reserved
    }

    /// A number of this server is chosen for one transaction, unless it was executed.
    pub fn reserve(&mut self, number: u64) {
        if !self.executed.contains(&self.source, number) {
            self.reserved.insert(number);
        }
    }

    /// The transaction has not come: anyone gets the number.
    pub fn release(&mut self, number: u64) {
        self.reserved.remove(&number);
    }

    /// So do all: those who have chosen are gone.
    pub fn release_all(&mut self) {
        self.reserved.clear();
    }

    /// These transactions count as executed, though they are in no file.
    pub fn add_executed(&mut self, set: &GtidSet) {
        self.executed.add_all(set);
    }

    /// Where the next event begins.
    pub fn position(&self) -> u64 {
        self.appender.position
    }

    /// Transactions in this file.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// All transactions so far.
    pub fn executed(&self) -> &GtidSet {
        &self.executed
    }

    /// Appends the beginning of a file: the next events go into it. `created`: seconds since 1970, if the server has
    /// just been started, else 0.
    pub fn begin(&mut self, writer: Writer, timestamp: u32, created: u32, out: &mut Vec<u8>) {
        self.appender = Appender { server_id: writer.server_id, checksum: writer.checksum, position: 4 };
        self.version = version_number(writer.version.as_bytes());
        self.writer = writer;
        self.sequence = 0;
        self.dependencies.begin_file();
        out.extend_from_slice(&MAGIC);
        let described = FormatDescription::new(&self.writer.version, created, self.writer.checksum);
        self.appender.event(out, timestamp, kind::FORMAT_DESCRIPTION, flags::IN_USE, |o| described.encode(o));
        self.appender.event(out, timestamp, kind::PREVIOUS_GTIDS, flags::IGNORABLE, |o| put_gtids(&self.executed, o));
    }

    /// Appends the end of a file.
    pub fn rotate(&mut self, timestamp: u32, next: &str, out: &mut Vec<u8>) {
        let rotate = Rotate { position: 4, file: next.as_bytes() };
        self.appender.event(out, timestamp, kind::ROTATE, 0, |o| rotate.encode(o));
    }

    /// Appends the end of a server's life.
    pub fn stop(&mut self, timestamp: u32, out: &mut Vec<u8>) {
        self.appender.event(out, timestamp, kind::STOP, 0, |_| {});
    }

    fn next_free(&self) -> u64 {
        let first = self.executed.first_free(&self.source);
        let mut number = first;
        // The first is not executed.
        while self.reserved.contains(&number) || number > first && self.executed.contains(&self.source, number) {
            number += 1;
        }
        number
    }

    /// The GTID of the next group, which has `own` or gets the next number.
    fn next_gtid(&mut self, own: Option<(Uuid, u64)>) -> (Uuid, u64) {
        let (uuid, number) = own.unwrap_or_else(|| (self.source.uuid, self.next_free()));
        if uuid == self.source.uuid {
            self.reserved.remove(&number);
            self.executed.add(&self.source, number..number + 1);
        } else {
            self.executed.add(&uuid.into(), number..number + 1);
        }
        (uuid, number)
    }

    /// Appends the events of a group; `xid` is the commit's position in the log.
    pub fn group(&mut self, payload: &[u8], xid: u64, out: &mut Vec<u8>) -> Result<Derived, DecodeError> {
        let mut r = Reader::new(payload);
        let head = Head::decode(&mut r)?;
        self.group_behind(&head, r, xid, out)
    }

    /// The same of what lies behind the head.
    pub fn group_behind(
        &mut self,
        head: &Head,
        r: Reader<'_>,
        xid: u64,
        out: &mut Vec<u8>,
    ) -> Result<Derived, DecodeError> {
        let first = if head.items > 0 { Some(Item::decode(&mut r.clone())?) } else { None };
        let first = first.map(|item| (item.kind, item.timestamp));
        let last = self.dependencies.of_group(head, r, self.sequence + 1);
        if head.compressed && head.frame == Frame::Rows {
            return self.packed((head, last), first, r, xid, out);
        }
        let derived = self.begin_behind((head, last), first, out);
        self.items(head, r, out)?;
        self.end_group(head, xid, out);
        Ok(derived)
    }

    fn items(&mut self, head: &Head, mut r: Reader<'_>, out: &mut Vec<u8>) -> Result<(), DecodeError> {
        for _ in 0..head.items {
            self.item(&Item::decode(&mut r)?, out);
        }
        if r.is_empty() { Ok(()) } else { Err(r.invalid("end of a group")) }
    }

    /// A group of which all behind the first event becomes one that is compressed. The same compressor gives the same
    /// bytes.
    fn packed(
        &mut self,
        (head, last): (&Head, u64),
        first: Option<(u8, u32)>,
        r: Reader<'_>,
        xid: u64,
        out: &mut Vec<u8>,
    ) -> Result<Derived, DecodeError> {
        let time = (head.committed_us / 1_000_000) as u32;
        let begun = first.map_or(time, |(_, time)| time);
        // Positions are those in the transaction, and there are no checksums.
        let outside = Appender { checksum: Checksum::None, position: 0, ..self.appender };
        let outside = std::mem::replace(&mut self.appender, outside);
        let mut events = Vec::new();
        self.begin_rows(head, begun, &mut events);
        let items = self.items(head, r, &mut events);
        self.end_group(head, xid, &mut events);
        self.appender = outside;
        items?;
        let (plain, bytes) = (events.len() as u64, compress(&events));
        let mut body = Vec::with_capacity(bytes.len() + 32);
        Packed::new(plain, &bytes).encode(&mut body);
        let size = (body.len() + HEADER + self.writer.checksum.bytes()) as u64;
        let gtid = self.gtid((head, last), false, begun, size, out);
        self.appender.event(out, time, kind::TRANSACTION_PAYLOAD, 0, |o| o.extend_from_slice(&body));
        Ok(Derived { gtid, compressed: true, size, plain })
    }

    /// Appends the events of a group before its items; `first` are kind and time of the first item. It is to be applied
    /// alone.
    pub fn begin_group(&mut self, head: &Head, first: Option<(u8, u32)>, out: &mut Vec<u8>) -> Derived {
        let last = self.dependencies.alone(self.sequence + 1);
        self.begin_behind((head, last), first, out)
    }

    /// The same behind transaction `last` of the file.
    fn begin_behind(&mut self, (head, last): (&Head, u64), first: Option<(u8, u32)>, out: &mut Vec<u8>) -> Derived {
        let tail = self.writer.checksum.bytes();
        let between = head.frame == Frame::Rows;
        let around = if between { (self.begin.len() + 8 + 2 * (HEADER + tail)) as u64 } else { 0 };
        // An empty transaction has BEGIN and COMMIT, and no rows.
        let (kind, time) = first.unwrap_or((kind::XID, (head.committed_us / 1_000_000) as u32));
        let size = head.event_bytes(tail) + around;
        let gtid = self.gtid((head, last), kind == kind::QUERY, time, size, out);
        if between {
            self.begin_rows(head, time, out);
        }
        Derived { gtid, compressed: false, size, plain: size }
    }

    /// Appends the first event of a transaction, which has so many bytes behind it.
    fn gtid(
        &mut self,
        (head, last_committed): (&Head, u64),
        may_have_statements: bool,
        time: u32,
        behind: u64,
        out: &mut Vec<u8>,
    ) -> Gtid {
        let (uuid, number) = self.next_gtid(head.gtid);
        self.sequence += 1;
        let first = head.first.unwrap_or_default();
        let mut gtid = Gtid {
            may_have_statements,
            uuid,
            number,
            last_committed,
            sequence_number: self.sequence,
            committed_us: head.committed_us,
            first_committed_us: first.committed_us.unwrap_or(head.committed_us),
            size: 0,
            server_version: self.version,
            first_server_version: first.version.unwrap_or(self.version),
        };
        gtid.set_size(behind, self.writer.checksum.bytes());
        self.appender.event(out, time, kind::GTID, 0, |o| gtid.encode(o));
        gtid
    }

    /// Appends BEGIN.
    fn begin_rows(&mut self, head: &Head, time: u32, out: &mut Vec<u8>) {
        // The connection is what the body begins with.
        let (thread, rest) = (head.thread_id.to_le_bytes(), self.begin.get(4..).unwrap_or_default());
        self.appender.event(out, time, kind::QUERY, 0, |o| {
            o.extend_from_slice(&thread);
            o.extend_from_slice(rest);
        });
    }

    /// Appends an item of the group.
    pub fn item(&mut self, item: &Item<'_>, out: &mut Vec<u8>) {
        // A definition's own XID is in its settings.
        self.appender.event(out, item.timestamp, item.kind, 0, |o| {
            let at = o.len();
            o.extend_from_slice(item.body);
            if item.kind == kind::TABLE_MAP {
                writeset::plain_map(&mut o[at..]);
            }
        });
    }

    /// Appends the event behind the items.
    pub fn end_group(&mut self, head: &Head, xid: u64, out: &mut Vec<u8>) {
        if head.frame == Frame::Rows {
            let time = (head.committed_us / 1_000_000) as u32;
            self.appender.event(out, time, kind::XID, 0, |o| o.extend_from_slice(&xid.to_le_bytes()));
        }
    }
}
