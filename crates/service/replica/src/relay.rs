//! The relay logs of a channel: files in MySQL's format with what was received and is not applied, and an index of
//! them. They live as long as the server's process: what it finds of them at its start is thrown away and asked for
//! again, as with MySQL's `relay_log_recovery`, so nothing of them is ever synced.
//!
//! A file begins between transactions: with a description of this server's, the transactions received before, a
//! rotation to the place in the source's log, and the source's description. The rest are the source's events as they
//! came. A new one begins with each file of the source and each connection to it, so what the file before ends with
//! and has no end comes again.

use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicU64, Ordering::Relaxed};
use gannet_core::Core;
use gannet_core::replication::RelayLog;
use gannet_core::vars::Live;
use gannet_runtime::{File, OpenOptions, Unpark, Wait, Waker, WallTime, fs, park, waker};
use gannet_types::gtid::GtidSet;
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};

/// A place in the relay logs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Place {
    /// Number of the file.
    pub(crate) number: u64,
    /// In it.
    pub(crate) at: u64,
}

/// What there is behind a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Behind {
    /// The file goes on, up to here.
    More(u64),
    /// The next file.
    Next,
    /// Nothing yet.
    Nothing,
}

#[derive(Clone, Copy, Debug)]
struct Written {
    number: u64,
    size: u64,
}

#[derive(Default)]
struct State {
    /// Another one whenever all is thrown away.
    epoch: u64,
    /// Oldest first.
    files: VecDeque<Written>,
    next: u64,
    /// Where the source's log goes on behind the last whole transaction; `None`: nothing was received.
    received: Option<(String, u64)>,
    retrieved: GtidSet,
    /// Behind the last whole transaction, behind what is applied, and behind what is durably.
    whole: Place,
    applied: Place,
    durable: Place,
    /// The source asks to be told when all up to here is durable.
    asked: Place,
    /// What is in them cannot be read.
    damaged: bool,
    /// The last one goes no further.
    ended: bool,
    /// Counts the index's states.
    indexed: u64,
    /// The applier, and the receiver.
    readers: Vec<Waker>,
    writers: Vec<Waker>,
}

/// The relay logs of a channel.
pub(crate) struct Relay {
    dir: PathBuf,
    base: String,
    state: Mutex<State>,
    /// Of the index: so each has a file of its own until it is renamed.
    writes: AtomicU64,
}

/// A channel's name in that of a file, as MySQL has it.
fn in_file_name(channel: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let one = |c: char| if plain(c) { c.to_string() } else { format!("@{:04x}", c as u32) };
    channel.to_lowercase().chars().map(one).collect()
}

impl Relay {
    /// Those of a channel. What is there of them is removed.
    pub(crate) fn open(core: &Core, channel: &str) -> Relay {
        let base = PathBuf::from(core.globals.get(Live::RelayLogBasename).as_str());
        let dir = base.parent().unwrap_or(Path::new(".")).to_path_buf();
        let mut base = base.file_name().map_or_else(|| "relay-bin".to_owned(), |n| n.to_string_lossy().into_owned());
        if !channel.is_empty() {
            base = format!("{base}-{}", in_file_name(channel));
        }
        let it = Relay { dir, base, state: Mutex::default(), writes: AtomicU64::new(0) };
        let left = it.left_over();
        it.state.lock().next = left.iter().max().map_or(1, |last| last + 1);
        if !left.is_empty()
            && let Err(e) = it.remove(left)
        {
            core.log.warning(format_args!("relay logs {} of before the start cannot be removed: {e}", it.base));
        }
        it.discard();
        it
    }

    pub(crate) fn name(&self, number: u64) -> String {
        format!("{}.{number:06}", self.base)
    }

    pub(crate) fn path(&self, number: u64) -> PathBuf {
        self.dir.join(self.name(number))
    }

    fn index(&self) -> PathBuf {
        self.dir.join(format!("{}.index", self.base))
    }

    /// Numbers of files that are there.
    fn left_over(&self) -> Vec<u64> {
        let number = |path: PathBuf| {
            let name = path.file_name()?.to_string_lossy().into_owned();
            name.strip_prefix(&self.base)?.strip_prefix('.')?.parse::<u64>().ok()
        };
        fs::read_dir(&self.dir).unwrap_or_default().into_iter().filter_map(number).collect()
    }

    fn remove(&self, numbers: Vec<u64>) -> io::Result<()> {
        for number in numbers {
            fs::remove_file(self.path(number))?;
        }
        self.write_index()
    }

