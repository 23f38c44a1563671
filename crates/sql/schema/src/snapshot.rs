//! An immutable state of the dictionary.

use crate::names::{self, canonical_schema};
use crate::own::Own;
use crate::program::{Event, Routine, RoutineKind, Trigger};
use crate::table::{Schema, SchemaId, Table, TableId};
use gannet_types::{ErrorCode, Result, SqlError};
use std::collections::BTreeMap;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};

/// Tables of a schema are spread over this many maps, so that a change copies a small one.
const SHARDS: usize = 64;

type Shard = HashMap<Arc<str>, Arc<Table>>;

/// All schemas and tables at one version. Sessions keep one and take the next when the catalog's version
/// has moved.
#[derive(Clone, Debug, Default)]
pub struct CatalogSnapshot {
    version: u64,
    /// As [`CatalogSnapshot::plans_version`].
    plans: u64,
    schemas: BTreeMap<Arc<str>, Arc<SchemaEntry>>,
    /// Tables with foreign keys, by the table they refer to.
    children: Arc<BTreeMap<QualifiedName, Vec<QualifiedName>>>,
    /// A session's temporary tables: they hide others of their names.
    temporary: Option<Temporaries>,
}

/// The temporary tables of a session.
pub type Temporaries = Arc<TemporaryTables>;

/// Temporary tables by name. A copy shares the parts that do not change, so that one of many costs no more than one
/// of few.
#[derive(Clone, Debug, Default)]
pub struct TemporaryTables {
    /// By the hash of the name; none until there is a table.
    shards: Vec<Arc<Vec<Arc<Table>>>>,
    count: usize,
}

impl TemporaryTables {
    /// A table by name.
    pub fn get(&self, schema: &str, name: &str) -> Option<&Arc<Table>> {
        self.shards.get(shard_of(name))?.iter().find(|t| *t.name == *name && *t.schema == *schema)
    }

    /// All, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.shards.iter().flat_map(|s| s.iter())
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.count
    }

    /// There is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn put(&mut self, table: Arc<Table>) {
        self.remove(&table.schema, &table.name);
        if self.shards.is_empty() {
            self.shards = vec![Arc::default(); SHARDS];
        }
        Arc::make_mut(&mut self.shards[shard_of(&table.name)]).push(table);
        self.count += 1;
    }

    /// Takes a table out.
    pub fn remove(&mut self, schema: &str, name: &str) {
        if self.get(schema, name).is_none() {
            return;
        }
        let shard = Arc::make_mut(&mut self.shards[shard_of(name)]);
        shard.retain(|t| *t.name != *name || *t.schema != *schema);
        self.count -= 1;
    }

    /// Definitions that are here and not in `other`.
    pub fn beyond<'a>(&'a self, other: &'a TemporaryTables) -> impl Iterator<Item = &'a Arc<Table>> {
        let changed = move |(n, shard): &(usize, &'a Arc<Vec<Arc<Table>>>)| {
            other.shards.get(*n).is_none_or(|o| !Arc::ptr_eq(o, shard))
        };
        let known = move |t: &Arc<Table>| other.get(&t.schema, &t.name).is_some_and(|o| Arc::ptr_eq(o, t));
        self.shards.iter().enumerate().filter(changed).flat_map(|(_, s)| s.iter()).filter(move |t| !known(t))
    }
}

/// Schema and table.
type QualifiedName = (Arc<str>, Arc<str>);

#[derive(Clone, Debug)]
struct SchemaEntry {
    schema: Schema,
    shards: Box<[Arc<Shard>]>,
    count: usize,
    /// Procedures and functions, by folded name.
    routines: Arc<BTreeMap<(RoutineKind, Box<str>), Arc<Routine>>>,
    /// Events, by folded name.
    events: Arc<BTreeMap<Box<str>, Arc<Event>>>,
    /// What the server has here by itself.
    own: Option<&'static Own>,
    /// The tables by name, from when somebody asked for the list; goes when the tables change.
    sorted: OnceLock<Box<[Arc<Table>]>>,
}

fn shard_of(name: &str) -> usize {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish() as usize % SHARDS
}

