//! The task that writes the files.

use super::files::{Edges, Names, State};
use super::{
    ADD_PURGED, Binlog, CONSUMER, LogFile, PURGED, Passed, Place, RELEASE, REMEMBERED, RESERVE, RESET, ROTATE_START,
    Settings,
};
use crate::log::ErrorLog;
use gannet_base::sync::atomic::Ordering::{Acquire, Relaxed};
use gannet_base::{Lsn, Reader};
use gannet_binlog::derive::{Derived, Deriver, Writer};
use gannet_binlog::event::{HEADER, MAGIC};
use gannet_binlog::format::gtids;
use gannet_binlog::group::{GROUP, Head, Item, ROTATE, SpilledTo};
use gannet_engine::{Beyond, Committed, Consumer, Engine, Hold};
use gannet_runtime::{File, OpenOptions, fs, sleep};
use gannet_types::gtid::GtidSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Bytes that are gathered for one write. A megabyte was not measurably faster.
const BATCH: usize = 128 << 10;
/// So many bytes of files may have to be derived again after a crash.
const CHECKPOINT: u64 = 32 << 20;
/// How long it waits after an error before it tries again.
const RETRY: Duration = Duration::from_secs(1);
/// How often it says so, in nanoseconds.
const TELL_NS: u64 = 60_000_000_000;
/// Offset of a file's first flags.
const FLAGS_AT: u64 = (MAGIC.len() + HEADER - 2) as u64;

/// The exporter.
pub(super) struct Exporter {
    log: Arc<Binlog>,
    names: Names,
    settings: Arc<dyn Fn() -> Settings + Send + Sync>,
    errors: Arc<ErrorLog>,
    consumer: Consumer,
    deriver: Deriver,
    /// What is durable.
    state: State,
    /// The last file; `None` before the first.
    file: Option<File>,
    number: u64,
    max_size: u64,
    /// Events that are not written yet, and what they are of.
    out: Vec<u8>,
    passed: Vec<Passed>,
    /// The last commit that is in the files or in `out`.
    last: Option<Committed>,
    lsn: Lsn,
    /// The last time that a commit has named, in seconds.
    time: u32,
    stopped: bool,
    /// A file that has yet to begin.
    due: Option<Due>,
    /// All has yet to begin anew, with a file of this number.
    reset: Option<u64>,
    /// Nothing is written or derived until it has come to where all begins anew.
    skipping: bool,
    /// Transactions that were never in a file, and those that have yet to be shown as such.
    foreign: GtidSet,
    added: GtidSet,
    /// A commit that could not be taken: it is tried again.
    pending: Option<Committed>,
    /// Files with rows that are in the files of events now, and those of before the start.
    spilled: Vec<u64>,
    left_over: Vec<u64>,
    /// When an error is told again; 0: nothing has failed.
    tell_from_ns: u64,
    /// The log has come to this life of the server, whose tables' keys are known.
    living: bool,
}

/// Items of a file, one after the other.
struct Rows {
    file: File,
    /// Where the bytes begin in it.
    at: u64,
    file_bytes: u64,
    bytes: Vec<u8>,
    /// Of the bytes, these are passed.
    used: usize,
}

impl Rows {
    fn next(&mut self) -> io::Result<Option<Item<'_>>> {
        let mut need = 9;
        loop {
            let from = self.at + self.used as u64;
            if from >= self.file_bytes {
                return Ok(None);
            }
            let rest = self.bytes.get(self.used..).unwrap_or_default();
            if rest.len() >= need {
                let length = rest.get(5..9).and_then(|b| b.first_chunk()).map_or(0, |n| u32::from_le_bytes(*n));
                need = 9 + length as usize;
                if rest.len() >= need {
                    break;
                }
            }
            let left = self.file_bytes - from;
            if (need as u64) > left {
                return Err(other("a file with rows ends within an event"));
            }
            self.bytes.resize(left.min((BATCH as u64).max(need as u64)) as usize, 0);
            self.file.read_exact_at(&mut self.bytes, from)?;
            (self.at, self.used) = (from, 0);
        }
        let from = self.used;
        self.used += need;
        let item = Item::decode(&mut Reader::new(&self.bytes[from..from + need])).map_err(other)?;
        Ok(Some(item))
    }
}

