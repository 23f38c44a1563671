//! The directory format of MySQL Shell's dumps, which is that of `gannet dump` too, on the way in.
//!
//! `@.json` describes the dump, `@.done.json` is there when it is complete. `SCHEMA.json` names a schema's tables and
//! views, `SCHEMA.sql` creates it with its routines and events. A table has `SCHEMA@TABLE.sql`, `SCHEMA@TABLE.json`
//! (how its rows are written), `SCHEMA@TABLE.triggers.sql`, and its rows in `SCHEMA@TABLE@0.tsv.zst` and so on, the
//! last `SCHEMA@TABLE@@N.tsv.zst`, or all in `SCHEMA@TABLE.tsv.zst`. A view has `SCHEMA@VIEW.pre.sql`, which makes what
//! stands for it, and `SCHEMA@VIEW.sql`. Names in file names are encoded ([`file_part`]), and `basenames` has them.

use crate::chunk::Compression;
use crate::fault::{Fault, Outcome, wrong};
use crate::names::file_part;
use crate::peer::About;
use crate::plan::{DataFile, Decode, Format, Plan, SchemaPlan, TablePlan, ViewPlan};
use crate::read::Dialect;
use gannet_base::crc32c;
use gannet_runtime::fs::{exists, read_dir, read_plain};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The newest version of the format that is known.
const KNOWN: u64 = 2;

/// Which parts of a dump are loaded; empty lists: all.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parts<'a> {
    pub(crate) schemas: &'a [String],
    pub(crate) tables: &'a [String],
}

impl Parts<'_> {
    pub(crate) fn takes_schema(&self, schema: &str) -> bool {
        self.schemas.is_empty() || self.schemas.iter().any(|s| s == schema)
    }

    pub(crate) fn takes(&self, schema: &str, table: &str) -> bool {
        self.tables.is_empty()
            || self.tables.iter().any(|t| t == table || t.strip_prefix(schema) == Some(&format!(".{table}")))
    }
}

/// A document, with its path for errors.
struct Document {
    path: PathBuf,
    value: Value,
}

impl Document {
    fn read(path: PathBuf) -> Outcome<Document> {
        let bytes = read_plain(&path).map_err(|e| Fault::file(&path, e))?;
        match serde_json::from_slice(&bytes) {
            Ok(value @ Value::Object(_)) => Ok(Document { path, value }),
            Ok(_) => wrong(format!("{}:1: no JSON object", path.display())),
            Err(e) => wrong(format!("{}:{}: {e}", path.display(), e.line())),
        }
    }

    fn wrong<T>(&self, what: &str) -> Outcome<T> {
        wrong(format!("{}: {what}", self.path.display()))
    }

    fn text(&self, key: &str) -> Outcome<String> {
        match self.value.get(key).and_then(Value::as_str) {
            Some(s) => Ok(s.to_owned()),
            None => self.wrong(&format!("there is no text \"{key}\"")),
        }
    }

    /// A list of texts; empty when there is none.
    fn list(&self, key: &str) -> Outcome<Vec<String>> {
        let Some(value) = self.value.get(key) else { return Ok(Vec::new()) };
        let texts = value.as_array().and_then(|a| a.iter().map(|v| v.as_str().map(str::to_owned)).collect());
        texts.map_or_else(|| self.wrong(&format!("\"{key}\" is no list of texts")), Ok)
    }

    fn flag(&self, key: &str, default: bool) -> bool {
        self.value.get(key).and_then(Value::as_bool).unwrap_or(default)
    }

    fn base(&self, name: &str, default: String) -> Outcome<String> {
        let base = self.value.get("basenames").and_then(|b| b.get(name)).and_then(Value::as_str);
        let base = base.map_or(default, str::to_owned);
        // A name must not lead out of the directory.
        if base.contains('/') || base.starts_with("..") { self.wrong("a base name is a path") } else { Ok(base) }
    }
}

/// The directory looks like one of MySQL Shell's.
pub(crate) fn is_one(dir: &Path) -> bool {
    exists(dir.join("@.json")).unwrap_or(false)
}

