//! Takes steps in a given order, and tells when everybody has done his step or waits for a lock.

use super::scenarios::{SCENES, Scene};
use gannet_wire::client::{Address, Connection, Error, Options, ResultSet};
use std::{
    fmt::Write,
    sync::mpsc::{Receiver, Sender, channel},
    time::{Duration, Instant},
};

/// A session that waits for so long when nobody is left to wait for has hung.
const HANG: Duration = Duration::from_secs(40);
/// A step that has not ended within this waits, whatever the server counts.
const UNTOLD: Duration = Duration::from_secs(4);

/// One server: a controlling connection, and sessions that run statements on threads of their own.
pub(super) struct Stage {
    control: Connection,
    sessions: Vec<Session>,
    /// Its version.
    server: String,
}

/// What tells who waits for whom; a server that has not one of them says so.
const LOCKS: [&str; 4] = [
    "SELECT * FROM information_schema.PROCESSLIST",
    "SELECT * FROM information_schema.INNODB_TRX",
    "SELECT * FROM performance_schema.data_locks",
    "SELECT * FROM performance_schema.data_lock_waits",
];

/// Sessions of a stage.
pub(super) const SESSIONS: usize = 4;

/// What is played.
pub(super) struct Play<'p> {
    pub(super) scene: &'static Scene,
    /// The steps of A, B, C, D.
    pub(super) sessions: &'p [&'p [&'p str]],
    /// Words behind each SELECT.
    pub(super) read: &'p str,
    /// What a session whose turn it is while it waits does: it takes its step in a later turn, or the order cannot be
    /// taken.
    pub(super) later: bool,
}

struct Session {
    steps: Sender<String>,
    results: Receiver<String>,
}

fn connect(address: &Address) -> Result<Connection, String> {
    let options = Options { timeout: Some(HANG * 2), ..Options::default() };
    let mut connection = Connection::connect(address, &options).map_err(|e| format!("{address:?}: {e}"))?;
    for sql in ["SET SESSION sql_mode = 'STRICT_TRANS_TABLES'", "SET SESSION innodb_lock_wait_timeout = 60"] {
        connection.query(sql).map_err(|e| format!("{sql}: {e}"))?;
    }
    Ok(connection)
}

/// What a step gave: rows, rows changed, or an error's number.
fn said(outcome: Result<ResultSet, Error>) -> String {
    match outcome {
        Ok(set) if set.columns.is_empty() && set.ok.affected == 0 => "ok".to_owned(),
        Ok(set) if set.columns.is_empty() => format!("{} changed", set.ok.affected),
        Ok(set) if set.rows.is_empty() => "none".to_owned(),
        Ok(set) => set.texts().iter().map(|row| row.join("/")).collect::<Vec<_>>().join(","),
        // NOWAIT: MySQL has a number of its own, MariaDB says it timed out.
        Err(Error::Server { code: 3572, .. }) => "error 1205".to_owned(),
        Err(Error::Server { code, .. }) => format!("error {code}"),
        Err(e) => format!("error: {e}"),
    }
}

impl Session {
    fn open(address: &Address, database: &str) -> Result<Session, String> {
        let mut connection = connect(address)?;
        connection.query(&format!("USE {database}")).map_err(|e| e.to_string())?;
        let version = connection.query("SELECT VERSION()").map_err(|e| e.to_string())?.texts().concat().concat();
        let (steps, inbox) = channel::<String>();
        let (out, results) = channel();
        std::thread::spawn(move || {
            for sql in inbox {
                // MariaDB has the older words alone, and MySQL no SKIP LOCKED behind them.
                let sql =
                    if version.contains("MariaDB") { sql.replace("FOR SHARE", "LOCK IN SHARE MODE") } else { sql };
                if out.send(said(connection.query(&sql))).is_err() {
                    return;
                }
            }
        });
        Ok(Session { steps, results })
    }

    fn take(&self, sql: &str) -> Result<(), String> {
        self.steps.send(sql.to_owned()).map_err(|_| "a session ended".to_owned())
    }

