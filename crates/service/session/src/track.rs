//! What clients with CLIENT_SESSION_TRACK are told beside database and variables: that the session's state changed,
//! and the state of its transaction.

use super::Session;
use super::reply::Change;
use gannet_core::vars::Live;
use gannet_engine::{Isolation, Lsn};
use gannet_parser::ast;

/// `session_track_transaction_info`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd)]
enum Info {
    #[default]
    Off,
    State,
    Characteristics,
}

/// Letters of a session without a transaction.
const NONE: [u8; 8] = *b"________";

/// What is tracked, and what was reported last.
#[derive(Debug)]
pub(crate) struct Tracker {
    /// Something of the below is asked for.
    pub(crate) on: bool,
    state_change: bool,
    /// `session_track_gtids`
    pub(crate) gtids: bool,
    /// Commits up to here were told of.
    pub(crate) gtids_since: Lsn,
    info: Info,
    /// The session's state changed in this statement.
    changed: bool,
    /// What the transaction has done: letters 3, 5 and 7.
    read: bool,
    wrote: bool,
    sent: bool,
    /// The state that was reported last.
    letters: [u8; 8],
    characteristics: String,
    /// Statements that began the transaction.
    begun: String,
}

impl Default for Tracker {
    fn default() -> Self {
        Self {
            on: false,
            state_change: false,
            gtids: false,
            gtids_since: Lsn::ZERO,
            info: Info::Off,
            changed: false,
            read: false,
            wrote: false,
            sent: false,
            letters: NONE,
            characteristics: String::new(),
            begun: String::new(),
        }
    }
}

impl Tracker {
    /// The session's state changed.
    pub(crate) fn change(&mut self) {
        self.changed = self.on;
    }

    /// A statement read tables, or wrote to them.
    #[cold]
    pub(crate) fn used(&mut self, writes: bool) {
        self.read |= !writes;
        self.wrote |= writes;
    }
}

fn level(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadUncommitted => "READ UNCOMMITTED",
        Isolation::ReadCommitted => "READ COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE READ",
        Isolation::Serializable => "SERIALIZABLE",
    }
}

impl Session {
    /// A statement ended well: what changed goes into its OK packet. `rows`: it sent some.
    #[cold]
    pub(super) fn track_statement(&mut self, rows: bool) {
        let t = &mut self.tracker;
        if std::mem::take(&mut t.changed) && t.state_change {
            self.changes.push(Change::State);
        }
        if t.gtids {
            super::gtids::track(self);
        }
        let t = &mut self.tracker;
        if t.info == Info::Off {
            return;
        }
        let open = self.work.transaction().is_open();
        t.sent |= rows;
        if !open {
            (t.read, t.wrote, t.sent) = (false, false, false);
        }
        let letter = |on: bool, letter: u8| if on { letter } else { b'_' };
        let letters = [
            if self.work.transaction().is_explicit() { b'T' } else { letter(open, b'I') },
            b'_',
            letter(t.read, b'R'),
            b'_',
            letter(t.wrote, b'W'),
            b'_',
            letter(t.sent, b'S'),
            letter(!self.locked.is_empty(), b'L'),
        ];
        if t.info == Info::Characteristics {
            let text = match self.work.transaction().is_explicit() {
                true if t.begun.is_empty() => "START TRANSACTION;".into(),
                true => t.begun.clone(),
                false => {
                    let mut text = next_level(self);
                    if let Some(only) = self.work.transaction().next_read_only() {
                        text.push_str(if only {
                            "SET TRANSACTION READ ONLY; "
                        } else {
                            "SET TRANSACTION READ WRITE; "
                        });
                    }
                    text.truncate(text.trim_end().len());
                    text
                }
            };
            let t = &mut self.tracker;
            if !self.work.transaction().is_explicit() {
                t.begun.clear();
            }
            if text != t.characteristics {
                self.changes.push(Change::Characteristics(text.clone()));
                t.characteristics = text;
            }
        }
        if letters != self.tracker.letters {
            self.changes.push(Change::Transaction(letters));
            self.tracker.letters = letters;
        }
    }
}

/// Takes over what the variables say.
pub(crate) fn refresh_tracker(session: &mut Session) {
    let able = session.abilities.tracks;
    let vars = &session.state.vars;
    let t = &mut session.tracker;
    t.state_change = able && vars[Live::SessionTrackStateChange].as_bool();
    t.info = match vars[Live::SessionTrackTransactionInfo].as_str() {
        "STATE" if able => Info::State,
        "CHARACTERISTICS" if able => Info::Characteristics,
        _ => Info::Off,
    };
    let gtids = able && vars[Live::SessionTrackGtids].as_str() != "OFF";
    if gtids && !t.gtids {
        t.gtids_since = session.server.engine.horizon();
    }
    t.gtids = gtids;
    t.on = t.state_change || t.gtids || t.info != Info::Off;
}

/// START TRANSACTION, before it takes over what SET TRANSACTION left.
pub(crate) fn track_begin(session: &mut Session, begin: &ast::Begin) {
    if session.tracker.info != Info::Characteristics {
        return;
    }
    let mut text = next_level(session);
    text.push_str("START TRANSACTION");
    let words = [
        begin.consistent_snapshot.then_some("WITH CONSISTENT SNAPSHOT"),
        begin.read_only.map(|only| if only { "READ ONLY" } else { "READ WRITE" }),
    ];
    for (i, word) in words.into_iter().flatten().enumerate() {
        text.push_str(if i == 0 { " " } else { ", " });
        text.push_str(word);
    }
    text.push(';');
    session.tracker.begun = text;
}

fn next_level(session: &Session) -> String {
    let next = session.work.transaction().next_isolation();
    next.map_or(String::new(), |l| format!("SET TRANSACTION ISOLATION LEVEL {}; ", level(l)))
}
