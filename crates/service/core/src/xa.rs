//! Prepared branches of distributed transactions (XA). They belong to no session: any may end them.
//!
//! The dictionary has a branch under its name before its transaction is prepared in the engine. At the start,
//! branches whose transactions are prepared are resumed with their tables' metadata locks, and the others are
//! removed.
//!
//! Record, little-endian: `u64 transaction · u64 format · u16 length, gtrid · u16 length, bqual · u16 count of tables,
//! each: u64 id · u8 flags`. Flags, which older records lack: 1 the binary log has the branch; 2 it is to be rolled
//! back, and the binary log says so.
//!
//! The binary log learns of a branch with the record that prepares its transaction, and of its commit with the commit.
//! A rollback is decided first, by the dictionary's record, and done then: so it is told once, and after a crash it is
//! done at the start.

use crate::Core;
use gannet_base::sync::Mutex;
use gannet_binlog::group::Payload;
use gannet_catalog::Words;
use gannet_engine::lock::{MdlDuration, MdlMode, Wait};
use gannet_engine::{Engine, EngineError, Txn, TxnOptions};
use gannet_parser::ast::Xid;
use gannet_types::{Result, SqlError, sql_err};
use gannet_wire::codec::Reader;
use std::collections::BTreeMap;
use std::io::Read;

/// Name of a branch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Branch {
    /// Format.
    pub format: u64,
    /// Global transaction id.
    pub gtrid: Vec<u8>,
    /// Branch qualifier.
    pub bqual: Vec<u8>,
}

impl From<&Xid> for Branch {
    fn from(x: &Xid) -> Self {
        Self { format: x.format_id, gtrid: x.gtrid.to_vec(), bqual: x.bqual.to_vec() }
    }
}

impl Branch {
    /// Key in the dictionary. The format is no part of a branch's identity in MySQL's tables, but it is in its XIDs.
    fn key(&self) -> String {
        let hex = |b: &[u8]| b.iter().map(|b| format!("{b:02x}")).collect::<String>();
        format!("{}.{}.{}", hex(&self.gtrid), hex(&self.bqual), self.format)
    }

    fn encode(&self, trx: u64, tables: &[u64], flags: u8) -> Vec<u8> {
        let mut out = trx.to_le_bytes().to_vec();
        out.extend_from_slice(&self.format.to_le_bytes());
        for part in [&self.gtrid, &self.bqual] {
            out.extend_from_slice(&(part.len() as u16).to_le_bytes());
            out.extend_from_slice(part);
        }
        let tables = &tables[..tables.len().min(u16::MAX.into())];
        out.extend_from_slice(&(tables.len() as u16).to_le_bytes());
        tables.iter().for_each(|t| out.extend_from_slice(&t.to_le_bytes()));
        out.push(flags);
        out
    }

    fn decode(record: &[u8]) -> Option<(Self, u64, Vec<u64>, u8)> {
        let mut r = Reader::new(record);
        let (trx, format) = (r.u64().ok()?, r.u64().ok()?);
        let mut part = || {
            let n = r.u16().ok()?;
            Some(r.bytes(n.into()).ok()?.to_vec())
        };
        let (gtrid, bqual) = (part()?, part()?);
        let n = r.u16().ok()?;
        let tables = (0..n).map(|_| r.u64().ok()).collect::<Option<Vec<_>>>()?;
        let flags = if r.is_empty() { 0 } else { r.u8().ok()? };
        Some((Self { format, gtrid, bqual }, trx, tables, flags))
    }
}

/// The binary log has the branch.
const LOGGED: u8 = 1;
/// The branch is to be rolled back.
const UNDONE: u8 = 2;

/// A prepared branch.
struct Prepared {
    txn: Txn,
    tables: Box<[u64]>,
    flags: u8,
}

/// The branches of a server.
#[derive(Default)]
pub struct Branches {
    prepared: Mutex<BTreeMap<Branch, Prepared>>,
    /// Names in use: of prepared branches, and of branches that sessions work on.
    names: Mutex<std::collections::BTreeSet<Branch>>,
}

fn failed(e: EngineError) -> SqlError {
    gannet_exec::error::from_engine(e)
}

impl Branches {
    /// Resumes the branches that were prepared before the start.
    pub fn recover(&self, server: &Core) -> Result<()> {
        let engine: &Engine = &server.engine;
        let waiting = engine.prepared();
        let mut txn = engine.try_begin(TxnOptions::default()).map_err(failed)?;
        let stored = server.catalog.branches();
        for (key, record) in stored.all(&mut txn).map_err(failed)? {
            let damaged = || SqlError::internal(format_args!("the record of XA branch {key} is damaged"));
            let (branch, trx, tables, flags) = Branch::decode(&record).ok_or_else(damaged)?;
            let taken = match waiting.iter().find(|t| t.0 == trx) {
                Some(id) => engine.take_prepared(*id, TxnOptions::default()).map_err(failed)?,
                None => None,
            };
            let Some(mut resumed) = taken else {
                stored.remove(&mut txn, &key).map_err(failed)?;
                continue;
            };
            if flags & UNDONE != 0 {
                resumed.rollback().map_err(failed)?;
                stored.remove(&mut txn, &key).map_err(failed)?;
                continue;
            }
            for table in tables.iter().copied() {
                let object = engine.lock_table().mdl_object(table, "");
                // No session runs yet, so the lock is free.
                let _ = resumed.lock_owner().mdl_lock(object, MdlMode::Write, MdlDuration::Transaction, Wait::No);
            }
            server.log.note(format_args!("XA branch {key} is prepared and waits for XA COMMIT or XA ROLLBACK"));
            self.names.lock().insert(branch.clone());
            self.prepared.lock().insert(branch, Prepared { txn: resumed, tables: tables.into(), flags });
        }
        txn.commit().map_err(failed)?;
        Ok(())
    }

