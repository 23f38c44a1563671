//! Stored programs in the dictionary: routines and events have rows of their own, triggers are part of their table's.

use crate::catalog::Catalog;
use crate::edit::Edit;
use crate::error::{CatalogError, CatalogResult};
use crate::keys::{event_key, routine_key};
use gannet_base::sync::atomic::Ordering;
use gannet_base::{DecodeError, Reader, Writer};
use gannet_engine::{Insert, Read, ReadMode, RowBuf, Txn, TxnOptions};
use gannet_schema::{Change, Event, Routine, RoutineKind, Table, TableParts, Trigger, assemble};
use std::sync::Arc;

const MAX_NAME: usize = 1024;

pub(crate) fn decode_routine(schema: &str, letter: &str, bytes: &[u8]) -> Result<Routine, DecodeError> {
    let mut r = Reader::new(bytes);
    let kind = match letter {
        "f" => RoutineKind::Function,
        "p" => RoutineKind::Procedure,
        _ => return Err(r.invalid("kind of a routine")),
    };
    let name = r.prefixed_str(MAX_NAME)?;
    let rest = r.rest();
    Routine::decode(&Arc::from(schema), name, kind, rest)
}

pub(crate) fn decode_event(schema: &str, bytes: &[u8]) -> Result<Event, DecodeError> {
    let mut r = Reader::new(bytes);
    let name = r.prefixed_str(MAX_NAME)?;
    let rest = r.rest();
    Event::decode(&Arc::from(schema), name, rest)
}

impl Edit<'_> {
    /// Adds a routine, or puts it in the place of the one of its name. Error 1049 without the schema.
    pub fn put_routine(&mut self, routine: Routine) -> CatalogResult<()> {
        self.hold_schema(&routine.schema)?;
        let mut row = Vec::new();
        Writer::new(&mut row).prefixed(routine.name.as_bytes());
        routine.encode(&mut row);
        put(self, &routine_key(&routine), &row)?;
        self.note(Change::PutRoutine(Arc::new(routine)));
        Ok(())
    }

    /// Removes a routine.
    pub fn drop_routine(&mut self, routine: &Arc<Routine>) -> CatalogResult<()> {
        self.txn.delete(self.catalog.tree(), &routine_key(routine))?;
        self.note(Change::DropRoutine(routine.clone()));
        Ok(())
    }

    /// Adds an event, or puts it in the place of the one of its name. Error 1049 without the schema.
    pub fn put_event(&mut self, event: Event) -> CatalogResult<()> {
        self.hold_schema(&event.schema)?;
        put(self, &event_key(&event.schema, &event.name), &event_row(&event))?;
        self.note(Change::PutEvent(Arc::new(event)));
        Ok(())
    }

    /// Removes an event.
    pub fn drop_event(&mut self, event: &Arc<Event>) -> CatalogResult<()> {
        self.txn.delete(self.catalog.tree(), &event_key(&event.schema, &event.name))?;
        self.note(Change::DropEvent(event.clone()));
        Ok(())
    }
}

impl Catalog {
    /// Keeps when an event ran last ([`Event::last_run_us`]), in a transaction of its own: unless it was changed or
    /// dropped meanwhile.
    pub fn event_ran(&self, event: &Event) -> CatalogResult<()> {
        let mut txn = self.engine().try_begin(TxnOptions::default())?;
        let outcome = keep_run(self, &mut txn, event);
        match outcome {
            Ok(()) => Ok(txn.commit().map(drop)?),
            Err(e) => {
                if txn.is_active() {
                    txn.rollback()?;
                }
                Err(e)
            }
        }
    }
}

fn keep_run(catalog: &Catalog, txn: &mut Txn, event: &Event) -> CatalogResult<()> {
    let key = event_key(&event.schema, &event.name);
    let mut row = RowBuf::new();
    if txn.get(catalog.tree(), &key, ReadMode::FOR_UPDATE, &mut row)? != Read::Found {
        return Ok(());
    }
    let stored = decode_event(&event.schema, row.row());
    let stored = stored.map_err(|error| CatalogError::Damaged { what: format!("event {}", event.name), error })?;
    if stored.made != event.made || stored.status != event.status || stored.schedule != event.schedule {
        return Ok(());
    }
    stored.last_run_us.store(event.last_run_us.load(Ordering::Relaxed), Ordering::Relaxed);
    txn.update(catalog.tree(), &key, &event_row(&stored))?;
    Ok(())
}

/// The next version of a table, with these triggers.
pub fn set_triggers(edit: &mut Edit<'_>, table: &Arc<Table>, triggers: Vec<Arc<Trigger>>) -> CatalogResult<()> {
    let parts = TableParts { triggers: triggers.into(), ..table.parts() };
    let (columns, indexes) = (table.columns.to_vec(), table.indexes.to_vec());
    let (schema, name) = (table.schema.clone(), table.name.clone());
    let next = assemble(parts, schema, name, columns, indexes, table.clustered, table.statistics.clone());
    edit.update_table(next).map(|_| ())
}

fn event_row(event: &Event) -> Vec<u8> {
    let mut row = Vec::new();
    Writer::new(&mut row).prefixed(event.name.as_bytes());
    event.encode(&mut row);
    row
}

fn put(edit: &mut Edit<'_>, key: &[u8], row: &[u8]) -> CatalogResult<()> {
    if edit.txn.insert(edit.catalog.tree(), key, row)? == Insert::Duplicate {
        edit.txn.update(edit.catalog.tree(), key, row)?;
    }
    Ok(())
}