/// A change to publish.
#[derive(Clone, Debug)]
pub enum Change {
    /// Adds or replaces a schema's description.
    PutSchema(Schema),
    /// Gives a schema the server's own objects.
    PutOwn(Arc<str>, &'static Own),
    /// Removes a schema and its tables.
    DropSchema(Arc<str>),
    /// Adds or replaces a table.
    PutTable(Arc<Table>),
    /// Removes a table.
    DropTable(Arc<str>, Arc<str>),
    /// Adds or replaces a routine.
    PutRoutine(Arc<Routine>),
    /// Removes a routine.
    DropRoutine(Arc<Routine>),
    /// Adds or replaces an event.
    PutEvent(Arc<Event>),
    /// Removes an event.
    DropEvent(Arc<Event>),
    /// Removes a temporary table.
    DropTemporary(Arc<str>, Arc<str>),
}

impl Change {
    fn concerns_plans(&self) -> bool {
        match self {
            Change::PutRoutine(r) | Change::DropRoutine(r) => r.kind == RoutineKind::Function,
            Change::PutEvent(_) | Change::DropEvent(_) => false,
            _ => true,
        }
    }
}

impl CatalogSnapshot {
    /// Grows with every change.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Grows with every change that plans may depend on: part of the plan cache's key. Procedures are looked up by
    /// CALL, events are run by nobody's plan.
    pub fn plans_version(&self) -> u64 {
        self.plans
    }

    /// A schema by name.
    pub fn schema(&self, name: &str) -> Option<&Schema> {
        self.entry(name).map(|e| &e.schema)
    }

    fn entry(&self, name: &str) -> Option<&Arc<SchemaEntry>> {
        self.schemas.get(name).or_else(|| self.schemas.get(&*canonical_schema(name)))
    }

    /// All schemas, by name.
    pub fn schemas(&self) -> impl Iterator<Item = &Schema> {
        self.schemas.values().map(|e| &e.schema)
    }

    /// Number of a schema; 0 without one.
    pub fn schema_id(&self, name: Option<&str>) -> SchemaId {
        name.and_then(|n| self.schema(n)).map_or(SchemaId(0), |s| s.id)
    }

    /// A table; in the server's own virtual schemas in any case. A temporary one comes first.
    pub fn table(&self, schema: &str, name: &str) -> Option<&Arc<Table>> {
        match self.temporary_table(schema, name) {
            None => self.base_table(schema, name),
            found => found,
        }
    }

    /// A temporary table.
    pub fn temporary_table(&self, schema: &str, name: &str) -> Option<&Arc<Table>> {
        self.temporary.as_ref()?.get(schema, name)
    }

    /// The temporary tables.
    pub fn temporaries(&self) -> Option<&Temporaries> {
        self.temporary.as_ref()
    }

    /// This state with a session's temporary tables.
    pub fn with_temporaries(&self, temporary: Option<Temporaries>) -> CatalogSnapshot {
        CatalogSnapshot { temporary: temporary.filter(|t| !t.is_empty()), ..self.clone() }
    }

    /// A table that is not temporary.
    pub fn base_table(&self, schema: &str, name: &str) -> Option<&Arc<Table>> {
        let entry = self.entry(schema)?;
        if let Some(table) = entry.shards[shard_of(name)].get(name) {
            return Some(table);
        }
        match &*entry.schema.name {
            "information_schema" => entry.find(&name.to_ascii_uppercase()),
            "performance_schema" => entry.find(&name.to_ascii_lowercase()),
            "sys" => {
                let name = name.to_ascii_lowercase();
                entry.find(&name).or_else(|| entry.own?.view(&name))
            }
            _ => None,
        }
    }

    /// A table, or MySQL's error: 1049 for the schema, 1146 for the table.
    pub fn require_table(&self, schema: &str, name: &str) -> Result<&Arc<Table>> {
        if let Some(table) = self.table(schema, name) {
            return Ok(table);
        }
        names::check_table_name(name)?;
        match self.entry(schema) {
            None => Err(names::missing_schema(schema)),
            Some(_) if &*canonical_schema(schema) == "information_schema" => {
                let upper = name.to_ascii_uppercase();
                Err(SqlError::new(ErrorCode::UnknownTable, &[&upper, &"information_schema"]))
            }
            Some(_) => Err(SqlError::new(ErrorCode::NoSuchTable, &[&schema, &name])),
        }
    }

