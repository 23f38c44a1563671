//! The directory format of mydumper, on the way in.
//!
//! `metadata` is there when the dump is complete. `DB-schema-create.sql` creates a schema, `DB-schema-post.sql` its
//! routines and events. `DB.TABLE-schema.sql` creates a table, `DB.TABLE-schema-triggers.sql` its triggers, and
//! `DB.TABLE.sql`, or `DB.TABLE.00000.sql` and so on, insert its rows. `DB.VIEW-schema.sql` makes a table that stands
//! for a view, and `DB.VIEW-schema-view.sql` the view. Each may be compressed, with `.gz` or `.zst` behind its name.

use crate::fault::{Fault, Outcome, wrong};
use crate::plan::{DataFile, Format, Plan, SchemaPlan, TablePlan, ViewPlan};
use crate::script;
use crate::shell::Parts;
use gannet_base::crc32c;
use gannet_runtime::fs::{exists, open_plain, read_dir, read_plain};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The directory looks like one of mydumper's.
pub(crate) fn is_one(dir: &Path) -> bool {
    exists(dir.join("metadata")).unwrap_or(false) || exists(dir.join("metadata.partial")).unwrap_or(false)
}

/// Files by their names without the endings of compression.
type Files = BTreeMap<String, PathBuf>;

/// Reads what a directory holds.
pub(crate) fn plan(dir: &Path, parts: &Parts<'_>) -> Outcome<Plan> {
    let metadata = dir.join("metadata");
    if !exists(&metadata).map_err(|e| Fault::file(&metadata, e))? {
        return wrong(format!("{}: the dump is not complete: there is no file metadata", dir.display()));
    }
    let metadata = read_plain(&metadata).map_err(|e| Fault::file(&metadata, e))?;
    let mut files = Files::new();
    for path in read_dir(dir).map_err(|e| Fault::file(dir, e))? {
        let Some(name) = path.file_name().and_then(|n| n.to_str()) else { continue };
        let bare = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(name);
        if bare.ends_with(".dat") {
            return wrong(format!("{}: files for LOAD DATA of mydumper are not read", path.display()));
        }
        files.insert(bare.to_owned(), path);
    }
    let names = files.keys().cloned().collect::<Vec<_>>().join("\n");
    let id = u64::from(crc32c(0, &metadata)) << 32 | u64::from(crc32c(0, names.as_bytes()));
    let mut plan = Plan { id, ..Plan::default() };
    let bases: Vec<String> =
        files.keys().filter_map(|n| n.strip_suffix("-schema-create.sql")).map(str::to_owned).collect();
    if bases.is_empty() {
        return wrong(format!("{}: there is no file that creates a schema (-schema-create.sql)", dir.display()));
    }
    for base in bases {
        let path = &files[&format!("{base}-schema-create.sql")];
        let name = created_name(path, &["CREATE", "DATABASE"])?;
        if parts.takes_schema(&name) {
            plan.schemas.push(schema(name, &base, &files, parts)?);
        }
    }
    let files = plan.schemas.iter().flat_map(|s| &s.tables).flat_map(|t| &t.files);
    plan.bytes = files.filter_map(|f| f.bytes).sum();
    Ok(plan)
}

fn schema(name: String, base: &str, files: &Files, parts: &Parts<'_>) -> Outcome<SchemaPlan> {
    let of = |ending: &str| files.get(&format!("{base}{ending}")).cloned();
    let scripts = of("-schema-create.sql").into_iter().chain(of("-schema-post.sql")).collect();
    let (mut tables, mut views) = (BTreeMap::new(), Vec::new());
    let prefix = format!("{base}.");
    let inside = || files.iter().filter_map(|(n, path)| Some((n.strip_prefix(&prefix)?, path)));
    for (file, path) in inside() {
        let Some(table) = file.strip_suffix("-schema.sql") else { continue };
        if let Some(view) = files.get(&format!("{prefix}{table}-schema-view.sql")) {
            let view_name = created_name(path, &["CREATE", "TABLE"])?;
            if parts.takes(&name, &view_name) {
                views.push(ViewPlan { name: view_name, stand_in: Some(path.clone()), script: view.clone() });
            }
            continue;
        }
        let plan = TablePlan {
            name: created_name(path, &["CREATE", "TABLE"])?,
            create: Some(path.clone()),
            triggers: files.get(&format!("{prefix}{table}-schema-triggers.sql")).cloned(),
            files: Vec::new(),
            format: Format::Statements,
            check: None,
        };
        tables.insert(table.to_owned(), plan);
    }
    for (file, path) in inside() {
        let Some(of) = file.strip_suffix(".sql").filter(|f| !f.contains("-schema")) else { continue };
        // Chunks have one or two numbers behind the table's name, which may end in a number itself.
        let mut table = of;
        while !tables.contains_key(table) {
            match table.rsplit_once('.') {
                Some((front, n)) if n.bytes().all(|b| b.is_ascii_digit()) => table = front,
                _ => return wrong(format!("{}: there is no file that creates its table", path.display())),
            }
        }
        let compressed = path.extension().is_some_and(|e| e != "sql");
        let bytes = if compressed { None } else { open_plain(path).and_then(|f| f.metadata()).ok().map(|m| m.len()) };
        if let Some(plan) = tables.get_mut(table) {
            plan.files.push(DataFile { path: path.clone(), bytes, check: None });
        }
    }
    let tables = tables.into_values().filter(|t| parts.takes(&name, &t.name)).collect();
    Ok(SchemaPlan { name, scripts, tables, views })
}

/// The name that a script's CREATE statement gives: file names do not have all characters.
fn created_name(path: &Path, words: &[&str]) -> Outcome<String> {
    for s in script::read(path)? {
        if script::begins(s.sql(), words)
            && let Some(name) = crate::ddl::created(s.sql(), words.len())
        {
            return Ok(name);
        }
    }
    wrong(format!("{}: there is no {}", path.display(), words.join(" ")))
}
