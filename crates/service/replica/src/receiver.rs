//! What comes from the source goes into relay logs.

use super::Fault;
use super::channel::Channel;
use super::grammar::Grammar;
use super::source::behind;
use super::status::Transaction;
use gannet_base::DecodeError;
use gannet_binlog::event::{Appender, Event, MAGIC, flags, kind, without_start};
use gannet_binlog::format::{FormatDescription, Gtid, Rotate, put_gtids};
use gannet_binlog::{Checksum, Header};
use gannet_core::vars::Live;
use gannet_runtime::{File, OpenOptions, WallTime, now_ns};
use gannet_types::{SqlError, sql_err};
use std::io;

/// How long the receiver waits for the applier before it looks whether it is stopped.
const PAUSE_NS: u64 = 1_000_000_000;

/// Writes what it is given.
pub(crate) struct Receiver {
    checksum: Checksum,
    /// The source's file, and where it goes on behind the last whole transaction.
    file: String,
    at: u64,
    grammar: Grammar,
    transaction: Option<Transaction>,
    /// The source's description of what follows.
    described: Vec<u8>,
    log: Option<Log>,
    /// Events that are not written yet, and how many bytes of these are whole transactions.
    out: Vec<u8>,
    whole: usize,
    /// Transactions that end in these.
    ended: Vec<Transaction>,
    /// Bytes at which the next file begins; bytes of all at which it waits, 0: never.
    most: u64,
    limit: u64,
}

/// The file that is written.
struct Log {
    file: File,
    size: u64,
}

fn damaged(e: DecodeError) -> Fault {
    Fault::Refused(unqueued(e))
}

fn unqueued(e: impl std::fmt::Display) -> SqlError {
    sql_err!(RelayLogWriteFailure, format_args!("could not queue event from source: {e}"))
}

fn unwritten(e: io::Error) -> Fault {
    Fault::Disk(unqueued(e))
}

impl Receiver {
    pub(crate) fn new(channel: &Channel) -> Receiver {
        let globals = &channel.core.globals;
        Receiver {
            // Before the first description comes the rotation to its file, which has what was asked for.
            checksum: Checksum::Crc32,
            file: String::new(),
            at: 0,
            grammar: Grammar::default(),
            transaction: None,
            described: Vec::new(),
            log: None,
            out: Vec::new(),
            whole: 0,
            ended: Vec::new(),
            most: 0,
            limit: globals.get(Live::RelayLogSpaceLimit).as_u64(),
        }
    }

    /// An event.
    pub(crate) fn event(&mut self, channel: &Channel, bytes: &[u8]) -> Result<(), Fault> {
        let header = Header::decode(bytes).map_err(damaged)?;
        let mut event = Event::first(bytes, self.checksum);
        if event.is_err() && header.kind == kind::ROTATE && header.flags & flags::ARTIFICIAL != 0 {
            // Made for this reader, by a source whose file has no checksums.
            event = Event::first(bytes, Checksum::None);
        }
        let cut = || Fault::Refused(unqueued("an event is cut off"));
        let event = event.map_err(damaged)?.ok_or_else(cut)?;
        if event.bytes.len() != bytes.len() {
            return Err(Fault::Refused(unqueued("more than an event in a packet")));
        }
        match header.kind {
            kind::HEARTBEAT | kind::HEARTBEAT_V2 => {
                channel.status.lock().heartbeat();
                return if header.kind == kind::HEARTBEAT { self.passes(channel, &header, event.body) } else { Ok(()) };
            }
            kind::ROTATE => {
                let to = Rotate::decode(event.body).map_err(damaged)?;
                let file = String::from_utf8_lossy(to.file).into_owned();
                if header.flags & flags::ARTIFICIAL == 0 {
                    self.put(bytes)?;
                    self.flush(channel)?;
                }
                (self.file, self.at) = (file, to.position);
                return Ok(());
            }
            kind::FORMAT_DESCRIPTION => {
                self.checksum = FormatDescription::decode(event.body).map_err(damaged)?.checksum;
                self.described = bytes.to_vec();
                let begun = self.begin_file(channel);
                // Files that follow are of the same life of the source.
                self.described = without_start(bytes);
                return begun;
            }
            kind::GTID => {
                let gtid = Gtid::named(event.body).map_err(damaged)?;
                let begun_us = WallTime::now().micros();
                self.transaction = Some(Transaction { begun_us, ..Transaction::of(&gtid) });
            }
            _ => {}
        }
        let ends = self.grammar.ends(&event).map_err(damaged)?;
        self.put(bytes)?;
        if ends { self.ended(channel, &header) } else { Ok(()) }
    }

    /// FLUSH RELAY LOGS: begins another file, if one is written, and this is between transactions.
    pub(crate) fn end_file(&mut self, channel: &Channel) -> Result<(), Fault> {
        if self.log.is_some() && self.grammar.is_between() { self.begin_file(channel) } else { Ok(()) }
    }

