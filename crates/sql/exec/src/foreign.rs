//! Foreign keys: a row that is inserted or changed needs its parents; a row that is deleted or changed changes its
//! children too, or is kept by them.
//!
//! As in InnoDB, checks happen row by row, at once. A parent's row is locked shared in the index that is read. Child
//! rows are changed with all their index entries, and their own children in turn, `MAX_DEPTH` levels deep. ON UPDATE
//! actions that return to a table which the same cascade has changed act like RESTRICT. With `foreign_key_checks` = 0
//! none of this happens.

use crate::context::Cx;
use crate::dml::complete;
use crate::dml::rows::{self, Conflict};
use crate::error::from_engine;
pub use crate::refused::Refused;
use crate::{codec, convert};
use gannet_engine::{KeyRange, Read, ReadMode, RowBuf, ScanOptions, TreeHandle, Txn};
pub(crate) use gannet_plan::foreign::serving;
use gannet_plan::plan::{ChildLink, ForeignLinks};
use gannet_plan::plan::{Intent, PlanTable};
use gannet_schema::show::foreign_key_text;
use gannet_schema::{ForeignKey, ReferenceAction, Table};
use gannet_types::{Result, SqlError, Value, ValueRef, key, sql_err};

/// Levels of a cascade.
const MAX_DEPTH: usize = 15;

/// Appends the leading bytes of the index's keys for rows with these values.
pub(crate) fn encode_prefix<'v>(
    table: &Table,
    index: usize,
    values: impl Iterator<Item = ValueRef<'v>>,
    out: &mut Vec<u8>,
) -> Result<()> {
    for (part, value) in table.key_parts(index).iter().zip(values) {
        key::encode(part, value, out)?;
    }
    Ok(())
}

/// An entry begins with the bytes; with a locking mode the first such entry is locked.
pub(crate) fn exists(tree: &TreeHandle, prefix: &[u8], mode: ReadMode, txn: &mut Txn) -> Result<bool> {
    let options = ScanOptions { mode, ..ScanOptions::default() };
    let mut scan = txn.scan(tree, KeyRange::prefix(prefix), options).map_err(from_engine)?;
    Ok(scan.next(txn).map_err(from_engine)?.is_some())
}

fn described(table: &Table, key: &ForeignKey) -> String {
    let quoted = |name: &str| name.replace('`', "``");
    format!("`{}`.`{}`, {}", quoted(&table.schema), quoted(&table.name), foreign_key_text(table, key))
}

/// Error 1452: a row of `table` has no parent.
#[cold]
pub(crate) fn no_parent(table: &Table, key: &ForeignKey) -> SqlError {
    sql_err!(NoReferencedRow2, described(table, key))
}

/// Error 1451: a row of `table` refers to the row that is to go.
#[cold]
fn has_child(table: &Table, key: &ForeignKey) -> SqlError {
    sql_err!(RowIsReferenced2, described(table, key))
}

/// Reports the row to the session. Returns the error.
#[cold]
fn refused(child: &Table, key: &ForeignKey, parent_goes: bool, row: Vec<&Value>, cx: &mut Cx<'_, '_>) -> SqlError {
    let parts = serving(child, &key.columns).map(|i| child.key_parts(i)).unwrap_or_default();
    let field = |(part, value): (_, &&Value)| {
        let mut bytes = Vec::new();
        // A value that the column cannot have has no bytes there.
        let _ = key::encode(part, value.as_ref(), &mut bytes);
        bytes
    };
    let tuple = parts.iter().zip(&row).map(field).collect();
    cx.session.foreign_key_refused(&Refused {
        trx: cx.txn.get().ok().and_then(|txn| txn.id()).unwrap_or(gannet_base::TrxId(0)),
        child,
        key,
        parent_goes,
        tuple,
    });
    if parent_goes { has_child(child, key) } else { no_parent(child, key) }
}

fn links<'p>(slot: usize, cx: &Cx<'_, 'p>) -> Option<&'p ForeignLinks> {
    let plan = cx.shared.plan;
    if !cx.shared.settings.foreign_key_checks {
        return None;
    }
    plan.tables[slot].links.as_deref()
}

/// Changed rows of the table are checked, or make others follow.
pub(crate) fn matters(slot: usize, cx: &Cx<'_, '_>) -> bool {
    links(slot, cx).is_some()
}

/// Rows of the table may follow others that the statement changes.
pub(crate) fn follows(table: &Table, cx: &Cx<'_, '_>) -> bool {
    let follower = |t: &PlanTable| t.intent == Intent::ForeignWrite && t.table.id == table.id;
    cx.shared.settings.foreign_key_checks && cx.shared.plan.tables.iter().any(follower)
}

