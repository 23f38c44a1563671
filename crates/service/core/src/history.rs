//! The statements that sessions ran last: performance_schema's events_statements_current, _history and _history_long.
//!
//! Each session keeps its last ten, in memory that it alone writes; others read them by a sequence lock. Those of all
//! sessions are kept in one list, for as long as `events_statements_history_long` asks for it: that is shared.
//!
//! A place has all that a simple statement did, on one line. So its figures go to the session's sums later, with those
//! of others ([`Owes`], [`crate::deeds`]), and it says of itself that it was a transaction, if it was one ([`Alone`]).

use crate::activity::Activity;
use crate::event_names;
use crate::kept::KeptText;
use crate::transacted::{self, Alone, Transacted};
use crate::usual::Usual;
use gannet_base::Sequence;
use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use gannet_parser::{LexMode, digest};
use gannet_telemetry::{DigestKey, Execution, Rare, Simple, WorkCells};
use gannet_types::ErrorCode;
use std::collections::VecDeque;
use std::sync::OnceLock;

/// Statements that a session keeps (`performance_schema_events_statements_history_size`).
pub const KEPT: usize = 10;
/// Statements of all sessions (`performance_schema_events_statements_history_long_size`).
pub const KEPT_LONG: usize = 10_000;
/// Bytes of a text (`performance_schema_max_sql_text_length`).
pub const TEXT_BYTES: usize = 1024;

/// Words of a text that need no lock.
const TEXT_WORDS: usize = 16;
/// Bytes of longer texts and of errors' words that all sessions keep together. Beyond, only the words above stay.
const MOST_REST: usize = 4 << 20;
/// What they keep.
static REST: AtomicUsize = AtomicUsize::new(0);

/// What a session's statement leaves when it has ended.
pub struct Ended<'a> {
    pub execution: &'a Execution,
    /// Asked where the text is not kept yet.
    pub digest: &'a dyn Fn() -> Option<DigestKey>,
    /// When it began, as `now_ns` tells.
    pub started_ns: u64,
    /// `CatalogSnapshot::schema_id` of the default database.
    pub schema: u32,
    /// The error, and what was said of it.
    pub error: Option<(u16, &'a str)>,
    /// It is one of the last ones, and not only the current one.
    pub listed: bool,
    /// Sums that it is not in yet; `None`: it is in all. It raised no error otherwise.
    pub owes: Option<Owes>,
}

/// What is left by one that raised no error, did nothing [`Rare`], is listed, and owes what it did to all sums.
pub struct Plain<'a> {
    /// Without its [`Execution::rare`].
    pub execution: &'a Execution,
    pub started_ns: u64,
    pub schema: u32,
    /// The transaction that it was.
    pub alone: Option<Alone>,
}

/// To what a statement that has ended is still to be added.
#[derive(Clone, Copy, Debug)]
pub struct Owes {
    /// The number of its kind.
    pub(crate) kind: u16,
    /// The transaction that it was, which nobody else is told of.
    pub(crate) alone: Option<Alone>,
}

/// A statement that is in its place still to be added to sums.
pub(crate) struct Owing {
    pub owes: Owes,
    /// Which text it was.
    pub which: u64,
    pub execution: Execution,
}

/// A statement that runs or has ended, as others see it.
#[derive(Clone, Debug)]
pub struct Event {
    /// Number among the session's.
    pub number: u64,
    /// The session.
    pub thread: u64,
    pub started_ns: u64,
    pub execution: Execution,
    pub digest: Option<DigestKey>,
    pub schema: u32,
    pub command: Activity,
    /// The error's number, 0 without one.
    pub error: u16,
    /// What was said of the error: it repeats a part of the text.
    said: String,
    /// As it came: [`Event::text`] is for others.
    raw: Vec<u8>,
    /// The end of it was not kept.
    cut: bool,
    listed: bool,
    mode: LexMode,
}

