//! ALTER TABLE ... ANALYZE, CHECK, OPTIMIZE, REPAIR PARTITION: they answer with rows, as the statements for whole
//! tables do, and errors are among them.

use super::Session;
use super::maintain::{maintain_one, repair, say, stale_values};
use super::reply::{Done, Reply};
use super::show::table;
use super::state::text;
use gannet_core::accounts::{Privilege, Privileges};
use gannet_exec::check::Stale;
use gannet_parser::ast::{AlterAction, AlterTable, Ident, MaintenanceKind as Kind};
use gannet_schema::Table;
use gannet_types::{ErrorCode, Result, SqlError, sql_err};
use std::sync::Arc;

/// What the statement does to partitions, if it answers with rows.
pub(crate) fn maintains(alter: &AlterTable) -> Option<(Kind, &[Ident])> {
    let [AlterAction::Partitions { verb, names, .. }] = &alter.actions[..] else { return None };
    let kind = match &*verb.text.to_ascii_uppercase() {
        "ANALYZE" => Kind::Analyze,
        "CHECK" => Kind::Check,
        "OPTIMIZE" => Kind::Optimize,
        "REPAIR" => Kind::Repair,
        _ => return None,
    };
    Some((kind, names))
}

/// Runs it.
pub(crate) fn maintain(session: &mut Session, alter: &AlterTable, reply: &mut dyn Reply) -> Result<Done> {
    let Some((kind, names)) = maintains(alter) else { return Err(SqlError::internal("no maintenance of partitions")) };
    session.commit_implicitly()?;
    let schema = match &alter.name.schema {
        Some(s) => s.text.to_string(),
        None => session.state.require_database()?.to_string(),
    };
    session.require_on_table(Privileges::of(&[Privilege::Select, Privilege::Insert]), &schema, &alter.name.name)?;
    let found = session.state.snapshot.require_table(&schema, &alter.name.name).cloned()?;
    let word = match kind {
        Kind::Analyze => "analyze",
        Kind::Check => "check",
        Kind::Optimize => "optimize",
        _ => "repair",
    };
    let label = format!("{schema}.{}", alter.name.name);
    let mut rows = Vec::new();
    let mut line = |kind: &str, message: &str| rows.push(vec![text(&label), text(word), text(kind), text(message)]);
    match maintain_parts(session, kind, &found, names, &label) {
        Ok(stale) => {
            let note = "Table does not support optimize on partitions. All partitions will be rebuilt and analyzed.";
            say(&stale, (kind == Kind::Optimize).then_some(note), &mut line);
        }
        Err(e) if e.code() == ErrorCode::QueryInterrupted => return Err(e),
        Err(e) => {
            line("Error", e.message());
            line("status", "Operation failed");
        }
    }
    session.send_table(&table(super::show::maintained(), rows), reply)
}

/// Says of CHECK and REPAIR what they found that is no damage.
fn maintain_parts(
    session: &mut Session,
    kind: Kind,
    found: &Arc<Table>,
    names: &[Ident],
    label: &str,
) -> Result<Stale> {
    let leaves = leaves(found, names, label)?;
    if kind == Kind::Repair {
        return repair(session, found, &leaves);
    }
    if kind == Kind::Check {
        let all = leaves.is_empty();
        let count = found.partitions.as_ref().map_or(0, |parts| parts.len());
        for leaf in (0..count).filter(|n| all || leaves.contains(n)) {
            maintain_one(session, kind, found.part(leaf as u32)?)?;
        }
        return stale_values(session, found, &leaves);
    }
    // The figures of a table are those of all its parts.
    maintain_one(session, kind, found).map(|()| Stale::default())
}

/// The partitions of these names; none for ALL. Errors 1505 and 1507.
pub(super) fn leaves(found: &Table, names: &[Ident], label: &str) -> Result<Vec<usize>> {
    let Some(parts) = &found.partitions else { return Err(sql_err!(PartitionMgmtOnNonpartitioned)) };
    let mut leaves = Vec::new();
    for name in names.iter().filter(|n| !n.text.eq_ignore_ascii_case("ALL")) {
        let unknown = || -> SqlError { sql_err!(DropPartitionNonExistent, label) };
        leaves.extend(parts.definition().named(name).ok_or_else(unknown)?);
    }
    Ok(leaves)
}