/// A row was inserted: its parents are there. Error 1452.
pub(crate) fn inserted(slot: usize, row: &[Value], cx: &mut Cx<'_, '_>) -> Result<()> {
    match links(slot, cx) {
        Some(links) => parents(slot, links, None, row, Asked::All, cx),
        None => Ok(()),
    }
}

/// A row was not inserted: another has its key in index `index`. InnoDB asks for a parent when it writes the entry of
/// the foreign key, so that those of the indexes up to that one have been asked for. Error 1452.
pub(crate) fn not_inserted(slot: usize, index: usize, row: &[Value], cx: &mut Cx<'_, '_>) -> Result<()> {
    match links(slot, cx) {
        Some(links) => parents(slot, links, None, row, Asked::UpTo(index), cx),
        None => Ok(()),
    }
}

/// A row was changed by the statement. Errors 1452, 1451.
pub(crate) fn updated(slot: usize, old: &[Value], new: &[Value], cx: &mut Cx<'_, '_>) -> Result<()> {
    let Some(links) = links(slot, cx) else { return Ok(()) };
    if let Some(missing) = missing_parent(slot, links, Some(old), new, Asked::All, cx)? {
        let table = &*cx.shared.plan.tables[slot].table;
        let key = &table.constraints.foreign_keys[missing as usize];
        if let Some(index) = serving(table, &key.columns) {
            refuse_referred(slot, links, index, (old, new), cx)?;
        }
        return Err(no_parent_of(table, key, new, cx));
    }
    Cascade::default().update(slot, old, new, cx)
}

/// The error of a row whose changed key in index `index` another row has: 1451 where rows refer to the old key of that
/// index or one before it and may not follow, for those are asked first; 1452 as for [`not_inserted`].
pub(crate) fn kept(slot: usize, index: usize, (old, new): (&[Value], &[Value]), cx: &mut Cx<'_, '_>) -> Result<()> {
    let Some(links) = links(slot, cx) else { return Ok(()) };
    refuse_referred(slot, links, index, (old, new), cx)?;
    parents(slot, links, Some(old), new, Asked::UpTo(index), cx)
}

/// Error 1451 where rows that may not follow refer to an old key whose index is written up to `index`.
fn refuse_referred(
    slot: usize,
    links: &ForeignLinks,
    index: usize,
    (old, new): (&[Value], &[Value]),
    cx: &mut Cx<'_, '_>,
) -> Result<()> {
    let plan = cx.shared.plan;
    let table = &*plan.tables[slot].table;
    for link in &links.children {
        let child = &*plan.tables[link.table as usize].table;
        let key = &child.constraints.foreign_keys[link.key as usize];
        let acts = matches!(key.on_update, ReferenceAction::Cascade | ReferenceAction::SetNull);
        let follows = acts && child.id != table.id;
        let asked = serving(table, &link.columns).is_some_and(|i| i <= index || table.clustered == Some(i));
        if follows || !asked || link.columns.iter().all(|c| old[*c as usize] == new[*c as usize]) {
            continue;
        }
        if let Some(prefix) = Cascade::prefix(link, old, cx)? {
            Cascade::refuse_own(slot, link, (old, Some(new)), cx)?;
            Cascade::refuse(link, &prefix, old, cx)?;
        }
    }
    Ok(())
}

/// A row was deleted by the statement. Error 1451.
pub(crate) fn deleted(slot: usize, row: &[Value], cx: &mut Cx<'_, '_>) -> Result<()> {
    match links(slot, cx) {
        Some(_) => Cascade::default().delete(slot, row, cx),
        None => Ok(()),
    }
}

/// Which parents are asked for.
#[derive(Clone, Copy)]
enum Asked {
    All,
    /// Not that of this foreign key, by which the row changed.
    But(u32),
    /// Those of foreign keys whose entries are in this index or one that is written before it.
    UpTo(usize),
}

impl Asked {
    fn has(self, table: &Table, link: u32) -> bool {
        match self {
            Asked::All => true,
            Asked::But(key) => link != key,
            Asked::UpTo(index) => serving(table, &table.constraints.foreign_keys[link as usize].columns)
                .is_some_and(|own| own == index || written_before(table, own, index)),
        }
    }
}

/// The parents of a row that came, or changed from `old`. Error 1452.
fn parents(
    slot: usize,
    links: &ForeignLinks,
    old: Option<&[Value]>,
    new: &[Value],
    asked: Asked,
    cx: &mut Cx<'_, '_>,
) -> Result<()> {
    let Some(missing) = missing_parent(slot, links, old, new, asked, cx)? else { return Ok(()) };
    let table = &*cx.shared.plan.tables[slot].table;
    Err(no_parent_of(table, &table.constraints.foreign_keys[missing as usize], new, cx))
}

