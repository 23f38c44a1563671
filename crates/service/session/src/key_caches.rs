//! CACHE INDEX and LOAD INDEX INTO CACHE.

use super::Session;
use super::maintain::check_maintained;
use super::reply::{Done, Reply};
use super::show::{maintained, table};
use super::state::text;
use gannet_core::accounts::Privilege;
use gannet_parser::ast;
use gannet_telemetry::{Counter, count};
use gannet_types::{Result, sql_err};

/// What MySQL says of tables whose engine has no key cache. Error 1284: the one
/// key cache is the default.
pub(crate) fn key_caches(session: &mut Session, k: &ast::KeyCache, reply: &mut dyn Reply) -> Result<Done> {
    session.commit_implicitly()?;
    count(if k.load { Counter::ComPreloadKeys } else { Counter::ComAssignToKeycache });
    if let Some(cache) = k.cache.as_ref().filter(|c| !c.text.eq_ignore_ascii_case("default")) {
        return Err(sql_err!(UnknownKeyCache, cache.text));
    }
    let word = if k.load { "preload_keys" } else { "assign_to_keycache" };
    let mut rows = Vec::new();
    for t in &k.tables {
        let schema = match &t.table.schema {
            Some(s) => s.text.to_string(),
            None => session.state.require_database()?.to_string(),
        };
        let name = &t.table.name;
        session.require_on_table(Privilege::Index.into(), &schema, name)?;
        let label = format!("{schema}.{name}");
        let mut line = |kind: &str, message: &str| rows.push(vec![text(&label), text(word), text(kind), text(message)]);
        let found = session.state.snapshot.require_table(&schema, name).cloned().and_then(|found| {
            if found.view().is_some() {
                return Err(sql_err!(WrongObject, schema, name, "BASE TABLE"));
            }
            check_maintained(session, ast::MaintenanceKind::Check, &found)?;
            if t.partitions.is_empty() {
                return Ok(());
            }
            super::partitions::leaves(&found, &t.partitions, &label).map(drop)
        });
        match found {
            Ok(()) => line("note", &format!("The storage engine for the table doesn't support {word}")),
            Err(e) => {
                line("Error", e.message());
                line("status", "Operation failed");
            }
        }
    }
    session.send_table(&table(maintained(), rows), reply)
}