impl Event {
    /// A statement that goes on, `number` of session `thread`.
    pub(crate) fn running(
        thread: u64,
        number: u64,
        command: Activity,
        (started_ns, now_ns): (u64, u64),
        raw: Vec<u8>,
        mode: LexMode,
    ) -> Event {
        let latency_ns = now_ns.saturating_sub(started_ns);
        Event {
            number,
            thread,
            started_ns,
            execution: Execution { latency_ns, ..Execution::default() },
            digest: None,
            schema: 0,
            command,
            error: 0,
            said: String::new(),
            raw,
            cut: false,
            listed: true,
            mode,
        }
    }

    /// The text, without passwords, cut to [`TEXT_BYTES`].
    pub fn text(&self) -> KeptText {
        KeptText::of(&self.raw, self.mode).first(TEXT_BYTES)
    }

    /// What was said of the error; nothing where the text may hold a password.
    pub fn message(&self) -> Option<&str> {
        let shown = self.error != 0 && KeptText::of(&self.raw, self.mode).bytes() == self.raw;
        shown.then_some(&*self.said)
    }

    /// The event's name, `statement/sql/select`.
    pub fn name(&self) -> String {
        match self.command {
            Activity::Execute => event_names::EXECUTE.into(),
            _ if self.error == ErrorCode::Parse.number() => event_names::ERROR.into(),
            _ => event_names::of_text(&self.raw, self.is_whole(), self.mode),
        }
    }

    /// The normalised text as it follows from the statement; nothing where that was cut or is withheld.
    pub fn normalised(&self) -> Option<String> {
        let known = self.is_whole() && self.text().withheld().is_none();
        known.then(|| digest::digest(&self.raw, self.mode).text)
    }

    fn is_whole(&self) -> bool {
        self.raw.len() <= TEXT_BYTES && !self.cut
    }
}

/// One place of the ring. `sequence` guards the atomics. A statement whose text the place has writes the first line
/// alone.
#[derive(Default)]
#[repr(C, align(64))]
struct Place {
    sequence: Sequence,
    started_ns: AtomicU64,
    latency_ns: AtomicU64,
    rows_sent: AtomicU64,
    rows_examined: AtomicU64,
    rows_affected: AtomicU64,
    /// Bits from the highest on: 32 the default database, 16 the error or what it owes, 4 the command, 1 nothing, 5 an
    /// [`Alone`] or nothing, 6 flags.
    kind: AtomicU64,
    /// Which text `text` has: see [`Running::text`].
    which: AtomicU64,
    /// Of the text.
    digest: [AtomicU64; 2],
    /// The whole text's length.
    length: AtomicU32,
    text: [AtomicU64; TEXT_WORDS],
    /// What simple statements have not.
    more: OnceLock<Box<More>>,
}

#[derive(Default)]
struct More {
    /// What it added to the counters, if it added anything.
    work: WorkCells,
    locks_ns: AtomicU64,
    cpu_ns: AtomicU64,
    warnings: AtomicU64,
    /// What is long or rare: the start of a text that the words do not hold, and the words of an error.
    rest: Mutex<Rest>,
}

#[derive(Clone, Default)]
struct Rest {
    text: Vec<u8>,
    said: String,
}

impl Rest {
    fn bytes(&self) -> usize {
        self.text.capacity() + self.said.capacity()
    }
}

impl Drop for More {
    fn drop(&mut self) {
        REST.fetch_sub(self.rest.lock().bytes(), Relaxed);
    }
}

/// A session's last statements. Its session writes it. What each one looks at is in front.
#[repr(C)]
#[derive(Default)]
pub struct History {
    /// Statements so far.
    count: AtomicU64,
    /// Made by the first statement: a connection that says nothing needs no memory for it.
    places: OnceLock<Box<[Place; KEPT]>>,
    /// What is owed belongs to the present sums, for as long as this holds.
    pub(crate) usual: Usual,
    /// The last one that was no [`Alone`].
    plain: AtomicU64,
    /// Those up to this owe nothing.
    settled: AtomicU64,
    /// The last [`Alone`], unless the nine before it were some, too.
    alone: AtomicU64,
    /// An [`Alone`] up to this is kept with the transactions.
    moved: AtomicU64,
    /// The last one up to this is not shown as the current one. Others write it, and the next.
    forgotten: AtomicU64,
    /// Those up to this are not shown among the last ones.
    cleared: AtomicU64,
}

