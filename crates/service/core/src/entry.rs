//! What others see of a session, which alone writes it: plain stores to lines that no other session writes.

use crate::activity::Activity;
use crate::history::{Ended, Event, Plain, Running, TEXT_BYTES};
use crate::kept::KeptText;
use crate::ledger::{Kind, Life, NOBODY, SessionDeeds};
use crate::setup::WatchedCell;
use crate::stages::{SessionStages, Stages};
use crate::tallies::Counted;
use crate::vars::SessionVars;
use gannet_base::Sequence;
use gannet_base::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use gannet_base::sync::{Mutex, RwLock};
use gannet_exec::spill::Taken;
use gannet_parser::LexMode;
use gannet_runtime::{LastWord, TaskContext, Wait};
use gannet_telemetry::{Bucket, Counter, DigestKey, Rare, SessionCounters, Work, count, latency_in};
use gannet_wire::compress::Algorithm;
use gannet_wire::tls::Agreed;
use std::borrow::Cow;
use std::io::Write;
use std::sync::{Arc, OnceLock, Weak};

/// Words of the statement text kept in the entry: enough for what SHOW PROCESSLIST shows without FULL.
const INFO_WORDS: usize = 16;

/// Longest text that a list shows, as in MySQL.
const LIST_BYTES: usize = 65_535;

/// A longer text is cut before secrets are looked for in it.
const LONG_INFO: usize = 1 << 20;

/// What others see of a session. In this order in memory: what each statement writes lies together, on two lines.
#[repr(C, align(64))]
pub struct Entry {
    /// Connection id.
    pub id: u64,
    /// What KILL acts on.
    pub context: TaskContext,
    /// When the activity began, as `now_ns` tells.
    since_ns: AtomicU64,
    activity: AtomicU8,
    /// What is collected of it.
    pub watched: WatchedCell,
    info_sequence: Sequence,
    /// Length of the current statement's text.
    info_len: AtomicU32,
    /// Which text it is, see [`Entry::new_text`]; 0: one that comes once.
    info_text: AtomicU64,
    /// What its statements did, and those that have ended.
    pub deeds: SessionDeeds,
    /// Start of the text. `info_sequence` guards it and its length.
    info: [AtomicU64; INFO_WORDS],
    texts: AtomicU64,
    /// The text when it is longer than what the words hold.
    long_info: Mutex<Option<Vec<u8>>>,
    /// How the text is read: by the session's `sql_mode`.
    mode: Mutex<LexMode>,
    /// Its variables, as they were at the end of its last command.
    pub variables: Mutex<Option<SessionVars>>,
    /// Its counters.
    pub counters: SessionCounters,
    /// Memory that its statements took.
    pub memory: Arc<Taken>,
    /// User, `host:port` and database.
    pub(crate) who: RwLock<Who>,
    /// Connection attributes of its login.
    pub attributes: Mutex<Arc<[Attribute]>>,
    /// Where it comes from; empty for a UNIX socket.
    pub address: String,
    /// As what it is counted; `None` when it has ended.
    pub(crate) counted: Mutex<Option<Counted>>,
    /// How far its login is: see [`Progress`].
    pub(crate) progress: AtomicU8,
    /// How its packets are compressed.
    pub compression: OnceLock<Algorithm>,
    /// How its connection is encrypted; empty where it is not.
    pub tls: OnceLock<Agreed>,
    /// When it began, or its client changed user.
    pub(crate) began_ns: AtomicU64,
    /// It did not end by itself.
    lost: AtomicBool,
    /// What its long work is at: made by the first, with what all sessions have.
    stages: (Arc<Stages>, OnceLock<Box<SessionStages>>),
}

/// How far a connection's login is. Connections that have logged in and those that have not are bounded separately,
/// so that clients which connect and send nothing keep no other client out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Progress {
    /// The client has not said anything.
    Silent,
    /// It has begun to log in.
    Speaks,
    /// It is in.
    In,
    /// There is no client: the session is the server's own.
    Own,
}

/// The user of the server's own sessions that prepare what it needs.
pub const STARTS: &str = "boot";

/// The user of a client that has not logged in.
pub(crate) const UNKNOWN: &str = "unauthenticated user";

/// A connection attribute: name and value.
pub type Attribute = (Vec<u8>, Vec<u8>);

/// Identity of a session.
#[derive(Clone, Debug, Default)]
pub struct Who {
    /// User name as given.
    pub user: String,
    /// `host:port`, or `localhost`.
    pub host: String,
    /// Default database.
    pub database: Option<Arc<str>>,
}

/// Bytes of the longest connection attributes of a login so far.
static LONGEST_ATTRIBUTES: AtomicU64 = AtomicU64::new(0);

/// Bytes of connection attributes that are kept (`performance_schema_session_connect_attrs_size`).
const ATTRIBUTES: usize = 512;

