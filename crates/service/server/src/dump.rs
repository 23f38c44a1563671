//! Readers of the binary log: COM_REGISTER_SLAVE, COM_BINLOG_DUMP and COM_BINLOG_DUMP_GTID.
//!
//! A reader gets the events of one file after the other, each in a packet behind a zero, up to where the exporter has
//! published; then it waits there. Before a file comes a rotation to it that is in no file, and the file's
//! description.

use crate::client::Client;
use crate::wire::Wire;
use gannet_base::DecodeError;
use gannet_binlog::event::{self, HEADER, MAGIC, flags, kind};
use gannet_binlog::format::{Gtid, Rotate, gtids};
use gannet_binlog::{Appender, Checksum, Event, Header};
use gannet_core::accounts::Privilege;
use gannet_core::binlog::{Binlog, FileReader, Place, Reader};
use gannet_core::registry::Activity;
use gannet_runtime::{File, OpenOptions, Wait, now_ns};
use gannet_session::reply::Done;

use gannet_telemetry::{Counter, add};
use gannet_types::gtid::{GtidSet, Source};
use gannet_types::{ErrorCode, Result, SqlError, sql_err};
use gannet_wire::command::{DUMP_NON_BLOCK, Dump, Replica};
use std::sync::Arc;

/// Bytes that are read at once.
const READ: usize = 256 << 10;
/// The output buffer is sent when it holds more.
const FLUSH: usize = 64 << 10;

/// Before the flags of events for those who acknowledge, and in acknowledgements.
const SEMI_SYNC: u8 = 0xef;
/// A longer packet is none: a position and a path.
const LONGEST_ACKNOWLEDGEMENT: usize = 9 + 4096;

/// Error 1236 with one of MySQL's texts. What is around it in the error's own text is said by a replica.
fn fatal(text: impl std::fmt::Display) -> SqlError {
    SqlError::signal(ErrorCode::SourceFatalErrorReadingBinlog.number(), *b"HY000", text.to_string())
}

/// Bytes that are no event.
fn damaged(e: DecodeError) -> SqlError {
    match e {
        DecodeError::Invalid { what: event::WRONG_CHECKSUM, .. } => {
            fatal("event read from binlog did not pass crc check")
        }
        _ => fatal("bogus data in log event"),
    }
}

fn unreadable(e: std::io::Error) -> SqlError {
    fatal(format_args!("I/O error reading log event: {e}"))
}

impl Client {
    /// COM_REGISTER_SLAVE.
    pub(crate) fn register_replica(&mut self, replica: Replica<'_>, wire: &mut Wire<'_>) {
        self.session.begins(Activity::Other, b"");
        // As MySQL refuses this command, unlike those that read.
        let state = &self.session.state;
        let denied = |_| sql_err!(AccessDenied, state.account.user, state.account.host, "YES");
        let need = state.privileges().require(Privilege::ReplicationSlave).map_err(denied);
        let outcome = need.map(|()| {
            if let Some(log) = self.session.server.binlog() {
                log.register(Reader {
                    connection: self.session.entry.id,
                    server_id: replica.server_id,
                    host: String::from_utf8_lossy(replica.host).into_owned(),
                    port: replica.port,
                    uuid: self.replica_uuid(),
                });
            }
            Done::default()
        });
        self.session.answer(wire, outcome);
    }

    fn replica_uuid(&self) -> String {
        self.session.said(&["replica_uuid", "slave_uuid"]).unwrap_or_default()
    }

    /// Sends events until the reader goes, is killed, or wants no more.
    pub(crate) fn dump(&mut self, dump: Dump<'_>, wire: &mut Wire<'_>) {
        let activity = if dump.gtids.is_some() { Activity::BinlogDumpGtid } else { Activity::BinlogDump };
        self.session.begins(activity, b"");
        let mut outcome = self.dump_checked(dump, wire);
        if let Some(log) = self.session.server.binlog() {
            if log.unregister(self.session.entry.id) {
                // Of two with one name each would end the other again and again: the former one stops.
                outcome = Err(fatal(
                    "A replica with the same server_uuid/server_id as this replica has connected to the source",
                ));
            }
            log.semi_sync().leave(self.session.entry.id);
        }
        if let Err(e) = outcome {
            self.session.fail(wire, e);
        }
        // As MySQL: what follows a dump is nobody's command.
        self.session.closing = true;
    }

