//! What those who follow the log are told of a statement.

use super::Session;
use gannet_catalog::Words;
use gannet_core::vars::Live;
use gannet_types::{Collation, CollationId};

/// What consumers of the log are told of the running statement; `None` when there is no consumer.
pub(super) fn words(session: &Session) -> Option<Words> {
    if !session.server.engine.has_consumers() {
        return None;
    }
    let server_collation = Collation::by_name(session.state.vars[Live::CollationServer].as_str());
    Some(Words {
        text: session.entry.statement().map_or(Vec::new(), |text| text.bytes().to_vec()),
        schema: session.state.database.clone().unwrap_or_default().to_string(),
        sql_mode: session.settings.sql_mode,
        collation: session.definition_collation(),
        server_collation: server_collation.map_or(CollationId::DEFAULT, |c| c.id),
        foreign_key_checks: session.settings.foreign_key_checks,
        now_us: session.settings.now_us,
    })
}
