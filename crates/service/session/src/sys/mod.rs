//! The sys schema: views, functions and procedures over performance_schema and information_schema, whose texts are the
//! SQL files beside this one, and the table `sys_config`.
//!
//! The objects belong to the program, not to the dictionary ([`gannet_schema::Own`]): they are bound when somebody
//! first looks for one, so a start does not wait for them, and a newer program brings newer ones. `sys_config` is a
//! stored table, made when a server starts that has none.
//!
//! `CREATE PAIR v` stands for two views. In `x$v`, for programs, `@time(e)`, `@bytes(e)`, `@path(e)` and `@text(e)` are
//! the expression `e` itself; in `v`, for people, they are its value with a unit, or shortened.

use crate::compiled::{characterise, kind_of};
use crate::owned::{DEFINER, SCHEMA};
use crate::virt;
use gannet_exec::ddl::view_of;
use gannet_parser::ast::{CreateRoutine, CreateView, Statement};
use gannet_parser::{LexMode, parse};
use gannet_plan::{PlanOptions, plan_source};
use gannet_schema::{
    CatalogSnapshot, Change, Constraints, DataAccess, Made, Own, OwnObjects, Routine, RowSource, Table, TableId,
    TableOptions, TableParts, ViewAlgorithm, assemble, base_snapshot,
};
use gannet_types::{CollationId, Result, SqlError, SqlMode};
use std::sync::Arc;

/// Its objects.
pub(super) static OBJECTS: Own = Own::new(|| made().0);

/// Functions and procedures.
const ROUTINES: [&str; 4] =
    [include_str!("functions.sql"), include_str!("setup.sql"), include_str!("reports.sql"), include_str!("traces.sql")];

/// Views: those that others name come first.
const VIEWS: [&str; 6] = [
    include_str!("accounts.sql"),
    include_str!("io.sql"),
    include_str!("memory.sql"),
    include_str!("statements.sql"),
    include_str!("schemas.sql"),
    include_str!("sessions.sql"),
];

/// Numbers of views begin here, behind those of the virtual tables.
const FIRST_ID: u64 = 800;

/// When the objects were made: this is shown only.
const CREATED_S: u64 = 1_795_651_200;

const COLLATION: CollationId = CollationId::UTF8MB4_0900_AI_CI;

/// All objects, and the errors of those whose text is not good.
fn made() -> (OwnObjects, Vec<(String, SqlError)>) {
    let mut snapshot = virt::with_tables(base_snapshot());
    let (mut views, mut routines, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    for text in ROUTINES.iter().flat_map(|file| statements(file)) {
        match routine(text) {
            Ok(made) => routines.push(Arc::new(made)),
            Err(e) => errors.push((text.to_owned(), e)),
        }
    }
    snapshot = snapshot.with(routines.iter().cloned().map(Change::PutRoutine));
    for text in VIEWS.iter().flat_map(|file| statements(file)).flat_map(expand) {
        match view(&text, FIRST_ID + views.len() as u64, &snapshot) {
            Ok(made) => {
                let made = Arc::new(made);
                snapshot = snapshot.with([Change::PutTable(made.clone())]);
                views.push(made);
            }
            Err(e) => errors.push((text, e)),
        }
    }
    (OwnObjects::new(views, routines), errors)
}

/// The statements of a file: each begins with a line that begins with CREATE.
fn statements(file: &str) -> impl Iterator<Item = &str> {
    let starts: Vec<usize> = file.match_indices("\nCREATE ").map(|(at, _)| at + 1).collect();
    let ends: Vec<usize> = starts.iter().skip(1).copied().chain([file.len()]).collect();
    starts.into_iter().zip(ends).map(move |(from, to)| {
        let mut text = file[from..to].trim_end();
        // What is said of the next one.
        while let Some((before, last)) = text.rsplit_once('\n')
            && last.starts_with("--")
        {
            text = before.trim_end();
        }
        text.trim_end_matches(';')
    })
}

/// The views that a text stands for: two for a pair.
fn expand(text: &str) -> Vec<String> {
    match text.strip_prefix("CREATE PAIR ") {
        None => vec![text.to_owned()],
        Some(rest) => {
            let raw = wrapped(rest, |_| "");
            let shown = wrapped(rest, |kind| match kind {
                "time" => "format_pico_time",
                "bytes" => "format_bytes",
                "path" => "sys.format_path",
                _ => "sys.format_statement",
            });
            vec![format!("CREATE VIEW x${raw}"), format!("CREATE VIEW {shown}")]
        }
    }
}

/// The text with a function in the place of each `@kind`.
fn wrapped(text: &str, function: impl Fn(&str) -> &'static str) -> String {
    let mut pieces = text.split('@');
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.split_once('(') {
            Some((kind @ ("time" | "bytes" | "path" | "text"), rest)) => {
                out.push_str(function(kind));
                out.push('(');
                out.push_str(rest);
            }
            _ => {
                out.push('@');
                out.push_str(piece);
            }
        }
    }
    out
}