    fn dump_checked(&mut self, dump: Dump<'_>, wire: &mut Wire<'_>) -> Result<()> {
        self.session.state.privileges().require(Privilege::ReplicationSlave)?;
        let log = self.session.server.binlog().cloned();
        let log = log.ok_or_else(|| fatal("Binary log is not open"))?;
        let wanted = self.session.said(&["source_binlog_checksum", "master_binlog_checksum"]);
        let knows = match wanted.as_deref() {
            Some(text) if text.eq_ignore_ascii_case("CRC32") => Some(Checksum::Crc32),
            Some(text) if text.eq_ignore_ascii_case("NONE") => Some(Checksum::None),
            _ => None,
        };
        let heartbeat = self.session.said(&["source_heartbeat_period", "master_heartbeat_period"]);
        let heartbeat_ns = heartbeat.and_then(|text| text.parse().ok()).unwrap_or(0);
        self.displace(&log, dump.server_id);
        // What is committed now has to be in the files: a reader that comes while the server starts finds its first
        // file, and one that does not wait gets all.
        log.catch_up(&self.session.server.engine);
        let (start, skip) = start(&log, &dump)?;
        let mut sender = Sender {
            reading: log.reader(start.number),
            log,
            server_id: self.session.server.globals.get(gannet_core::vars::Live::ServerId).as_u64() as u32,
            knows_checksums: knows.is_some(),
            checksum: knows.unwrap_or(Checksum::None),
            heartbeat_ns,
            sent_ns: now_ns(),
            ends: dump.flags & DUMP_NON_BLOCK != 0,
            skip,
            skipping: false,
            untold: false,
            semi: self.session.said(&["rpl_semi_sync_replica", "rpl_semi_sync_slave"]).is_some_and(|v| v != "0"),
            connection: self.session.entry.id,
            write_timeout_ns: self.session.write_timeout_ns(),
            last: start,
            byte: start,
        };
        if sender.semi {
            sender.log.semi_sync().join(sender.connection);
        }
        sender.run(start, wire)
    }

    /// A reader that comes again takes the place of its former self, whose connection it may have lost without the
    /// server's noticing.
    fn displace(&self, log: &Binlog, server_id: u32) {
        let own = self.session.entry.id;
        let reader = Reader { connection: own, server_id, host: String::new(), port: 0, uuid: self.replica_uuid() };
        for former in log.begin_dump(reader) {
            self.session.server.registry.kill(former, false);
        }
    }
}

/// Where a dump begins, and which transactions it leaves out.
fn start(log: &Binlog, dump: &Dump<'_>) -> Result<(Place, GtidSet)> {
    let (files, executed) = log.state();
    let Some(has) = dump.gtids else {
        let name = String::from_utf8_lossy(dump.file).into_owned();
        let number = match name.as_str() {
            "" => files.first().map(|f| f.number),
            name => log.names().number(name).filter(|n| files.iter().any(|f| f.number == *n)),
        };
        let number = number.ok_or_else(|| fatal("Could not find first log file name in binary log index file"))?;
        let size = files.iter().find(|f| f.number == number).map_or(0, |f| f.size);
        if dump.position < MAGIC.len() as u64 {
            return Err(fatal("Client requested source to start replication from position < 4"));
        }
        if dump.position > size {
            return Err(fatal("Client requested source to start replication from position > file size"));
        }
        return Ok((Place { number, position: dump.position }, GtidSet::default()));
    };
    let has = gtids(has).map_err(|_| fatal("Malformed GTID set encoding."))?;
    // What the reader has of this server's own numbers, this server must have too.
    let own = log.uuid();
    if has.iter().any(|(s, i)| s.uuid == own && !subset(s, i, &executed)) {
        return Err(fatal(sql_err!(ReplicaHasMoreGtidsThanSource).message()));
    }
    let first = |f: &&gannet_core::binlog::LogFile| f.previous.is_subset(&has);
    match files.iter().rev().find(first).filter(|_| log.purged().is_subset(&has)) {
        Some(file) => Ok((Place { number: file.number, position: MAGIC.len() as u64 }, has)),
        None => {
            let mut missing = log.purged();
            missing.subtract(&has);
            let text =
                format!("The GTID set sent by the replica is '{has}', and the missing transactions are '{missing}'");
            Err(fatal(sql_err!(SourceHasPurgedRequiredGtids, text).message()))
        }
    }
}

fn subset(source: &Source, intervals: &[std::ops::Range<u64>], of: &GtidSet) -> bool {
    let mut set = GtidSet::default();
    intervals.iter().for_each(|i| set.add(source, i.clone()));
    set.is_subset(of)
}