    /// Writes the index, again where it has become another one meanwhile.
    fn write_index(&self) -> io::Result<()> {
        loop {
            let (indexed, text) = {
                let state = self.state.lock();
                let line = |f: &Written| format!("{}\n", self.path(f.number).display());
                (state.indexed, state.files.iter().map(line).collect::<String>())
            };
            let new = self.index().with_extension(format!("index-{}", self.writes.fetch_add(1, Relaxed)));
            {
                let file = File::open(&new, &OpenOptions::read_write().create().truncate())?;
                file.write_at(text.as_bytes(), 0)?;
            }
            fs::rename(&new, self.index())?;
            if self.state.lock().indexed == indexed {
                return Ok(());
            }
        }
    }

    /// All of them are thrown away: what they have is asked for again, from where the applier stands.
    pub(crate) fn discard(&self) {
        let gone: Vec<u64> = {
            let mut state = self.state.lock();
            let gone = state.files.iter().map(|f| f.number).collect();
            let epoch = WallTime::now().micros().max(state.epoch + 1);
            *state = State { epoch, next: state.next.max(1), indexed: state.indexed + 1, ..State::default() };
            gone
        };
        if !gone.is_empty() {
            // What stays is removed at the next start.
            let _removed = self.remove(gone);
        }
    }

    /// As it is kept with what is applied: another one whenever all was thrown away.
    pub(crate) fn epoch(&self) -> u64 {
        self.state.lock().epoch
    }

    /// The number of the next file.
    pub(crate) fn next_number(&self) -> u64 {
        let mut state = self.state.lock();
        state.next += 1;
        state.next - 1
    }

    /// A file has begun, and is so long.
    pub(crate) fn add(&self, number: u64, size: u64) -> io::Result<()> {
        {
            let mut state = self.state.lock();
            state.files.push_back(Written { number, size });
            state.whole = Place { number, at: size };
            state.ended = false;
            state.indexed += 1;
            state.readers.drain(..).for_each(|w| w.wake());
        }
        self.write_index()
    }

    /// The last file has grown. `whole`: up to there are whole transactions, behind which the source's log goes on
    /// there.
    pub(crate) fn grow(&self, size: u64, whole: Option<(u64, (&str, u64))>) {
        let mut state = self.state.lock();
        let Some(last) = state.files.back_mut() else { return };
        last.size = size;
        let number = last.number;
        if let Some((at, (file, position))) = whole {
            state.whole = Place { number, at };
            state.received = Some((file.to_owned(), position));
        }
        state.readers.drain(..).for_each(|w| w.wake());
    }

    /// This transaction is in them, whole.
    pub(crate) fn retrieve(&self, uuid: gannet_types::gtid::Uuid, number: u64) {
        self.state.lock().retrieved.add(&uuid.into(), number..number + 1);
    }

    /// Transactions that were received since all was thrown away.
    pub(crate) fn retrieved(&self) -> GtidSet {
        self.state.lock().retrieved.clone()
    }

    /// Where the source's log goes on behind what was received.
    pub(crate) fn received(&self) -> Option<(String, u64)> {
        self.state.lock().received.clone()
    }

    /// Behind the last whole transaction.
    pub(crate) fn whole(&self) -> Place {
        self.state.lock().whole
    }

    /// Where the applier stands.
    pub(crate) fn applied(&self) -> Place {
        self.state.lock().applied
    }

    /// All whole transactions are applied.
    pub(crate) fn is_caught_up(&self) -> bool {
        let state = self.state.lock();
        state.applied >= state.whole
    }

    /// Bytes of all of them.
    pub(crate) fn space(&self) -> u64 {
        self.state.lock().files.iter().map(|f| f.size).sum()
    }

    /// The place, if it is in one of them.
    pub(crate) fn holding(&self, (epoch, place): (u64, Place)) -> Option<Place> {
        let state = self.state.lock();
        let within = |f: &Written| f.number == place.number && f.size >= place.at;
        (state.epoch == epoch && state.files.iter().any(within)).then_some(place)
    }

    /// The first file behind this number.
    pub(crate) fn file_behind(&self, number: u64) -> Option<u64> {
        self.state.lock().files.iter().map(|f| f.number).find(|n| *n > number)
    }

    /// What there is behind a place.
    pub(crate) fn behind(&self, place: Place) -> Behind {
        let state = self.state.lock();
        match state.files.iter().find(|f| f.number == place.number) {
            Some(file) if file.size > place.at => Behind::More(file.size),
            _ if state.files.back().is_some_and(|last| last.number > place.number) => Behind::Next,
            _ => Behind::Nothing,
        }
    }

    /// What is before `place` is applied.
    pub(crate) fn pass(&self, place: Place) {
        let mut state = self.state.lock();
        state.applied = state.applied.max(place);
        state.writers.drain(..).for_each(|w| w.wake());
    }