    /// Tables of a schema, by name.
    pub fn tables(&self, schema: &str) -> &[Arc<Table>] {
        let Some(entry) = self.entry(schema) else { return &[] };
        entry.sorted.get_or_init(|| {
            let own = entry.own.into_iter().flat_map(|own| own.objects().views());
            let mut tables: Vec<_> = entry.shards.iter().flat_map(|s| s.values()).chain(own).cloned().collect();
            tables.sort_by(|a, b| a.name.cmp(&b.name));
            tables.into()
        })
    }

    /// The server has an object of this name in the schema by itself.
    pub fn is_own_view(&self, schema: &str, name: &str) -> bool {
        self.own(schema).is_some_and(|own| own.view(&name.to_ascii_lowercase()).is_some())
    }

    /// The server has a routine of this name in the schema by itself.
    pub fn is_own_routine(&self, schema: &str, kind: RoutineKind, name: &str) -> bool {
        self.own(schema).is_some_and(|own| own.routine(kind, name).is_some())
    }

    fn own(&self, schema: &str) -> Option<&'static Own> {
        self.entry(schema)?.own
    }

    /// All tables that are not temporary, in no order, without the server's own views.
    pub fn all_tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.schemas.values().flat_map(|e| e.shards.iter()).flat_map(|s| s.values())
    }

    /// Number of tables of a schema.
    pub fn table_count(&self, schema: &str) -> usize {
        self.entry(schema).map_or(0, |e| e.count + e.own.map_or(0, |own| own.objects().views().count()))
    }

    /// The tables whose foreign keys refer to this one (itself among them if one does), by name.
    pub fn children(&self, schema: &str, name: &str) -> Vec<Arc<Table>> {
        if self.children.is_empty() {
            return Vec::new();
        }
        let names = self.children.get(&(Arc::from(schema), Arc::from(name))).map_or(&[][..], |n| n);
        names.iter().filter_map(|(s, n)| self.base_table(s, n).cloned()).collect()
    }

    fn link(&mut self, table: &Table, add: bool) {
        for key in &table.constraints.foreign_keys {
            let map = Arc::make_mut(&mut self.children);
            let children = map.entry((key.parent_schema.clone(), key.parent.clone())).or_default();
            children.retain(|(s, n)| *s != table.schema || *n != table.name);
            if add {
                children.push((table.schema.clone(), table.name.clone()));
                children.sort();
            } else if children.is_empty() {
                map.remove(&(key.parent_schema.clone(), key.parent.clone()));
            }
        }
    }

    /// A routine by name, whatever its case.
    pub fn routine(&self, schema: &str, kind: RoutineKind, name: &str) -> Option<&Arc<Routine>> {
        let entry = self.entry(schema)?;
        let stored = match entry.routines.is_empty() {
            true => None,
            false => entry.routines.get(&(kind, names::fold_name(name).into())),
        };
        stored.or_else(|| entry.own?.routine(kind, name))
    }

    /// The routines of a schema: procedures by name, then functions; behind them the server's own.
    pub fn routines(&self, schema: &str) -> impl Iterator<Item = &Arc<Routine>> {
        let own = |e: &Arc<SchemaEntry>| e.own.into_iter().flat_map(|own| own.objects().routines());
        self.entry(schema).into_iter().flat_map(move |e| e.routines.values().chain(own(e)))
    }

    /// An event by name, whatever its case.
    pub fn event(&self, schema: &str, name: &str) -> Option<&Arc<Event>> {
        self.entry(schema)?.events.get(&*names::fold_name(name))
    }

    /// The events of a schema, by name.
    pub fn events(&self, schema: &str) -> impl Iterator<Item = &Arc<Event>> {
        self.entry(schema).into_iter().flat_map(|e| e.events.values())
    }

    /// A trigger of a schema by name, and its table; walks the schema's tables.
    pub fn trigger(&self, schema: &str, name: &str) -> Option<(&Arc<Table>, &Arc<Trigger>)> {
        let tables = self.entry(schema)?.shards.iter().flat_map(|s| s.values());
        let mut with = tables.filter(|t| !t.triggers.is_empty());
        with.find_map(|t| t.triggers.iter().find(|g| names::eq_name(&g.name, name)).map(|g| (t, g)))
    }

    /// A table by its number; walks all tables.
    pub fn table_by_id(&self, id: TableId) -> Option<&Arc<Table>> {
        let own = self.schemas.values().filter_map(|e| e.own?.made());
        self.all_tables().chain(own.flat_map(|own| own.views())).find(|t| t.id == id)
    }

    /// The state after the changes, one version on.
    pub fn with(&self, changes: impl IntoIterator<Item = Change>) -> CatalogSnapshot {
        let mut next = self.clone();
        next.version += 1;
        for change in changes {
            next.plans += u64::from(change.concerns_plans());
            next.apply(change);
        }
        next
    }

    fn change(&mut self, schema: &str, change: impl FnOnce(&mut SchemaEntry)) {
        if let Some(entry) = self.schemas.get_mut(schema) {
            change(Arc::make_mut(entry));
        }
    }

    fn apply_program(&mut self, change: Change) {
        match change {
            Change::PutRoutine(routine) => {
                let key = (routine.kind, names::fold_name(&routine.name).into());
                self.change(&routine.schema.clone(), |e| drop(Arc::make_mut(&mut e.routines).insert(key, routine)));
            }
            Change::DropRoutine(routine) => {
                let key = (routine.kind, names::fold_name(&routine.name).into());
                self.change(&routine.schema, |e| drop(Arc::make_mut(&mut e.routines).remove(&key)));
            }
            Change::PutEvent(event) => {
                let key = names::fold_name(&event.name).into();
                self.change(&event.schema.clone(), |e| drop(Arc::make_mut(&mut e.events).insert(key, event)));
            }
            Change::DropEvent(event) => {
                let key: Box<str> = names::fold_name(&event.name).into();
                self.change(&event.schema, |e| drop(Arc::make_mut(&mut e.events).remove(&key)));
            }
            _ => {}
        }
    }

    fn apply(&mut self, change: Change) {
        match change {
            Change::PutSchema(schema) => match self.schemas.get_mut(&schema.name) {
                Some(entry) => Arc::make_mut(entry).schema = schema,
                None => {
                    let empty = Arc::new(Shard::new());
                    let shards = (0..SHARDS).map(|_| empty.clone()).collect();
                    let name = schema.name.clone();
                    let entry = SchemaEntry {
                        schema,
                        shards,
                        count: 0,
                        routines: Arc::default(),
                        events: Arc::default(),
                        own: None,
                        sorted: OnceLock::new(),
                    };
                    self.schemas.insert(name, Arc::new(entry));
                }
            },
            Change::PutOwn(schema, own) => self.change(&schema, |e| {
                e.own = Some(own);
                e.sorted = OnceLock::new();
            }),
            Change::DropSchema(name) => {
                for table in self.tables(&name).to_vec() {
                    self.link(&table, false);
                }
                self.schemas.remove(&name);
            }
            Change::PutRoutine(_) | Change::DropRoutine(_) | Change::PutEvent(_) | Change::DropEvent(_) => {
                self.apply_program(change);
            }
            Change::PutTable(table) if table.temporary => {
                Arc::make_mut(self.temporary.get_or_insert_default()).put(table);
            }
            Change::DropTemporary(schema, name) => {
                if let Some(temporary) = &mut self.temporary {
                    Arc::make_mut(temporary).remove(&schema, &name);
                }
            }
            Change::PutTable(table) => {
                if let Some(old) = self.base_table(&table.schema, &table.name).cloned() {
                    self.link(&old, false);
                }
                if self.schemas.contains_key(&table.schema) {
                    self.link(&table, true);
                }
                if let Some(entry) = self.schemas.get_mut(&table.schema) {
                    let entry = Arc::make_mut(entry);
                    entry.sorted = OnceLock::new();
                    let shard = Arc::make_mut(&mut entry.shards[shard_of(&table.name)]);
                    let old = shard.insert(table.name.clone(), table);
                    entry.count += usize::from(old.is_none());
                }
            }
            Change::DropTable(schema, name) => {
                if let Some(old) = self.base_table(&schema, &name).cloned() {
                    self.link(&old, false);
                }
                if let Some(entry) = self.schemas.get_mut(&schema) {
                    let entry = Arc::make_mut(entry);
                    entry.sorted = OnceLock::new();
                    let old = Arc::make_mut(&mut entry.shards[shard_of(&name)]).remove(&name);
                    entry.count -= usize::from(old.is_some());
                }
            }
        }
    }
}

impl SchemaEntry {
    fn find(&self, name: &str) -> Option<&Arc<Table>> {
        self.shards[shard_of(name)].get(name)
    }
}