/// A new file behind a commit.
#[derive(Clone, Copy)]
struct Due {
    lsn: Lsn,
    /// Seconds since 1970.
    time: u32,
    /// The server has started.
    started: bool,
}

fn other(e: impl std::fmt::Display) -> io::Error {
    io::Error::other(e.to_string())
}

impl Exporter {
    pub(super) fn open(
        engine: &Engine,
        log: Arc<Binlog>,
        settings: Arc<dyn Fn() -> Settings + Send + Sync>,
        errors: Arc<ErrorLog>,
    ) -> io::Result<Exporter> {
        let names = log.names.clone();
        names.make_dir()?;
        let state = match names.load_state()? {
            Some(state) => state,
            None if names.load_index()?.is_empty() => {
                // Before the index lists a file. A full disk has no room for that one either.
                match names.store_state(&State::default()) {
                    Err(e) if e.kind() == io::ErrorKind::StorageFull => {}
                    stored => stored?,
                }
                State::default()
            }
            None => {
                let what = format!("{} lists files, and their state is lost: move them away", names.index().display());
                return Err(io::Error::new(io::ErrorKind::NotFound, what));
            }
        };
        let bound_bytes = super::bound_bytes(log.capacity());
        let hold = Hold { bound_bytes, beyond: Beyond::Brake };
        let consumer = engine.consumer(CONSUMER, hold).map_err(other)?;
        let now = settings();
        let mut it = Exporter {
            deriver: Deriver::new(now.writer.clone(), state.size, state.sequence, state.executed.clone())
                .with_reserved(state.reserved.clone()),
            file: None,
            number: state.number,
            max_size: now.max_size,
            out: Vec::new(),
            passed: Vec::new(),
            last: None,
            lsn: state.lsn,
            time: 0,
            stopped: state.stopped,
            due: None,
            reset: None,
            skipping: false,
            foreign: state.foreign.clone(),
            added: GtidSet::default(),
            pending: None,
            spilled: Vec::new(),
            left_over: Vec::new(),
            tell_from_ns: 0,
            living: false,
            log,
            names,
            settings,
            errors,
            consumer,
            state,
        };
        it.take_up(&now)?;
        it.left_over = it.names.all_spilled()?;
        let next = it.left_over.iter().max().map_or(1, |last| last + 1);
        it.log.next_spill.store(next, Relaxed);
        Ok(it)
    }

    /// Takes up the files that are there, as the state has them: what lies behind is cut off, and derived again.
    fn take_up(&mut self, now: &Settings) -> io::Result<()> {
        let state = &self.state;
        let listed = self.names.load_index()?;
        let mut files = Vec::new();
        // Of a state without a file all has gone, or is about to.
        let last = if state.size == 0 { 0 } else { state.number };
        for number in listed.iter().copied().filter(|n| *n <= last) {
            // What is missed at the beginning has gone before the index, which had no room.
            if files.is_empty() && number < state.number && !fs::exists(self.names.path(number))? {
                continue;
            }
            if number == state.number {
                self.file = Some(self.take_up_last()?);
            }
            let front = self.names.front(number)?;
            let mut size = state.size;
            if number != state.number {
                size = File::open(self.names.path(number), &OpenOptions::read())?.len()?;
            } else {
                let uuid = now.writer.uuid;
                let writer =
                    Writer { server_id: front.server_id, uuid, version: front.version, checksum: front.checksum };
                self.deriver = Deriver::new(writer, size, state.sequence, state.executed.clone())
                    .with_reserved(state.reserved.clone());
            }
            files.push(LogFile { number, size, previous: Arc::new(front.previous) });
        }
        // What lies before the first of them is purged, and what behind the last is derived again; others stay.
        let within = |n: &u64| files.first().is_some_and(|f| f.number < *n) && *n < last;
        let lacks = |n: &u64| within(n) && files.iter().all(|f| f.number != *n);
        let lost = if self.file.is_none() {
            Some(last).filter(|n| *n > 0)
        } else {
            self.names.there()?.into_iter().find(lacks)
        };
        if let Some(number) = lost {
            let what = format!("{} is not in the index", self.names.path(number).display());
            return Err(io::Error::new(io::ErrorKind::NotFound, what));
        }
        self.names.remove_others(|n| files.iter().any(|f| f.number == n))?;
        if files.len() != listed.len() {
            match self.names.store_index(files.iter().map(|f| f.number)) {
                // What it lists too much is passed over at a start, too. A server whose disk is full has to start, so
                // that somebody can make room.
                Err(e) if e.kind() == io::ErrorKind::StorageFull => {}
                stored => stored?,
            }
        }
        let mut shared = self.log.shared.lock();
        (shared.files, shared.executed, shared.lsn) = (files, state.executed.clone(), state.lsn);
        shared.foreign = state.foreign.clone();
        Ok(())
    }