/// Error 1452 of a row.
fn no_parent_of(table: &Table, key: &ForeignKey, new: &[Value], cx: &mut Cx<'_, '_>) -> SqlError {
    refused(table, key, false, key.columns.iter().map(|c| &new[*c as usize]).collect(), cx)
}

/// The first foreign key of a row, which came or changed from `old`, by which it refers to none.
fn missing_parent(
    slot: usize,
    links: &ForeignLinks,
    old: Option<&[Value]>,
    new: &[Value],
    asked: Asked,
    cx: &mut Cx<'_, '_>,
) -> Result<Option<u32>> {
    let plan = cx.shared.plan;
    let table = &*plan.tables[slot].table;
    let mut prefix = Vec::new();
    for link in links.parents.iter().filter(|l| asked.has(table, l.key)) {
        let key = &table.constraints.foreign_keys[link.key as usize];
        let value = |c: &u32| &new[*c as usize];
        if key.columns.iter().any(|c| value(c).is_null()) || old.is_some_and(|old| stays(table, key, old, new)) {
            continue;
        }
        let Some((place, index)) = link.parent else { return Ok(Some(link.key)) };
        let (parent, index) = (&*plan.tables[place as usize].table, index as usize);
        let own = if parent.id == table.id { refers_to_itself(table, key, index, (old, new)) } else { None };
        match own {
            Some(true) => continue,
            Some(false) => return Ok(Some(link.key)),
            None => {}
        }
        prefix.clear();
        if encode_prefix(parent, index, key.columns.iter().map(|c| value(c).as_ref()), &mut prefix).is_err() {
            return Ok(Some(link.key));
        }
        let whole = parent.clustered == Some(index) && parent.indexes[index].parts.len() == key.columns.len();
        let found = if whole {
            let tree = codec::row_tree(parent, cx.txn.get()?)?;
            let mut row = RowBuf::new();
            cx.txn.get()?.get(tree, &prefix, ReadMode::FOR_SHARE, &mut row).map_err(from_engine)? == Read::Found
        } else {
            exists(codec::index_tree(parent, index, cx.txn.get()?)?, &prefix, ReadMode::FOR_SHARE, cx.txn.get()?)?
        };
        if !found {
            return Ok(Some(link.key));
        }
    }
    Ok(None)
}

/// The index that serves the key has the same entry as before, which is not looked at again.
fn stays(table: &Table, key: &ForeignKey, old: &[Value], new: &[Value]) -> bool {
    let entry = serving(table, &key.columns).into_iter().chain(table.clustered);
    let mut columns =
        entry.flat_map(|i| table.indexes[i].parts.iter().map(|p| p.column)).chain(key.columns.iter().copied());
    columns.all(|c| old[c as usize] == new[c as usize])
}

/// InnoDB writes the indexes of a row one after the other, first that of the rows.
fn written_before(table: &Table, one: usize, other: usize) -> bool {
    let place = |index: usize| (table.clustered != Some(index), index);
    place(one) < place(other)
}

/// Whether a row that refers to its own table by the unique key `index` finds itself there: what is in that index when
/// the entry of the foreign key is written. `None`: it is another row that it refers to.
fn refers_to_itself(
    table: &Table,
    key: &ForeignKey,
    index: usize,
    (old, new): (Option<&[Value]>, &[Value]),
) -> Option<bool> {
    let parts = &table.indexes[index].parts;
    if !table.indexes[index].unique() || parts.len() != key.columns.len() {
        return None;
    }
    let is_referred = |row: &[Value]| {
        let columns = key.parent_columns.iter().map(|name| table.column(name));
        let mut pairs = key.columns.iter().zip(columns);
        pairs.all(|(from, to)| to.is_some_and(|to| row[to as usize] == new[*from as usize]))
    };
    let before = serving(table, &key.columns).is_some_and(|own| written_before(table, index, own));
    match (is_referred(new), old.is_some_and(is_referred)) {
        (true, false) if !before => Some(false),
        (_, true) if !before => Some(true),
        _ => None,
    }
}

/// NULL in a column that has none, a text that is too long.
fn has_place(column: &gannet_schema::Column, value: &Value) -> bool {
    match value {
        Value::Null => column.nullable,
        Value::Str(text, collation) => {
            let chars =
                if column.ty.id.is_binary_string() { text.len() } else { collation.charset().chars(text).count() };
            chars <= column.ty.length as usize
        }
        _ => true,
    }
}

