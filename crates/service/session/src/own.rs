//! Sessions without a client: statements run in this process, with an account's rights.
//!
//! Such sessions are in the process list, can be killed, and keep variables, a transaction and temporary tables from
//! statement to statement. They do not count as connections.

use super::cached::Plans;
use super::reply::{Ended, Manner, Reply};
use super::{Abilities, Charsets, Opening, Session, begin_life, calls};
use gannet_base::Attached;
use gannet_core::Core;
use gannet_core::accounts::Account;
use gannet_core::vars::Live;
use gannet_exec::Rows;
use gannet_plan::plan::ResultColumn;
use gannet_runtime::Interrupt;
use gannet_types::{Result, SqlError, Value, sql_err};
use std::sync::Arc;

/// A session without a client. It belongs to the task that opened it.
pub struct OwnSession(Session);

/// What a statement answered.
#[derive(Debug)]
pub enum Answer {
    /// A result set.
    Rows {
        /// Names of its columns.
        columns: Vec<String>,
        /// Its rows.
        rows: Vec<Vec<Value>>,
    },
    /// It has changed something, or had nothing to say.
    Done {
        /// Rows that it changed.
        affected: u64,
        /// The first value that AUTO_INCREMENT gave.
        insert_id: u64,
        /// Number of warnings.
        warnings: u64,
    },
    /// It has failed; nothing behind it has run.
    Failed(SqlError),
}

/// Rows that the answers of one text may have together.
const MAX_ROWS: usize = 1_000_000;

/// Keeps what statements answer.
#[derive(Default)]
struct Kept {
    answers: Vec<Answer>,
    /// The result set that is under way.
    open: Option<(Vec<String>, Vec<Vec<Value>>)>,
    rows: usize,
}

impl Kept {
    fn keep(&mut self, row: Vec<Value>) -> Result<()> {
        self.rows += 1;
        if self.rows > MAX_ROWS {
            return Err(sql_err!(OutOfResources));
        }
        if let Some((_, rows)) = &mut self.open {
            rows.push(row);
        }
        Ok(())
    }
}

impl Reply for Kept {
    fn begin(&mut self, columns: &[ResultColumn], _: Manner, _: Option<&Attached>) -> Result<()> {
        self.open = Some((columns.iter().map(|c| c.name.to_string()).collect(), Vec::new()));
        Ok(())
    }

    fn rows(&mut self, rows: Rows<'_>, count: usize) -> Result<()> {
        (0..count).try_for_each(|i| self.keep((0..rows.width()).map(|c| rows.value(i, c).to_owned()).collect()))
    }

    fn row(&mut self, row: &[Value]) -> Result<()> {
        self.keep(row.to_vec())
    }

    fn end(&mut self, ended: &Ended<'_>) {
        self.answers.push(match self.open.take() {
            Some((columns, rows)) => Answer::Rows { columns, rows },
            None => Answer::Done {
                affected: ended.done.affected,
                insert_id: ended.done.insert_id,
                warnings: ended.warnings,
            },
        });
    }

    fn error(&mut self, error: &SqlError, _: &Charsets) {
        self.open = None;
        self.answers.push(Answer::Failed(error.clone()));
    }
}

/// Counts what statements answer, and keeps the error; rows go on one by one, or are dropped.
pub(crate) struct Each<'a> {
    ended: u64,
    failed: Option<SqlError>,
    row: Option<&'a mut dyn FnMut(&[Value]) -> Result<()>>,
    values: Vec<Value>,
}

impl<'a> Each<'a> {
    /// Rows go to this.
    pub(crate) fn of_rows(row: &'a mut dyn FnMut(&[Value]) -> Result<()>) -> Each<'a> {
        Each { ended: 0, failed: None, row: Some(row), values: Vec::new() }
    }
}

impl Each<'_> {
    fn outcome(self) -> std::result::Result<u64, (u64, SqlError)> {
        self.failed.map_or(Ok(self.ended), |e| Err((self.ended, e)))
    }
}

impl Reply for Each<'_> {
    fn begin(&mut self, _: &[ResultColumn], _: Manner, _: Option<&Attached>) -> Result<()> {
        Ok(())
    }

    fn rows(&mut self, rows: Rows<'_>, count: usize) -> Result<()> {
        let Some(row) = &mut self.row else { return Ok(()) };
        for i in 0..count {
            self.values.clear();
            self.values.extend((0..rows.width()).map(|c| rows.value(i, c).to_owned()));
            row(&self.values)?;
        }
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> Result<()> {
        self.row.as_mut().map_or(Ok(()), |f| f(row))
    }

    fn end(&mut self, _: &Ended<'_>) {
        self.ended += 1;
    }

    fn error(&mut self, error: &SqlError, _: &Charsets) {
        self.failed = Some(error.clone());
    }
}