    /// Removes the files of which all is applied.
    pub(crate) fn purge(&self) -> io::Result<()> {
        let gone: Vec<u64> = {
            let mut state = self.state.lock();
            let applied = state.applied;
            let gone = state.files.iter().take_while(|f| f.number < applied.number).map(|f| f.number).collect();
            state.files.retain(|f| f.number >= applied.number);
            state.indexed += 1;
            state.writers.drain(..).for_each(|w| w.wake());
            gone
        };
        if gone.is_empty() { Ok(()) } else { self.remove(gone) }
    }

    /// The source waits until all up to here is durable.
    pub(crate) fn ask(&self, place: Place) {
        let mut state = self.state.lock();
        state.asked = place;
        state.readers.drain(..).for_each(|w| w.wake());
    }

    /// The source waits for what is not durable, or not known to be.
    pub(crate) fn is_asked(&self) -> bool {
        let state = self.state.lock();
        state.asked > state.durable
    }

    /// The applier is to go on from there, which may lie before what it has applied.
    pub(crate) fn go_to(&self, place: Place) {
        self.state.lock().applied = place;
    }

    /// What is received from now on follows this place in the source's log.
    pub(crate) fn receive_from(&self, file: &str, at: u64) {
        self.state.lock().received = Some((file.to_owned(), at));
    }

    /// The number of a file that is there, by its name or path.
    pub(crate) fn number_of(&self, name: &str) -> Option<u64> {
        let of = |f: &Written| self.name(f.number) == name || self.path(f.number) == Path::new(name);
        self.state.lock().files.iter().find(|f| of(f)).map(|f| f.number)
    }

    /// What is before `place` is applied durably.
    pub(crate) fn settle(&self, place: Place) {
        let mut state = self.state.lock();
        state.durable = state.durable.max(place);
        state.writers.drain(..).for_each(|w| w.wake());
    }

    pub(crate) fn is_durable(&self, place: Place) -> bool {
        self.state.lock().durable >= place
    }

    /// They cannot be read.
    pub(crate) fn set_damaged(&self) {
        self.state.lock().damaged = true;
    }

    pub(crate) fn is_damaged(&self) -> bool {
        self.state.lock().damaged
    }

    /// The last file ends, with the transaction that is received.
    pub(crate) fn end_file(&self) {
        self.state.lock().ended = true;
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.state.lock().ended
    }

    /// The applier looks again.
    pub(crate) fn wake_reader(&self) {
        self.state.lock().readers.drain(..).for_each(|w| w.wake());
    }

    /// The applier waits for more than there is behind `place`, and for being woken. False: it is interrupted.
    pub(crate) fn wait_behind(&self, place: Place) -> bool {
        self.state.lock().readers.push(waker());
        // What has come before that is not waited for.
        self.behind(place) != Behind::Nothing || park(Wait::LogFollow, None) != Unpark::Interrupted
    }

    /// The receiver waits for the applier, until `done` or the deadline. `None`: it is interrupted.
    pub(crate) fn wait_for_applier(&self, deadline: u64, done: impl Fn() -> bool) -> Option<bool> {
        loop {
            self.state.lock().writers.push(waker());
            if done() {
                return Some(true);
            }
            match park(Wait::LogFollow, Some(deadline)) {
                Unpark::Woken => {}
                Unpark::TimedOut => return Some(done()),
                Unpark::Interrupted => return None,
            }
        }
    }

    /// For statements.
    pub(crate) fn shown(&self) -> Vec<RelayLog> {
        let files: Vec<Written> = self.state.lock().files.iter().copied().collect();
        let shown = |f: Written| RelayLog { name: self.name(f.number), path: self.path(f.number), size: f.size };
        files.into_iter().map(shown).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The receiver and the applier write the index, each when it will.
    #[test]
    fn the_index_is_written_by_two() {
        let dir = std::env::temp_dir().join(format!("gannet-relay-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let relay = Relay { dir: dir.clone(), base: "r".into(), state: Mutex::default(), writes: AtomicU64::new(0) };
        std::thread::scope(|scope| {
            let writers = [0, 1].map(|_| scope.spawn(|| (0..200).try_for_each(|_| relay.write_index())));
            writers.into_iter().for_each(|w| w.join().unwrap().unwrap());
        });
        let left: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|f| f.unwrap().file_name()).collect();
        assert_eq!(left, ["r.index"]);
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn channels_have_files_of_their_own() {
        assert_eq!(in_file_name("East_1"), "east_1");
        assert_eq!(in_file_name("a-b c"), "a@002db@0020c");
    }
}