/// A dump under way.
struct Sender {
    log: Arc<Binlog>,
    reading: FileReader,
    server_id: u32,
    /// The reader has said that it knows of checksums.
    knows_checksums: bool,
    /// What events end with that are in no file: as the reader wishes, and from the first description on as the events
    /// of the file. Those are sent as they are: their description tells, whatever the reader has wished.
    checksum: Checksum,
    /// After so long without an event the reader gets a heartbeat; 0: never.
    heartbeat_ns: u64,
    /// When something was sent last.
    sent_ns: u64,
    /// It ends with the log.
    ends: bool,
    /// Transactions that are left out.
    skip: GtidSet,
    /// The events are those of such a transaction.
    skipping: bool,
    /// The reader does not know how far the log goes: what was read last was left out.
    untold: bool,
    /// It acknowledges what it has: each event has two bytes before it that may ask for that.
    semi: bool,
    connection: u64,
    write_timeout_ns: u64,
    /// Behind the last event that was read, and behind the last byte.
    last: Place,
    byte: Place,
}

impl Sender {
    /// Sends what there is from there on. An error says where it has come to, as MySQL does.
    fn run(&mut self, start: Place, wire: &mut Wire<'_>) -> Result<()> {
        (self.last, self.byte) = (start, start);
        let outcome = self.files(start, wire);
        outcome.map_err(|e| match e.code() {
            ErrorCode::SourceFatalErrorReadingBinlog => {
                let name = |place: Place| self.log.names().name(place.number);
                let (last, byte) = (self.last, self.byte);
                fatal(format_args!(
                    "{}; the first event '{}' at {}, the last event read from '{}' at {}, the last byte read from '{}' \
                     at {}.",
                    e.message(),
                    name(start),
                    start.position,
                    name(last),
                    last.position,
                    name(byte),
                    byte.position
                ))
            }
            _ => e,
        })
    }

    fn files(&mut self, start: Place, wire: &mut Wire<'_>) -> Result<()> {
        let mut at = start;
        loop {
            self.reading.at(at.number);
            if self.file(&mut at, wire)? {
                // The reader wants no more, or is gone.
                return Ok(());
            }
            at = Place { number: at.number + 1, position: MAGIC.len() as u64 };
        }
    }

    /// Sends one file from a position on, and waits at its end until another follows. True: the dump ends.
    fn file(&mut self, at: &mut Place, wire: &mut Wire<'_>) -> Result<bool> {
        let front = self.log.names().front(at.number).map_err(unreadable)?;
        let file = File::open(self.log.names().path(at.number), &OpenOptions::read()).map_err(unreadable)?;
        self.artificial(kind::ROTATE, *at, wire, |log, out| {
            Rotate { position: at.position, file: log.names().name(at.number).as_bytes() }.encode(out);
        });
        if front.checksum != Checksum::None && !self.knows_checksums {
            return Err(fatal(
                "Replica can not handle replication events with the checksum that source is configured to log",
            ));
        }
        self.checksum = front.checksum;
        let mut bytes = Vec::new();
        if at.position > MAGIC.len() as u64 {
            self.description(&file, front.checksum, wire)?;
        }
        loop {
            let Some((size, followed)) = self.log.file(at.number) else {
                return Err(fatal("could not find next log"));
            };
            while at.position < size {
                if self.semi {
                    self.take_acknowledgements(*at, wire)?;
                }
                self.beat_while_skipping(*at, wire)?;
                self.send(&file, front.checksum, at, size, &mut bytes, wire)?;
            }
            if followed {
                return Ok(false);
            }
            if self.wait(*at, wire)? {
                return Ok(true);
            }
        }
    }

    /// Sends the events that are there up to `size`, as far as one read goes.
    fn send(
        &mut self,
        file: &File,
        checksum: Checksum,
        at: &mut Place,
        size: u64,
        bytes: &mut Vec<u8>,
        wire: &mut Wire<'_>,
    ) -> Result<()> {
        let room = (size - at.position).min(READ as u64) as usize;
        bytes.resize(room, 0);
        file.read_exact_at(bytes, at.position).map_err(unreadable)?;
        let mut sent = 0;
        loop {
            self.last = *at;
            self.byte = Place { position: (at.position + HEADER as u64).min(size), ..*at };
            let event = match Event::first(&bytes[sent..], checksum).map_err(damaged)? {
                Some(event) => event,
                // Longer than what was read: the whole of it is.
                None if sent == 0 => {
                    let header = Header::decode(bytes).map_err(damaged)?;
                    if u64::from(header.size) > size - at.position {
                        self.byte.position = size;
                        return Err(fatal(
                            "binlog truncated in the middle of event; consider out of disk space on source",
                        ));
                    }
                    bytes.resize(header.size as usize, 0);
                    file.read_exact_at(bytes, at.position).map_err(unreadable)?;
                    continue;
                }
                None => return Ok(()),
            };
            sent += event.bytes.len();
            at.position += event.bytes.len() as u64;
            let asks = self.semi && at.position == size && self.log.semi_sync().is_enabled();
            self.event(&event, asks.then_some(*at), wire)?;
            if sent == bytes.len() {
                return Ok(());
            }
        }
    }

