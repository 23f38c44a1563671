//! INSERT and REPLACE of many rows of literals. The text without its rows is a short statement, whose plan is found in
//! the cache or made; the rows go from the lexer into the table. Whatever is not as simple as that, errors of the
//! statement above all, is left to the ordinary road.

use super::Session;
use super::cached::{CachedPlan, enter_plan_of, find_plan, with_scan};
use super::text::lex_mode;
use gannet_exec::{Literals, Outcome, insert_rows, takes_rows};
use gannet_parser::rows::{ManyRows, many_rows};
use gannet_parser::{Extent, LexMode, digest};
use gannet_plan::Local;
use gannet_telemetry::{Counter, count};
use gannet_types::{Result, Value};
use std::cell::RefCell;
use std::sync::Arc;

/// Shorter texts are of few rows, and their plans are in the cache; fewer where tests are to meet the other way.
const SHORTEST: usize = if cfg!(debug_assertions) { 64 } else { 1 << 10 };
/// Buffers for more values than that are not kept.
const KEPT_CELLS: usize = 1 << 18;
/// Sets the plans of frames apart from those of statements with one row.
const MANY: u128 = 0x6d61_6e79_2072_6f77_735f_6f66_5f6f_6e65;

#[derive(Default)]
struct Buffers {
    rows: ManyRows,
    frame: Vec<u8>,
}

thread_local! {
    static BUFFERS: RefCell<Option<Buffers>> = const { RefCell::new(None) };
}

/// A plan of the caches.
enum Found {
    Near(Local<super::cached::Cached>),
    New(Arc<CachedPlan>),
}

impl std::ops::Deref for Found {
    type Target = CachedPlan;
    fn deref(&self) -> &CachedPlan {
        match self {
            Found::Near(entry) => entry,
            Found::New(entry) => entry,
        }
    }
}

/// Such a statement, ready to run.
pub(super) struct Many {
    buffers: Buffers,
    mode: LexMode,
    entry: Found,
    params: Vec<Value>,
}

impl Many {
    /// Finds one; `None`: it is another statement, and nothing was done.
    pub(super) fn find(session: &mut Session, text: &[u8]) -> Option<Many> {
        if text.len() < SHORTEST || !matches!(text[0] | 0x20, b'i' | b'r') {
            return None;
        }
        // The statement may park: the buffers are its own meanwhile.
        let mut buffers = BUFFERS.take().unwrap_or_default();
        let mode = lex_mode(session.settings.exec.sql_mode);
        let found = match many_rows(text, mode, gannet_exec::stopped, &mut buffers.rows) {
            true => frame(session, (text, mode), &mut buffers),
            false => None,
        };
        let Some((entry, params)) = found else {
            give_back(buffers);
            return None;
        };
        Some(Many { buffers, mode, entry, params })
    }

    /// Its plan.
    pub(super) fn entry(&self) -> &CachedPlan {
        &self.entry
    }

    /// Puts the rows in.
    pub(super) fn execute(&self, session: &mut Session, text: &[u8]) -> Result<Outcome> {
        let literals =
            Literals { rows: &self.buffers.rows, text, mode: self.mode, collation: session.literal_collation() };
        session.execute_with(&self.entry.plan, &self.entry.digest.locks, &self.params, |cx, _| {
            insert_rows(&literals, cx).map(Outcome::Affected)
        })
    }
}

impl Drop for Many {
    fn drop(&mut self) {
        give_back(std::mem::take(&mut self.buffers));
    }
}

fn give_back(buffers: Buffers) {
    if buffers.rows.cells.capacity() <= KEPT_CELLS {
        BUFFERS.set(Some(buffers));
    }
}

/// The statement without its rows, and its plan, by which they can be put in.
fn frame(session: &mut Session, (text, mode): (&[u8], LexMode), buffers: &mut Buffers) -> Option<(Found, Vec<Value>)> {
    let Buffers { rows, frame } = buffers;
    // Bytes behind `_binary` are those that the client sent.
    let client = session.settings.charsets.client;
    if rows.bytes && !client.is_written() {
        return None;
    }
    rows.frame(text, frame);
    plan(session, (text, mode), frame).filter(|(entry, _)| takes_rows(&entry.plan, rows))
}

/// The plan of the frame, with the values of its parameters. `None`: there is none, or it needs more than that.
fn plan(session: &mut Session, (text, mode): (&[u8], LexMode), frame: &[u8]) -> Option<(Found, Vec<Value>)> {
    let secret = session.server.scan_secret;
    with_scan(secret, |scan| {
        if !digest::scan(frame, mode, scan) || scan.params > 0 {
            return None;
        }
        session.state.renew_snapshot();
        let key = session.plan_key(scan.shape ^ MANY, 0);
        let entry = match find_plan(session, &key, scan, frame, None) {
            Some(entry) => {
                count(Counter::PlanCacheHits);
                Found::Near(entry)
            }
            None => {
                let parsed = gannet_parser::parse_until(frame, mode, Extent::Parameterised, gannet_exec::stopped);
                let parsed = parsed.ok().filter(|p| p.params == 0 && session.is_planned_here(&p.statement))?;
                let plan = session.make_plan(&parsed.statement, (&[], &[]), Some((frame, &scan.literals))).ok()?;
                count(Counter::PlanCacheMisses);
                let source = (frame, &scan.literals[..]);
                Found::New(enter_plan_of(session, plan, key, source, text, (&parsed.statement, &parsed.notices)))
            }
        };
        let params = session.bind(&entry.plan, &scan.literals, frame, &[]).ok()?;
        Some((entry, params))
    })
}
