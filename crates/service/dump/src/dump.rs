//! `gannet dump`: everything of a server, or parts of it, into a directory in the format of MySQL Shell's dumps.

use crate::catalog::{self, Catalog, Choice, Table};
use crate::chunk::{self, Compression, Writer, Written};
use crate::definitions;
use crate::fault::{Fault, Outcome, wrong};
use crate::names::{file_part, qualified, quoted};
use crate::peer::{Peer, Session};
use crate::progress::{Counts, Progress, bytes};
use crate::ranges;
use crate::rows::{self, Form};
use gannet_base::crc32c;
use gannet_base::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use gannet_base::sync::{Arc, Mutex};
use gannet_runtime::fs::{create_dir_all, exists, read_dir, rename, sync_dir};
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// What to dump, and how.
#[derive(Debug, Clone)]
pub struct DumpOptions {
    /// The server.
    pub peer: Peer,
    /// The directory; empty or not there yet.
    pub dir: PathBuf,
    /// Schemas; none: all but the server's own.
    pub schemas: Vec<String>,
    /// Tables and views, as `schema.table` or `table`; none: all.
    pub tables: Vec<String>,
    /// Tables and views to leave out.
    pub without: Vec<String>,
    /// Connections that read side by side.
    pub threads: usize,
    /// Plain bytes of a file of rows, about.
    pub chunk_bytes: u64,
    /// How files of rows are compressed.
    pub compression: Compression,
    /// Accounts and grants, too.
    pub users: bool,
    /// Routines, events and triggers, too.
    pub programs: bool,
    /// Rows, too.
    pub data: bool,
    /// All connections read one snapshot. Without, each table is read as it is at the time.
    pub consistent: bool,
    /// Shows no progress.
    pub quiet: bool,
}

/// Dumps. What was done, as lines for the user.
pub fn dump(options: &DumpOptions) -> Outcome<Vec<String>> {
    prepare(&options.dir)?;
    let mut main = Session::connect(&options.peer)?;
    let workers = match options.data {
        true => (0..options.threads.max(1)).map(|_| Session::connect(&options.peer)).collect::<Outcome<Vec<_>>>()?,
        false => Vec::new(),
    };
    let (catalog, workers, position) = snapshot(&mut main, workers, options)?;
    let begin = main.value("SELECT NOW()")?.unwrap_or_default();
    let mut head = head(&mut main, options, &catalog, &begin)?;
    if let Some((file, at, gtids)) = position {
        head.insert("binlogFile".into(), json!(file));
        head.insert("binlogPosition".into(), json!(at));
        head.insert("gtidExecuted".into(), json!(gtids));
    }
    describe(&mut main, options, &catalog, &mut head)?;
    let mut said = catalog.notes.clone();
    let done = match options.data {
        true => {
            let (done, line) = data(&mut main, workers, options, catalog)?;
            said.push(line);
            done
        }
        false => Map::new(),
    };
    finish(&mut main, options, done)?;
    Ok(said)
}

/// The directory, made if it is not there. What it holds already is not touched.
fn prepare(dir: &Path) -> Outcome<()> {
    let fault = |e| Fault::file(dir, e);
    if exists(dir).map_err(fault)? && !read_dir(dir).map_err(fault)?.is_empty() {
        return wrong(format!("{}: the directory is not empty", dir.display()));
    }
    create_dir_all(dir).map_err(fault)
}

/// Starts a transaction in every worker, all of which see the same. The catalog as it is in them, and the place in the
/// binary log.
fn snapshot(
    main: &mut Session,
    mut workers: Vec<Session>,
    options: &DumpOptions,
) -> Outcome<(Catalog, Vec<Session>, Option<(String, u64, String)>)> {
    let choice = Choice {
        schemas: &options.schemas,
        tables: &options.tables,
        without: &options.without,
        programs: options.programs,
    };
    // One connection has one snapshot by itself; several need a moment without commits.
    let locked = options.consistent && workers.len() > 1;
    if locked {
        // Definitions stay as they are until the end, where the account may see to it.
        if main.about.is_mysql([8, 0, 0]) {
            main.attempt("LOCK INSTANCE FOR BACKUP")?;
        }
        lock(main, &choice)?;
    }
    for worker in &mut workers {
        worker.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
        if options.consistent {
            worker.run("START TRANSACTION WITH CONSISTENT SNAPSHOT")?;
        }
    }
    let position = if locked { position(main)? } else { None };
    let catalog = catalog::read(main, &choice)?;
    if locked {
        main.run("UNLOCK TABLES")?;
    }
    Ok((catalog, workers, position))
}