/// Runs the statements of `init_connect`, before the client's first command. Error 1184 when one fails.
pub fn init_connect(session: &mut Session) -> Result<()> {
    let text = session.server.globals.get(Live::InitConnect);
    let exempt = session.state.privileges().may_administer_connections() || session.state.must_change_password;
    if text.as_str().is_empty() || exempt {
        return Ok(());
    }
    let mut discarded = Each { ended: 0, failed: None, row: None, values: Vec::new() };
    let several = std::mem::replace(&mut session.multi_statements, true);
    session.query(text.as_str().as_bytes(), &mut discarded);
    session.multi_statements = several;
    let Some(why) = discarded.failed else { return Ok(()) };
    let (user, host) = session.state.user.rsplit_once('@').unwrap_or((&session.state.user, ""));
    let database = session.state.database.as_deref().unwrap_or("unconnected");
    let error = sql_err!(NewAbortingConnection, session.entry.id, database, user, host, "init_connect command failed");
    session.server.log.warning(format_args!("{}: {}", error.message(), why.message()));
    Err(error)
}

impl OwnSession {
    /// A session with the rights of `account`, shown as `user`.
    pub fn open(core: &Arc<Core>, plans: &Arc<Plans>, account: Arc<Account>, user: &str) -> Result<Self> {
        let entry = core.registry.enter_own(gannet_runtime::context(), user, "");
        let abilities = Abilities { multi_statements: true, multi_results: true, ..Abilities::default() };
        let opening = Opening { user: user.into(), abilities, ..Opening::default() };
        let mut session = Session::new(core.clone(), plans.clone(), entry, account, &opening);
        begin_life(&mut session, &opening)?;
        Ok(OwnSession(session))
    }

    /// Runs the statements of a text, up to the first that fails, and keeps what they answer: a million rows at most.
    pub fn run(&mut self, sql: &str) -> Vec<Answer> {
        let mut kept = Kept::default();
        self.answer_to(sql, &mut kept);
        kept.answers
    }

    /// Runs the statements of a text, up to the first that fails, and drops their rows. The error comes with the
    /// number of statements that ended before.
    pub fn execute(&mut self, sql: &str) -> std::result::Result<u64, (u64, SqlError)> {
        let mut each = Each { ended: 0, failed: None, row: None, values: Vec::new() };
        self.answer_to(sql, &mut each);
        each.outcome()
    }

    /// The session itself.
    pub(crate) fn session(&mut self) -> &mut Session {
        &mut self.0
    }

    /// Who `USER()` is, beside the account whose rights the session has, and the host in the process list.
    pub(crate) fn comes_from(&mut self, user: &str, host: &str) {
        self.0.state.user = format!("{user}@{host}");
        self.0.entry.set_host(host);
    }

    /// Runs an event's body with its definer's rights. Gives the warnings that its last statement left.
    pub(crate) fn run_event(&mut self, event: &Arc<gannet_schema::Event>) -> Result<Vec<gannet_types::Warning>> {
        let session = &mut self.0;
        session.entry.context.clear(Interrupt::Query);
        session.arrives();
        session.begins_command();
        session.entry.set_database(Some(event.schema.clone()));
        session.begins(gannet_core::registry::Activity::Event, event.body.as_bytes());
        let mut each = Each { ended: 0, failed: None, row: None, values: Vec::new() };
        let outcome = calls::run_event(session, event, &mut each);
        session.ends_command();
        outcome.map(|()| session.running.diagnostics.warnings.take())
    }

    /// The same, but `row` gets the rows one by one, as they are made: none is kept. An error of `row` fails the
    /// statement.
    pub fn each_row(
        &mut self,
        sql: &str,
        mut row: impl FnMut(&[Value]) -> Result<()>,
    ) -> std::result::Result<u64, (u64, SqlError)> {
        let mut each = Each { ended: 0, failed: None, row: Some(&mut row), values: Vec::new() };
        self.answer_to(sql, &mut each);
        each.outcome()
    }

    /// Runs the statements of a text, up to the first that fails; `reply` gets what they answer, row by row.
    pub fn answer_to(&mut self, sql: &str, reply: &mut dyn Reply) {
        let session = &mut self.0;
        session.entry.context.clear(Interrupt::Query);
        session.arrives();
        session.begins_command();
        session.query(sql.as_bytes(), reply);
        session.ends_command();
    }

    /// Makes a database the default one. Errors 1044, 1049.
    pub fn use_database(&mut self, name: &str) -> Result<()> {
        self.0.use_database(name)
    }
}

impl Drop for OwnSession {
    fn drop(&mut self) {
        self.0.end();
        self.0.server.registry.leave(self.0.entry.id);
    }
}
