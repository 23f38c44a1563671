//! Checking a store without serving it: `gannet check`.

use crate::options::{Request, ServerOptions};
use crate::vars::Live;
use gannet_catalog::Catalog;
use gannet_engine::{Engine, EngineOptions, OpenMode};
use std::time::{Duration, Instant};

/// Recovery that does not get on for so long is given up.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a check saw.
pub struct Report {
    /// How much was looked at, in a line.
    pub summary: String,
    /// What is wrong, a line each.
    pub findings: Vec<String>,
}

/// Waits until redo and rollback are over. Returns the transactions that cannot be rolled back.
fn wait_for_recovery(engine: &Engine) -> Result<u64, String> {
    let (mut seen, mut since) = (None, Instant::now());
    loop {
        let (status, recovery) = (engine.status(), engine.recovery());
        if recovery.percent >= 100.0 && status.recovering <= status.stuck {
            return Ok(status.stuck);
        }
        let place = (recovery.percent.to_bits(), status.recovering, status.log_lsn, status.checkpoint_lsn);
        // Reading a long log takes its time.
        let reading = recovery.percent < 100.0 && !recovery.failed;
        if seen.replace(place) != Some(place) || reading {
            since = Instant::now();
        } else if since.elapsed() > PATIENCE {
            return Err(format!(
                "recovery does not get on: {:.0} percent of the redo applied, {} transactions to roll back",
                recovery.percent, status.recovering
            ));
        }
        let _ = gannet_runtime::sleep(Duration::from_millis(20));
    }
}

/// Opens the store that the options of a server name, checks it and closes it. The error: it cannot be opened.
pub fn check_store(args: &[String]) -> Result<Report, String> {
    let Request::Serve(options) = ServerOptions::parse(args)? else {
        return Err("gannet check takes --datadir and --innodb-buffer-pool-size".into());
    };
    let datadir = options.datadir();
    let engine = Engine::open(EngineOptions {
        buffer_pool_bytes: options.get(Live::InnodbBufferPoolSize).as_u64(),
        // What the store's log takes: of another capacity segments would be made or removed, and what lies in it could
        // be too much.
        redo_capacity_bytes: 0,
        mode: OpenMode::Existing,
        ..EngineOptions::new(&datadir)
    })
    .map_err(|e| crate::startup::open_error(&datadir, &e))?;
    // What recovery has to do comes first: redo, rollback, purge.
    let mut findings = Vec::new();
    match wait_for_recovery(&engine)? {
        0 => {}
        stuck => findings.push(format!("unfinished transactions that cannot be rolled back: {stuck}")),
    }
    if let Err(e) = engine.purge_now() {
        findings.push(format!("purge: {e}"));
    }
    let store = engine.check_store().map_err(|e| format!("the store cannot be walked: {e}"))?;
    findings.extend(store.findings);
    let mut tables = 0;
    match Catalog::open(engine.clone()) {
        Err(e) => findings.push(format!("the dictionary: {e}")),
        Ok(catalog) => {
            let snapshot = catalog.snapshot();
            for table in snapshot.schemas().flat_map(|schema| snapshot.tables(&schema.name)) {
                tables += 1;
                if let Err(e) = gannet_exec::check::check_table(table, &engine) {
                    findings.push(format!("{}.{}: {}", table.schema, table.name, e.message()));
                }
            }
        }
    }
    engine.shutdown().map_err(|e| format!("the store cannot be closed: {e}"))?;
    let summary = format!(
        "{tables} tables; {} trees, {} entries, {} pages; {} undo records in {} pages",
        store.trees, store.entries, store.pages, store.undo_records, store.undo_pages
    );
    Ok(Report { summary, findings })
}