/// What the process list has of the statement that ends.
pub struct Running<'a> {
    /// The number of its [`Activity`].
    pub command: u8,
    /// Which text it is, where it comes again, with the same digest; 0 otherwise.
    pub text: u64,
    /// Length of the text in bytes.
    pub length: u32,
    /// Its start, eight bytes to a word.
    pub words: &'a [AtomicU64; TEXT_WORDS],
    /// The whole of a longer one.
    pub long: &'a Mutex<Option<Vec<u8>>>,
}

const HAS_WORK: u64 = 1;
const NO_INDEX: u64 = 2;
const CUT: u64 = 4;
const HAS_RARE: u64 = 8;
const UNLISTED: u64 = 16;

const OWES: u64 = 32;
/// Where an [`Alone`] and the command begin.
const ALONE: u32 = 6;
const COMMAND: u32 = 12;
const _: () = assert!(ALONE + Alone::BITS <= COMMAND && (Activity::Other as u64) < 1 << (16 - COMMAND));

/// The bits that say to which sums.
const OWED: u64 = 0xffff << 16 | OWES | ((1 << Alone::BITS) - 1) << ALONE;

/// What says of a statement's place that it is not like the others that owe to the same sums.
const NOT_PLAIN: u64 = HAS_RARE | HAS_WORK | NO_INDEX;

/// A word of these, without an error, and without flags.
#[inline(always)]
fn kind_of(schema: u32, command: u8, owes: Option<Owes>) -> u64 {
    let owed = owes.map_or(0, |owes| u64::from(owes.kind) << 16 | OWES | Alone::bits(owes.alone) << ALONE);
    u64::from(schema) << 32 | u64::from(command) << COMMAND | owed
}

fn owes_of(kind: u64) -> Owes {
    Owes { kind: (kind >> 16) as u16, alone: alone_of(kind) }
}

fn alone_of(kind: u64) -> Option<Alone> {
    Alone::of_bits(kind >> ALONE & ((1 << Alone::BITS) - 1))
}

/// Where a statement goes that has ended.
#[derive(Clone, Copy)]
pub(crate) struct Next {
    /// Statements before it.
    count: u64,
    at: usize,
}

impl Next {
    /// The ring is full, or empty.
    #[inline(always)]
    pub(crate) fn is_first(self) -> bool {
        self.at == 0
    }
}

impl Place {
    /// The number of the statement that is in it, the ring's place `at`; 0: none. Places are written in turn.
    fn number(&self, at: usize) -> u64 {
        (self.sequence.writes() * KEPT as u64 + at as u64 + 1).saturating_sub(KEPT as u64)
    }

    /// Figures of the statement that is in it, without the rare ones.
    #[inline(always)]
    fn figures(&self) -> Execution {
        let load = |a: &AtomicU64| a.load(Relaxed);
        Execution {
            latency_ns: load(&self.latency_ns),
            rows_sent: load(&self.rows_sent),
            rows_examined: load(&self.rows_examined),
            rows_affected: load(&self.rows_affected),
            end_unix_us: 0,
            rare: None,
        }
    }

    /// All figures of the statement that is in it.
    #[inline]
    fn execution(&self, kind: u64) -> Execution {
        let error = kind & OWES == 0 && kind >> 16 & 0xffff != 0;
        let rare = error || kind & NOT_PLAIN != 0;
        Execution { rare: if rare { self.rare(kind, error) } else { None }, ..self.figures() }
    }

    #[cold]
    fn rare(&self, kind: u64, error: bool) -> Option<Rare> {
        let more = self.more.get();
        let of = |cell: fn(&More) -> &AtomicU64| {
            more.filter(|_| kind & HAS_RARE != 0).map_or(0, |more| cell(more).load(Relaxed))
        };
        let rare = Rare {
            error,
            no_index: kind & NO_INDEX != 0,
            locks_ns: of(|more| &more.locks_ns),
            cpu_ns: of(|more| &more.cpu_ns),
            warnings: of(|more| &more.warnings),
            work: more.filter(|_| kind & HAS_WORK != 0).map(|more| more.work.read()),
        };
        rare.if_any()
    }

