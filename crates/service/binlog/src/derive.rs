//! From what commits carry to the events of a file, in the order of commits. All that is not in the payloads follows
//! from that order: the same payloads give the same bytes.

use crate::event::{Appender, Checksum, HEADER, MAGIC, flags, kind};
use crate::format::{FormatDescription, Gtid, Rotate, put_gtids, version_number};
use crate::group::{Frame, Head, Item};
use crate::query::{Query, Settings};
use gannet_base::{DecodeError, Reader};
use gannet_types::gtid::{GtidSet, Source, Uuid};

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
    /// The body of BEGIN.
    begin: Box<[u8]>,
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
        Deriver { source: writer.uuid.into(), writer, appender, sequence, executed, begin: begin() }
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
        self.writer = writer;
        self.sequence = 0;
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

    /// The GTID of the next group, which has `own` or gets the next number.
    fn next_gtid(&mut self, own: Option<(Uuid, u64)>) -> (Uuid, u64) {
        let (uuid, number) = own.unwrap_or_else(|| (self.source.uuid, self.executed.first_free(&self.source)));
        if uuid == self.source.uuid {
            self.executed.add(&self.source, number..number + 1);
        } else {
            self.executed.add(&uuid.into(), number..number + 1);
        }
        (uuid, number)
    }

    /// Appends the events of a group; `xid` is the commit's position in the log. Gives its first event's body.
    pub fn group(&mut self, payload: &[u8], xid: u64, out: &mut Vec<u8>) -> Result<Gtid, DecodeError> {
        let mut r = Reader::new(payload);
        let head = Head::decode(&mut r)?;
        let first = if head.items > 0 { Some(Item::decode(&mut r.clone())?) } else { None };
        let gtid = self.begin_group(&head, first.map(|item| (item.kind, item.timestamp)), out);
        for _ in 0..head.items {
            self.item(&Item::decode(&mut r)?, out);
        }
        self.end_group(&head, xid, out);
        if r.is_empty() { Ok(gtid) } else { Err(r.invalid("end of a group")) }
    }

    /// Appends the events of a group before its items; `first` are kind and time of the first item. Gives the first
    /// event's body.
    pub fn begin_group(&mut self, head: &Head, first: Option<(u8, u32)>, out: &mut Vec<u8>) -> Gtid {
        let tail = self.writer.checksum.bytes();
        let between = head.frame == Frame::Rows;
        let around = if between { (self.begin.len() + 8 + 2 * (HEADER + tail)) as u64 } else { 0 };
        // An empty transaction has BEGIN and COMMIT, and no rows.
        let (kind, time) = first.unwrap_or((kind::XID, (head.committed_us / 1_000_000) as u32));
        let (uuid, number) = self.next_gtid(head.gtid);
        self.sequence += 1;
        let version = version_number(self.writer.version.as_bytes());
        let mut gtid = Gtid {
            may_have_statements: kind == kind::QUERY,
            uuid,
            number,
            last_committed: self.sequence - 1,
            sequence_number: self.sequence,
            committed_us: head.committed_us,
            first_committed_us: head.committed_us,
            size: 0,
            server_version: version,
            first_server_version: version,
        };
        gtid.set_size(head.event_bytes(tail) + around, tail);
        self.appender.event(out, time, kind::GTID, 0, |o| gtid.encode(o));
        if between {
            // The connection is what the body begins with.
            let (thread, rest) = (head.thread_id.to_le_bytes(), self.begin.get(4..).unwrap_or_default());
            self.appender.event(out, time, kind::QUERY, 0, |o| {
                o.extend_from_slice(&thread);
                o.extend_from_slice(rest);
            });
        }
        gtid
    }

    /// Appends an item of the group.
    pub fn item(&mut self, item: &Item<'_>, out: &mut Vec<u8>) {
        // A definition's own XID is in its settings.
        self.appender.event(out, item.timestamp, item.kind, 0, |o| o.extend_from_slice(item.body));
    }

    /// Appends the event behind the items.
    pub fn end_group(&mut self, head: &Head, xid: u64, out: &mut Vec<u8>) {
        if head.frame == Frame::Rows {
            let time = (head.committed_us / 1_000_000) as u32;
            self.appender.event(out, time, kind::XID, 0, |o| o.extend_from_slice(&xid.to_le_bytes()));
        }
    }
}