    /// Takes up the file that goes on: what its beginning and its end have of blocks that were being written is written
    /// again.
    fn take_up_last(&self) -> io::Result<File> {
        let (state, path) = (&self.state, self.names.path(self.state.number));
        let about = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", path.display()));
        let file = File::open(&path, &OpenOptions::read_write()).map_err(about)?;
        let size = file.len()?;
        if size < state.size {
            let what = format!("{} ends at {size}, and had {} bytes durably", path.display(), state.size);
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        if state.edges.mend(&file, state.size, state.stopped)? {
            self.errors.note(format_args!("{} has what a power cut has torn again", path.display()));
        }
        file.set_len(state.size)?;
        Ok(file)
    }

    /// Exports until the log ends.
    pub(super) fn run(mut self) {
        loop {
            match self.export() {
                Ok(true) => {}
                Ok(false) => break,
                Err(e) => {
                    if self.skips() {
                        continue;
                    }
                    self.tell(&e);
                    if !gannet_runtime::interrupted() && sleep(RETRY) == gannet_runtime::Unpark::Interrupted {
                        break;
                    }
                    if self.log.leaving.load(Relaxed) {
                        break;
                    }
                }
            }
        }
        let mut shared = self.log.shared.lock();
        shared.ended = true;
        let waiting = std::mem::take(&mut shared.waiting);
        drop(shared);
        waiting.iter().for_each(gannet_runtime::Waker::wake);
    }

    /// The log cannot be written, and all of it is to go: what lies before that need not be. The last file is cut to
    /// what the state has of it, which makes room, and is derived again should the server end before.
    fn skips(&mut self) -> bool {
        let ahead = self.reset.is_some() || self.log.reset_at.load(Acquire) > self.lsn.get();
        if self.skipping || !ahead {
            return false;
        }
        (self.skipping, self.due) = (true, None);
        self.out.clear();
        self.forget_passed();
        if let Some(file) = &self.file {
            // Without that there may be room as well.
            let _cut = file.set_len(self.state.size);
        }
        true
    }

    /// Transactions that were taken and are in no file go with all before them: nobody owns their GTIDs any more.
    fn forget_passed(&mut self) {
        let gone = std::mem::take(&mut self.passed);
        self.log.shared.lock().owned.retain(|own| gone.iter().all(|it| it.gtid != own.gtid));
    }

    /// A commit before the point where all begins anew.
    fn skip(&mut self, committed: &Committed) -> io::Result<()> {
        match committed.payload.split_first() {
            Some((&GROUP, _)) => {
                let head = Head::decode(&mut Reader::new(&committed.payload)).map_err(other)?;
                self.spilled.extend(head.file.map(|file| file.number));
                self.log.shared.lock().owned.retain(|own| Some(own.gtid) != head.gtid);
            }
            Some((&ROTATE, rest)) if rest.first() == Some(&RESET) => self.request(committed.lsn, rest)?,
            Some((&ROTATE, rest)) if rest.first() == Some(&ROTATE_START) => self.living = true,
            _ => {}
        }
        self.lsn = committed.lsn;
        Ok(())
    }

    /// The log cannot be written: it is told now and then.
    fn tell(&mut self, e: &io::Error) {
        self.log.set_stuck(Some(format!("{} cannot be written: {e}", self.names.basename().display())));
        let now = gannet_runtime::now_ns();
        if now >= self.tell_from_ns {
            self.tell_from_ns = now + TELL_NS;
            let base = self.names.basename();
            self.errors.error(format_args!(
                "the binary log {} cannot be written: {e}; it is tried again, and the log is kept meanwhile",
                base.display()
            ));
        }
    }

    /// Writes what is durable, and waits for more. False: no more will be.
    fn export(&mut self) -> io::Result<bool> {
        loop {
            while self.out.len() < BATCH {
                self.do_due()?;
                let next = match self.pending.take() {
                    None => self.consumer.poll().map_err(other)?,
                    pending => pending,
                };
                let Some(mut committed) = next else {
                    self.remove_left_over();
                    break;
                };
                if committed.lsn > self.lsn
                    && let Err(e) = self.take(&committed)
                {
                    self.pending = Some(committed);
                    return Err(e);
                }
                self.consumer.reuse(std::mem::take(&mut committed.payload));
                self.last = Some(committed);
            }
            // What is due belongs to the commits that are about to be given away.
            self.do_due()?;
            if self.skipping {
                // What is not written is not given away.
                if !self.consumer.wait().map_err(other)? {
                    return Ok(false);
                }
                continue;
            }
            let more = self.out.len() >= BATCH;
            self.publish(!more)?;
            let kept = self.consumer.at().since(self.state.lsn);
            // So much of the log is kept before it is let go of.
            let stride = self.log.capacity() / 8;
            if self.deriver.position() - self.state.size >= CHECKPOINT || self.last.is_some() && kept >= stride {
                self.checkpoint()?;
            }
            if std::mem::take(&mut self.tell_from_ns) != 0 {
                self.log.set_stuck(None);
                self.errors
                    .note(format_args!("the binary log {} can be written again", self.names.basename().display()));
            }
            if more {
                continue;
            }
            if !self.consumer.wait().map_err(other)? {
                self.end()?;
                return Ok(false);
            }
            self.log.pace(|| self.consumer.has_much());
        }
    }

    /// Does what the last commit has asked for.
    fn do_due(&mut self) -> io::Result<()> {
        if let Some(first) = self.reset {
            self.begin_anew(first)?;
            self.reset = None;
        }
        if let Some(due) = self.due {
            self.next_file(due)?;
            self.due = None;
        }
        Ok(())
    }

    /// Derives the events of a commit. What is no group of the binary log is a definition of old, or of another
    /// consumer.
    fn take(&mut self, committed: &Committed) -> io::Result<()> {
        if self.skipping {
            return self.skip(committed);
        }
        match committed.payload.split_first() {
            Some((&GROUP, _)) => {
                if self.file.is_none() {
                    // The files were lost, or never there: what the log has begins one.
                    self.next_file(Due { lsn: self.lsn, time: 0, started: false })?;
                }
                let mut items = Reader::new(&committed.payload);
                let head = Head::decode(&mut items).map_err(other)?;
                let thread = head.thread_id;
                let derived = match head.file {
                    None => {
                        let xid = committed.lsn.get();
                        self.deriver.group_behind(&head, items, xid, &mut self.out).map_err(other)?
                    }
                    Some(file) => self.take_spilled(committed, &head, file)?,
                };
                self.log.sizes.add(&derived);
                let group = derived.gtid;
                self.time = (group.committed_us / 1_000_000) as u32;
                let place = Place { number: self.number, position: self.deriver.position() };
                let gtid = (group.uuid, group.number);
                self.passed.push(Passed { lsn: committed.lsn, place, gtid, thread });
                if self.deriver.position() >= self.max_size {
                    self.due = Some(Due { lsn: committed.lsn, time: self.time, started: false });
                }
            }
            Some((&ROTATE, rest)) => self.request(committed.lsn, rest)?,
            _ => {}
        }
        self.lsn = committed.lsn;
        Ok(())
    }

    /// Takes what a statement asks for.
    fn request(&mut self, lsn: Lsn, request: &[u8]) -> io::Result<()> {
        let (what, body) = request.split_first().unwrap_or((&ROTATE_START, &[]));
        let number = body.first_chunk().map_or(0, |n| u64::from_le_bytes(*n));
        match *what {
            PURGED => {}
            RESET => self.reset = Some(number),
            RESERVE => self.deriver.reserve(number),
            RELEASE => self.deriver.release(number),
            ADD_PURGED => {
                let set = gtids(body).map_err(other)?;
                self.deriver.add_executed(&set);
                self.foreign.add_all(&set);
                self.added.add_all(&set);
                self.due = Some(Due { lsn, time: self.time, started: false });
            }
            what => {
                let started = what == ROTATE_START;
                if started {
                    self.living = true;
                    self.deriver.trust(&self.log.keys);
                    self.deriver.release_all();
                }
                self.time = (number / 1_000_000) as u32;
                self.due = Some(Due { lsn, time: self.time, started });
            }
        }
        Ok(())
    }

    /// Drops all files, and what is known of transactions. First the state says that there are none, so that a crash
    /// on the way leaves either all or none.
    fn begin_anew(&mut self, first: u64) -> io::Result<()> {
        let log = self.log.clone();
        let listing = log.list();
        let state = State { lsn: self.lsn, number: first.saturating_sub(1), ..State::default() };
        self.names.store_state(&state)?;
        self.names.store_index([].into_iter())?;
        self.names.remove_others(|_| false)?;
        self.out.clear();
        self.forget_passed();
        self.deriver = Deriver::new((self.settings)().writer, 0, 0, state.executed.clone());
        if self.living {
            self.deriver.trust(&self.log.keys);
        }
        (self.state, self.file, self.stopped) = (state, None, false);
        self.number = self.state.number;
        {
            let mut shared = self.log.shared.lock();
            shared.files.clear();
            shared.passed.clear();
            (shared.executed, shared.foreign) = Default::default();
        }
        drop(listing);
        (self.foreign, self.added) = Default::default();
        self.skipping = false;
        self.log.semi.begin_anew();
        let time = gannet_runtime::WallTime::now().seconds() as u32;
        self.next_file(Due { lsn: self.lsn, time, started: false })
    }

    /// Derives the events of a commit whose rows are in a file, piece by piece.
    fn take_spilled(&mut self, committed: &Committed, head: &Head, file: SpilledTo) -> io::Result<Derived> {
        let before = self.deriver.clone();
        self.write()?;
        let done = self.copy_spilled(committed, head, file);
        match done {
            Ok(_) => self.spilled.push(file.number),
            Err(_) => {
                // It is written again from its beginning.
                self.deriver = before;
                self.out.clear();
            }
        }
        done
    }

    fn copy_spilled(&mut self, committed: &Committed, head: &Head, file: SpilledTo) -> io::Result<Derived> {
        let mut front = Reader::new(&committed.payload);
        Head::decode(&mut front).map_err(other)?;
        let mut rows = Rows {
            file: File::open(self.names.spilled(file.number), &OpenOptions::read())?,
            at: 0,
            file_bytes: file.bytes,
            bytes: Vec::new(),
            used: 0,
        };
        let first = match front.is_empty() {
            true => rows.next()?.map(|item| (item.kind, item.timestamp)),
            false => Some(Item::decode(&mut front.clone()).map(|item| (item.kind, item.timestamp)).map_err(other)?),
        };
        if front.is_empty() {
            (rows.at, rows.used) = (0, 0);
            rows.bytes.clear();
        }
        let derived = self.deriver.begin_group(head, first, &mut self.out);
        while !front.is_empty() {
            self.deriver.item(&Item::decode(&mut front).map_err(other)?, &mut self.out);
        }
        while let Some(item) = rows.next()? {
            self.deriver.item(&item, &mut self.out);
            if self.out.len() >= BATCH {
                self.write()?;
            }
        }
        self.deriver.end_group(head, committed.lsn.get(), &mut self.out);
        Ok(derived)
    }

    /// Removes the files whose rows are durably in the files of events.
    fn remove_spilled(&mut self) {
        for number in self.spilled.drain(..) {
            // What stays is removed at the next start.
            let _removed = fs::remove_file(self.names.spilled(number));
            self.left_over.retain(|n| *n != number);
        }
    }

    /// All commits of before the start are passed: what no commit has named belongs to no one.
    fn remove_left_over(&mut self) {
        for number in std::mem::take(&mut self.left_over) {
            if !self.spilled.contains(&number) {
                let _removed = fs::remove_file(self.names.spilled(number));
            }
        }
    }

    /// Ends the file, before one of this number.
    fn close_file(&self, ended: &mut Deriver, due: Due, next: u64) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut end = Vec::new();
        match due.started {
            true if self.stopped => {}
            true => ended.stop(due.time, &mut end),
            false => ended.rotate(due.time, &self.names.name(next), &mut end),
        }
        file.write_at(&end, self.deriver.position())?;
        if !self.stopped {
            // It is closed.
            file.write_at(&[0, 0], FLAGS_AT)?;
        }
        file.sync_data()
    }