    fn told(&self, within: Duration) -> Option<String> {
        self.results.recv_timeout(within).ok()
    }

    fn must(&self, sql: &str) -> Result<(), String> {
        self.take(sql)?;
        match self.told(HANG).as_deref() {
            Some("ok") => Ok(()),
            other => Err(format!("{sql}: {}", other.unwrap_or("no answer"))),
        }
    }
}

/// What became of an order.
pub(super) enum Played {
    /// All steps were taken; what happened, in one line.
    Whole(String),
    /// The step at this place could not be taken: its session was waiting. Orders with the same beginning end there
    /// too.
    Stuck(usize),
}

impl Stage {
    /// Sessions on a database of their own, made anew.
    pub(super) fn open(address: &Address, database: &str) -> Result<Stage, String> {
        let mut control = connect(address)?;
        let made = [
            &format!("DROP DATABASE IF EXISTS {database}"),
            &format!("CREATE DATABASE {database}"),
            &format!("USE {database}"),
            // Tables that others refer to are emptied, too.
            "SET SESSION foreign_key_checks = 0",
        ];
        for sql in made.into_iter().chain(SCENES.iter().flat_map(|scene| scene.tables).copied()) {
            control.query(sql).map_err(|e| format!("{sql}: {e}"))?;
        }
        let server = control.query("SELECT VERSION()").map_err(|e| e.to_string())?.texts().concat().concat();
        let sessions = (0..SESSIONS).map(|_| Session::open(address, database)).collect::<Result<_, _>>()?;
        Ok(Stage { control, sessions, server })
    }