/// Reads the descriptions in a directory. The rows stay where they are.
pub(crate) fn plan(dir: &Path, parts: &Parts<'_>) -> Outcome<Plan> {
    let head = Document::read(dir.join("@.json"))?;
    let version = head.text("version")?;
    match version.split('.').next().and_then(|v| v.parse::<u64>().ok()) {
        Some(1..=KNOWN) => {}
        Some(_) => return head.wrong(&format!("version {version} of the format is newer than this program")),
        None => return head.wrong(&format!("\"{version}\" is no version of the format")),
    }
    let done = dir.join("@.done.json");
    if !exists(&done).map_err(|e| Fault::file(&done, e))? {
        return wrong(format!("{}: the dump is not complete: there is no @.done.json", dir.display()));
    }
    let done = Document::read(done)?;
    let files: BTreeSet<String> = read_dir(dir)
        .map_err(|e| Fault::file(dir, e))?
        .iter()
        .filter_map(|p| Some(p.file_name()?.to_str()?.to_owned()))
        .collect();
    let raw = read_plain(&head.path).map_err(|e| Fault::file(&head.path, e))?;
    let mut plan = Plan { id: u64::from(crc32c(0, &raw)) << 32 | u64::from(crc32c(1, &raw)), ..Plan::default() };
    plan.general_ci = head.text("serverVersion").is_ok_and(|version| About::of(&version, "").means_general_ci());
    plan.before.extend(files.contains("@.sql").then(|| dir.join("@.sql")));
    plan.after.extend(files.contains("@.post.sql").then(|| dir.join("@.post.sql")));
    plan.accounts = files.contains("@.users.sql").then(|| dir.join("@.users.sql"));
    let source = Source { dir, files: &files, head: &head, done: &done };
    let schemas = head.list("schemas")?;
    for wanted in parts.schemas {
        if !schemas.contains(wanted) {
            return wrong(format!("{}: the dump has no schema {wanted}", dir.display()));
        }
    }
    for schema in schemas.into_iter().filter(|s| parts.takes_schema(s)) {
        plan.schemas.push(source.schema(schema, parts)?);
    }
    let files = plan.schemas.iter().flat_map(|s| &s.tables).flat_map(|t| &t.files);
    plan.bytes = files.filter_map(|f| f.bytes).sum();
    Ok(plan)
}

struct Source<'a> {
    dir: &'a Path,
    files: &'a BTreeSet<String>,
    head: &'a Document,
    done: &'a Document,
}