    /// Ends the file and begins the next.
    fn next_file(&mut self, due: Due) -> io::Result<()> {
        let Due { lsn, time, started } = due;
        let number = self.number + 1;
        let former = self.number;
        let mut ended = self.deriver.clone();
        // The end of a file may be given away only when the next has begun durably.
        self.write()?;
        self.close_file(&mut ended, due, number)?;
        let settings = (self.settings)();
        self.max_size = settings.max_size;
        let mut front = Vec::new();
        let mut next = ended.clone();
        next.remember(settings.history);
        next.begin(settings.writer, time, if started { time } else { 0 }, &mut front);
        let file = File::open(self.names.path(number), &OpenOptions::read_write().create())?;
        file.set_len(0)?;
        file.write_at(&front, 0)?;
        file.sync_all()?;
        let log = self.log.clone();
        let listing = log.list();
        let mut files = log.shared.lock().files.clone();
        if let Some(last) = files.last_mut() {
            last.size = ended.position();
        }
        let size = front.len() as u64;
        files.push(LogFile { number, size, previous: Arc::new(next.executed().clone()) });
        self.names.store_index(files.iter().map(|f| f.number))?;
        let state = State {
            lsn,
            number,
            size,
            sequence: 0,
            stopped: false,
            executed: next.executed().clone(),
            foreign: self.foreign.clone(),
            reserved: next.reserved().clone(),
            edges: Edges::default().later(&file, size)?,
        };
        self.names.store_state(&state)?;
        (self.state, self.deriver, self.file, self.number) = (state, next, Some(file), number);
        (self.lsn, self.stopped) = (lsn, false);
        {
            let mut shared = self.log.shared.lock();
            if let Some(last) = shared.files.iter_mut().find(|f| f.number == former) {
                last.size = ended.position();
            }
            shared.files.extend(files.pop());
            let added = std::mem::take(&mut self.added);
            shared.executed.add_all(&added);
            shared.foreign.add_all(&added);
        }
        drop(listing);
        self.publish(false)?;
        if let Some(last) = self.last.take() {
            self.consumer.done(&last).map_err(other)?;
        }
        self.remove_spilled();
        self.expire(&settings.expire_s)
    }

