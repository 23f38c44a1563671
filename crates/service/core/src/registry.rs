//! The connections: connection ids, the process list, limits, KILL.
//!
//! Each session writes its own entry (plain stores to a line that no other session writes); SHOW PROCESSLIST reads
//! all entries. The map itself changes at connect and disconnect only.

pub use crate::activity::Activity;
use crate::consumers::{Consumers, Kept};
use crate::history::{Ended, Event, History, LongHistory, Running, TEXT_BYTES};
use crate::instances::{Instances, Rounds};
use crate::kept::KeptText;
use crate::ledger::{Key, Kind, Ledger, Life, NOBODY, Of, Part, SessionDeeds};
use crate::setup::{Setup, WatchedCell};
use crate::stages::{SessionStages, Stages};
use crate::tallies::{Counted, Tallies};
use crate::transacted::{self, LongTransactions};
use crate::vars::SessionVars;
use crate::waited::Whose;
use gannet_base::Sequence;
use gannet_base::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use gannet_base::sync::{Mutex, RwLock};
use gannet_exec::spill::{Figures, Taken};
use gannet_parser::LexMode;
use gannet_runtime::{Interrupt, LastWord, TaskContext, Wait, Waker};
use gannet_telemetry::{Counter, Execution, Rare, SessionCounters, Work, count};
use gannet_wire::compress::Algorithm;
use gannet_wire::tls::Agreed;
use std::borrow::Cow;
use std::collections::BTreeMap;
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
    /// The statements that have ended.
    pub history: History,
    /// What its statements did.
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
    /// Its prepared statements.
    pub prepared: Instances,
    /// Its counters.
    pub counters: SessionCounters,
    /// Memory that its statements took.
    pub memory: Arc<Taken>,
    /// User, `host:port` and database.
    who: RwLock<Who>,
    /// Connection attributes of its login.
    pub attributes: Mutex<Arc<[Attribute]>>,
    /// Where it comes from; empty for a UNIX socket.
    pub address: String,
    /// As what it is counted; `None` when it has ended.
    counted: Mutex<Option<Counted>>,
    /// How far its login is: see [`Progress`].
    progress: AtomicU8,
    /// How its packets are compressed.
    pub compression: OnceLock<Algorithm>,
    /// How its connection is encrypted; empty where it is not.
    pub tls: OnceLock<Agreed>,
    /// When it began, or its client changed user.
    began_ns: AtomicU64,
    /// It did not end by itself.
    lost: AtomicBool,
    /// What its long work is at: made by the first, with what all sessions have.
    stages: (Arc<Stages>, OnceLock<Box<SessionStages>>),
}

/// How far a connection's login is. Connections that have logged in and those that have not are bounded separately,
/// so that clients which connect and send nothing keep no other client out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Progress {
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
const UNKNOWN: &str = "unauthenticated user";

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