impl Source<'_> {
    fn schema(&self, name: String, parts: &Parts<'_>) -> Outcome<SchemaPlan> {
        let base = self.head.base(&name, file_part(&name))?;
        let meta = Document::read(self.dir.join(format!("{base}.json")))?;
        let scripts =
            if meta.flag("includesDdl", true) { vec![self.script(format!("{base}.sql"))?] } else { Vec::new() };
        let (mut tables, mut views) = (Vec::new(), Vec::new());
        for table in meta.list("tables")?.into_iter().filter(|t| parts.takes(&name, t)) {
            let base = meta.base(&table, format!("{base}@{}", file_part(&table)))?;
            tables.push(self.table(&name, table, &base)?);
        }
        if meta.flag("includesViewsDdl", true) {
            for view in meta.list("views")?.into_iter().filter(|v| parts.takes(&name, v)) {
                let base = meta.base(&view, format!("{base}@{}", file_part(&view)))?;
                let pre = format!("{base}.pre.sql");
                let stand_in = self.files.contains(&pre).then(|| self.dir.join(&pre));
                views.push(ViewPlan { name: view, stand_in, script: self.script(format!("{base}.sql"))? });
            }
        }
        Ok(SchemaPlan { name, scripts, tables, views })
    }

    /// A script that has to be there.
    fn script(&self, name: String) -> Outcome<PathBuf> {
        let path = self.dir.join(&name);
        if self.files.contains(&name) { Ok(path) } else { wrong(format!("{}: the file is missing", path.display())) }
    }

    fn table(&self, schema: &str, name: String, base: &str) -> Outcome<TablePlan> {
        let meta = Document::read(self.dir.join(format!("{base}.json")))?;
        let create = if meta.flag("includesDdl", true) { Some(self.script(format!("{base}.sql"))?) } else { None };
        let triggers = format!("{base}.triggers.sql");
        let triggers = self.files.contains(&triggers).then(|| self.dir.join(triggers));
        let extension = meta.text("extension").unwrap_or_else(|_| "tsv".to_owned());
        let known = meta.value.get("compression").and_then(Value::as_str);
        if let Some(other) = known.filter(|c| Compression::named(c).is_none()) {
            return meta.wrong(&format!("compression {other} is not known"));
        }
        let mut files = Vec::new();
        if meta.flag("includesData", true) {
            // A table in partitions has the files of each.
            let partitions = meta.value.get("basenames").and_then(Value::as_object).filter(|m| !m.is_empty());
            match partitions {
                None => self.files_of(base, &extension, &mut files)?,
                Some(all) => {
                    for partition in all.keys() {
                        self.files_of(&meta.base(partition, String::new())?, &extension, &mut files)?;
                    }
                }
            }
        }
        let of = |v: &Value| {
            let sum = u64::from_str_radix(v.get("sum")?.as_str()?, 16).ok()?;
            Some((v.get("rows")?.as_u64()?, sum))
        };
        let checked = self.done.value.get("gannet").and_then(|g| g.get("tables")?.get(schema)?.get(&name));
        let format = format(&meta)?;
        Ok(TablePlan { create, triggers, files, format, check: checked.and_then(of), name })
    }

    /// The files of rows: all in one, or numbered, without a gap up to the last.
    fn files_of(&self, base: &str, extension: &str, out: &mut Vec<DataFile>) -> Outcome<()> {
        let whole = format!("{base}.{extension}");
        if self.files.contains(&whole) {
            out.push(self.data_file(&whole));
            return Ok(());
        }
        for n in 0.. {
            let (middle, last) = (format!("{base}@{n}.{extension}"), format!("{base}@@{n}.{extension}"));
            if self.files.contains(&last) {
                out.push(self.data_file(&last));
                return Ok(());
            }
            if !self.files.contains(&middle) {
                return wrong(format!("{}: the file is missing", self.dir.join(middle).display()));
            }
            out.push(self.data_file(&middle));
        }
        Ok(())
    }

    fn data_file(&self, name: &str) -> DataFile {
        let done = &self.done.value;
        let bytes = done.get("chunkFileBytes").and_then(|b| b.get(name)?.as_u64());
        let ours = done.get("gannet").and_then(|g| g.get("files")?.get(name));
        let check =
            ours.and_then(|v| Some((v.get("rows")?.as_u64()?, u32::try_from(v.get("crc32c")?.as_u64()?).ok()?)));
        DataFile { path: self.dir.join(name), bytes, check }
    }
}

/// How the rows of a table are written.
fn format(meta: &Document) -> Outcome<Format> {
    let Some(options) = meta.value.get("options") else { return meta.wrong("there is no \"options\"") };
    let options = Document { path: meta.path.clone(), value: options.clone() };
    let text = |key: &str, default: &str| options.text(key).unwrap_or_else(|_| default.to_owned());
    let mut decode = BTreeMap::new();
    for (column, how) in options.value.get("decodeColumns").and_then(Value::as_object).into_iter().flatten() {
        let how = match how.as_str() {
            Some("FROM_BASE64") => Decode::Base64,
            Some("UNHEX") => Decode::Hex,
            _ => return meta.wrong(&format!("column {column}: encoding {how} is not known")),
        };
        decode.insert(column.clone(), how);
    }
    let columns = options.list("columns")?;
    if columns.is_empty() {
        return meta.wrong("there is no list of columns");
    }
    Ok(Format::Lines {
        dialect: Dialect {
            fields_terminated: text("fieldsTerminatedBy", "\t"),
            enclosed: text("fieldsEnclosedBy", ""),
            optionally: options.flag("fieldsOptionallyEnclosed", false),
            escaped: text("fieldsEscapedBy", "\\"),
            lines_terminated: text("linesTerminatedBy", "\n"),
        },
        charset: text("defaultCharacterSet", "utf8mb4"),
        columns,
        decode,
    })
}