    /// Writes what was gathered.
    fn write(&mut self) -> io::Result<()> {
        if let Some(file) = &self.file
            && !self.out.is_empty()
        {
            file.write_at(&self.out, self.deriver.position() - self.out.len() as u64)?;
        }
        self.out.clear();
        Ok(())
    }

    /// Writes what was gathered, and gives it to the readers. `all`: there is no commit that is durable and not in
    /// the files.
    fn publish(&mut self, all: bool) -> io::Result<()> {
        self.write()?;
        let lsn = if all { self.lsn.max(self.consumer.at()) } else { self.lsn };
        let mut passed = std::mem::take(&mut self.passed);
        let waiting = {
            let mut shared = self.log.shared.lock();
            shared.lsn = shared.lsn.max(lsn);
            if let Some(last) = shared.files.last_mut() {
                last.size = self.deriver.position();
            }
            // Mostly one run of numbers of this server.
            for run in passed.chunk_by(|a, b| a.gtid.0 == b.gtid.0 && a.gtid.1 + 1 == b.gtid.1) {
                shared.executed.add(&run[0].gtid.0.into(), run[0].gtid.1..run[0].gtid.1 + run.len() as u64);
            }
            for p in passed.iter().copied() {
                if !shared.owned.is_empty() {
                    shared.owned.retain(|o| o.gtid != p.gtid);
                }
                if shared.passed.len() == REMEMBERED {
                    shared.passed.pop_front();
                }
                shared.passed.push_back(p);
            }
            std::mem::take(&mut shared.waiting)
        };
        let own = passed.iter().filter(|p| p.gtid.0 == self.log.uuid).map(|p| (p.lsn, p.place));
        self.log.semi.exported(own, lsn);
        passed.clear();
        self.passed = passed;
        waiting.iter().for_each(gannet_runtime::Waker::wake);
        Ok(())
    }