/// Holds all commits up, or, for an account that may not, the writers of the tables.
fn lock(main: &mut Session, choice: &Choice<'_>) -> Outcome<()> {
    match main.run("FLUSH TABLES WITH READ LOCK") {
        Ok(_) => return Ok(()),
        Err(Fault::Refused { code: 1227 | 1044 | 1045 | 1142, .. }) => {}
        Err(e) => return Err(e),
    }
    let catalog = catalog::read(main, choice)?;
    let tables: Vec<String> = catalog
        .schemas
        .iter()
        .flat_map(|s| s.tables.iter().map(|t| format!("{} READ", qualified(&t.schema, &t.name))))
        .collect();
    if tables.is_empty() {
        return Ok(());
    }
    main.run(&format!("LOCK TABLES {}", tables.join(", "))).map(drop).map_err(|e| {
        e.at("one snapshot for several connections needs RELOAD or LOCK TABLES (or --threads=1, or --no-lock)")
    })
}

/// The place in the binary log, if there is one and the account may know.
fn position(main: &mut Session) -> Outcome<Option<(String, u64, String)>> {
    let mut result = None;
    for sql in ["SHOW BINARY LOG STATUS", "SHOW MASTER STATUS"] {
        match main.rows(sql) {
            Ok(rows) => {
                result = rows.into_iter().next();
                break;
            }
            Err(Fault::Refused { .. }) => {}
            Err(e) => return Err(e),
        }
    }
    let gtids = match main.rows("SELECT @@GLOBAL.gtid_executed") {
        Ok(rows) => rows.into_iter().flatten().flatten().next().unwrap_or_default(),
        Err(Fault::Refused { .. }) => main.value("SELECT @@GLOBAL.gtid_binlog_pos").ok().flatten().unwrap_or_default(),
        Err(e) => return Err(e),
    };
    Ok(result.and_then(|row| Some((row.first()?.clone()?, row.get(1)?.as_ref()?.parse().ok()?, gtids))))
}

/// What `@.json` says of the dump as a whole.
fn head(main: &mut Session, o: &DumpOptions, catalog: &Catalog, begin: &str) -> Outcome<Map<String, Value>> {
    let value = json!({
        "dumper": concat!("gannet ", env!("CARGO_PKG_VERSION")),
        "version": "2.0.1",
        "origin": if o.tables.is_empty() && o.schemas.is_empty() { "dumpInstance" } else { "dumpSchemas" },
        "schemas": catalog.schemas.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(),
        "basenames": catalog.schemas.iter().map(|s| (s.name.clone(), json!(file_part(&s.name)))).collect::<Map<_, _>>(),
        "defaultCharacterSet": "utf8mb4",
        "tzUtc": true,
        "bytesPerChunk": o.chunk_bytes,
        "user": main.value("SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1)")?,
        "hostname": main.value("SELECT @@hostname")?,
        "server": crate::peer::address(&o.peer.address),
        "serverVersion": main.about.text,
        "gtidExecuted": "",
        "gtidExecutedInconsistent": false,
        "consistent": o.consistent,
        "compatibilityOptions": [],
        "capabilities": [],
        "begin": begin,
    });
    match value {
        Value::Object(map) => Ok(map),
        _ => wrong("no object"),
    }
}

