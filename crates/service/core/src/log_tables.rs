//! `log_output=TABLE`: the tables `mysql.general_log` and `mysql.slow_log`.
//!
//! A statement puts an entry into a queue in memory and goes on; one task of the server's own writes what is there.
//! The queue is bounded: entries that find it full are lost, which `Gannet_log_table_lost` counts and the error log
//! says. Neither `read_only` nor FLUSH TABLES WITH READ LOCK nor the binary log concern these rows (manual, 7.4.1
//! "Selecting General Query Log and Slow Query Log Output Destinations"), and no commit of theirs is waited for.

use crate::Core;
use crate::log_entries::{Argument, Sender, Slow, writes_to};
use crate::vars::Live;
use crate::work::{Terms, Work, append};
use gannet_base::sync::Mutex;
use gannet_engine::Isolation;
use gannet_runtime::{Unpark, Wait, Waker, mask_interrupts, now_ns, park, waker};
use gannet_schema::{LOG_TABLES, Table};
use gannet_types::charset::Charset;
use gannet_types::{CollationId, ErrorCode, Result, SqlError, Time, Timestamp, TypeId, Value, sql_err};
use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes of the entries that wait; an entry that is larger waits alone.
const MOST_BYTES: usize = 16 << 20;
/// A statement's text is cut off here, the length of MEDIUMBLOB.
const MOST_TEXT: usize = (1 << 24) - 1;
/// Rows of a transaction.
const BATCH: usize = 256;
/// So often a batch is written again when its table is another one by then.
const MOST_TRIES: u32 = 10;
/// A reader waits no longer for what was logged before it.
const PATIENCE_NS: u64 = 2_000_000_000;
/// The error log tells of lost entries so often at most.
const TOLD_NS: u64 = 60_000_000_000;

/// Types of the tables' columns; a table of other ones is not written.
const TYPES: [&[TypeId]; 2] = [
    &[TypeId::Timestamp, TypeId::MediumText, TypeId::BigInt, TypeId::Int, TypeId::VarChar, TypeId::MediumBlob],
    &[
        TypeId::Timestamp,
        TypeId::MediumText,
        TypeId::Time,
        TypeId::Time,
        TypeId::Int,
        TypeId::Int,
        TypeId::VarChar,
        TypeId::Int,
        TypeId::Int,
        TypeId::Int,
        TypeId::MediumBlob,
        TypeId::BigInt,
    ],
];
/// The columns that are filled in when a row is written.
const SERVER_ID: [usize; 2] = [3, 9];
const GENERAL: usize = 0;
const SLOW: usize = 1;

/// Entries that wait to be written.
#[derive(Default)]
pub struct LogTables(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    entries: VecDeque<Entry>,
    bytes: usize,
    /// Entries that were added, and of these the ones that are written or lost, since the start.
    added: u64,
    done: u64,
    written: u64,
    lost: u64,
    writer: Option<Waker>,
    readers: Vec<Waker>,
    closed: bool,
}

struct Entry {
    /// Its table's place in [`LOG_TABLES`].
    table: usize,
    row: Vec<Value>,
    bytes: usize,
}

fn text(s: &str) -> Value {
    let converted = Charset::Utf8mb4.convert(s.as_bytes(), Charset::Utf8mb3);
    Value::Str(converted.bytes.as_ref().into(), CollationId::UTF8MB3_GENERAL_CI)
}

fn blob(bytes: &[u8]) -> Value {
    Value::Str(bytes[..bytes.len().min(MOST_TEXT)].into(), CollationId::BINARY)
}

fn moment(us: u64) -> Value {
    let at = i64::try_from(us).ok().and_then(Timestamp::from_unix_micros);
    Value::Timestamp(at.unwrap_or(Timestamp::MAX), 6)
}

fn duration(ns: u64) -> Value {
    Value::Time(Time::from_micros((ns / 1000) as i64).min(Time::MAX), 6)
}

fn at_most_int(n: u64) -> Value {
    Value::Int(n.min(i32::MAX as u64) as i64)
}

fn user_host(s: &Sender<'_>) -> Value {
    text(&format!("{}[{}] @ {} [{}]", s.account, s.user, s.host, s.address))
}

impl LogTables {
    /// Adds an entry of the general query log.
    pub(crate) fn general(&self, now_us: u64, s: &Sender<'_>, command: &str, argument: Argument<'_>) {
        let argument = blob(argument.bytes());
        let row = vec![moment(now_us), user_host(s), Value::UInt(s.id), Value::Null, text(command), argument];
        self.add(GENERAL, row);
    }

    /// Adds an entry of the slow query log.
    pub(crate) fn slow(&self, s: &Slow<'_>) {
        let started_us = s.ended_us - (s.latency_ns / 1000).min(s.ended_us);
        let row = vec![
            moment(started_us),
            user_host(&s.sender),
            duration(s.latency_ns),
            duration(s.locks_ns),
            at_most_int(s.rows_sent),
            at_most_int(s.rows_examined),
            text(s.sender.database),
            at_most_int(s.last_insert_id),
            at_most_int(s.insert_id),
            Value::Null,
            blob(s.text.bytes()),
            Value::UInt(s.sender.id),
        ];
        self.add(SLOW, row);
    }

