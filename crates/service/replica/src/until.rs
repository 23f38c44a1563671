//! START REPLICA UNTIL: where a replica stops.

use super::source::Position;
use gannet_core::binlog::OwnGtid;
use gannet_parser::ast::{Ident, ReplicationValue};
use gannet_types::gtid::{GtidSet, Source};
use gannet_types::{Result, SqlError, sql_err};

/// Where it stops.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) enum Until {
    /// When it is told to.
    #[default]
    Stopped,
    /// Before the first of these transactions.
    Before(GtidSet),
    /// Behind the last of these transactions; while it runs, of those that are left.
    After(GtidSet),
    /// At this position of the source's log, or the end of the transaction that goes beyond it.
    At(String, u64),
}

/// `binlog.000012` is 12.
fn number(file: &str) -> u64 {
    file.rsplit_once('.').and_then(|(_, n)| n.parse().ok()).unwrap_or(0)
}

impl Until {
    /// From names and values. Errors 1277, and 1235 for what is about relay logs and threads.
    pub(crate) fn parse(until: &[(Ident, ReplicationValue)]) -> Result<Until> {
        let (mut file, mut at) = (None, None);
        for (name, value) in until {
            let text = match value {
                ReplicationValue::Text(text) | ReplicationValue::Number(text) => &**text,
                _ => "",
            };
            let set = || match GtidSet::parse(text.as_bytes()) {
                Some(set) if until.len() == 1 => Ok(set),
                _ => Err(sql_err!(BadReplicaUntilCond)),
            };
            match &*name.text {
                "SQL_BEFORE_GTIDS" => return set().map(Until::Before),
                "SQL_AFTER_GTIDS" => return set().map(Until::After),
                "SOURCE_LOG_FILE" | "MASTER_LOG_FILE" => file = Some(text.to_owned()),
                "SOURCE_LOG_POS" | "MASTER_LOG_POS" => at = text.parse::<u64>().ok(),
                other => return Err(SqlError::unsupported(format_args!("START REPLICA UNTIL {other}"))),
            }
        }
        match (file, at) {
            (None, None) if until.is_empty() => Ok(Until::Stopped),
            (Some(file), Some(at)) if until.len() == 2 && !file.is_empty() => Ok(Until::At(file, at)),
            _ => Err(sql_err!(BadReplicaUntilCond)),
        }
    }

    /// For a replica that stands there and has executed these.
    pub(crate) fn left(self, position: &Position, executed: Option<GtidSet>) -> Until {
        match self {
            Until::After(mut set) => {
                set.subtract(&position.applied);
                set.subtract(&executed.unwrap_or_default());
                Until::After(set)
            }
            other => other,
        }
    }

    /// It stops before this transaction.
    pub(crate) fn is_before(&self, (uuid, number): OwnGtid) -> bool {
        matches!(self, Until::Before(set) if set.contains(&Source::from(uuid), number))
    }

    /// A transaction is done.
    pub(crate) fn passed(&mut self, (uuid, number): OwnGtid) {
        if let Until::After(set) = self {
            let mut one = GtidSet::default();
            one.add(&Source::from(uuid), number..number + 1);
            set.subtract(&one);
        }
    }

    /// Between transactions: it stops here.
    pub(crate) fn is_reached(&self, position: &Position) -> bool {
        match self {
            Until::Stopped | Until::Before(_) => false,
            Until::After(set) => set.is_empty(),
            Until::At(file, at) => {
                !position.file.is_empty() && (number(&position.file), position.at) >= (number(file), *at)
            }
        }
    }

    /// In SHOW REPLICA STATUS.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Until::Stopped => "None",
            Until::Before(_) => "SQL_BEFORE_GTIDS",
            Until::After(_) => "SQL_AFTER_GTIDS",
            Until::At(..) => "Source",
        }
    }

    /// File and position there.
    pub(crate) fn place(&self) -> (&str, u64) {
        if let Until::At(file, at) = self { (file, *at) } else { ("", 0) }
    }
}