    /// Statement `number`, if it owes anything.
    #[inline]
    fn owing(&self, at: usize, number: u64) -> Option<Owing> {
        let read = self.sequence.read(|| {
            let kind = self.kind.load(Relaxed);
            let owes = kind & OWES != 0 && self.number(at) == number;
            owes.then(|| Owing {
                owes: owes_of(kind),
                which: self.which.load(Relaxed),
                execution: self.execution(kind),
            })
        });
        read.flatten()
    }

    /// The transaction that the statement was, if it was one.
    fn alone(&self, at: usize) -> Option<transacted::Ended> {
        let read = self.sequence.read(|| {
            let times = (self.started_ns.load(Relaxed), self.latency_ns.load(Relaxed));
            alone_of(self.kind.load(Relaxed)).map(|alone| alone.ended(self.number(at), times))
        });
        read.flatten()
    }

    /// What is in it, the ring's place `at`; `None`: nothing, or its session is writing.
    fn read(&self, at: usize, thread: u64, mode: LexMode) -> Option<Event> {
        let load = |a: &AtomicU64| a.load(Relaxed);
        let (mut event, length, words, rest) = self.sequence.read(|| {
            let (kind, more) = (load(&self.kind), self.more.get());
            let (flags, error) = (kind, if kind & OWES == 0 { (kind >> 16) as u16 } else { 0 });
            let execution = self.execution(kind);
            let digest = u128::from(load(&self.digest[0])) << 64 | u128::from(load(&self.digest[1]));
            let event = Event {
                number: self.number(at),
                thread,
                started_ns: load(&self.started_ns),
                execution,
                digest: (digest != 0).then_some(DigestKey(digest)),
                schema: (kind >> 32) as u32,
                command: Activity::of((kind >> COMMAND) as u8 & 0xf),
                error,
                said: String::new(),
                raw: Vec::new(),
                cut: flags & CUT != 0,
                listed: flags & UNLISTED == 0,
                mode,
            };
            let rest = more.map_or_else(Rest::default, |more| more.rest.lock().clone());
            (event, self.length.load(Relaxed) as usize, self.text.each_ref().map(load), rest)
        })?;
        if event.number == 0 {
            return None;
        }
        event.raw = if length > TEXT_WORDS * 8 && !event.cut {
            rest.text
        } else {
            words.iter().flat_map(|w| w.to_le_bytes()).take(length).collect()
        };
        event.said = rest.said;
        Some(event)
    }
}

impl History {
    /// The place of the next statement. By the session alone.
    #[inline(always)]
    pub(crate) fn next(&self) -> Next {
        let count = self.count.load(Relaxed);
        Next { count, at: (count % KEPT as u64) as usize }
    }