    /// `asks`: it is the last one that is there, up to this place, and to be acknowledged.
    fn event(&mut self, event: &Event<'_>, asks: Option<Place>, wire: &mut Wire<'_>) -> Result<()> {
        if event.header.kind == kind::GTID {
            let gtid = Gtid::named(event.body).map_err(damaged)?;
            self.skipping = self.skip.contains(&gtid.uuid.into(), gtid.number);
        }
        let transaction =
            !matches!(event.header.kind, kind::FORMAT_DESCRIPTION | kind::PREVIOUS_GTIDS | kind::ROTATE | kind::STOP);
        if self.skipping && transaction {
            self.untold = true;
            if let Some(place) = asks {
                // The reader has said that it has that transaction.
                self.log.semi_sync().acknowledge(self.connection, place);
            }
            return Ok(());
        }
        self.untold = false;
        let mut w = wire.writer();
        let mark = w.begin();
        self.front(w.buf(), asks.is_some());
        let start = w.buf().len();
        w.buf().extend_from_slice(event.bytes);
        if event.header.kind == kind::FORMAT_DESCRIPTION {
            // The reader need not know that the file is open.
            w.buf()[start + HEADER - 2] &= !(flags::IN_USE as u8);
        }
        w.end(mark);
        if asks.is_some() {
            // The reader counts anew from its acknowledgement on, which is number 0, and as MySQL refuses others.
            *wire.exchange.sequence = 1;
        }
        if wire.writer().buf().len() >= FLUSH { self.flush(wire) } else { Ok(()) }
    }

    /// Sends the description of a file of which only later events are sent.
    fn description(&mut self, file: &File, checksum: Checksum, wire: &mut Wire<'_>) -> Result<()> {
        let mut bytes = vec![0; MAGIC.len() + HEADER];
        file.read_exact_at(&mut bytes, 0).map_err(unreadable)?;
        let size = Header::decode(&bytes[MAGIC.len()..]).map_err(damaged)?.size as usize;
        bytes.resize(MAGIC.len() + size, 0);
        file.read_exact_at(&mut bytes, 0).map_err(unreadable)?;
        let event = Event::first(&bytes[MAGIC.len()..], checksum).map_err(damaged)?;
        let Some(event) = event else { return Err(fatal("the file's description is cut off")) };
        let body = event.body.to_vec();
        self.made(kind::FORMAT_DESCRIPTION, 0, event.header.timestamp, wire, |out| {
            let at = out.len();
            out.extend_from_slice(&body);
            // The reader's temporary tables are not those of a server that has just been started.
            out[at + 52..at + 56].fill(0);
        });
        Ok(())
    }

    /// A reader that has what comes next, and gets none of it for long, is told that the source is there.
    fn beat_while_skipping(&mut self, at: Place, wire: &mut Wire<'_>) -> Result<()> {
        let due = self.heartbeat_ns > 0 && now_ns().saturating_sub(self.sent_ns) >= self.heartbeat_ns;
        if self.skipping && due { self.beat(at, wire) } else { Ok(()) }
    }

    /// Tells the reader that the source is there.
    fn beat(&mut self, at: Place, wire: &mut Wire<'_>) -> Result<()> {
        self.untold = false;
        self.artificial(kind::HEARTBEAT, at, wire, |log, out| {
            out.extend_from_slice(log.names().name(at.number).as_bytes());
        });
        self.flush(wire)
    }

    /// An event that is in no file.
    fn artificial(&mut self, k: u8, at: Place, wire: &mut Wire<'_>, write: impl FnOnce(&Binlog, &mut Vec<u8>)) {
        let log = self.log.clone();
        let end = if k == kind::HEARTBEAT { at.position as u32 } else { 0 };
        self.made(k, end, 0, wire, |out| write(&log, out));
    }

