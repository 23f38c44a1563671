//! What the binary log says of a statement that changes definitions or accounts.

use super::{Session, logged};
use gannet_binlog::event::kind;
use gannet_binlog::group::{Frame, Gathered, Head};
use gannet_binlog::query::{Query, Settings, flags2};
use gannet_catalog::Words;
use gannet_core::vars::Live;
use gannet_types::{Collation, CollationId};
use std::io::Read;

/// What stands for a password in a text that is kept.
const SECRET: &[u8] = b"<secret>";

/// The running statement as a group of its own; `None` when it is not logged.
pub(super) fn words(session: &Session) -> Option<Words> {
    if !logged::is_logged(session) {
        return None;
    }
    let text = session.entry.statement().map_or(Vec::new(), |text| text.bytes().to_vec());
    // Without its password it would be an error elsewhere.
    let hidden = text.windows(SECRET.len()).any(|w| w == SECRET);
    (!hidden).then(|| group_of(session, &text))
}

/// A statement as a group of its own.
pub(super) fn group_of(session: &Session, text: &[u8]) -> Words {
    let vars = &session.state.vars;
    let collation = |id: Live| Collation::by_name(vars[id].as_str()).map_or(CollationId::DEFAULT, |c| c.id).0;
    let schema = session.state.database.clone().unwrap_or_default();
    let checks = session.settings.exec.foreign_key_checks;
    let off = |on: bool, bit: u32| if on { 0 } else { bit };
    let now_us = session.settings.exec.now_us;
    let settings = Settings {
        flags2: Some(
            off(checks, flags2::NO_FOREIGN_KEY_CHECKS)
                | off(vars[Live::UniqueChecks].as_bool(), flags2::RELAXED_UNIQUE_CHECKS),
        ),
        sql_mode: Some(session.settings.exec.sql_mode.bits()),
        auto_increment: Some((
            vars[Live::AutoIncrementIncrement].as_u64() as u16,
            vars[Live::AutoIncrementOffset].as_u64() as u16,
        )),
        // The text is UTF-8 here, whatever the client sent.
        charset: Some([
            CollationId::UTF8MB4_GENERAL_CI.0,
            session.settings.charsets.connection.0,
            collation(Live::CollationServer),
        ]),
        time_zone: Some(vars[Live::TimeZone].as_str().to_owned()),
        charset_database: Some(session.definition_collation().0),
        schemas: (!schema.is_empty()).then(|| vec![schema.to_string()]),
        microseconds: Some(now_us.rem_euclid(1_000_000) as u32),
        explicit_defaults: Some(true),
        default_collation_utf8mb4: Some(CollationId::DEFAULT.0),
        require_primary_key: Some(vars[Live::SqlRequirePrimaryKey].as_bool()),
        ..Settings::default()
    };
    let thread_id = session.entry.id as u32;
    let query = Query { thread_id, seconds: 0, error: 0, schema: schema.as_bytes(), settings, text };
    let mut gathered = Gathered::default();
    gathered.begin_statement(now_us.div_euclid(1_000_000) as u32, 0, None);
    gathered.item(kind::QUERY, |out| query.encode(out));
    let head = Head { frame: Frame::Definition, thread_id, committed_us: logged::commit_time(), ..Head::default() };
    let mut payload = Vec::new();
    if let Some(mut group) = gathered.take(0, head) {
        // A group in memory can be read.
        let _read = group.read_to_end(&mut payload);
    }
    Words(payload)
}