    /// What is owed. The caller sees to it that it is not settled meanwhile.
    pub(crate) fn owing(&self) -> impl Iterator<Item = Owing> + '_ {
        let places = self.places.get().map_or(&[][..], |places| &places[..]);
        (self.settled.load(Relaxed)..self.count.load(Relaxed)).filter_map(move |before| {
            let at = (before % KEPT as u64) as usize;
            places.get(at)?.owing(at, before + 1)
        })
    }

    /// Tells `of_some` what statements owe that come one behind the other and owe to the same sums, and `of_one`
    /// of each that did more than a [`Simple`] holds. Nothing is owed any more then. By the session alone, which
    /// writes no place meanwhile.
    #[inline]
    pub(crate) fn settle(&self, mut of_some: impl FnMut(Owes, u64, &Simple), mut of_one: impl FnMut(Owing)) {
        let Some(places) = self.places.get() else { return };
        let (mut before, count) = (self.settled.load(Relaxed), self.count.load(Relaxed));
        while before < count {
            let place = &places[(before % KEPT as u64) as usize];
            let (kind, which) = (place.kind.load(Relaxed), place.which.load(Relaxed));
            if kind & OWES == 0 {
                before += 1;
            } else if kind & NOT_PLAIN != 0 {
                of_one(Owing { owes: owes_of(kind), which, execution: place.execution(kind) });
                before += 1;
            } else {
                let sums = History::alike(places, (before, count), (kind & OWED, which));
                of_some(owes_of(kind), which, &sums);
                before += sums.count;
            }
        }
        self.settled.store(count, Relaxed);
    }

    /// Sums of the statement after `before` others and of those that follow and owe to the same sums; the first one
    /// is known to.
    #[inline(always)]
    fn alike(places: &[Place; KEPT], (before, count): (u64, u64), (owed, which): (u64, u64)) -> Simple {
        let (mut sums, mut at) = (Simple::default(), (before % KEPT as u64) as usize);
        loop {
            let place = &places[at];
            sums.add(&place.figures());
            at = if at + 1 == KEPT { 0 } else { at + 1 };
            let (next, to) = (&places[at], before + sums.count);
            let goes_on = next.kind.load(Relaxed) & (OWED | NOT_PLAIN) == owed && next.which.load(Relaxed) == which;
            if to == count || !goes_on {
                return sums;
            }
        }
    }

    /// The statements in the places that were transactions, the oldest first. One that its session is writing over is
    /// left out.
    pub(crate) fn alone(&self) -> Vec<transacted::Ended> {
        let places = self.places.get().map_or(&[][..], |places| &places[..]);
        let mut all: Vec<_> = places.iter().enumerate().filter_map(|(at, place)| place.alone(at)).collect();
        all.sort_unstable_by_key(|e| e.number);
        all
    }

    /// A transaction will be kept that is no [`Alone`]: those that came before it are kept before it. By the session
    /// alone.
    #[inline]
    pub(crate) fn move_alone(&self, to: &Transacted) {
        let (count, moved) = (self.count.load(Relaxed), self.moved.load(Relaxed));
        let all_are = self.plain.load(Relaxed) + KEPT as u64 <= count;
        if count > moved && (all_are || self.alone.load(Relaxed) > moved) {
            self.move_some(to, moved);
        }
    }

    #[cold]
    fn move_some(&self, to: &Transacted, moved: u64) {
        self.alone().iter().filter(|ended| ended.number > moved).for_each(|ended| to.keep(ended));
        self.moved.store(self.count.load(Relaxed), Relaxed);
    }

    /// The statement after `count` others takes a place, and not all of the last ten are an [`Alone`]: the one that
    /// was there may be one of the last ten transactions for longer.
    #[inline]
    fn make_way(&self, place: &Place, count: u64, is_alone: bool, to: &Transacted) {
        let before = (count + 1).saturating_sub(KEPT as u64);
        if let Some(alone) = alone_of(place.kind.load(Relaxed)).filter(|_| before > self.moved.load(Relaxed)) {
            to.keep(&alone.ended(before, (place.started_ns.load(Relaxed), place.latency_ns.load(Relaxed))));
        }
        let last = if is_alone { &self.alone } else { &self.plain };
        last.store(count + 1, Relaxed);
    }

    /// The place of a statement that has ended. An [`Alone`] that was there may be one of the last ten transactions for
    /// longer.
    #[inline(always)]
    fn place(&self, Next { count, at }: Next, is_alone: bool, transactions: &Transacted) -> &Place {
        let place = &self.places.get_or_init(Box::default)[at];
        if !is_alone || self.plain.load(Relaxed) + KEPT as u64 > count + 1 {
            self.make_way(place, count, is_alone, transactions);
        }
        place
    }

    /// A statement of the session has ended. Called by the session alone, which has settled what was owed if the place
    /// [is the first](Next::is_first).
    pub(crate) fn add(&self, next: Next, running: &Running<'_>, ended: &Ended<'_>, transactions: &Transacted) {
        let e = ended.execution;
        let place = self.place(next, ended.owes.is_some_and(|owes| owes.alone.is_some()), transactions);
        place.sequence.write(|| {
            let mut kind = kind_of(ended.schema, running.command, ended.owes);
            if !ended.listed {
                kind |= UNLISTED;
            }
            if running.length as usize > TEXT_WORDS * 8 || ended.error.is_some() {
                kind |= place.keep_rest(running, ended);
            }
            if let Some(rare) = &e.rare {
                kind |= place.keep_rare(rare);
            }
            if kind & CUT != 0 || !place.has_text(running) {
                place.keep_text((running.text, running.length), running.words, (ended.digest)());
            }
            place.keep(kind, ended.started_ns, e);
        });
        self.count.store(next.count + 1, Relaxed);
    }

    /// The same of one that is [`Plain`], and whose text is no longer than the words hold. In line: what it is told
    /// stays in registers.
    #[inline(always)]
    pub(crate) fn add_plain(
        &self,
        next: Next,
        running: &Running<'_>,
        (plain, owes): (&Plain<'_>, Owes),
        digest: impl FnOnce() -> Option<DigestKey>,
        transactions: &Transacted,
    ) {
        let place = self.place(next, plain.alone.is_some(), transactions);
        let writing = place.sequence.writing();
        if !place.has_text(running) {
            place.keep_text((running.text, running.length), running.words, digest());
        }
        place.keep(kind_of(plain.schema, running.command, Some(owes)), plain.started_ns, plain.execution);
        drop(writing);
        self.count.store(next.count + 1, Relaxed);
    }

    /// Statements that have ended.
    pub fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// Those that are kept, the oldest first. One that its session is writing over is left out.
    pub fn events(&self, thread: u64, mode: LexMode) -> Vec<Event> {
        let Some(places) = self.places.get() else { return Vec::new() };
        let cleared = self.cleared.load(Relaxed);
        let all = places.iter().enumerate().filter_map(|(at, p)| p.read(at, thread, mode));
        let mut events: Vec<Event> = all.filter(|e| e.number > cleared && e.listed).collect();
        events.sort_unstable_by_key(|e| e.number);
        events
    }

    /// The last one that has ended.
    pub fn last(&self, thread: u64, mode: LexMode) -> Option<Event> {
        let at = self.count.load(Relaxed).checked_sub(1).filter(|at| *at >= self.forgotten.load(Relaxed))?;
        let at = (at % KEPT as u64) as usize;
        self.places.get()?[at].read(at, thread, mode)
    }

    /// The last one that has ended is not shown as the current one any more.
    pub fn forget_last(&self) {
        self.forgotten.store(self.count.load(Relaxed), Relaxed);
    }

    /// Forgets them; those that end meanwhile may stay.
    pub fn clear(&self) {
        self.cleared.store(self.count.load(Relaxed), Relaxed);
    }
}