/// One row's change running down to the rows that refer to it.
#[derive(Default)]
struct Cascade {
    depth: usize,
    /// Tables changed by ON UPDATE so far.
    updated: Vec<gannet_schema::TableId>,
}

impl Cascade {
    fn delete(&mut self, slot: usize, row: &[Value], cx: &mut Cx<'_, '_>) -> Result<()> {
        let Some(links) = links(slot, cx) else { return Ok(()) };
        for link in &links.children {
            let Some(prefix) = Self::prefix(link, row, cx)? else { continue };
            let plan = cx.shared.plan;
            let child = &*plan.tables[link.table as usize].table;
            let key = &child.constraints.foreign_keys[link.key as usize];
            match key.on_delete {
                ReferenceAction::Cascade => {
                    for (row_key, values) in self.rows(link, &prefix, cx)? {
                        self.deeper(
                            |c, cx| {
                                if rows::delete_row(child, &row_key, &values, &mut cx.cascade_writer()?)? {
                                    c.delete(link.table as usize, &values, cx)?;
                                }
                                Ok(())
                            },
                            cx,
                        )?;
                    }
                }
                ReferenceAction::SetNull => self.change(link, &prefix, |_| Value::Null, cx)?,
                _ => {
                    Self::refuse_own(slot, link, (row, None), cx)?;
                    Self::refuse(link, &prefix, row, cx)?;
                }
            }
        }
        Ok(())
    }

    fn update(&mut self, slot: usize, old: &[Value], new: &[Value], cx: &mut Cx<'_, '_>) -> Result<()> {
        let Some(links) = links(slot, cx) else { return Ok(()) };
        let plan = cx.shared.plan;
        let own = plan.tables[slot].table.id;
        self.updated.push(own);
        for link in &links.children {
            if link.columns.iter().all(|c| old[*c as usize] == new[*c as usize]) {
                continue;
            }
            let Some(prefix) = Self::prefix(link, old, cx)? else { continue };
            let child = &*plan.tables[link.table as usize].table;
            let key = &child.constraints.foreign_keys[link.key as usize];
            let again = self.updated.contains(&child.id);
            match key.on_update {
                ReferenceAction::Cascade if !again => {
                    let value = |i: usize| new[link.columns[i] as usize].clone();
                    self.change(link, &prefix, value, cx)?;
                }
                ReferenceAction::SetNull if !again => self.change(link, &prefix, |_| Value::Null, cx)?,
                _ => {
                    Self::refuse_own(slot, link, (old, Some(new)), cx)?;
                    Self::refuse(link, &prefix, old, cx)?;
                }
            }
        }
        self.updated.pop();
        Ok(())
    }

    /// Leading bytes of the child's index for rows that refer to `row`; none when NULL makes that impossible.
    fn prefix(link: &ChildLink, row: &[Value], cx: &Cx<'_, '_>) -> Result<Option<Vec<u8>>> {
        if link.columns.iter().any(|c| row[*c as usize].is_null()) {
            return Ok(None);
        }
        let child = &*cx.shared.plan.tables[link.table as usize].table;
        let mut prefix = Vec::new();
        let values = link.columns.iter().map(|c| row[*c as usize].as_ref());
        encode_prefix(child, link.index as usize, values, &mut prefix)?;
        Ok(Some(prefix))
    }

    /// Error 1451 when a row refers to it.
    fn refuse(link: &ChildLink, prefix: &[u8], row: &[Value], cx: &mut Cx<'_, '_>) -> Result<()> {
        let plan = cx.shared.plan;
        let child = &*plan.tables[link.table as usize].table;
        let tree = codec::index_tree(child, link.index as usize, cx.txn.get()?)?;
        if exists(tree, prefix, ReadMode::FOR_SHARE, cx.txn.get()?)? {
            let key = &child.constraints.foreign_keys[link.key as usize];
            return Err(refused(child, key, true, Self::referred(link, row), cx));
        }
        Ok(())
    }