/// Writes everything but the rows.
fn describe(main: &mut Session, o: &DumpOptions, catalog: &Catalog, head: &mut Map<String, Value>) -> Outcome<()> {
    let file = |name: String, content: &[u8]| chunk::write_file(&o.dir.join(name), content);
    if o.users {
        let (names, script) = definitions::of_users(main)?;
        head.insert("users".into(), json!(names));
        file("@.users.sql".into(), script.as_bytes())?;
    }
    file("@.sql".into(), b"-- Before everything else.\n")?;
    file("@.post.sql".into(), b"-- After everything else.\n")?;
    for schema in &catalog.schemas {
        // Views are shown without the name of the schema one is in.
        main.run(&format!("USE {}", quoted(&schema.name)))?;
        let base = file_part(&schema.name);
        let of = |name: &str| (name.to_owned(), json!(format!("{base}@{}", file_part(name))));
        let tables: Vec<&str> = schema.tables.iter().map(|t| t.name.as_str()).collect();
        let names = tables.iter().copied().chain(schema.views.iter().map(String::as_str));
        let meta = json!({
            "schema": schema.name,
            "includesDdl": true,
            "includesViewsDdl": true,
            "includesData": o.data,
            "tables": tables,
            "views": schema.views,
            "events": schema.events,
            "functions": schema.functions,
            "procedures": schema.procedures,
            "basenames": names.map(of).collect::<Map<_, _>>(),
        });
        file(format!("{base}.json"), pretty(&meta).as_bytes())?;
        file(format!("{base}.sql"), definitions::of_schema(main, schema)?.as_bytes())?;
        for table in &schema.tables {
            let base = table.base();
            file(format!("{base}.json"), pretty(&of_table(o, table)).as_bytes())?;
            file(format!("{base}.sql"), definitions::of_table(main, table)?.as_bytes())?;
            if o.programs && !table.triggers.is_empty() {
                file(format!("{base}.triggers.sql"), definitions::of_triggers(main, table)?.as_bytes())?;
            }
        }
        for view in &schema.views {
            let (stand_in, script) = definitions::of_view(main, &schema.name, view)?;
            let base = format!("{base}@{}", file_part(view));
            file(format!("{base}.pre.sql"), stand_in.as_bytes())?;
            file(format!("{base}.sql"), script.as_bytes())?;
        }
    }
    // The last of the descriptions: a directory without it is no dump.
    file("@.json".into(), pretty(&Value::Object(head.clone())).as_bytes())
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

fn of_table(o: &DumpOptions, table: &Table) -> Value {
    let decoded = table.columns.iter().filter(|c| c.form == Form::Binary);
    let decoded: Map<String, Value> = decoded.map(|c| (c.name.clone(), json!("FROM_BASE64"))).collect();
    let mut options = json!({
        "schema": table.schema,
        "table": table.name,
        "columns": table.columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(),
        "defaultCharacterSet": "utf8mb4",
        "fieldsTerminatedBy": "\t",
        "fieldsEnclosedBy": "",
        "fieldsOptionallyEnclosed": false,
        "fieldsEscapedBy": "\\",
        "linesTerminatedBy": "\n",
    });
    if !decoded.is_empty() {
        options["decodeColumns"] = decoded.into();
    }
    json!({
        "options": options,
        "triggers": if o.programs { table.triggers.as_slice() } else { &[] },
        "histograms": [],
        "includesData": o.data,
        "includesDdl": true,
        "extension": format!("tsv{}", o.compression.extension()),
        "chunking": true,
        "compression": o.compression.name(),
        "primaryIndex": table.primary,
        "partitions": [],
        "basenames": {},
    })
}

/// A table while its rows are read.
struct Reading {
    table: Table,
    /// The number of its next file.
    next: AtomicU64,
    /// Ranges that are not done.
    left: AtomicUsize,
    done: Mutex<Done>,
}

#[derive(Default)]
struct Done {
    files: Vec<(u64, Written)>,
    /// The sum of [`hash`] over all rows.
    sum: u64,
}

/// A row's part of its table's checksum, which is a sum: the order of the rows does not matter.
pub(crate) fn hash(line: &[u8]) -> u64 {
    // Finalizer of SplitMix64: a sum of CRCs alone would hide errors that cancel each other out.
    let mut z = u64::from(crc32c(0, line)) << 32 | line.len() as u64 & 0xFFFF_FFFF;
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

/// A row's part of that sum, of which `line` is in the file.
pub(crate) fn row_sum(packet: &[u8], forms: &[Form], line: &[u8], scratch: &mut Vec<u8>) -> Outcome<u64> {
    if !forms.contains(&Form::Json) {
        return Ok(hash(line));
    }
    scratch.clear();
    rows::summed(packet, forms, scratch)?;
    Ok(hash(scratch))
}

struct Work {
    options: DumpOptions,
    queue: Mutex<VecDeque<(Arc<Reading>, String)>>,
    counts: Arc<Counts>,
    fault: Mutex<Option<Fault>>,
    stored: AtomicU64,
}

/// Reads all rows. What `@.done.json` says of them, and a line for the user.
fn data(
    main: &mut Session,
    workers: Vec<Session>,
    options: &DumpOptions,
    catalog: Catalog,
) -> Outcome<(Map<String, Value>, String)> {
    let counts = Arc::new(Counts::default());
    let mut tables: Vec<Table> = catalog.schemas.into_iter().flat_map(|s| s.tables).collect();
    // The largest first, so that no long one begins last.
    tables.sort_by_key(|t| std::cmp::Reverse(t.bytes));
    let (mut queue, mut readings) = (VecDeque::new(), Vec::new());
    for table in tables {
        counts.total.fetch_add(table.rows, Relaxed);
        let ranges = ranges::of(main, &table, workers.len(), options.chunk_bytes)?;
        let reading = Arc::new(Reading {
            table,
            next: AtomicU64::new(0),
            left: AtomicUsize::new(ranges.len()),
            done: Mutex::default(),
        });
        queue.extend(ranges.into_iter().map(|range| (reading.clone(), range)));
        readings.push(reading);
    }
    let work = Arc::new(Work {
        options: options.clone(),
        queue: Mutex::new(queue),
        counts: counts.clone(),
        fault: Mutex::new(None),
        stored: AtomicU64::new(0),
    });
    let progress = Progress::begin(counts, options.quiet);
    let mut threads = Vec::new();
    for (i, session) in workers.into_iter().enumerate() {
        let work = work.clone();
        let run = move || work.run(session);
        let started = gannet_runtime::start_thread(&format!("dump {i}"), None, run);
        threads.push(started.map_err(|e| Fault::Wrong(format!("cannot start a thread: {e}")))?);
    }
    let panicked = threads.into_iter().filter_map(|t| t.join().err()).count();
    if let Some(fault) = work.fault.lock().take() {
        return Err(fault);
    }
    if panicked > 0 {
        return wrong("a thread panicked");
    }
    let line = format!("{}, {} on disk", progress.end(), bytes(work.stored.load(Relaxed)));
    Ok((summary(options, &readings), line))
}

impl Work {
    fn run(&self, mut session: Session) {
        loop {
            let Some((reading, range)) = self.queue.lock().pop_front() else { return };
            if self.counts.stop.load(Relaxed) {
                return;
            }
            if let Err(e) = self.range(&mut session, &reading, &range) {
                let place = format!("{}.{}", reading.table.schema, reading.table.name);
                let mut first = self.fault.lock();
                if !matches!(e, Fault::Stopped) && first.is_none() {
                    *first = Some(e.at(place));
                }
                self.counts.stop.store(true, Relaxed);
                return;
            }
        }
    }

    /// Reads a range into files; the last range of a table gives the last file its name.
    fn range(&self, session: &mut Session, reading: &Reading, range: &str) -> Outcome<()> {
        let table = &reading.table;
        let forms: Vec<Form> = table.columns.iter().map(|c| c.form).collect();
        let mut rows = session.connection.stream(&select(table, range))?;
        let (mut writer, mut files, mut sum): (Option<(u64, Writer)>, Vec<_>, u64) = (None, Vec::new(), 0);
        let (mut unseen, mut unseen_bytes, mut scratch) = (0, 0, Vec::new());
        while let Some(packet) = rows.next_row()? {
            let (_, w) = match &mut writer {
                Some(w) => w,
                none => none.insert(self.create(reading)?),
            };
            w.row(|out| {
                let begin = out.len();
                rows::line(packet, &forms, out)?;
                sum = sum.wrapping_add(row_sum(packet, &forms, &out[begin..], &mut scratch)?);
                unseen_bytes += (out.len() - begin) as u64;
                Ok(())
            })?;
            unseen += 1;
            if unseen == 256 {
                self.count(&mut unseen, &mut unseen_bytes)?;
            }
            if w.plain() >= self.options.chunk_bytes
                && let Some((n, w)) = writer.take()
            {
                files.push((n, w.finish()?));
            }
        }
        if let Some((n, w)) = writer {
            files.push((n, w.finish()?));
        }
        self.count(&mut unseen, &mut unseen_bytes)?;
        self.stored.fetch_add(files.iter().map(|(_, w)| w.stored).sum(), Relaxed);
        {
            let mut done = reading.done.lock();
            done.files.append(&mut files);
            done.sum = done.sum.wrapping_add(sum);
        }
        if reading.left.fetch_sub(1, Relaxed) == 1 { self.close(reading) } else { Ok(()) }
    }

    fn count(&self, rows: &mut u64, bytes: &mut u64) -> Outcome<()> {
        let (rows, bytes) = (std::mem::take(rows), std::mem::take(bytes));
        self.counts.rows.fetch_add(rows, Relaxed);
        self.counts.done.fetch_add(rows, Relaxed);
        self.counts.bytes.fetch_add(bytes, Relaxed);
        if self.counts.stop.load(Relaxed) { Err(Fault::Stopped) } else { Ok(()) }
    }

    fn create(&self, reading: &Reading) -> Outcome<(u64, Writer)> {
        let n = reading.next.fetch_add(1, Relaxed);
        let path = self.options.dir.join(data_file(&reading.table, n, false, self.options.compression));
        Ok((n, Writer::create(path, self.options.compression)?))
    }

    /// All rows of the table are in files: the last one is named so. A table without rows has one empty file.
    fn close(&self, reading: &Reading) -> Outcome<()> {
        let mut done = reading.done.lock();
        if done.files.is_empty() {
            let (n, writer) = self.create(reading)?;
            done.files.push((n, writer.finish()?));
        }
        done.files.sort_by_key(|(n, _)| *n);
        let last = done.files.len() as u64 - 1;
        let path = |is_last| self.options.dir.join(data_file(&reading.table, last, is_last, self.options.compression));
        let (from, to) = (path(false), path(true));
        rename(chunk::index_of(&from), chunk::index_of(&to)).map_err(|e| Fault::file(&from, e))?;
        rename(&from, &to).map_err(|e| Fault::file(&from, e))
    }
}

/// The name of a file of rows: `schema@table@0.tsv.zst`, the last `schema@table@@1.tsv.zst`.
fn data_file(table: &Table, n: u64, is_last: bool, compression: Compression) -> String {
    let last = if is_last { "@" } else { "" };
    format!("{}@{last}{n}.tsv{}", table.base(), compression.extension())
}

/// Reads a range in the order of the primary key.
pub(crate) fn select(table: &Table, range: &str) -> String {
    let columns: Vec<String> = table
        .columns
        .iter()
        .map(|c| match c.ty.as_str() {
            // A FLOAT is shown with six digits; as a DOUBLE, with all it has.
            "float" => format!("{}+0E0", quoted(&c.name)),
            ty if c.form == Form::Binary && (ty.ends_with("char") || ty.ends_with("text")) => {
                format!("CAST({} AS BINARY)", quoted(&c.name))
            }
            _ => quoted(&c.name),
        })
        .collect();
    let mut sql = format!("SELECT {} FROM {}", columns.join(", "), qualified(&table.schema, &table.name));
    if !range.is_empty() {
        sql += &format!(" WHERE {range}");
    }
    if !table.primary.is_empty() {
        let key: Vec<String> = table.primary.iter().map(|k| quoted(k)).collect();
        sql += &format!(" ORDER BY {}", key.join(", "));
    }
    sql
}

/// What `@.done.json` says of the rows: bytes, as MySQL Shell has them, and under `gannet` the checksums.
fn summary(options: &DumpOptions, readings: &[Arc<Reading>]) -> Map<String, Value> {
    let (mut table_bytes, mut file_bytes) = (Map::new(), Map::new());
    let (mut tables, mut files) = (Map::new(), Map::new());
    let mut all = 0;
    for reading in readings {
        let done = reading.done.lock();
        let (table, mut rows, mut plain) = (&reading.table, 0, 0);
        for (n, w) in &done.files {
            let is_last = *n + 1 == done.files.len() as u64;
            let name = data_file(table, *n, is_last, options.compression);
            file_bytes.insert(name.clone(), json!(w.plain));
            files.insert(name, json!({ "rows": w.rows, "crc32c": w.crc }));
            rows += w.rows;
            plain += w.plain;
        }
        all += plain;
        let of = |map: &mut Map<String, Value>, value: Value| {
            map.entry(table.schema.clone()).or_insert_with(|| json!({}))[table.name.as_str()] = value;
        };
        of(&mut table_bytes, json!(plain));
        of(&mut tables, json!({ "rows": rows, "sum": format!("{:016x}", done.sum) }));
    }
    let mut map = Map::new();
    map.insert("dataBytes".into(), json!(all));
    map.insert("tableDataBytes".into(), table_bytes.into());
    map.insert("chunkFileBytes".into(), file_bytes.into());
    map.insert("gannet".into(), json!({ "files": files, "tables": tables }));
    map
}

/// Says that the dump is whole, after everything else is on the disk.
fn finish(main: &mut Session, options: &DumpOptions, mut done: Map<String, Value>) -> Outcome<()> {
    let fault = |e| Fault::file(&options.dir, e);
    done.insert("end".into(), json!(main.value("SELECT NOW()")?));
    sync_dir(&options.dir).map_err(fault)?;
    chunk::write_file(&options.dir.join("@.done.json"), pretty(&Value::Object(done)).as_bytes())?;
    sync_dir(&options.dir).map_err(fault)
}