    fn add(&self, table: usize, row: Vec<Value>) {
        let of = |v: &Value| if let Value::Str(b, _) = v { b.len() + 32 } else { 32 };
        let bytes = row.iter().map(of).sum();
        let mut queue = self.0.lock();
        queue.added += 1;
        if queue.closed || (queue.bytes + bytes > MOST_BYTES && !queue.entries.is_empty()) {
            queue.lost += 1;
            queue.done += 1;
            return;
        }
        queue.bytes += bytes;
        queue.entries.push_back(Entry { table, row, bytes });
        // It looks again by itself before it waits: only the first entry has to wake it.
        if queue.entries.len() == 1
            && let Some(writer) = &queue.writer
        {
            writer.wake();
        }
    }

    /// Entries that were written, and that were lost, since the start.
    pub fn counts(&self) -> (u64, u64) {
        let queue = self.0.lock();
        (queue.written, queue.lost)
    }

    /// Waits until what was logged before is in the tables: two seconds at most.
    pub fn catch_up(&self) {
        let upto = self.0.lock().added;
        let deadline = now_ns() + PATIENCE_NS;
        loop {
            {
                let mut queue = self.0.lock();
                if queue.done >= upto || queue.closed {
                    return;
                }
                queue.readers.push(waker());
            }
            if park(Wait::LogTables, Some(deadline)) == Unpark::Interrupted || now_ns() >= deadline {
                return;
            }
        }
    }

    /// Nothing is logged any more: the writer ends when it has written what is there.
    pub(crate) fn close(&self) {
        let mut queue = self.0.lock();
        queue.closed = true;
        if let Some(writer) = &queue.writer {
            writer.wake();
        }
    }

    /// The next entries, as far as they go into the same table; `None`: no more will come.
    fn take(&self) -> Option<Vec<Entry>> {
        loop {
            {
                let mut queue = self.0.lock();
                let first = queue.entries.front().map(|e| e.table);
                let same = queue.entries.iter().take(BATCH).take_while(|e| Some(e.table) == first).count();
                if same > 0 {
                    let batch: Vec<Entry> = queue.entries.drain(..same).collect();
                    queue.bytes -= batch.iter().map(|e| e.bytes).sum::<usize>();
                    return Some(batch);
                }
                if queue.closed {
                    return None;
                }
                queue.writer = Some(waker());
            }
            // Whatever ends it: the queue says whether there is something to do.
            let _ = park(Wait::LogTablesIdle, None);
        }
    }

    fn ended(&self, entries: usize, written: bool) {
        let readers = {
            let mut queue = self.0.lock();
            queue.done += entries as u64;
            *if written { &mut queue.written } else { &mut queue.lost } += entries as u64;
            std::mem::take(&mut queue.readers)
        };
        readers.iter().for_each(Waker::wake);
    }
}

/// The log table, as it may be written. Errors 1146, and 1728 for a table that was defined otherwise.
fn require(core: &Core, number: usize) -> Result<Arc<Table>> {
    let snapshot = core.catalog.snapshot();
    let table = snapshot.require_table("mysql", LOG_TABLES[number])?;
    let plain = table.source.is_engine()
        && table.has_hidden_key()
        && table.triggers.is_empty()
        && table.partitions.is_none()
        && table.constraints.checks.is_empty()
        && table.columns.iter().all(|c| c.generated.is_none());
    if plain && table.columns.iter().map(|c| c.ty.id).eq(TYPES[number].iter().copied()) {
        Ok(table.clone())
    } else {
        Err(sql_err!(CannotLoadFromTableV2, "mysql", LOG_TABLES[number]))
    }
}

/// The tables that are to be written are there. Errors 1146, 1728.
pub(crate) fn check(core: &Core) -> Result<()> {
    let is = |id: Live| core.globals.get(id).as_bool();
    let to_table = writes_to(core.globals.get(Live::LogOutput).as_str(), "TABLE");
    let wanted = [is(Live::GeneralLog), is(Live::SlowQueryLog)];
    (0..2).filter(|n| to_table && wanted[*n]).try_for_each(|n| require(core, n).map(drop))
}

/// Writes entries until the server stops.
pub(crate) fn run(core: &Arc<Core>) {
    // It ends when it is told that no more entries come.
    let _mask = mask_interrupts();
    let tables = &core.logs.tables;
    let terms = Terms {
        isolation: Isolation::ReadCommitted,
        read_only: false,
        autocommit: true,
        row_wait_s: 5,
        table_wait_s: 5,
        compressed: false,
    };
    let mut work = Work::new(core.clone(), 0, terms);
    let (mut told_ns, mut told) = (0, 0);
    while let Some(mut batch) = tables.take() {
        let server_id = core.globals.get(Live::ServerId).as_u64();
        batch.iter_mut().for_each(|e| e.row[SERVER_ID[e.table]] = Value::UInt(server_id));
        let rows: Vec<&[Value]> = batch.iter().map(|e| &*e.row).collect();
        let mut tries = 0..MOST_TRIES;
        let outcome = loop {
            let outcome = require(core, batch[0].table).and_then(|table| append(&mut work, &table, &rows));
            // The tables may have been exchanged meanwhile.
            let again = outcome.as_ref().is_err_and(|e| e.code() == ErrorCode::NeedReprepare) && tries.next().is_some();
            if !again {
                break outcome;
            }
        };
        tables.ended(batch.len(), outcome.is_ok());
        let lost = tables.counts().1;
        if lost > told && (told_ns == 0 || now_ns() > told_ns + TOLD_NS) {
            (told_ns, told) = (now_ns(), lost);
            tell(core, lost, outcome.err());
        }
    }
}

fn tell(core: &Core, lost: u64, error: Option<SqlError>) {
    let why = error.map_or_else(|| "they come faster than they are written".to_owned(), |e| e.to_string());
    core.log.warning(format_args!("{lost} entries of the log tables in schema mysql are lost until now: {why}"));
}