    /// Sets the level of all sessions.
    pub(super) fn level(&self, level: &str) -> Result<(), String> {
        self.each(&format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"))
    }

    /// Has all sessions do something.
    pub(super) fn each(&self, sql: &str) -> Result<(), String> {
        self.sessions.iter().try_for_each(|s| s.must(sql))
    }

    fn run(&mut self, sql: &str) -> Result<ResultSet, String> {
        self.control.query(sql).map_err(|e| format!("{sql}: {e}"))
    }

    /// How many wait for a row lock, on the whole server.
    fn waiting(&mut self) -> Result<usize, String> {
        let rows = self.run("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'")?.texts();
        rows.first().and_then(|r| r.get(1)?.parse().ok()).ok_or_else(|| "no number of lock waits".to_owned())
    }

    /// What went wrong, on which server, and who waits there for whom.
    fn state(&mut self, what: &str) -> String {
        let mut text = format!("{}: {what}", self.server);
        for sql in LOCKS {
            let _ = write!(text, "\n  {sql}");
            match self.control.query(sql) {
                Ok(set) => {
                    let names: Vec<&str> = set.columns.iter().map(|c| c.name.as_str()).collect();
                    let _ = write!(text, "\n    {}", names.join(" | "));
                    set.texts().iter().for_each(|row| _ = write!(text, "\n    {}", row.join(" | ")));
                }
                Err(e) => _ = write!(text, ": {e}"),
            }
        }
        text
    }

    /// Takes the steps in one order. `patience`: for how long everybody has to stand still to be taken for waiting.
    pub(super) fn play(&mut self, play: &Play<'_>, order: &[u8], patience: Duration) -> Result<Played, String> {
        self.whole(play, order, patience).map_err(|e| self.state(&e))
    }

    fn whole(&mut self, play: &Play<'_>, order: &[u8], patience: Duration) -> Result<Played, String> {
        // Truncated, not deleted: what purge has not removed yet would take part in locking.
        for name in play.scene.names {
            self.run(&format!("TRUNCATE TABLE {name}"))?;
        }
        for sql in play.scene.rows {
            self.run(sql)?;
        }
        for session in &self.sessions[..play.sessions.len()] {
            session.must("START TRANSACTION")?;
        }
        let played = self.steps(play, order, patience);
        // Whoever still waits comes back when the one before him is rolled back.
        let busy = match &played {
            Ok((_, busy)) => *busy,
            Err(e) => return Err(e.clone()),
        };
        let mut left: Vec<usize> = (0..play.sessions.len()).filter(|&who| busy[who].is_some()).collect();
        for who in (0..play.sessions.len()).filter(|&who| busy[who].is_none()) {
            self.sessions[who].must("ROLLBACK").map_err(|e| format!("{}: {e}", name(who)))?;
        }
        let begin = Instant::now();
        while !left.is_empty() {
            for who in std::mem::take(&mut left) {
                if self.sessions[who].told(Duration::from_millis(1)).is_none() {
                    left.push(who);
                    continue;
                }
                self.sessions[who].must("ROLLBACK").map_err(|e| format!("{}: {e}", name(who)))?;
            }
            if begin.elapsed() > HANG {
                let who: Vec<String> =
                    left.iter().map(|&who| format!("{}{}", name(who), busy[who].unwrap_or_default())).collect();
                return Err(format!("{} wait although nobody is left to wait for", who.join(", ")));
            }
        }
        let (mut line, stuck) = match played {
            Ok((Played::Whole(line), _)) => (line, None),
            Ok((Played::Stuck(at), _)) => (String::new(), Some(at)),
            Err(e) => return Err(e),
        };
        if let Some(at) = stuck {
            return Ok(Played::Stuck(at));
        }
        for sql in play.scene.left {
            let rows = self.run(sql)?.texts();
            let _ = write!(line, " | {}", rows.iter().map(|r| r.join("/")).collect::<Vec<_>>().join(","));
        }
        Ok(Played::Whole(line))
    }

    /// The steps; who is busy with which when they end.
    fn steps(
        &mut self,
        play: &Play<'_>,
        order: &[u8],
        patience: Duration,
    ) -> Result<(Played, [Option<usize>; SESSIONS]), String> {
        let mut taken = [0; SESSIONS];
        let mut busy: [Option<usize>; SESSIONS] = [None; SESSIONS];
        let mut line = String::new();
        for (at, &who) in order.iter().enumerate() {
            let who = who as usize;
            if busy[who].is_some() && play.later {
                continue;
            }
            if busy[who].is_some() {
                return Ok((Played::Stuck(at), busy));
            }
            let step = play.sessions[who][taken[who]];
            taken[who] += 1;
            busy[who] = Some(taken[who]);
            let words = if step.starts_with("SELECT") { play.read } else { "" };
            self.sessions[who].take(&format!("{step}{words}"))?;
            let told = self.settle(&mut busy, who, patience)?;
            if busy[who].is_some() {
                let _ = write!(line, "{}{} waits; ", name(who), taken[who]);
            }
            for (who, said) in told {
                let _ = write!(line, "{}{} {said}; ", name(who), taken[who]);
            }
        }
        line.truncate(line.trim_end_matches("; ").len());
        if busy.iter().any(Option::is_some) {
            line.push_str("; somebody waits");
        }
        Ok((Played::Whole(line), busy))
    }

    /// Waits until everybody has done his step or waits for a lock. What they said: first the one whose step it was.
    fn settle(
        &mut self,
        busy: &mut [Option<usize>; SESSIONS],
        first: usize,
        patience: Duration,
    ) -> Result<Vec<(usize, String)>, String> {
        let begin = Instant::now();
        let mut told = Vec::new();
        let mut still: Option<Instant> = None;
        loop {
            for who in (0..SESSIONS).filter(|&who| busy[who].is_some()).collect::<Vec<_>>() {
                if let Some(said) = self.sessions[who].told(Duration::from_micros(500)) {
                    busy[who] = None;
                    told.push((who, said));
                    still = None;
                }
            }
            let count = busy.iter().flatten().count();
            if count == 0 {
                break;
            }
            if self.waiting()? < count {
                still = None;
            } else if still.get_or_insert_with(Instant::now).elapsed() > patience {
                break;
            }
            // MariaDB does not count who waits for a row of a cascade. One that has hung is noticed in the end.
            if begin.elapsed() > UNTOLD {
                break;
            }
        }
        told.sort_by_key(|(who, _)| (*who != first, *who));
        Ok(told)
    }
}

fn name(who: usize) -> char {
    char::from(b'A' + who as u8)
}
