//! Deadlocks, and what the search for them remembers.

use std::collections::HashMap;

use gannet_base::sync::{Arc, Mutex};

use crate::info::{LockKind, Party};
use crate::owner::Owner;

/// One member of a deadlock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeadlockMember {
    /// The owner.
    pub party: Party,
    /// What it waited for. The next member (after the last: the first) held it or waited in front.
    pub waits_for: LockKind,
    /// What its session said of itself at that moment; [`crate::LockTable::describe_sessions`] explains it.
    pub session: Vec<u8>,
    /// Its weight.
    pub weight: u64,
    /// Whether this member was rolled back.
    pub victim: bool,
}

/// The last deadlock, for SHOW ENGINE INNODB STATUS.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deadlock {
    /// When it was found: microseconds since 1970-01-01 UTC.
    pub unix_micros: u64,
    /// The cycle.
    pub members: Vec<DeadlockMember>,
}

/// What searches need of each other.
#[derive(Default)]
pub(crate) struct State {
    /// Owners that wait and have written, by transaction.
    pub(crate) by_trx: HashMap<u64, Arc<Owner>>,
    pub(crate) last: Option<Deadlock>,
    /// How many edges searches have followed so far.
    pub(crate) steps: u64,
}

/// The graph of waits, as far as it is stored: [`crate::graph`] computes its edges.
#[derive(Default)]
pub(crate) struct Graph(pub(crate) Mutex<State>);
