//! What SHOW ENGINE INNODB STATUS tells of the past: the latest deadlock, and the latest row that a foreign key
//! refused.

use crate::Core;
use crate::registry::Entry;
use gannet_base::sync::Mutex;
use gannet_base::{TreeId, TrxId};
use gannet_engine::lock::{LockKind, Mode};
use gannet_exec::foreign::Refused;
use gannet_schema::CatalogSnapshot;
use gannet_schema::show::foreign_key_text;
use gannet_telemetry::WaitSummary;
use std::fmt::Write;

/// Bytes of a statement that are kept, as many as InnoDB keeps.
const STATEMENT: usize = 3000;
/// Bytes of a key that are shown.
const KEY: usize = 64;

/// Reports that are kept until the next of their kind.
#[derive(Default)]
pub struct Reports {
    /// Waits since the summary of them was truncated.
    pub waits: WaitSummary,
    /// What the lists of used tables and users count from.
    pub uses: crate::uses::Uses,
    foreign_key: Mutex<Option<String>>,
}

/// Thread, host, user and statement of a session, a line each; passwords are left out.
pub fn session(entry: &Entry) -> Vec<u8> {
    let who = entry.who();
    let mut out = format!("MySQL thread id {}, query id 0 {} {}\n", entry.id, who.host, who.user).into_bytes();
    if let Some(text) = entry.statement() {
        out.extend_from_slice(text.first(STATEMENT).bytes());
        out.push(b'\n');
    }
    out
}

fn now(unix_micros: u64) -> String {
    let at = crate::log::timestamp(unix_micros as i64).replace('T', " ");
    at.get(..19).unwrap_or(&at).to_owned()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().take(KEY).fold(String::new(), |mut out, b| {
        let _ = write!(out, "{b:02x}");
        out
    })
}

fn printable(bytes: &[u8]) -> String {
    let shown = |b: &u8| if b.is_ascii_graphic() || *b == b' ' { char::from(*b) } else { ' ' };
    bytes.iter().take(KEY).map(shown).collect()
}

/// Index and table of a tree, as InnoDB names them; nothing when the table is gone.
fn place(names: &CatalogSnapshot, tree: TreeId) -> String {
    for table in names.schemas().flat_map(|s| names.tables(&s.name)) {
        let Some((part, index)) = table.find_tree(tree) else { continue };
        let index = index.map(|i| &table.indexes[i]).or(table.clustered_index());
        let index = index.map_or("GEN_CLUST_INDEX", |i| &*i.name);
        let part = match (part, &table.partitions) {
            (Some(n), Some(parts)) => format!(" /* Partition `{}` */", parts.definition().leaf_name(n as usize)),
            _ => String::new(),
        };
        return format!(" index {index} of table `{}`.`{}`{part}", table.schema, table.name);
    }
    String::new()
}

/// What a member of a deadlock waits for.
fn wanted(names: &CatalogSnapshot, trx: TrxId, kind: &LockKind) -> String {
    // Locks are of keys: the page and its bitmap, which readers of InnoDB's report expect, are 0.
    let lock = |tree: TreeId, key: Option<&[u8]>, mode: &str| {
        let at = format!("space id {} page no 0 n bits 0{}", tree.0, place(names, tree));
        let mut text = format!("RECORD LOCKS {at} trx id {} lock_mode {mode} waiting\n", trx.0);
        if let Some(key) = key {
            let _ = writeln!(text, "Record lock, key len {}; hex {}; asc {};", key.len(), hex(key), printable(key));
        }
        text
    };
    match kind {
        LockKind::Record { tree, key, mode } => {
            let mode = if *mode == Mode::Shared { "S" } else { "X" };
            lock(*tree, Some(key), &format!("{mode} locks rec but not gap"))
        }
        LockKind::Transaction { row: Some((tree, key)), .. } => lock(*tree, Some(key), "X locks rec but not gap"),
        LockKind::Transaction { trx, row: None } => format!("RECORD LOCKS of transaction {} waiting\n", trx.0),
        LockKind::Gap { tree, .. } | LockKind::Rows { tree, .. } => lock(*tree, None, "X locks gap"),
        LockKind::Insert { tree, key } => lock(*tree, Some(key), "X locks gap before rec insert intention"),
        LockKind::Metadata { name, mode, .. } => format!("TABLE METADATA LOCK {name} mode {mode:?} waiting\n"),
    }
}

/// The members of the last deadlock: what each waited for, in which statement, and which one was rolled back.
pub fn deadlock(server: &Core) -> Option<String> {
    let d = server.engine.lock_table().last_deadlock()?;
    let names = server.catalog.snapshot();
    let mut out = format!("{}\n", now(d.unix_micros));
    for (i, m) in d.members.iter().enumerate() {
        let (n, p) = (i + 1, &m.party);
        let _ = writeln!(out, "*** ({n}) TRANSACTION:\nTRANSACTION {}, ACTIVE", p.trx.0);
        let _ = writeln!(out, "LOCK WAIT undo log entries {}", m.weight);
        if m.session.is_empty() {
            _ = writeln!(out, "MySQL thread id {}", p.thread);
        } else {
            out.push_str(&String::from_utf8_lossy(&m.session))
        }
        let _ = writeln!(out, "*** ({n}) WAITING FOR THIS LOCK TO BE GRANTED:");
        out.push_str(&wanted(&names, p.trx, &m.waits_for));
    }
    if let Some(i) = d.members.iter().position(|m| m.victim) {
        let _ = writeln!(out, "*** WE ROLL BACK TRANSACTION ({})", i + 1);
    }
    Some(out)
}

impl Reports {
    /// The section's text.
    pub fn foreign_key(&self) -> Option<String> {
        self.foreign_key.lock().clone()
    }

    /// A foreign key refuses a row of the session's statement.
    pub fn foreign_key_refused(&self, entry: &Entry, refused: &Refused<'_>) {
        let Refused { trx, child, key, parent_goes, tuple } = refused;
        let mut out = format!("{} Transaction:\n", now(gannet_runtime::WallTime::now().micros()));
        let _ = writeln!(out, "TRANSACTION {}, ACTIVE", trx.0);
        out.push_str(&String::from_utf8_lossy(&session(entry)));
        let _ = writeln!(out, "Foreign key constraint fails for table `{}`.`{}`:\n,", child.schema, child.name);
        let _ = writeln!(out, "  {}", foreign_key_text(child, key));
        let (parent, columns) = (format!("`{}`.`{}`", key.parent_schema, key.parent), key.parent_columns.join(", "));
        if *parent_goes {
            out.push_str("Trying to delete or update in parent table, tuple:\n")
        } else {
            _ = writeln!(out, "Trying to add in child table, in index {} tuple:", refused.child_index());
        }
        let _ = writeln!(out, "DATA TUPLE: {} fields;", tuple.len());
        for (i, field) in tuple.iter().enumerate() {
            let _ = writeln!(out, " {i}: len {}; hex {}; asc {};;", field.len(), hex(field), printable(field));
        }
        let _ = if *parent_goes {
            let (schema, name, index) = (&child.schema, &child.name, refused.child_index());
            writeln!(out, "\nBut in child table `{schema}`.`{name}`, in index {index}, there is a record")
        } else {
            writeln!(out, "\nBut in parent table {parent}, in ({columns}), there is no such record")
        };
        *self.foreign_key.lock() = Some(out);
    }
}
