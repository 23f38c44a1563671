//! performance_schema: what stored programs have taken. The figures stay with a program that is altered, and with a
//! trigger whose table is; they go when it is defined anew.

use super::columns::{COUNT, STATEMENT_SUMS, TIMED};
use super::declare::{Columns, NAME, enumeration};
use super::deeds::timed;
use super::{Emit, Equals, member, text};
use crate::state::State;
use gannet_core::Core;
use gannet_core::setup::OBJECTS;
use gannet_program::Figures;
use gannet_schema::CatalogSnapshot;
use gannet_types::Result;
use std::sync::Arc;

const TABLE: &str = "events_statements_summary_by_program";

const STATEMENTS: Columns = &[
    ("COUNT_STATEMENTS", COUNT),
    ("SUM_STATEMENTS_WAIT", COUNT),
    ("MIN_STATEMENTS_WAIT", COUNT),
    ("AVG_STATEMENTS_WAIT", COUNT),
    ("MAX_STATEMENTS_WAIT", COUNT),
];

tables! {
    PERFORMANCE_SCHEMA in "performance_schema":
    events_statements_summary_by_program by programs, reset by forget {
        OBJECT_TYPE: enumeration(OBJECTS).not_null(),
        OBJECT_SCHEMA: NAME.not_null(), OBJECT_NAME: NAME.not_null(),
    } + TIMED + STATEMENTS + STATEMENT_SUMS
}

/// Gives every program that has run: type, schema, name, figures.
fn each(snapshot: &CatalogSnapshot, f: &mut dyn FnMut(&str, &str, &str, &Figures) -> Result<()>) -> Result<()> {
    for schema in snapshot.schemas().map(|s| s.name.clone()) {
        for r in snapshot.routines(&schema) {
            if let Some(figures) = r.ran.get::<Arc<Figures>>() {
                f(r.kind.word(), &schema, &r.name, figures)?;
            }
        }
        for t in snapshot.tables(&schema).iter().flat_map(|t| t.triggers.iter()) {
            if let Some(figures) = t.ran.get::<Arc<Figures>>() {
                f("TRIGGER", &schema, &t.name, figures)?;
            }
        }
        for e in snapshot.events(&schema) {
            if let Some(figures) = e.ran.get::<Arc<Figures>>() {
                f("EVENT", &schema, &e.name, figures)?;
            }
        }
    }
    Ok(())
}

fn programs(state: &mut State, _: &Equals<'_>, emit: Emit<'_>) -> Result<()> {
    let snapshot = state.snapshot.clone();
    let setup = &state.server.registry.setup;
    let shown: Vec<_> = OBJECTS.iter().map(|kind| (*kind, setup.shows(kind))).collect();
    let shown =
        |kind: &str, schema: &str, name: &str| shown.iter().any(|(of, shows)| *of == kind && shows(schema, name));
    each(&snapshot, &mut |kind, schema, name, figures| {
        let (count, sum, least, most) = figures.runs.get();
        if count == 0 || !shown(kind, schema, name) {
            return Ok(());
        }
        let object = [member(TABLE, "OBJECT_TYPE", kind), text(schema), text(name)];
        let did = figures.statements.read();
        let of_statements = timed(did.count, did.total_ns, did.min_ns, did.max_ns);
        emit(&[&object[..], &timed(count, sum, least, most), &of_statements, &super::deeds::sums(&did)].concat())
    })
}

fn forget(core: &Core) {
    let _ = each(&core.catalog.snapshot(), &mut |_, _, _, figures| {
        figures.forget();
        Ok(())
    });
}
