//! Where the replies to a session's statements go: to a client, or to the code in this process that runs the
//! statement.

use super::Charsets;
use super::Session;
use super::exchange::{Exchange, HeaderCache};
use gannet_core::registry::Activity;
use gannet_core::vars::Live;
use gannet_exec::{ResultSink, Rows};
use gannet_plan::plan::ResultColumn;
use gannet_types::charset::Charset;
use gannet_types::{CollationId, ErrorCode, Result, SqlError, SqlType, Value, sql_err};
use gannet_wire::flags::cap;

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
    pub capabilities: u32,
    pub charsets: Charsets,
    /// The status word.
    pub status: u16,
    /// Columns are described.
    pub metadata: bool,
    /// `net_write_timeout`.
    pub write_timeout_ns: u64,
}

impl Manner {
    /// Before a result set has said how.
    pub(super) const PLAIN: Manner = Manner {
        capabilities: 0,
        charsets: Charsets { client: Charset::Utf8mb4, connection: CollationId::DEFAULT, results: None },
        status: 0,
        metadata: true,
        write_timeout_ns: 60_000_000_000,
    };
}

/// How a statement ended, when it did not fail.
pub struct Ended<'a> {
    pub done: &'a Done,
    pub capabilities: u32,
    /// The status word.
    pub status: u16,
    pub warnings: u64,
    /// Encoded changes of the session's state.
    pub track: &'a [u8],
}

/// Where the answers of a session's statements go. A statement answers with any number of result sets (`begin`, rows, `end`), or with
/// one `end`; an `error` ends it, too, in the middle of a result set as well.
pub trait Reply {
    /// A result set begins. `header`: where its encoded columns are kept for the next execution of its plan.
    fn begin(&mut self, columns: &[ResultColumn], manner: Manner, header: Option<&HeaderCache>) -> Result<()>;

    /// The first `count` rows of a batch.
    fn rows(&mut self, rows: Rows<'_>, count: usize) -> Result<()>;

    /// One row, of a table that the server has at hand.
    fn row(&mut self, row: &[Value]) -> Result<()>;

    /// The result set, or the statement, has ended.
    fn end(&mut self, ended: &Ended<'_>);

    /// The statement has failed.
    fn error(&mut self, error: &SqlError, capabilities: u32, charsets: &Charsets);

    /// What follows the commit of the last statement may be left for later: see [`super::later`].
    fn resumes(&self) -> bool;

    /// The client, when there is one that can be asked for data (LOAD DATA LOCAL).
    fn client(&mut self) -> Option<Exchange<'_>>;
}

/// The sink of one result set on its way to a reply.
pub struct ResultSet<'a> {
    pub reply: &'a mut dyn Reply,
    pub manner: Manner,
    pub header: Option<&'a HeaderCache>,
    /// `sql_select_limit`: rows that may still be sent.
    pub left: u64,
    pub sent: u64,
}

impl ResultSink for ResultSet<'_> {
    fn begin(&mut self, columns: &[ResultColumn]) -> Result<()> {
        self.reply.begin(columns, self.manner, self.header)
    }

    fn rows(&mut self, rows: Rows<'_>) -> Result<()> {
        let count = (rows.len() as u64).min(self.left);
        self.left -= count;
        self.sent += count;
        self.reply.rows(rows, count as usize)
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
    }
}

/// Keeps the only row of a query whose values go to variables. A second row is error 1172.
#[derive(Default)]
pub struct OneRowSink {
    pub row: Option<Vec<Value>>,
}

impl ResultSink for OneRowSink {
    fn begin(&mut self, _: &[ResultColumn]) -> Result<()> {
        Ok(())
    }

    fn rows(&mut self, rows: Rows<'_>) -> Result<()> {
        if rows.len() + usize::from(self.row.is_some()) > 1 {
            return Err(sql_err!(TooManyRows));
        }
        if !rows.is_empty() {
            self.row = Some((0..rows.width()).map(|c| rows.value(0, c).to_owned()).collect());
        }
        Ok(())
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
                let (capabilities, status) = (self.capabilities, self.status_flags());
                let warnings = self.running.warnings.raised();
                reply.end(&Ended { done: &done, capabilities, status, warnings, track: &self.track });
                self.track.clear();
            }
            Err(error) => self.fail(reply, error),
        }
    }

    /// Answers with an error.
    #[cold]
    pub fn fail(&mut self, reply: &mut dyn Reply, error: SqlError) {
        if error.code() == ErrorCode::InternalError {
            self.tell_internal(&error);
        }
        let charsets = self.charsets;
        reply.error(&error, self.capabilities, &charsets);
    }

    /// An error of the server's own is not the client's alone to know.
    #[cold]
    fn tell_internal(&self, error: &SqlError) {
        let text = self.entry.info().unwrap_or_default();
        let statement = super::text::in_log(text.bytes(), super::text::lex_mode(self.settings.sql_mode));
        self.server.log.error(format_args!("Connection {}: {}; {statement}", self.entry.id, error.message()));
    }

    /// Does the client want its results described? `resultset_metadata`.
    pub fn metadata(&self) -> bool {
        self.capabilities & cap::OPTIONAL_RESULTSET_METADATA == 0
            || self.state.vars[Live::ResultsetMetadata].as_str() != "NONE"
    }

    /// How answers are put for this client.
    pub fn manner(&self) -> Manner {
        Manner {
            capabilities: self.capabilities,
            charsets: self.charsets,
            status: self.status_flags(),
            metadata: self.metadata(),
            write_timeout_ns: self.write_timeout_ns(),
        }
    }
}
