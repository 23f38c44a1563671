//! What others see of a connection: the process list, digests named `memcached get`, and the slow query log.

use crate::Shared;
use gannet_core::kept::{DigestHandle, KeptText};
use gannet_core::registry::{Activity, Entry};
use gannet_core::statement_log::{Sender, Slow};
use gannet_parser::LexMode;
use gannet_runtime::{WallTime, now_ns};
use gannet_telemetry::{DigestKey, DigestTexts, Execution, Rare};
use gannet_wire::memcached::parse::{Command, Verb};

/// The kinds of commands as lists show them, in the order of their digests.
const KINDS: &[&str] = &[
    "memcached get",
    "memcached gat",
    "memcached set",
    "memcached add",
    "memcached replace",
    "memcached append",
    "memcached prepend",
    "memcached cas",
    "memcached delete",
    "memcached incr",
    "memcached touch",
    "memcached flush_all",
    "memcached stats",
    "memcached version",
    "memcached mg",
    "memcached ms",
    "memcached md",
    "memcached ma",
    "memcached mn",
    "memcached me",
];

/// The digests of all commands.
pub(crate) struct Digests(Vec<DigestHandle>);

impl Digests {
    pub(crate) fn new(stats: &gannet_core::kept::StatementStats) -> Digests {
        let enter = |(n, text): (usize, &&str)| {
            // No digest of SQL is one of these: those are hashes.
            let key = DigestKey(u128::from_be_bytes(*b"memcached\0\0\0\0\0\0\0") + n as u128);
            let digest = gannet_functions::sha256_hex(text.as_bytes());
            let sample = KeptText::of(text.as_bytes(), LexMode::default());
            stats.enter(key, "", DigestTexts { digest, text: text.to_string(), sample })
        };
        Digests(KINDS.iter().enumerate().map(enter).collect())
    }
}

/// The command that is served.
#[derive(Default)]
pub(crate) struct Seen {
    began_ns: u64,
    kind: usize,
    text: u64,
}

fn kind_of(command: &Command<'_>) -> usize {
    match command {
        Command::Get { .. } => 0,
        Command::GetAndTouch { .. } => 1,
        Command::Store(store) => of_verb(store.verb),
        Command::TooLarge { verb, .. } => of_verb(*verb),
        Command::BadChunk { .. } => 2,
        Command::Delete { .. } => 8,
        Command::Count { .. } => 9,
        Command::Touch { .. } => 10,
        Command::FlushAll { .. } => 11,
        Command::Stats { .. } => 12,
        Command::Version | Command::Verbosity { .. } => 13,
        Command::MetaGet { .. } => 14,
        Command::MetaSet { .. } | Command::MetaTooLarge { .. } => 15,
        Command::MetaDelete { .. } => 16,
        Command::MetaCount { .. } => 17,
        Command::MetaNoop => 18,
        Command::MetaDebug { .. } => 19,
    }
}

fn of_verb(verb: Verb) -> usize {
    match verb {
        Verb::Set => 2,
        Verb::Add => 3,
        Verb::Replace => 4,
        Verb::Append => 5,
        Verb::Prepend => 6,
        Verb::Cas => 7,
    }
}

impl Seen {
    /// A turn begins: the wall clock is read once for its commands.
    pub(crate) fn begin_turn(&mut self) {
        self.began_ns = now_ns();
    }

    /// A command begins.
    pub(crate) fn begin(&mut self, entry: &Entry, command: &Command<'_>) {
        let kind = kind_of(command);
        if self.text == 0 || self.kind != kind {
            self.text = entry.new_text();
        }
        self.kind = kind;
        entry.begin_again(Activity::Query, self.began_ns, KINDS[kind].as_bytes(), self.text);
    }

    /// It has ended, with this answer; its turn began at `turn_us`.
    pub(crate) fn end(&mut self, shared: &Shared, entry: &Entry, (answer, turn_us): (&[u8], u64)) {
        let now = now_ns();
        let latency_ns = now.saturating_sub(self.began_ns);
        let error = answer.starts_with(b"SERVER_ERROR") || answer.starts_with(b"CLIENT_ERROR");
        let rare = Rare { error, ..Rare::default() }.if_any();
        let execution =
            Execution { latency_ns, end_unix_us: turn_us + latency_ns / 1000, rare, ..Execution::default() };
        if let Some(digest) = shared.digests.0.get(self.kind) {
            digest.record(&execution);
        }
        if shared.core.logs.slow() {
            self.log_slow(shared, entry, latency_ns);
        }
        self.began_ns = now;
    }

    #[cold]
    fn log_slow(&self, shared: &Shared, entry: &Entry, latency_ns: u64) {
        let core = &shared.core;
        if latency_ns < shared.settings.slow_ns() {
            return;
        }
        let who = entry.who();
        let text = KeptText::of(KINDS[self.kind].as_bytes(), LexMode::default());
        core.logs.write_slow(&Slow {
            sender: Sender {
                id: entry.id,
                user: &who.user,
                account: &who.user,
                host: entry.host(),
                address: &entry.address,
                database: "",
            },
            ended_us: WallTime::now().micros(),
            latency_ns,
            locks_ns: 0,
            rows_sent: 0,
            rows_examined: 0,
            last_insert_id: 0,
            insert_id: 0,
            extra: None,
            text: &text,
        });
    }
}