impl Entry {
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
        let command = Activity::of(self.activity.load(Relaxed));
        let length = self.info_len.load(Relaxed);
        let text = self.info_text.load(Relaxed);
        self.history.add(&Running { command, text, length, words: &self.info, long: &self.long_info }, ended);
    }

    /// The statements that have ended and are kept, the oldest first.
    pub fn events(&self) -> Vec<Event> {
        let mode = *self.mode.lock();
        self.history.events(self.id, mode)
    }

    /// The last statement that has ended.
    pub fn last_event(&self) -> Option<Event> {
        let mode = *self.mode.lock();
        self.history.last(self.id, mode)
    }

    /// The statement that runs, if one does.
    pub fn running_event(&self, now_ns: u64) -> Option<Event> {
        let mut text = self.text().filter(|_| self.activity().0 != Activity::Sleep)?;
        text.truncate(TEXT_BYTES + 4);
        let (command, started_ns) = self.activity();
        let number = self.history.count() + 1;
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

/// All sessions.
#[derive(Default)]
pub struct Registry {
    next: AtomicU64,
    /// Connections whose clients have logged in.
    inside: AtomicUsize,
    map: Mutex<BTreeMap<u64, Arc<Entry>>>,
    /// When the active ones of many were counted, and how many they were.
    ran: Mutex<(u64, u64)>,
    /// What is collected of single statements.
    pub consumers: Consumers,
    /// Of whom and of what.
    pub setup: Setup,
    /// Statements of all sessions, while that is asked for.
    pub long_history: LongHistory,
    /// The same of transactions.
    pub long_transactions: LongTransactions,
    /// How often the figures of prepared statements were forgotten.
    pub prepared: Rounds,
    /// Connections by account, user and host.
    pub tallies: Tallies,
    /// Wakes the event scheduler.
    events: Mutex<Option<Waker>>,
    /// What the statements of sessions did that have ended.
    pub ledger: Ledger,
}

impl Registry {
    /// The task that starts events sleeps until one is due: this says that another one may be due first.
    pub fn wake_events(&self) {
        if let Some(scheduler) = &*self.events.lock() {
            scheduler.wake();
        }
    }

    /// The current task is the one that starts events.
    pub fn starts_events(&self) {
        *self.events.lock() = Some(gannet_runtime::waker());
    }

    /// Registers a connection whose client is still to log in; returns its entry and how many there are now.
    pub fn enter(&self, context: TaskContext, host: String, address: String) -> (Arc<Entry>, usize) {
        let who = Who { user: UNKNOWN.into(), host, database: None };
        self.add(context, who, address, Progress::Silent)
    }

    /// A session of the server's own begins, shown as `user`; it is no connection.
    pub fn enter_own(&self, context: TaskContext, user: &str, host: &str) -> Arc<Entry> {
        let who = Who { user: user.into(), host: host.into(), database: None };
        self.add(context, who, String::new(), Progress::Own).0
    }

    fn add(&self, context: TaskContext, who: Who, address: String, progress: Progress) -> (Arc<Entry>, usize) {
        let id = self.next.fetch_add(1, Relaxed) + 1;
        // Whose a client's is becomes known when it logs in.
        let known = matches!(progress, Progress::Own).then_some((&*who.user, &*who.host));
        let counted = self.tallies.count(known);
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
            began_ns: AtomicU64::new(gannet_runtime::now_ns()),
            lost: AtomicBool::new(false),
            stages: (self.consumers.stages.clone(), OnceLock::new()),
            activity: AtomicU8::new(Activity::Connect as u8),
            watched: WatchedCell::default(),
            since_ns: AtomicU64::new(gannet_runtime::now_ns()),
            info: std::array::from_fn(|_| AtomicU64::new(0)),
            info_len: AtomicU32::new(0),
            info_text: AtomicU64::new(0),
            texts: AtomicU64::new(0),
            info_sequence: Sequence::new(),
            long_info: Mutex::new(None),
            history: History::default(),
            mode: Mutex::default(),
            deeds: SessionDeeds::default(),
            variables: Mutex::default(),
            prepared: Instances::default(),
            counters: SessionCounters::new(),
            memory: Arc::default(),
        });
        let word: Weak<Entry> = Arc::downgrade(&entry);
        entry.context.set_last_word(word);
        let staging: Weak<Entry> = Arc::downgrade(&entry);
        entry.counters.stages_go_to(staging);
        let mut map = self.map.lock();
        map.insert(id, entry.clone());
        (entry, map.len())
    }

    /// Where a statement of the session is kept that has ended; `None`: nothing is collected of it. `counter`, `error`:
    /// as [`Registry::did`] has them.
    #[inline(always)]
    pub fn keeps(&self, entry: &Entry, counter: Option<Counter>, error: u16) -> Option<Kept> {
        let kept = self.consumers.of_ended()?;
        if entry.watched.is_all() && !self.setup.some_off() {
            return Some(kept);
        }
        let kind = Kind::of(entry.activity().0, counter, error);
        self.of_watched(entry, kept).filter(|_| self.setup.is_on(kind))
    }

    /// The part of it that is collected of the session.
    #[cold]
    fn of_watched(&self, entry: &Entry, kept: Kept) -> Option<Kept> {
        let watched = entry.watched.get();
        let long = kept.long && watched.history;
        watched.instrumented.then_some(Kept { long, listed: watched.history, ..kept })
    }

    /// Anything is collected of the session.
    pub fn collects_of(&self, entry: &Entry) -> bool {
        self.consumers.collect() && entry.watched.get().instrumented
    }

    /// A statement of the session has ended. `counter`: of its kind. `error`: its number, 0 without one.
    #[inline(always)]
    pub fn did(&self, entry: &Entry, counter: Option<Counter>, error: u16, e: &Execution) {
        gannet_telemetry::latency(e.latency_ns);
        let kind = Kind::of(entry.activity().0, counter, error);
        self.ledger.did(&entry.deeds, || entry.account(), kind, e);
        if error != 0 {
            self.ledger.raised(&entry.deeds, || entry.account(), (error, false), e.end_unix_us);
        }
    }

    /// A transaction of the session has ended.
    #[inline]
    pub fn transacted(&self, entry: &Entry, ended: &transacted::Ended) {
        let Some(mut kept) = self.consumers.of_transactions() else { return };
        if !entry.watched.is_all() || self.setup.some_off() {
            let Some(watched) = self.of_watched(entry, kept).filter(|_| self.setup.transactions()) else { return };
            kept = Kept { own: watched.own && watched.listed, ..watched };
        }
        self.ledger.transacted(&entry.deeds, || entry.account(), ended);
        if kept.own {
            entry.deeds.transacted.keep(ended);
        }
        if kept.long {
            self.long_transactions.add(entry.id, *ended);
        }
    }

    /// A statement of the session raised a warning or a note.
    pub fn warned(&self, entry: &Entry, number: u16, unix_us: u64) {
        self.ledger.raised(&entry.deeds, || entry.account(), (number, false), unix_us);
    }

    /// A handler of a stored program took an error.
    pub fn handled(&self, entry: &Entry, error: u16, unix_us: u64) {
        self.ledger.raised(&entry.deeds, || entry.account(), (error, true), unix_us);
    }

    /// The client of a connection has logged in or changed user.
    pub fn known_as(&self, entry: &Entry, who: Who) {
        if entry.progress.load(Relaxed) == Progress::In as u8 {
            let memory = entry.memory.begin_again().over();
            self.ledger.ends(&entry.deeds, &entry.account(), (&entry.counters, entry.life(), memory));
        }
        entry.began_ns.store(gannet_runtime::now_ns(), Relaxed);
        let counted = self.tallies.count(Some((&who.user, entry.host())));
        if let Some(before) = &mut *entry.counted.lock() {
            before.becomes(counted);
        }
        entry.watched.set(self.setup.of_client(&who.user, entry.host()));
        *entry.who.write() = who;
    }

    /// TRUNCATE of what sessions waited for: of a sum, or (`None`) of the sessions alone.
    pub fn forget_waits(&self, of: Option<Of>) {
        if let Some(of) = of {
            self.ledger.forget(Part::Waits, of);
        }
        let sums = of.map_or(&[][..], Of::forgotten_with);
        let goes = |whose| match whose {
            Whose::Session => true,
            Whose::Sum(of) => sums.contains(&of),
        };
        self.all().iter().for_each(|e| e.deeds.waits.forget(&e.counters, goes));
    }

    /// The same of the stages of their work. As in MySQL, the sessions' own go with every sum.
    pub fn forget_stages(&self, of: Option<Of>) {
        if let Some(of) = of {
            self.consumers.stages.forget(of);
        }
        self.all().iter().filter_map(|entry| entry.stages()).for_each(SessionStages::forget_sums);
    }

    /// The same of the memory that sessions took: what they hold stays.
    pub fn forget_memory(&self, of: Option<Of>) {
        if let Some(of) = of {
            self.ledger.forget(Part::Memory, of);
        }
        let forgotten = of.map_or(&[][..], Of::forgotten_with);
        for entry in self.all() {
            self.ledger.took(&entry.account(), entry.memory.begin_again().over(), forgotten);
        }
    }

    /// Memory that sessions took, by account, user or host.
    pub fn memory(&self, of: Of) -> BTreeMap<Key, Figures> {
        let mut all = self.ledger.memory(of);
        for entry in self.all() {
            let (user, host) = entry.account();
            all.entry(of.key(&user, &host)).or_default().add(&entry.memory.read());
        }
        all
    }

    /// The accounts, users or hosts themselves are forgotten, and with them what they did.
    pub fn forget_who(&self, of: Of) {
        self.forget_waits(Some(of));
        self.forget_memory(Some(of));
        self.forget_stages(Some(of));
        self.ledger.forget_who(of);
    }

    /// The client of a connection has begun to log in.
    pub fn speaks(&self, entry: &Entry) {
        if entry.progress.load(Relaxed) == Progress::Silent as u8 {
            entry.progress.store(Progress::Speaks as u8, Relaxed);
        }
    }

    /// Lets a client in, unless `most` are in already. Idempotent.
    pub fn let_in(&self, entry: &Entry, most: usize) -> bool {
        let fits = |n: usize| (n < most).then_some(n + 1);
        if entry.progress.load(Relaxed) == Progress::In as u8 {
            return true;
        }
        let fitted = self.inside.fetch_update(Relaxed, Relaxed, fits).is_ok();
        if fitted {
            entry.progress.store(Progress::In as u8, Relaxed);
        }
        fitted
    }

    /// Bytes of the longest connection attributes of a login so far.
    pub fn longest_attributes(&self) -> u64 {
        LONGEST_ATTRIBUTES.load(Relaxed)
    }

    /// Connections whose clients have logged in.
    pub fn inside(&self) -> usize {
        self.inside.load(Relaxed)
    }

    /// Sees that at most `most` connections wait for their clients to log in: of the address that has most of them, and
    /// of its older half, those end which have said nothing, the oldest first, and then the others. The younger half
    /// has time to begin, whatever the others have begun and do not go on with.
    pub fn make_room(&self, most: usize) {
        let map = self.map.lock();
        if map.len().saturating_sub(self.inside()) <= most {
            return;
        }
        let progress = |e: &Entry| e.progress.load(Relaxed);
        // A session that was told to end counts as gone.
        let ends = |e: &Entry| e.context.pending().is_some_and(|i| i >= Interrupt::PeerGone);
        let waits = |e: &Entry| progress(e) < Progress::In as u8 && !ends(e);
        let waiting: Vec<&Arc<Entry>> = map.values().filter(|e| waits(e)).collect();
        let mut of: BTreeMap<&str, usize> = BTreeMap::new();
        waiting.iter().for_each(|e| *of.entry(&e.address).or_default() += 1);
        let crowd = of.iter().max_by_key(|(_, n)| **n).map_or("", |(address, _)| address);
        let mut theirs: Vec<&&Arc<Entry>> = waiting.iter().filter(|e| e.address == crowd).collect();
        theirs.sort_by_key(|e| e.id);
        let older = theirs.len().div_ceil(2);
        theirs[..older].sort_by_key(|e| (progress(e), e.id));
        for entry in theirs.into_iter().take(waiting.len().saturating_sub(most)) {
            entry.context.interrupt(Interrupt::Connection);
        }
    }

    /// A connection ended.
    pub fn leave(&self, id: u64) {
        let gone = self.map.lock().remove(&id);
        // Lists may hold the entry for a while.
        drop(gone.as_ref().and_then(|e| e.counted.lock().take()));
        if let Some(entry) = &gone {
            let memory = entry.memory.read().ended();
            self.ledger.ends(&entry.deeds, &entry.account(), (&entry.counters, entry.life(), memory));
        }
        if gone.is_some_and(|e| e.progress.load(Relaxed) == Progress::In as u8) {
            self.inside.fetch_sub(1, Relaxed);
        }
    }

    /// Connections now.
    pub fn len(&self) -> usize {
        self.map.lock().len()
    }

    /// True without connections.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All entries, by id.
    pub fn all(&self) -> Vec<Arc<Entry>> {
        self.map.lock().values().cloned().collect()
    }

    /// Sessions that do something. Of many it is what was counted a moment ago: lists of counters are asked for often.
    pub fn running(&self) -> u64 {
        const COUNTED: usize = 256;
        const MOMENT_NS: u64 = 50_000_000;
        let map = self.map.lock();
        let count = || map.values().filter(|e| e.activity().0 != Activity::Sleep).count() as u64;
        if map.len() <= COUNTED {
            return count();
        }
        let (now, mut last) = (gannet_runtime::now_ns(), self.ran.lock());
        if now > last.0 + MOMENT_NS {
            *last = (now, count());
        }
        last.1
    }

    /// One entry.
    pub fn get(&self, id: u64) -> Option<Arc<Entry>> {
        self.map.lock().get(&id).cloned()
    }

    /// KILL: false when there is no such connection.
    pub fn kill(&self, id: u64, query_only: bool) -> bool {
        let Some(entry) = self.get(id) else { return false };
        entry.context.interrupt(if query_only { Interrupt::Query } else { Interrupt::Connection });
        true
    }

    /// Asks all sessions to end.
    pub fn shut_down(&self) {
        for entry in self.all() {
            entry.context.interrupt(Interrupt::Shutdown);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statement_texts_of_every_length_are_seen() {
        let r = Registry::default();
        let (e, n) = r.enter(gannet_runtime::context(), "localhost".into(), String::new());
        assert_eq!((e.id, n), (1, 1));
        for len in [1, 7, 8, 9, 127, 128, 129, 5000] {
            let text = vec![b'x'; len];
            e.begin(Activity::Query, 1, &text);
            assert_eq!(e.info().unwrap().bytes(), text);
        }
        e.idle(2);
        assert_eq!(e.info(), None);
        assert!(!r.kill(99, true));
        r.leave(1);
        assert!(r.is_empty());
    }

    #[test]
    fn what_each_statement_notes_lies_on_two_lines() {
        use std::mem::offset_of;
        assert_eq!((offset_of!(Entry, history), align_of::<Entry>()), (56, 64));
        // The first kind of statements, and the way to its sums.
        assert!(offset_of!(Entry, deeds) + 32 <= 128);
        // Transactions: a line to look at, and one of sums.
        assert_eq!((offset_of!(Entry, deeds) + offset_of!(SessionDeeds, transacted)) % 64, 32);
    }

    #[test]
    fn readers_never_see_a_mixture() {
        let r = Registry::default();
        let (e, _) = r.enter(gannet_runtime::context(), String::new(), String::new());
        let done = Arc::new(AtomicU8::new(0));
        let reader = {
            let (e, done) = (e.clone(), done.clone());
            std::thread::spawn(move || {
                while done.load(Relaxed) == 0 {
                    if let Some(t) = e.info() {
                        let t = t.bytes();
                        assert!(t.iter().all(|b| *b == t[0]), "{t:?}");
                    }
                }
            })
        };
        for i in 0..200_000u32 {
            e.begin(Activity::Query, 0, &[b'a' + (i % 26) as u8; 100]);
        }
        done.store(1, Relaxed);
        reader.join().unwrap();
    }
}
