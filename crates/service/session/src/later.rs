//! Replies that wait for the log. A commit is in the log, and visible to others, before it is on disk. The rest of
//! its statement, the figures and the reply, needs no stack to wait on: [`Session::resume`] does it when the log is
//! durable. With a thousand sessions that commit, each of a thousand stacks would have left the caches when its
//! session goes on.
//!
//! ```text
//!   command ──▶ … ──▶ Work::commit ──▶ … ──▶ finish_statement ──▶ Next::Later
//!                      in the log: `unsynced`       the rest: `left`        │ the log is there
//!                                                                          ▼
//!                                            Next::Idle ◀── conclude, answer: resume
//! ```

use super::Session;
use super::concluded::{Concluded, conclude};
use super::reply::Done;
use gannet_core::kept::DigestHandle;
use gannet_core::vars::Live;
use gannet_engine::Lsn;
use gannet_runtime::{Waker, now_ns};
use gannet_telemetry::{DigestPlace, session_waited};
use gannet_types::{Result, SqlError, Value};

/// What a session has of that.
#[derive(Default)]
pub struct Later {
    /// The rest of the statement.
    left: Option<Left>,
}

/// The rest of a statement.
struct Left {
    /// The commit.
    lsn: Lsn,
    started: u64,
    place: Option<DigestPlace>,
    /// The text of the prepared statement that was executed; 0: none.
    prepared: u64,
    /// Of its markers, for the slow query log.
    values: Vec<Value>,
    done: Done,
}

impl Later {
    /// The reply of the command that ran waits for the log.
    pub fn is_left(&self) -> bool {
        self.left.is_some()
    }
}

/// Writes the log for the statement whose rest was left, unless others do: before [`Session::resume`].
pub fn hasten(session: &Session) {
    if let Some(left) = &session.later.left {
        session.work.txn().hasten_commit(left.lsn);
    }
}

impl Session {
    /// Runs what may leave its reply for later, where that `resumes`: the last that a command does.
    #[inline(always)]
    pub(super) fn last<R>(&mut self, resumes: bool, f: impl FnOnce(&mut Self) -> R) -> R {
        // The stages of a profile are those of a statement that runs without interruption.
        let more = !resumes || self.running.more || self.state.vars[Live::Profiling].as_bool() || self.tracker.gtids;
        self.work.leave_waiting(!more);
        let result = f(self);
        self.work.leave_waiting(false);
        result
    }

    /// Keeps the rest of a statement that has committed at `lsn`.
    pub(super) fn leave(
        &mut self,
        lsn: Lsn,
        started: u64,
        (handle, prepared): (Option<&DigestHandle>, u64),
        values: &[Value],
        done: Done,
    ) {
        let place = handle.map(DigestHandle::here);
        let values = if self.server.logs.slow() { values.to_vec() } else { Vec::new() };
        self.later.left = Some(Left { lsn, started, place, prepared, values, done });
    }

    /// The outcome of the statement whose rest was left, when the log is durable; `None`: not yet, and `waker` is
    /// used when it is time to ask again.
    pub fn resume(&mut self, waker: &Waker) -> Option<Result<Done>> {
        let lsn = self.later.left.as_ref().map_or(Lsn::ZERO, |left| left.lsn);
        let committed = match self.work.poll(lsn, waker) {
            Ok(false) => return None,
            outcome => outcome,
        };
        let Some(left) = self.later.left.take() else { return Some(Err(SqlError::internal("no reply is left"))) };
        self.entry.counters.enter();
        gannet_runtime::cpu_runs();
        if let Some((why, since_ns)) = self.entry.context.waiting() {
            // The wait ends with this, and is the session's.
            session_waited(why, now_ns().saturating_sub(since_ns));
        }
        let outcome = committed.map(|_| left.done);
        let ended = Concluded { started: left.started, prepared: left.prepared, values: &left.values };
        Some(conclude(self, ended, &left.place.as_ref(), outcome))
    }
}