fn statement(text: &str) -> Result<Statement> {
    parse(text.as_bytes(), LexMode::default()).map(|p| p.statement).map_err(crate::text::parse_error)
}

fn routine(text: &str) -> Result<Routine> {
    let Statement::CreateRoutine(create) = statement(text)? else {
        return Err(SqlError::internal("not a routine"));
    };
    let CreateRoutine { kind, name, params_text, returns_text, characteristics, body, .. } = &*create;
    let made = Made {
        definer: (DEFINER.0.into(), DEFINER.1.into()),
        sql_mode: SqlMode::DEFAULT.bits(),
        client: COLLATION,
        connection: COLLATION,
        database: COLLATION,
        created_us: CREATED_S * 1_000_000,
        changed_us: CREATED_S * 1_000_000,
    };
    let mut routine = Routine {
        schema: SCHEMA.into(),
        name: (&*name.name.text).into(),
        kind: kind_of(*kind),
        made,
        params: params_text.0.clone(),
        returns: returns_text.0.clone(),
        body: body.text.0.clone(),
        deterministic: false,
        access: DataAccess::Contains,
        invoker: false,
        comment: "".into(),
        compiled: Default::default(),
        ran: Default::default(),
        called: Default::default(),
    };
    characterise(&mut routine, characteristics)?;
    Ok(routine)
}

fn view(text: &str, id: u64, snapshot: &CatalogSnapshot) -> Result<Table> {
    let Statement::CreateView(create) = statement(text)? else { return Err(SqlError::internal("not a view")) };
    let CreateView { name, query, .. } = &*create;
    let options = PlanOptions { collation: COLLATION, ..PlanOptions::new(Some(SCHEMA)) };
    let plan = plan_source(query, snapshot, &options)?;
    let (columns, mut view, mergeable) = view_of(&create, &plan, snapshot, &options)?;
    view.algorithm = if mergeable { ViewAlgorithm::Merge } else { ViewAlgorithm::Temptable };
    view.updatable &= mergeable;
    view.invoker = true;
    view.definer = (DEFINER.0.into(), DEFINER.1.into());
    let parts = TableParts {
        id: TableId(id),
        schema_id: snapshot.schema_id(Some(SCHEMA)),
        row_tree: gannet_engine::TreeId::ZERO,
        history: Arc::default(),
        created: CREATED_S,
        options: TableOptions { collation: COLLATION, comment: "".into(), create_options: Box::default() },
        source: RowSource::View(Arc::new(view)),
        constraints: Constraints::default(),
        temporary: false,
        triggers: Box::default(),
        partitioned: None,
    };
    Ok(assemble(parts, SCHEMA.into(), (&*name.name.text).into(), columns, Vec::new(), None, Arc::default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_schema::RoutineKind;

    #[test]
    fn every_object_of_mysql_is_there() {
        let (objects, errors) = made();
        assert!(errors.is_empty(), "{errors:#?}");
        let of = |kind| objects.routines().filter(|r| r.kind == kind).count();
        let counts = (objects.views().count(), of(RoutineKind::Function), of(RoutineKind::Procedure));
        assert_eq!(counts, (100, 22, 26));
        for routine in objects.routines() {
            let compiled = crate::compiled::compiled(routine);
            assert!(compiled.is_ok(), "{}: {:?}", routine.name, compiled.err());
        }
    }

    #[test]
    fn pairs_and_statements_are_taken_apart() {
        let file = "-- head\n\nCREATE PAIR v AS\nSELECT @time(a) AS a, @user FROM t;\n\n-- c;\n-- d\nCREATE VIEW w AS SELECT ';';\n";
        let list: Vec<String> = statements(file).flat_map(expand).collect();
        assert_eq!(
            list,
            [
                "CREATE VIEW x$v AS\nSELECT (a) AS a, @user FROM t",
                "CREATE VIEW v AS\nSELECT format_pico_time(a) AS a, @user FROM t",
                "CREATE VIEW w AS SELECT ';'"
            ]
        );
    }
}