    /// The columns of the parent's row that are referred to.
    fn referred<'v>(link: &ChildLink, row: &'v [Value]) -> Vec<&'v Value> {
        link.columns.iter().map(|c| &row[*c as usize]).collect()
    }

    /// Error 1451 when the row refers to itself: its own reference counts until its index is written.
    fn refuse_own(
        slot: usize,
        link: &ChildLink,
        (row, new): (&[Value], Option<&[Value]>),
        cx: &mut Cx<'_, '_>,
    ) -> Result<()> {
        let plan = cx.shared.plan;
        let child = &*plan.tables[link.table as usize].table;
        if child.id != plan.tables[slot].table.id {
            return Ok(());
        }
        let key = &child.constraints.foreign_keys[link.key as usize];
        let before = serving(child, &link.columns).is_some_and(|i| written_before(child, link.index as usize, i));
        let refers =
            |from: &[Value]| key.columns.iter().zip(&link.columns).all(|(c, p)| from[*c as usize] == row[*p as usize]);
        let own = if before { new.is_some_and(refers) } else { refers(row) };
        if own { Err(refused(child, key, true, Self::referred(link, row), cx)) } else { Ok(()) }
    }

    fn deeper<'p>(
        &mut self,
        f: impl FnOnce(&mut Self, &mut Cx<'_, 'p>) -> Result<()>,
        cx: &mut Cx<'_, 'p>,
    ) -> Result<()> {
        if self.depth >= MAX_DEPTH {
            return Err(sql_err!(FkDepthExceeded, MAX_DEPTH));
        }
        cx.check_interrupt()?;
        self.depth += 1;
        let outcome = f(self, cx);
        self.depth -= 1;
        outcome
    }

    /// Keys and values of the referring rows, locked for change.
    fn rows(&self, link: &ChildLink, prefix: &[u8], cx: &mut Cx<'_, '_>) -> Result<Vec<(Vec<u8>, Vec<Value>)>> {
        let plan = cx.shared.plan;
        let (child, index) = (&*plan.tables[link.table as usize].table, link.index as usize);
        let tree = codec::index_tree(child, index, cx.txn.get()?)?;
        let options = ScanOptions { mode: ReadMode::FOR_UPDATE, ..ScanOptions::default() };
        let mut scan = cx.txn.get()?.scan(tree, KeyRange::prefix(prefix), options).map_err(from_engine)?;
        let mut keys = Vec::new();
        while let Some(entry) = scan.next(cx.txn.get()?).map_err(from_engine)? {
            let row_key =
                if child.clustered == Some(index) { entry.key } else { child.split_index_key(index, entry.key)?.1 };
            cx.held(row_key.len() + size_of::<Vec<u8>>())?;
            keys.push(row_key.to_vec());
        }
        let mut found = Vec::with_capacity(keys.len());
        let (row_tree, mut buffer) = (codec::row_tree(child, cx.txn.get()?)?, RowBuf::new());
        for row_key in keys {
            if cx.txn.get()?.get(row_tree, &row_key, ReadMode::FOR_UPDATE, &mut buffer).map_err(from_engine)?
                == Read::Found
            {
                found.push((row_key, codec::decode_row(child, buffer.row())?));
            }
        }
        Ok(found)
    }

    /// Gives the referring columns of all referring rows other values.
    fn change(
        &mut self,
        link: &ChildLink,
        prefix: &[u8],
        value: impl Fn(usize) -> Value,
        cx: &mut Cx<'_, '_>,
    ) -> Result<()> {
        let plan = cx.shared.plan;
        let (slot, child) = (link.table as usize, &*plan.tables[link.table as usize].table);
        let key = &child.constraints.foreign_keys[link.key as usize];
        for (row_key, old) in self.rows(link, prefix, cx)? {
            let mut new = old.clone();
            for (i, column) in key.columns.iter().enumerate() {
                let given = value(i);
                let definition = &child.columns[*column as usize];
                // What the referring column has no place for is a change that is refused.
                if !has_place(definition, &given) {
                    return Err(refused(child, key, true, key.columns.iter().map(|c| &old[*c as usize]).collect(), cx));
                }
                new[*column as usize] = if given.is_null() {
                    given
                } else {
                    convert::store(given.as_ref(), &child.name, definition, 1, cx)?
                };
            }
            self.deeper(
                |c, cx| {
                    complete::generate(slot, &mut new, 1, cx)?;
                    match crate::dml::write((child, child), &row_key, (&old, &new), None, &mut cx.cascade_writer()?)? {
                        Conflict::None => {}
                        Conflict::Duplicate { index, .. } => {
                            let record = child.duplicate_text(index, |i| new[i].as_ref());
                            let name = &child.indexes[index].name;
                            return Err(sql_err!(
                                ForeignDuplicateKeyWithChildInfo,
                                key.parent,
                                record,
                                child.name,
                                name
                            ));
                        }
                    }
                    if let Some(links) = links(slot, cx) {
                        parents(slot, links, Some(&old), &new, Asked::But(link.key), cx)?;
                    }
                    c.update(slot, &old, &new, cx)
                },
                cx,
            )?;
        }
        Ok(())
    }
}
