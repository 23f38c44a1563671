//! START REPLICA UNTIL: where a replica stops.

use super::relay::Place;
use super::source::Position;
use gannet_core::binlog::OwnGtid;
use gannet_parser::ast::{Ident, ReplicationValue};
use gannet_types::gtid::{GtidSet, Source};
use gannet_types::{Result, sql_err};

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
    /// The same of the relay logs.
    Relayed(String, u64),
    /// When there is no gap in what is applied, which there never is: at once.
    Gaps,
}

/// `binlog.000012` is 12.
pub(crate) fn number(file: &str) -> u64 {
    file.rsplit_once('.').and_then(|(_, n)| n.parse().ok()).unwrap_or(0)
}

impl Until {
    /// From names and values. Error 1277.
    pub(crate) fn parse(until: &[(Ident, ReplicationValue)]) -> Result<Until> {
        let (mut file, mut at, mut relayed) = (None, None, 0);
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
                "SQL_AFTER_MTS_GAPS" if until.len() == 1 && *value == ReplicationValue::Null => return Ok(Until::Gaps),
                "SOURCE_LOG_FILE" | "MASTER_LOG_FILE" => file = Some(text.to_owned()),
                "SOURCE_LOG_POS" | "MASTER_LOG_POS" => at = text.parse::<u64>().ok(),
                "RELAY_LOG_FILE" => (file, relayed) = (Some(text.to_owned()), relayed + 1),
                "RELAY_LOG_POS" => (at, relayed) = (text.parse::<u64>().ok(), relayed + 1),
                _ => return Err(sql_err!(BadReplicaUntilCond)),
            }
        }
        match (file, at.filter(|at| *at > 0), relayed) {
            (None, None, _) if until.is_empty() => Ok(Until::Stopped),
            (Some(file), Some(at), 0) if until.len() == 2 && !file.is_empty() => Ok(Until::At(file, at)),
            (Some(file), Some(at), 2) if until.len() == 2 && !file.is_empty() => Ok(Until::Relayed(file, at)),
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

    /// Between transactions: it stops here, at these places in the source's log and in the relay logs.
    pub(crate) fn is_reached(&self, position: &Position, relayed: Place) -> bool {
        match self {
            Until::Stopped | Until::Before(_) => false,
            Until::Gaps => true,
            Until::Relayed(file, at) => relayed >= Place { number: number(file), at: *at },
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
            Until::Relayed(..) => "Relay",
            Until::Gaps => "SQL_AFTER_MTS_GAPS",
        }
    }

    /// File and position there.
    pub(crate) fn place(&self) -> (&str, u64) {
        match self {
            Until::At(file, at) | Until::Relayed(file, at) => (file, *at),
            _ => ("", 0),
        }
    }
}