    /// Reserves a name; error 1440 when it is in use.
    pub fn reserve(&self, branch: &Branch) -> Result<()> {
        if self.names.lock().insert(branch.clone()) { Ok(()) } else { Err(sql_err!(XaerDupid)) }
    }

    /// A name is free again.
    pub fn release(&self, branch: &Branch) {
        self.names.lock().remove(branch);
    }

    /// Prepares a transaction and keeps it, with what the binary log has of it. On error the caller has both back, as
    /// they were.
    pub fn prepare(
        &self,
        server: &Core,
        branch: &Branch,
        (mut txn, mut payload): (Txn, Option<Payload>),
        tables: &[u64],
    ) -> std::result::Result<(), (SqlError, Box<(Txn, Option<Payload>)>)> {
        let flags = if payload.is_some() { LOGGED } else { 0 };
        if let Some(id) = txn.id() {
            let record = branch.encode(id.0, tables, flags);
            let kept = server.engine.try_begin(TxnOptions::default()).and_then(|mut own| {
                server.catalog.branches().put(&mut own, &branch.key(), &record)?;
                own.commit()
            });
            if let Err(e) = kept {
                return Err((failed(e), Box::new((txn, payload))));
            }
        }
        if let Err(e) = txn.prepare_with(payload.as_mut().map(|p| p as &mut dyn Read)) {
            return Err((failed(e), Box::new((txn, payload))));
        }
        if let Some(payload) = &mut payload {
            payload.keep();
        }
        self.prepared.lock().insert(branch.clone(), Prepared { txn, tables: tables.into(), flags });
        Ok(())
    }

    /// Ends a prepared branch. `words`: how the binary log has that, if it has the branch. Error 1397 when there is
    /// none of that name.
    pub fn finish(
        &self,
        server: &Core,
        branch: &Branch,
        commit: bool,
        words: impl FnOnce() -> Option<Words>,
    ) -> Result<()> {
        let taken = self.prepared.lock().remove(branch);
        let mut prepared = taken.ok_or_else(|| sql_err!(XaerNota))?;
        if commit && prepared.flags & UNDONE != 0 {
            self.prepared.lock().insert(branch.clone(), prepared);
            return Err(sql_err!(XaRbrollback));
        }
        let written = prepared.txn.id().is_some();
        let words = if prepared.flags & LOGGED != 0 { words() } else { None };
        let ended = match commit {
            true => server.catalog.branches().commit(&mut prepared.txn, words.as_ref()),
            false => decide(server, branch, &mut prepared, words).and_then(|()| prepared.txn.rollback()),
        };
        if let Err(e) = ended {
            // It stays what it was: prepared, or to be rolled back.
            self.prepared.lock().insert(branch.clone(), prepared);
            return Err(failed(e));
        }
        prepared.txn.lock_owner().mdl_end_transaction();
        self.release(branch);
        if written {
            let mut own = server.engine.try_begin(TxnOptions::default()).map_err(failed)?;
            server.catalog.branches().remove(&mut own, &branch.key()).map_err(failed)?;
            own.commit().map_err(failed)?;
        }
        Ok(())
    }

    /// XA RECOVER.
    pub fn list(&self) -> Vec<Branch> {
        self.prepared.lock().keys().cloned().collect()
    }
}

/// That the branch is rolled back is decided, and told once, before it is done.
fn decide(
    server: &Core,
    branch: &Branch,
    prepared: &mut Prepared,
    words: Option<Words>,
) -> std::result::Result<(), EngineError> {
    let (Some(words), Some(id)) = (words, prepared.txn.id()) else { return Ok(()) };
    if prepared.flags & UNDONE != 0 {
        return Ok(());
    }
    let flags = prepared.flags | UNDONE;
    let mut own = server.engine.try_begin(TxnOptions::default())?;
    let record = branch.encode(id.0, &prepared.tables, flags);
    let stored = server.catalog.branches();
    stored.put(&mut own, &branch.key(), &record)?;
    stored.commit(&mut own, Some(&words))?;
    prepared.flags = flags;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_round_trip_and_survive_damage() {
        let b = Branch { format: 7, gtrid: vec![0, 255, 1], bqual: vec![] };
        let bytes = b.encode(42, &[1, 9], LOGGED);
        assert_eq!(Branch::decode(&bytes), Some((b.clone(), 42, vec![1, 9], LOGGED)));
        // As it was before there were flags.
        let (_, before) = bytes.split_last().unwrap();
        assert_eq!(Branch::decode(before), Some((b, 42, vec![1, 9], 0)));
        for cut in 0..before.len() {
            assert_eq!(Branch::decode(&bytes[..cut]), None);
        }
    }
}