/// Bytes of the longest connection attributes of a login so far.
pub(crate) fn longest_attributes() -> u64 {
    LONGEST_ATTRIBUTES.load(Relaxed)
}

impl Entry {
    /// Of a connection or session that begins.
    pub(crate) fn new(
        id: u64,
        (context, progress): (TaskContext, Progress),
        (who, address): (Who, String),
        counted: Counted,
        stages: Arc<Stages>,
    ) -> Arc<Entry> {
        let now_ns = gannet_runtime::now_ns();
        let entry = Arc::new(Entry {
            id,
            context,
            who: RwLock::new(who),
            attributes: Mutex::new(Arc::new([])),
            address,
            counted: Mutex::new(Some(counted)),
            progress: AtomicU8::new(progress as u8),
            compression: OnceLock::new(),
            tls: OnceLock::new(),
            began_ns: AtomicU64::new(now_ns),
            lost: AtomicBool::new(false),
            stages: (stages, OnceLock::new()),
            activity: AtomicU8::new(Activity::Connect as u8),
            watched: WatchedCell::default(),
            since_ns: AtomicU64::new(now_ns),
            info: std::array::from_fn(|_| AtomicU64::new(0)),
            info_len: AtomicU32::new(0),
            info_text: AtomicU64::new(0),
            texts: AtomicU64::new(0),
            info_sequence: Sequence::new(),
            long_info: Mutex::new(None),
            mode: Mutex::default(),
            deeds: SessionDeeds::default(),
            variables: Mutex::default(),
            counters: SessionCounters::new(),
            memory: Arc::default(),
        });
        let word: Weak<Entry> = Arc::downgrade(&entry);
        entry.context.set_last_word(word);
        let staging: Weak<Entry> = Arc::downgrade(&entry);
        entry.counters.stages_go_to(staging);
        entry
    }

    /// The connection as its user's, up to now.
    pub fn life(&self) -> Life {
        let connected_ns = gannet_runtime::now_ns().saturating_sub(self.began_ns.load(Relaxed));
        let (secure, lost) = (self.tls.get().is_some(), self.lost.load(Relaxed));
        Life { connected_ns, secure: secure.into(), denied: 0, lost: lost.into() }
    }

    /// The client is gone, or was silent for too long.
    pub fn is_lost(&self) {
        self.lost.store(true, Relaxed);
    }

    /// There is no client: the session is the server's own.
    pub fn is_own(&self) -> bool {
        self.progress.load(Relaxed) == Progress::Own as u8
    }

    /// Keeps the attributes of a login. As in MySQL, what exceeds the bound is left out, and `_truncated` says how
    /// much.
    pub fn keep_attributes(&self, given: &[Attribute]) {
        let size = |(name, value): &Attribute| name.len() + value.len() + 2;
        let mut room = ATTRIBUTES;
        let mut kept = Vec::new();
        let mut lost = 0;
        for a in given {
            if lost == 0 && size(a) <= room {
                room -= size(a);
                kept.push(a.clone());
            } else {
                lost += size(a);
            }
        }
        LONGEST_ATTRIBUTES.fetch_max(given.iter().map(size).sum::<usize>() as u64, Relaxed);
        if lost > 0 {
            count(Counter::AttributesLost);
            kept.push((b"_truncated".to_vec(), lost.to_string().into_bytes()));
        }
        *self.attributes.lock() = kept.into();
    }

    /// The session begins something. `now_ns`: by the monotonic clock.
    #[inline]
    pub fn begin(&self, activity: Activity, now_ns: u64, text: &[u8]) {
        self.activity.store(activity as u8, Relaxed);
        self.since_ns.store(now_ns, Relaxed);
        self.info_text.store(0, Relaxed);
        self.set_info(text);
    }

    /// [`Entry::begin`] with a text that comes again, `number` of [`Entry::new_text`].
    #[inline]
    pub fn begin_again(&self, activity: Activity, now_ns: u64, text: &[u8], number: u64) {
        if self.info_text.load(Relaxed) == number && text.len() <= INFO_WORDS * 8 {
            self.activity.store(activity as u8, Relaxed);
            self.since_ns.store(now_ns, Relaxed);
            // The words have it still.
            return self.info_len.store(text.len() as u32, Relaxed);
        }
        self.begin(activity, now_ns, text);
        self.info_text.store(number, Relaxed);
    }

    /// A number for a text that the session will begin with again.
    pub fn new_text(&self) -> u64 {
        let number = self.texts.load(Relaxed) + 1;
        self.texts.store(number, Relaxed);
        number
    }

    /// The session waits for its client.
    #[inline]
    pub fn idle(&self, now_ns: u64) {
        self.info_len.store(0, Relaxed);
        self.activity.store(Activity::Sleep as u8, Relaxed);
        self.since_ns.store(now_ns, Relaxed);
    }

