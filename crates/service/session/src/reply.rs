//! Where the replies to a session's statements go: to a client, or to the code in this process that runs the
//! statement.

use super::Charsets;
use super::Session;
use gannet_base::Attached;
use gannet_core::registry::Activity;
use gannet_core::vars::Live;
use gannet_exec::file::Input;
use gannet_exec::{ResultSink, Rows, Stored};
use gannet_plan::plan::ResultColumn;
use gannet_types::charset::Charset;
use gannet_types::{CollationId, ErrorCode, Result, SqlError, SqlType, Value, sql_err};
use std::sync::Arc;

/// The effects of a statement or command, before they are put into a packet.
#[derive(Debug, Default)]
pub struct Done {
    /// A result set was sent: its end is due instead of OK.
    pub rows: bool,
    pub affected: u64,
    pub insert_id: u64,
    pub info: String,
}

impl Done {
    /// A result set was sent.
    pub const ROWS: Done = Done { rows: true, affected: 0, insert_id: 0, info: String::new() };

    /// Rows were changed.
    pub fn affected(affected: u64) -> Done {
        Done { affected, ..Done::default() }
    }
}

/// How a session's answers are put.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// In which character set results are sent.
    pub charsets: Charsets,
    /// Of the session, as the result set begins.
    pub status: Status,
    /// Columns are described.
    pub metadata: bool,
    /// `net_write_timeout`: how long who reads the answers may take for what is sent at once.
    pub write_timeout_ns: u64,
}

/// What a client is told of the session with each answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// `autocommit` is on.
    pub autocommit: bool,
    /// A transaction is open that outlives the statement.
    pub in_transaction: bool,
    /// That may not write.
    pub read_only: bool,
    /// The backslash is a character like others in literals.
    pub no_backslash_escapes: bool,
    /// The statement read a whole table.
    pub no_index: bool,
    /// Another statement of the same text follows.
    pub more: bool,
    /// The default database was dropped.
    pub database_dropped: bool,
    /// The result set has the values of a prepared CALL's OUT parameters.
    pub outs: bool,
}

impl Status {
    const PLAIN: Status = Status {
        autocommit: false,
        in_transaction: false,
        read_only: false,
        no_backslash_escapes: false,
        no_index: false,
        more: false,
        database_dropped: false,
        outs: false,
    };
}

/// A change of the session's state that whoever asked for it is told of (`session_track_...`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The default database.
    Schema(Arc<str>),
    /// A system variable, and its value now.
    Variable(&'static str, String),
    /// Something of the state.
    State,
    /// The state of the transaction, a letter for each of eight properties.
    Transaction([u8; 8]),
    /// The statements that begin a transaction like this one.
    Characteristics(String),
    /// Transactions of the binary log.
    Gtids(String),
}

impl Manner {
    /// Before a result set has said how.
    pub const PLAIN: Manner = Manner {
        charsets: Charsets {
            client: Charset::Utf8mb4,
            connection: CollationId::DEFAULT,
            results: None,
            shown: CollationId::DEFAULT,
        },
        status: Status::PLAIN,
        metadata: true,
        write_timeout_ns: 60_000_000_000,
    };
}

/// How a statement ended, when it did not fail.
pub struct Ended<'a> {
    /// What it did.
    pub done: &'a Done,
    /// Of the session now.
    pub status: Status,
    /// How many warnings it raised.
    pub warnings: u64,
    /// What has changed that is to be told.
    pub changes: &'a [Change],
}

/// How a client's file is read (LOAD DATA LOCAL).
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// `net_read_timeout`, seconds.
    pub timeout_s: u64,
    /// `max_allowed_packet`.
    pub max_packet: usize,
}

/// A file that a client sends.
pub trait ClientFile: Input {
    /// Asks the client for the file of this name.
    fn ask(&mut self, name: &[u8]);

    /// Reads and drops what the client still sends. `false`: nothing that it says from now on can be understood.
    fn drain(&mut self) -> bool;
}

/// Where the answers of a session's statements go. A statement answers with any number of result sets (`begin`,
/// rows, `end`), or with one `end`; an `error` ends it, too, in the middle of a result set as well.
pub trait Reply {
    /// A result set begins. `place`: where something may be kept for the next execution of its plan; the one service
    /// that sends to clients of SQL does that.
    fn begin(&mut self, columns: &[ResultColumn], manner: Manner, place: Option<&Attached>) -> Result<()>;

    /// The first `count` rows of a batch.
    fn rows(&mut self, rows: Rows<'_>, count: usize) -> Result<()>;

    /// One row, as it is stored.
    fn stored(&mut self, row: Stored<'_>) -> Result<()> {
        row.with_values(|rows| self.rows(rows, 1))
    }

    /// One row, of a table that the server has at hand.
    fn row(&mut self, row: &[Value]) -> Result<()>;

    /// The result set, or the statement, has ended.
    fn end(&mut self, ended: &Ended<'_>);

    /// The statement has failed.
    fn error(&mut self, error: &SqlError, charsets: &Charsets);

    /// What follows the commit of the last statement may be left for later: see [`super::later`].
    fn resumes(&self) -> bool {
        false
    }

    /// What can be asked for a file of the client's, where there is a client that sends files.
    fn client_file(&mut self, _: Reading) -> Option<Box<dyn ClientFile + '_>> {
        None
    }
}

/// The sink of one result set on its way to a reply.
pub struct ResultSet<'a> {
    pub reply: &'a mut dyn Reply,
    pub manner: Manner,
    pub place: Option<&'a Attached>,
    /// `sql_select_limit`: rows that may still be sent.
    pub left: u64,
    pub sent: u64,
}