    fn made(&mut self, k: u8, end: u32, timestamp: u32, wire: &mut Wire<'_>, write: impl FnOnce(&mut Vec<u8>)) {
        let mut appender = Appender { server_id: self.server_id, checksum: self.checksum, position: 0 };
        let mut w = wire.writer();
        let mark = w.begin();
        self.front(w.buf(), false);
        let bits = if matches!(k, kind::ROTATE) { flags::ARTIFICIAL } else { 0 };
        appender.at(w.buf(), Header { timestamp, kind: k, end_position: end, flags: bits, ..Header::default() }, write);
        w.end(mark);
    }

    /// What goes before an event.
    fn front(&self, out: &mut Vec<u8>, asks: bool) {
        out.push(0);
        if self.semi {
            out.extend_from_slice(&[SEMI_SYNC, u8::from(asks)]);
        }
    }

    /// Takes the acknowledgements that have arrived: packets of 0xef, position (u64), name of the file. Others are
    /// passed over, as in MySQL. `sent`: what the reader has been sent; a place behind it is none that it can have.
    fn take_acknowledgements(&self, sent: Place, wire: &mut Wire<'_>) -> Result<()> {
        let conn = &mut *wire.exchange.conn;
        if conn.try_fill().is_err() {
            return Err(sql_err!(NetRead));
        }
        loop {
            let bytes = conn.buffered();
            let Some([a, b, c, _]) = bytes.first_chunk() else { return Ok(()) };
            let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
            if length > LONGEST_ACKNOWLEDGEMENT {
                return Err(sql_err!(MalformedPacket));
            }
            let Some(packet) = bytes.get(4..4 + length) else { return Ok(()) };
            if let Some((&SEMI_SYNC, rest)) = packet.split_first()
                && let Some((position, name)) = rest.split_first_chunk()
                && let Some(number) = self.log.names().number(&String::from_utf8_lossy(name))
            {
                let place = Place { number, position: u64::from_le_bytes(*position) };
                if place <= sent {
                    self.log.semi_sync().acknowledge(self.connection, place);
                }
            }
            conn.consume(4 + length);
        }
    }

    /// Waits until there is more than up to `at`, or the deadline has passed. True: the dump ends.
    fn wait_for_more(&self, at: Place, deadline: Option<u64>, wire: &mut Wire<'_>) -> Result<bool> {
        if !self.semi {
            return Ok(!self.log.wait_beyond(at, deadline));
        }
        loop {
            self.take_acknowledgements(at, wire)?;
            match self.log.listen_beyond(at) {
                Some(true) => return Ok(false),
                Some(false) if deadline.is_some_and(|d| now_ns() >= d) => return Ok(false),
                Some(false) => {}
                None => return Ok(true),
            }
            let conn = &mut *wire.exchange.conn;
            conn.set_deadline(deadline);
            if conn.park(Wait::LogFollow).is_err() {
                return Ok(true);
            }
        }
    }

    /// At the end of what is there: sends, and waits for more. True: the dump ends.
    fn wait(&mut self, at: Place, wire: &mut Wire<'_>) -> Result<bool> {
        if self.ends {
            self.flush(wire)?;
            let mut w = wire.writer();
            let mark = w.begin();
            w.buf().extend_from_slice(&[0xFE, 0, 0, 2, 0]);
            w.end(mark);
            return Ok(true);
        }
        self.flush(wire)?;
        if self.untold {
            // As in MySQL, so that the reader knows where it stands.
            self.beat(at, wire)?;
        }
        loop {
            let deadline = (self.heartbeat_ns > 0).then(|| now_ns().saturating_add(self.heartbeat_ns));
            if self.wait_for_more(at, deadline, wire)? {
                return Ok(true);
            }
            if self.log.end() > at {
                return Ok(false);
            }
            if deadline.is_some_and(|d| now_ns() >= d) {
                self.beat(at, wire)?;
            }
        }
    }

    fn flush(&mut self, wire: &mut Wire<'_>) -> Result<()> {
        self.sent_ns = now_ns();
        let conn = &mut *wire.exchange.conn;
        add(Counter::BytesSent, conn.out().len() as u64);
        conn.set_deadline(Some(now_ns() + self.write_timeout_ns));
        let sent = conn.flush();
        gannet_runtime::yield_if_due();
        sent.map_err(|e| match e.kind() {
            std::io::ErrorKind::Interrupted => sql_err!(QueryInterrupted),
            std::io::ErrorKind::TimedOut => sql_err!(NetWriteInterrupted),
            _ => sql_err!(NetErrorOnWrite),
        })
    }
}