    /// Makes the files durable, and lets go of the log up to there.
    fn checkpoint(&mut self) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        file.sync_data()?;
        let edges = self.state.edges.later(file, self.deriver.position())?;
        // Readers are mostly behind the last checkpoint, and what lies before it is on disk. The memory takes the next
        // events: pages that are always fresh cost several times as much a byte.
        file.forget(0, self.state.size);
        let state = State {
            lsn: self.lsn,
            number: self.number,
            size: self.deriver.position(),
            sequence: self.deriver.sequence(),
            stopped: self.stopped,
            executed: self.deriver.executed().clone(),
            foreign: self.foreign.clone(),
            reserved: self.deriver.reserved().clone(),
            edges,
        };
        self.names.store_state(&state)?;
        self.state = state;
        if let Some(last) = self.last.take() {
            self.consumer.done(&last).map_err(other)?;
        }
        self.remove_spilled();
        Ok(())
    }

    /// The server stops: the file ends.
    fn end(&mut self) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        if !self.stopped {
            let mut end = Vec::new();
            let at = self.deriver.position();
            self.deriver.stop(gannet_runtime::WallTime::now().seconds() as u32, &mut end);
            file.write_at(&end, at)?;
            file.write_at(&[0, 0], FLAGS_AT)?;
            self.stopped = true;
        }
        self.checkpoint()?;
        self.publish(true)
    }

    /// Drops files that are too old.
    fn expire(&mut self, after_s: &Option<u64>) -> io::Result<()> {
        let Some(after_s) = after_s else { return Ok(()) };
        let now = gannet_runtime::WallTime::now().seconds();
        let files: Vec<u64> = self.log.shared.lock().files.iter().map(|f| f.number).collect();
        let mut upto = 0;
        // A file's last change is when the next began.
        for pair in files.windows(2) {
            if u64::from(self.names.begun(pair[1])?) + after_s > now {
                break;
            }
            upto = pair[1];
        }
        self.log.purge(upto)
    }
}