impl ResultSink for ResultSet<'_> {
    fn begin(&mut self, columns: &[ResultColumn]) -> Result<()> {
        self.reply.begin(columns, self.manner, self.place)
    }

    fn rows(&mut self, rows: Rows<'_>) -> Result<()> {
        let count = (rows.len() as u64).min(self.left);
        self.left -= count;
        self.sent += count;
        self.reply.rows(rows, count as usize)
    }

    fn stored(&mut self, row: Stored<'_>) -> Result<()> {
        if self.left == 0 {
            return Ok(());
        }
        self.left -= 1;
        self.sent += 1;
        self.reply.stored(row)
    }
}

/// A column of a result that no table is behind.
pub fn plain_column(name: &str, ty: SqlType) -> ResultColumn {
    let flags = ty.column_flags();
    ResultColumn {
        name: name.into(),
        org_name: "".into(),
        table: "".into(),
        org_table: "".into(),
        schema: "".into(),
        ty,
        flags,
        computed: true,
    }
}

/// Keeps the first row of a query whose values go to variables. A second row is error 1172.
#[derive(Default)]
pub struct OneRowSink {
    pub row: Option<Vec<Value>>,
}

impl ResultSink for OneRowSink {
    fn begin(&mut self, _: &[ResultColumn]) -> Result<()> {
        Ok(())
    }

    fn rows(&mut self, rows: Rows<'_>) -> Result<()> {
        let all = rows.len() + usize::from(self.row.is_some());
        if self.row.is_none() && !rows.is_empty() {
            self.row = Some((0..rows.width()).map(|c| rows.value(0, c).to_owned()).collect());
        }
        if all > 1 { Err(sql_err!(TooManyRows)) } else { Ok(()) }
    }
}

/// Keeps rows instead of sending them: subordinate queries of the server.
#[derive(Default)]
pub struct RowsSink {
    pub columns: Vec<ResultColumn>,
    pub rows: Vec<Vec<Value>>,
}

impl RowsSink {
    /// Takes the last column away; its value in the last row.
    pub fn take_last_column(&mut self) -> Option<Value> {
        self.columns.pop();
        self.rows.iter_mut().map(Vec::pop).last().flatten()
    }
}

/// Rows that [`RowsSink`] keeps at most.
const MAX_KEPT_ROWS: usize = 1_000_000;

impl ResultSink for RowsSink {
    fn begin(&mut self, columns: &[ResultColumn]) -> Result<()> {
        self.columns = columns.to_vec();
        Ok(())
    }

    fn rows(&mut self, rows: Rows<'_>) -> Result<()> {
        if self.rows.len() + rows.len() > MAX_KEPT_ROWS {
            return Err(SqlError::internal("too many rows in a subordinate query"));
        }
        for i in 0..rows.len() {
            self.rows.push((0..rows.width()).map(|c| rows.value(i, c).to_owned()).collect());
        }
        Ok(())
    }
}

impl Session {
    /// The process list shows what the session does from now on.
    #[inline]
    pub fn begins(&self, activity: Activity, text: &[u8]) {
        self.entry.begin(activity, self.state.running.clock.ns, text);
    }

    /// Answers with OK, the end of rows, or the error: unless the outcome is left for later.
    pub fn answer(&mut self, reply: &mut dyn Reply, outcome: Result<Done>) {
        match outcome {
            _ if self.later.is_left() => {}
            Ok(done) => {
                if self.tracker.on {
                    self.track_statement(done.rows);
                }
                let (status, warnings) = (self.status(), self.running.diagnostics.warnings.raised());
                reply.end(&Ended { done: &done, status, warnings, changes: &self.changes });
                self.changes.clear();
            }
            Err(error) => self.fail(reply, error),
        }
    }

    /// Answers with an error.
    #[cold]
    pub fn fail(&mut self, reply: &mut dyn Reply, error: SqlError) {
        if error.code() == ErrorCode::InternalError {
            tell_internal(self, &error);
        }
        let charsets = self.settings.charsets;
        reply.error(&error, &charsets);
    }

    /// Does the client want its results described? `resultset_metadata`.
    pub fn metadata(&self) -> bool {
        !self.abilities.omits_metadata || self.state.vars[Live::ResultsetMetadata].as_str() != "NONE"
    }

    /// How answers are put for this client.
    #[inline(always)]
    pub fn manner(&self) -> Manner {
        Manner {
            charsets: self.settings.charsets,
            status: self.status(),
            metadata: self.metadata(),
            write_timeout_ns: self.write_timeout_ns(),
        }
    }
}

/// An error of the server's own is not the client's alone to know.
#[cold]
fn tell_internal(session: &Session, error: &SqlError) {
    let text = session.entry.info().unwrap_or_default();
    let statement = super::text::in_log(text.bytes(), super::text::lex_mode(session.settings.exec.sql_mode));
    session.server.log.error(format_args!("Connection {}: {}; {statement}", session.entry.id, error.message()));
}