impl Place {
    /// It has the text that has ended already.
    #[inline(always)]
    fn has_text(&self, running: &Running<'_>) -> bool {
        running.text != 0 && running.text == self.which.load(Relaxed)
    }

    /// Keeps a text, which one it is, and its digest.
    #[inline(never)]
    fn keep_text(&self, (which, length): (u64, u32), from: &[AtomicU64; TEXT_WORDS], digest: Option<DigestKey>) {
        let digest = digest.map_or(0, |d| d.0);
        self.digest[0].store((digest >> 64) as u64, Relaxed);
        self.digest[1].store(digest as u64, Relaxed);
        self.length.store(length, Relaxed);
        self.which.store(which, Relaxed);
        let words = (length as usize).div_ceil(8);
        for (to, from) in self.text.iter().zip(from).take(words) {
            to.store(from.load(Relaxed), Relaxed);
        }
    }

    /// Keeps what each statement has.
    #[inline(always)]
    fn keep(&self, kind: u64, started_ns: u64, e: &Execution) {
        self.started_ns.store(started_ns, Relaxed);
        self.latency_ns.store(e.latency_ns, Relaxed);
        self.rows_sent.store(e.rows_sent, Relaxed);
        self.rows_examined.store(e.rows_examined, Relaxed);
        self.rows_affected.store(e.rows_affected, Relaxed);
        self.kind.store(kind, Relaxed);
    }