    #[inline]
    fn set_info(&self, text: &[u8]) {
        if text.len() > INFO_WORDS * 8 {
            *self.long_info.lock() = Some(text.to_vec());
        }
        self.info_sequence.write(|| {
            let (words, rest) = text.as_chunks::<8>();
            for (word, chunk) in self.info.iter().zip(words) {
                word.store(u64::from_le_bytes(*chunk), Relaxed);
            }
            if let Some(word) = self.info.get(words.len()) {
                let last = rest.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b));
                word.store(last, Relaxed);
            }
            self.info_len.store(text.len() as u32, Relaxed);
        });
    }

    /// The statement that runs has ended.
    #[inline(always)]
    pub fn ended(&self, ended: &Ended<'_>) {
        self.deeds.ended(&self.running(), ended);
    }

    #[inline(always)]
    fn running(&self) -> Running<'_> {
        let (command, text) = (self.activity.load(Relaxed), self.info_text.load(Relaxed));
        let length = self.info_len.load(Relaxed);
        Running { command, text, length, words: &self.info, long: &self.long_info }
    }

    /// All was usual when the session asked, and is still: see `usual.rs`.
    #[inline(always)]
    pub fn is_usual(&self) -> bool {
        self.deeds.history.usual.holds()
    }

    /// The statement that runs has ended, [`is_usual`](Self::is_usual), and has a text that needs no lock. `counter`:
    /// of its kind. `bucket`: of its latency.
    #[inline(always)]
    pub fn ended_plain(
        &self,
        counter: Option<Counter>,
        plain: &Plain<'_>,
        bucket: Bucket,
        digest: impl FnOnce() -> Option<DigestKey>,
    ) {
        latency_in(bucket);
        let running = self.running();
        self.deeds.ended_plain(&running, Kind::of_good(running.command, counter), plain, digest);
    }

    /// The text of the statement that runs needs no lock.
    #[inline(always)]
    pub fn is_short(&self) -> bool {
        self.info_len.load(Relaxed) as usize <= INFO_WORDS * 8
    }

    /// The statements that have ended and are kept, the oldest first.
    pub fn events(&self) -> Vec<Event> {
        let mode = *self.mode.lock();
        self.deeds.history.events(self.id, mode)
    }

    /// The last statement that has ended.
    pub fn last_event(&self) -> Option<Event> {
        let mode = *self.mode.lock();
        self.deeds.history.last(self.id, mode)
    }

    /// The statement that runs, if one does.
    pub fn running_event(&self, now_ns: u64) -> Option<Event> {
        let mut text = self.text().filter(|_| self.activity().0 != Activity::Sleep)?;
        text.truncate(TEXT_BYTES + 4);
        let (command, started_ns) = self.activity();
        let number = self.deeds.history.count() + 1;
        let mut event = Event::running(self.id, number, command, (started_ns, now_ns), text, self.mode());
        let work = Some(Work { memory: self.memory.of_statement(), ..Work::default() });
        event.execution.rare = Some(Rare { work, ..Rare::default() });
        Some(event)
    }

    /// The text of the statement that runs, and how it is read.
    pub(crate) fn running_text(&self) -> Option<(Vec<u8>, LexMode)> {
        let text = self.text().filter(|_| self.activity().0 != Activity::Sleep)?;
        Some((text, self.mode()))
    }

    /// How its texts are read.
    fn mode(&self) -> LexMode {
        *self.mode.lock()
    }

    /// The statement that runs, or nothing: as lists show it.
    pub fn info(&self) -> Option<KeptText> {
        // Longer ones are not read again for each list.
        self.kept(|text, _| Some(if text.len() > LONG_INFO { &text[..LIST_BYTES] } else { text }.into()))
            .map(|text| text.first(LIST_BYTES))
    }

    /// The whole statement that runs, or nothing.
    pub fn statement(&self) -> Option<KeptText> {
        self.kept(|text, _| Some(text.into()))
    }

    /// The text to keep of the running statement, as `change` makes it from the statement's own.
    pub fn kept(&self, change: impl FnOnce(&[u8], LexMode) -> Option<Cow<'_, [u8]>>) -> Option<KeptText> {
        let mode = *self.mode.lock();
        let text = self.text()?;
        change(&text, mode).map(|text| KeptText::of(&text, mode))
    }

    /// The running statement for the binary log, whose readers may see everything: as it came, with what may be a
    /// password. Statements that set passwords are there in words of their own.
    pub fn logged_text(&self) -> Vec<u8> {
        self.text().unwrap_or_default()
    }

    /// How the session's texts are read.
    pub fn set_mode(&self, mode: LexMode) {
        *self.mode.lock() = mode;
    }

    fn text(&self) -> Option<Vec<u8>> {
        for _ in 0..100 {
            let read = self.info_sequence.read(|| {
                let len = self.info_len.load(Relaxed) as usize;
                let text = || self.info.iter().flat_map(|w| w.load(Relaxed).to_le_bytes()).take(len).collect();
                (len, if len > INFO_WORDS * 8 { Vec::new() } else { text() })
            });
            match read {
                Some((0, _)) => return None,
                Some((len, _)) if len > INFO_WORDS * 8 => return self.long_info.lock().clone(),
                Some((_, text)) => return Some(text),
                None => {}
            }
        }
        None
    }

    /// Frees the memory of a long statement text; called when the session idles.
    pub fn forget_long_info(&self) {
        self.info_len.store(0, Relaxed);
        *self.long_info.lock() = None;
    }

    /// The session's user, host and database.
    pub fn who(&self) -> Who {
        self.who.read().clone()
    }

    /// As whom its statements are counted: user and host.
    pub fn account(&self) -> (String, String) {
        let user = self.who().user;
        let starts = user == STARTS && self.progress.load(Relaxed) == Progress::Own as u8;
        if starts || user == UNKNOWN {
            return (NOBODY.to_owned(), NOBODY.to_owned());
        }
        (user, self.host().to_string())
    }

    /// Where the client is, without a port: `localhost`, or an address, for addresses have no names here.
    pub fn host(&self) -> &str {
        let remote = !self.address.is_empty() && !self.who.read().host.starts_with("localhost");
        if remote { &self.address } else { "localhost" }
    }

    /// Where the session is said to be.
    pub fn set_host(&self, host: &str) {
        self.who.write().host = host.into();
    }

    /// The session changed its database.
    pub fn set_database(&self, database: Option<Arc<str>>) {
        self.who.write().database = database;
    }

    /// The stages of its long work; `None`: it had none.
    pub fn stages(&self) -> Option<&SessionStages> {
        self.stages.1.get().map(|stages| &**stages)
    }

    /// The same, for the session's own work.
    pub(crate) fn own_stages(&self) -> &SessionStages {
        self.stages.1.get_or_init(|| Box::new(SessionStages::new(self.stages.0.clone())))
    }

    /// What the session does, and since when (as `now_ns` tells).
    pub fn activity(&self) -> (Activity, u64) {
        (Activity::of(self.activity.load(Relaxed)), self.since_ns.load(Relaxed))
    }

    /// `State` of the process list.
    pub fn state(&self) -> &'static str {
        let (activity, _) = self.activity();
        match (activity, self.context.waiting().map(|(w, _)| w)) {
            (Activity::Sleep, _) => "",
            (Activity::Connect, _) => "login",
            (Activity::EventsDue, _) => "Waiting for next activation",
            (Activity::NoEvents, _) => "Waiting on empty queue",
            (_, Some(Wait::MetadataLock)) => "Waiting for table metadata lock",
            (_, Some(Wait::RowLock)) => "Waiting for row lock",
            (_, Some(Wait::LogFlush)) => "waiting for handler commit",
            (_, Some(Wait::ClientWrite)) => "Sending to client",
            (_, Some(Wait::ClientRead)) => "Receiving from client",
            (_, Some(Wait::UserSleep)) => "User sleep",
            (_, Some(Wait::UserLock)) => "User lock",
            // Of long work it matters more at which stage it is than what it waits for at the moment.
            (_, w) => match self.stages().and_then(SessionStages::stage) {
                Some(stage) => stage.state(),
                None => w.map_or("executing", Wait::name),
            },
        }
    }
}

impl LastWord for Entry {
    /// The connection, and its statement up to the first text in quotes, which may be secret.
    fn last_word(&self, out: &mut [u8]) -> usize {
        let mut rest = &mut out[..];
        let free = rest.len();
        // A slice of bytes takes what fits.
        let _ = write!(rest, "connection {}", self.id);
        let len = self.info_len.load(Relaxed) as usize;
        if len > 0 {
            let _ = rest.write(b": ");
            let words = self.info.iter().flat_map(|w| w.load(Relaxed).to_le_bytes());
            for byte in words.take(len).take_while(|b| !matches!(b, b'\'' | b'"')) {
                let _ = rest.write(&[if byte.is_ascii_control() { b' ' } else { byte }]);
            }
        }
        free - rest.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::History;

    #[test]
    fn what_each_statement_notes_lies_on_two_lines() {
        use std::mem::offset_of;
        assert_eq!((offset_of!(Entry, deeds), align_of::<Entry>()), (56, 64));
        assert_eq!((offset_of!(SessionDeeds, history), 56 + size_of::<History>() - 16), (0, 120));
        // Transactions: a line to look at, and one of sums.
        assert_eq!((56 + offset_of!(SessionDeeds, transacted)) % 64, 32);
    }
}
