//! Where transactions begin and end in a log, by the grammar of its events.

use gannet_base::DecodeError;
use gannet_binlog::event::{Event, kind};
use gannet_binlog::format::MariadbGtid;
use gannet_binlog::query::Query;

/// Whether a place in a log is between transactions.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Grammar {
    /// Behind a GTID.
    begun: bool,
    /// Behind BEGIN.
    inside: bool,
}

impl Grammar {
    pub(crate) fn is_between(self) -> bool {
        !self.begun && !self.inside
    }

    /// An event is passed; true: it ends a transaction.
    pub(crate) fn ends(&mut self, event: &Event<'_>) -> Result<bool, DecodeError> {
        let ends = match event.header.kind {
            kind::GTID | kind::ANONYMOUS_GTID => {
                self.begun = true;
                false
            }
            kind::MARIADB_GTID => {
                self.begun = true;
                self.inside = !MariadbGtid::decode(event.body)?.standalone;
                false
            }
            kind::QUERY => {
                let query = Query::decode(event.body)?;
                let is = |word: &[u8]| query.text.eq_ignore_ascii_case(word);
                let begins = |word: &[u8]| query.text.get(..word.len()).is_some_and(|t| t.eq_ignore_ascii_case(word));
                if !self.inside && (is(b"BEGIN") || is(b"START TRANSACTION") || begins(b"XA START ")) {
                    self.inside = true;
                }
                !self.inside || is(b"COMMIT") || is(b"ROLLBACK")
            }
            // What begins and ends a transaction is too short for that.
            kind::MARIADB_QUERY_COMPRESSED => !self.inside,
            kind::XID | kind::XA_PREPARE | kind::TRANSACTION_PAYLOAD => true,
            _ => false,
        };
        if ends {
            *self = Grammar::default();
        }
        Ok(ends)
    }
}