    /// Keeps what most statements have nothing of. Returns the flags that say so.
    #[cold]
    fn keep_rare(&self, rare: &Rare) -> u64 {
        let more = self.more.get_or_init(Box::default);
        more.locks_ns.store(rare.locks_ns, Relaxed);
        more.cpu_ns.store(rare.cpu_ns, Relaxed);
        more.warnings.store(rare.warnings, Relaxed);
        rare.work.iter().for_each(|work| more.work.put(work));
        HAS_RARE | if rare.work.is_some() { HAS_WORK } else { 0 } | if rare.no_index { NO_INDEX } else { 0 }
    }

    /// Keeps an error and a long text. Returns the bits of `kind` for them: there may be no room for the text.
    #[cold]
    fn keep_rest(&self, running: &Running<'_>, ended: &Ended<'_>) -> u64 {
        let (number, said) = ended.error.unwrap_or((0, ""));
        let long = running.length as usize > TEXT_WORDS * 8;
        let kept = self.keep_words(running, long, said);
        u64::from(number) << 16 | if long && !kept { CUT } else { 0 }
    }

    /// `false`: there is no room for them.
    fn keep_words(&self, running: &Running<'_>, is_long: bool, said: &str) -> bool {
        let rest = &mut *self.more.get_or_init(Box::default).rest.lock();
        rest.text.clear();
        rest.said.clear();
        let before = rest.bytes();
        let long = running.long.lock();
        let text = long.as_deref().filter(|_| is_long).unwrap_or_default();
        let text = &text[..text.len().min(TEXT_BYTES + 4)];
        let wanted = text.len().max(rest.text.capacity()) + said.len().max(rest.said.capacity());
        if wanted > before && REST.load(Relaxed) + (wanted - before) > MOST_REST {
            return false;
        }
        rest.text.reserve_exact(text.len());
        rest.text.extend_from_slice(text);
        rest.said.reserve_exact(said.len());
        rest.said.push_str(said);
        let now = rest.bytes();
        if now != before {
            REST.fetch_add(now.wrapping_sub(before), Relaxed);
        }
        true
    }
}

/// The last statements of all sessions, also of those that have ended.
#[derive(Default)]
pub struct LongHistory(Mutex<VecDeque<Event>>);

impl LongHistory {
    /// Adds one.
    pub fn add(&self, event: Event) {
        let mut events = self.0.lock();
        if events.len() == KEPT_LONG {
            events.pop_front();
        }
        events.push_back(event);
    }

    /// All, the oldest first.
    pub fn events(&self) -> Vec<Event> {
        self.0.lock().iter().cloned().collect()
    }

    /// Forgets all.
    pub fn clear(&self) {
        self.0.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_for_which_there_is_no_room_is_cut_and_has_no_digest() {
        let (history, transactions) = (History::default(), Transacted::default());
        let text = format!("SELECT '{}'", "x".repeat(300));
        let long = Mutex::new(Some(text.clone().into_bytes()));
        let words: [AtomicU64; TEXT_WORDS] = std::array::from_fn(|i| {
            AtomicU64::new(u64::from_le_bytes(std::array::from_fn(|at| text.as_bytes()[8 * i + at])))
        });
        let (command, length) = (Activity::Query, text.len() as u32);
        let running = Running { command: command as u8, text: 0, length, words: &words, long: &long };
        let execution = Execution::default();
        let ended = Ended {
            execution: &execution,
            digest: &|| None,
            started_ns: 1,
            schema: 0,
            error: None,
            listed: true,
            owes: None,
        };
        history.add(history.next(), &running, &ended, &transactions);
        REST.fetch_add(MOST_REST, Relaxed);
        history.add(history.next(), &running, &ended, &transactions);
        REST.fetch_sub(MOST_REST, Relaxed);
        let events = history.events(1, LexMode::default());
        assert_eq!(events.iter().map(|e| e.text().bytes().len()).collect::<Vec<_>>(), [text.len(), 128]);
        assert!(events[0].normalised().is_some() && events[1].normalised().is_none());
        assert_eq!(events[1].name(), "statement/sql/select");
        let before = REST.load(Relaxed);
        drop(history);
        assert!(REST.load(Relaxed) < before);
    }
}
