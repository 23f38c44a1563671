//! What applies another server's log here, as statements see it. A service of its own does it, above sessions.

use gannet_parser::ast::{Ident, ReplicationValue};
use gannet_types::{Result, SqlError, Value};
use gannet_wire::auth::Plugin;
use std::path::PathBuf;

/// Tables of performance_schema and mysql about the replica.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Table {
    /// `replication_connection_configuration`
    ConnectionConfiguration,
    /// `replication_connection_status`
    ConnectionStatus,
    /// `replication_applier_configuration`
    ApplierConfiguration,
    /// `replication_applier_status`
    ApplierStatus,
    /// `replication_applier_status_by_worker`
    Workers,
    /// `replication_applier_status_by_coordinator`
    Coordinator,
    /// `replication_applier_filters`
    Filters,
    /// `replication_applier_global_filters`
    GlobalFilters,
    /// `replication_asynchronous_connection_failover`, of both schemas
    Failover,
    /// `mysql.slave_master_info`
    MasterInfo,
    /// `mysql.slave_relay_log_info`
    RelayLogInfo,
    /// `mysql.slave_worker_info`
    WorkerInfo,
}

/// Names of columns, and values. Those of enumerations are texts, times are microseconds since 1970; what is left out
/// is empty, 0 or never.
pub type Row = Vec<(&'static str, Value)>;

/// The tasks of a replica that a statement is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Threads {
    /// What receives the source's log into relay logs: IO_THREAD.
    pub receiver: bool,
    /// What applies these: SQL_THREAD.
    pub applier: bool,
}

impl Threads {
    /// Both.
    pub const BOTH: Threads = Threads { receiver: true, applier: true };

    /// None of them.
    pub fn is_none(self) -> bool {
        self == Threads::default()
    }
}

/// A source that a channel may follow when its own is gone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// The channel's name; there need not be one.
    pub channel: String,
    /// Where the source is.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// From 1 to 100: more is tried before less.
    pub weight: u8,
}

/// A relay log.
#[derive(Clone, Debug)]
pub struct RelayLog {
    /// Its name without a directory.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// Up to where it is written.
    pub size: u64,
}

/// What a statement has to say besides: notes.
pub type Notes = Vec<SqlError>;

/// With whom START REPLICA signs in at the source, where that is not what CHANGE REPLICATION SOURCE TO says. It is
/// never stored.
#[derive(Clone, Default)]
pub struct Login {
    /// The user.
    pub user: Option<String>,
    /// The password.
    pub password: Option<String>,
    /// How it begins, before the source has a say.
    pub plugin: Option<Plugin>,
}

/// The replica's side of replication: channels, each of which follows a server. A statement is about the channel that
/// it names; error 3074 where there is none of that name. Without a name it is about all of them, unless it says
/// something that is only about one (error 3079 where there are several).
pub trait Replicas: Send + Sync {
    /// CHANGE REPLICATION SOURCE TO: makes the channel if it is not there. Errors 1210, 1221, 1231, 1235, 1380, 1624,
    /// 1776, 3021, 3076, 3079, 3080, 3081, 3085, 3139, 13121. Gives warnings.
    fn change(&self, channel: Option<&str>, options: &[(Ident, ReplicationValue)]) -> Result<Notes>;
    /// A source gives signs of life less often than after so many seconds.
    fn beats_slower_than(&self, seconds: u64) -> bool;
    /// CHANGE REPLICATION FILTER: names and values as they are written. Errors 1210, 1235, 3085.
    fn change_filter(&self, channel: Option<&str>, rules: &[(Ident, Vec<Box<str>>)]) -> Result<()>;
    /// START REPLICA, with what stands behind UNTIL, and the account for this time. Errors 1200, 1235, 1277, 1763,
    /// 3079; note 3083 where they run, and 1279 where UNTIL is about an applier that is not started.
    fn start(
        &self,
        channel: Option<&str>,
        threads: Threads,
        until: &[(Ident, ReplicationValue)],
        account: Login,
    ) -> Result<Notes>;
    /// STOP REPLICA; returns when they have ended. Note 3084 where they do not run.
    fn stop(&self, channel: Option<&str>, threads: Threads) -> Result<Notes>;
    /// RESET REPLICA; `all`: the source is forgotten too. Error 3081 while it runs.
    fn reset(&self, channel: Option<&str>, all: bool) -> Result<()>;
    /// One follows, and acknowledges what it has applied.
    fn acknowledges(&self) -> bool;
    /// SHOW REPLICA STATUS: names and values of each channel that has a source. Before them a row of one that has
    /// none, which says what there is: texts, and numbers or NULL.
    fn status(&self, channel: Option<&str>) -> Result<(Row, Vec<Row>)>;
    /// The relay logs of a channel, oldest first. Errors 3074, 3079.
    fn relay_logs(&self, channel: Option<&str>) -> Result<Vec<RelayLog>>;
    /// FLUSH RELAY LOGS: another file begins, at once or behind the transaction that is received. Errors 3074, 13122.
    fn flush_relay_logs(&self, channel: Option<&str>) -> Result<()>;
    /// SOURCE_POS_WAIT: waits until all up to this place of a source's log is applied, and returns for how many
    /// transactions; -1: that was not so by `deadline` (of `now_ns`). `None`: nothing applies them, there is no such
    /// channel, or the source's files have other names. Errors 1317, 3079.
    fn wait_for_place(&self, channel: Option<&str>, place: (&str, u64), deadline: Option<u64>) -> Result<Option<i64>>;
    /// Temporary tables that statements of sources have made.
    fn open_tables(&self) -> u64;
    /// asynchronous_connection_failover_add_source. Error 1062.
    fn add_candidate(&self, candidate: &Candidate) -> Result<()>;
    /// asynchronous_connection_failover_delete_source; false: it is not there.
    fn remove_candidate(&self, channel: &str, place: (&str, u16)) -> Result<bool>;
    /// asynchronous_connection_failover_reset.
    fn forget_candidates(&self) -> Result<()>;
    /// Rows of a table.
    fn rows(&self, of: Table) -> Vec<Row>;
}