    /// The source stands at a place of its file, and has nothing for this server up to there. As in MySQL, a rotation
    /// to it takes whoever applies there.
    fn passes(&mut self, channel: &Channel, header: &Header, file: &[u8]) -> Result<(), Fault> {
        /// Of a place that lies before this one the low bits would lead far beyond it.
        const FAR: u64 = 1 << 31;
        let at = behind(self.at, header.end_position);
        let ahead = (1..FAR).contains(&(at - self.at));
        if self.log.is_none() || !self.grammar.is_between() || file != self.file.as_bytes() || !ahead {
            return Ok(());
        }
        self.at = at;
        let (server_id, position) = (header.server_id, 0);
        let mut appender = Appender { server_id, checksum: self.checksum, position };
        let made = Header { kind: kind::ROTATE, flags: flags::ARTIFICIAL, ..Header::default() };
        let to = Rotate { position: at, file };
        appender.at(&mut self.out, made, |out| to.encode(out));
        self.whole = self.out.len();
        self.flush(channel)
    }

    fn ended(&mut self, channel: &Channel, header: &Header) -> Result<(), Fault> {
        self.at = behind(self.at, header.end_position);
        self.whole = self.out.len();
        self.ended.push(self.transaction.take().unwrap_or_default());
        let size = self.log.as_ref().map_or(0, |log| log.size) + self.out.len() as u64;
        if self.limit > 0 && channel.relay.space() + self.out.len() as u64 > self.limit {
            self.wait_for_space(channel)?;
        } else if size > self.most || channel.relay.is_ended() {
            self.begin_file(channel)?;
        }
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        if self.log.is_none() {
            return Err(Fault::Refused(unqueued("an event before the description of the log")));
        }
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes what was gathered: the applier may read it.
    pub(crate) fn flush(&mut self, channel: &Channel) -> Result<(), Fault> {
        let Some(log) = &mut self.log else { return Ok(()) };
        if self.out.is_empty() {
            return Ok(());
        }
        log.file.write_at(&self.out, log.size).map_err(unwritten)?;
        let whole = (self.whole > 0).then(|| (log.size + self.whole as u64, (self.file.as_str(), self.at)));
        log.size += self.out.len() as u64;
        channel.relay.grow(log.size, whole);
        // What is known as received is not asked for again: only now it is there.
        self.ended.drain(..).for_each(|transaction| channel.received(&transaction));
        self.out.clear();
        self.whole = 0;
        channel.status.lock().reads(&self.file, self.at);
        Ok(())
    }

    /// Ends the file, between transactions, and begins the next.
    fn begin_file(&mut self, channel: &Channel) -> Result<(), Fault> {
        self.flush(channel)?;
        // A transaction that a crash of the source has cut off has no end: the applier undoes it.
        (self.grammar, self.transaction) = (Grammar::default(), None);
        let globals = &channel.core.globals;
        let get = |id: Live| globals.get(id).as_u64();
        self.most = if get(Live::MaxRelayLogSize) > 0 { get(Live::MaxRelayLogSize) } else { get(Live::MaxBinlogSize) };
        let relay = &channel.relay;
        let now = WallTime::now().seconds() as u32;
        let mut head = MAGIC.to_vec();
        let (server_id, position) = (get(Live::ServerId) as u32, head.len() as u64);
        let mut appender = Appender { server_id, checksum: Checksum::Crc32, position };
        let version = globals.get(Live::Version);
        let own = FormatDescription::new(version.as_str(), 0, Checksum::Crc32);
        appender.event(&mut head, now, kind::FORMAT_DESCRIPTION, 0, |out| own.encode(out));
        let before = relay.retrieved();
        appender.event(&mut head, now, kind::PREVIOUS_GTIDS, flags::IGNORABLE, |out| put_gtids(&before, out));
        let to = Rotate { position: self.at, file: self.file.as_bytes() };
        let made = Header { kind: kind::ROTATE, flags: flags::ARTIFICIAL, ..Header::default() };
        appender.at(&mut head, made, |out| to.encode(out));
        head.extend_from_slice(&self.described);
        let number = relay.next_number();
        let path = relay.path(number);
        let written = || {
            let file = File::open(&path, &OpenOptions::read_write().create().truncate())?;
            file.write_at(&head, 0)?;
            relay.add(number, head.len() as u64)?;
            Ok(file)
        };
        let file = written().map_err(unwritten)?;
        self.log = Some(Log { file, size: head.len() as u64 });
        channel.status.lock().reads(&self.file, self.at);
        Ok(())
    }

    /// Waits until the applier has made room, or has nothing more to do.
    fn wait_for_space(&mut self, channel: &Channel) -> Result<(), Fault> {
        // The file that is written can only go when there is another one.
        self.begin_file(channel)?;
        let limit = self.limit;
        let relay = &channel.relay;
        channel.status.lock().lacks_space = true;
        let outcome = loop {
            let done = || relay.space() <= limit || relay.is_caught_up();
            match relay.wait_for_applier(now_ns() + PAUSE_NS, done) {
                Some(true) => break Ok(()),
                Some(false) if !channel.is_stopping() => {}
                Some(false) | None => break Err(Fault::Stopped),
            }
        };
        channel.status.lock().lacks_space = false;
        outcome
    }
}
