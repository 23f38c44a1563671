//! A session that comes back: after a lost connection, a deadlock, a lock that was waited for too long.

use crate::fault::{Fault, Outcome};
use crate::peer::{Peer, Session};
use std::time::{Duration, Instant};

/// Longest wait for a server that is gone.
const PATIENCE: Duration = Duration::from_secs(60);
/// Attempts at a transaction that loses deadlocks.
const ATTEMPTS: u32 = 20;

/// The way to a server, and the session on it.
pub(crate) struct Link {
    peer: Peer,
    /// Statements that set a new session up.
    setup: Vec<String>,
    session: Option<Session>,
}

impl Link {
    pub(crate) fn open(peer: &Peer, setup: &[String]) -> Outcome<Link> {
        let mut it = Link { peer: peer.clone(), setup: setup.to_vec(), session: None };
        it.session()?;
        Ok(it)
    }

    /// Sets this session and those after it up further; whether the server does so.
    pub(crate) fn set_up_further(&mut self, sql: &str) -> Outcome<bool> {
        let done = self.session()?.attempt(sql)?;
        self.setup.extend(done.then(|| sql.to_owned()));
        Ok(done)
    }

    /// The session, connected anew if the last one is gone.
    pub(crate) fn session(&mut self) -> Outcome<&mut Session> {
        if self.session.is_none() {
            let mut session = Session::connect(&self.peer)?;
            for sql in &self.setup {
                session.run(sql)?;
            }
            self.session = Some(session);
        }
        match &mut self.session {
            Some(session) => Ok(session),
            None => Err(Fault::Stopped),
        }
    }

    /// Runs something that can be run again from its beginning, until it succeeds or fails for good.
    pub(crate) fn run<T>(&mut self, mut what: impl FnMut(&mut Session) -> Outcome<T>) -> Outcome<T> {
        let mut gone: Option<Instant> = None;
        let mut attempts = 0;
        loop {
            let outcome = match self.session() {
                Ok(session) => what(session),
                Err(e) => Err(e),
            };
            match outcome {
                Err(Fault::Lost(text)) => {
                    self.session = None;
                    let since = *gone.get_or_insert_with(Instant::now);
                    if since.elapsed() > PATIENCE {
                        return Err(Fault::Lost(text));
                    }
                    std::thread::sleep(Duration::from_millis(500));
                }
                Err(e) if e.is_passing() && attempts < ATTEMPTS => {
                    attempts += 1;
                    self.session()?.attempt("ROLLBACK")?;
                    std::thread::sleep(Duration::from_millis(10 << attempts.min(6)));
                }
                other => return other,
            }
        }
    }
}
