//! Write sets: which transactions of a file have to be applied before which, from the keys of the rows they change.
//!
//! A transaction may be applied beside those before it, down to the last one that has one of its keys: of each row
//! those of the primary and the unique keys, before the change and after it, as their indexes compare them. Where that
//! is not known it stands alone: behind all before it, before all behind it. As with MySQL's WRITESET, a history of so
//! many keys is remembered; when it is full it is forgotten, and what follows is behind all that it was of.
//!
//! What foreign keys link stands alone too. Of two transactions whose order matters to a foreign key, one at least
//! changes a child or takes away a parent's key, and of that one the payload says so.

use crate::decimal;
use crate::event::kind;
use crate::format::lenenc;
use crate::group::{Frame, Head, Item};
use crate::map::ColumnKind;
use gannet_base::Reader;
use gannet_base::sync::{Arc, Mutex};
use gannet_types::ValueRef;
use gannet_types::key::{self, KeyPart};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Keys that are remembered: `binlog_transaction_dependency_history_size`.
pub const HISTORY: usize = 25_000;
/// The number of a table map whose table's keys are not known, which is what its flags are in events.
pub const UNKNOWN: u16 = 1;
/// Where a table map has its flags.
const MAP_FLAGS: std::ops::Range<usize> = 6..8;
/// Odd, with bits all over.
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

/// A column of a key.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its number in events.
    pub column: usize,
    /// How its index compares it.
    pub compared: KeyPart,
}

/// Bytes of a column's values in images.
#[derive(Clone, Copy, Debug)]
enum Width {
    /// So many.
    Fixed(usize),
    /// As the bytes before them say, which are so many.
    Said(usize),
}

impl Width {
    fn of(kind: ColumnKind) -> Option<Width> {
        let fraction = |fsp: u8| usize::from(fsp.min(6).div_ceil(2));
        Some(match kind {
            ColumnKind::Int(n) | ColumnKind::Enum(n) | ColumnKind::Set(n) => Width::Fixed(usize::from(n)),
            ColumnKind::Float => Width::Fixed(4),
            ColumnKind::Double => Width::Fixed(8),
            ColumnKind::Decimal(precision, scale) => Width::Fixed(decimal::len(precision, scale)),
            ColumnKind::Bit(bits) => Width::Fixed(usize::from(bits).div_ceil(8).min(8)),
            ColumnKind::Year => Width::Fixed(1),
            ColumnKind::Date => Width::Fixed(3),
            ColumnKind::Time(fsp) => Width::Fixed(3 + fraction(fsp)),
            ColumnKind::DateTime(fsp) => Width::Fixed(5 + fraction(fsp)),
            ColumnKind::Timestamp(fsp) => Width::Fixed(4 + fraction(fsp)),
            ColumnKind::VarChar(most) | ColumnKind::Char(most) => Width::Said(if most > 255 { 2 } else { 1 }),
            ColumnKind::Blob(n) | ColumnKind::Json(n) | ColumnKind::Geometry(n) => Width::Said(usize::from(n)),
            // None is written today.
            ColumnKind::OldTime | ColumnKind::OldDateTime | ColumnKind::OldTimestamp => return None,
        })
    }
}

/// The keys of a table.
#[derive(Clone, Debug)]
pub struct Keys {
    widths: Box<[Width]>,
    keys: Box<[Box<[Part]>]>,
}

impl Keys {
    /// For a table with these columns in events; the first key is the one that a row is found by. `None`: images do not
    /// show them.
    pub fn new(kinds: impl Iterator<Item = ColumnKind>, keys: Vec<Box<[Part]>>) -> Option<Keys> {
        let widths = kinds.map(Width::of).collect::<Option<Box<[Width]>>>()?;
        let shown = |part: &Part| part.column < widths.len();
        keys.iter().flatten().all(shown).then(|| Keys { keys: keys.into(), widths })
    }
}

/// The keys of tables, by numbers that the table maps in payloads have for flags. They are of one life of the server.
#[derive(Debug, Default)]
pub struct Known(Mutex<Vec<Arc<Keys>>>);

impl Known {
    /// The number of a table's keys from now on.
    pub fn add(&self, keys: Keys) -> u16 {
        let mut known = self.0.lock();
        let number = known.len() + usize::from(UNKNOWN) + 1;
        let Ok(number) = u16::try_from(number) else { return UNKNOWN };
        known.push(Arc::new(keys));
        number
    }

    fn get(&self, number: usize) -> Option<Arc<Keys>> {
        let at = number.checked_sub(usize::from(UNKNOWN) + 1)?;
        self.0.lock().get(at).cloned()
    }
}

/// Gives a table map in a payload the number of its table's keys.
pub fn number_map(map: &mut [u8], number: u16) {
    if let Some(flags) = map.get_mut(MAP_FLAGS) {
        flags.copy_from_slice(&number.to_le_bytes());
    }
}

/// A table map in an event has its flags.
pub fn plain_map(map: &mut [u8]) {
    number_map(map, UNKNOWN);
}

/// Passes on what is a hash already.
#[derive(Clone, Copy, Default)]
struct Same(u64);

impl Hasher for Same {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = hash(self.0, bytes);
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = n;
    }
}

fn mixed(a: u64, b: u64) -> u64 {
    let wide = u128::from(a ^ b) * u128::from(MIX);
    (wide as u64) ^ (wide >> 64) as u64
}

/// Also of the length, so that columns do not run into each other.
fn hash(seed: u64, bytes: &[u8]) -> u64 {
    let mut h = mixed(seed, bytes.len() as u64 + 1);
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        h = mixed(h, chunk.iter().rev().fold(0, |v, b| v << 8 | u64::from(*b))).rotate_left(17);
    }
    mixed(h, chunks.remainder().iter().rev().fold(0, |v, b| v << 8 | u64::from(*b)))
}

/// Where an image has a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Found {
    /// Nowhere.
    Absent,
    Null,
    /// From here to there in the images; of texts without their length.
    At(u32, u32),
}

impl Found {
    fn bytes(self, images: &[u8]) -> Option<&[u8]> {
        if let Found::At(from, to) = self { images.get(from as usize..to as usize) } else { None }
    }
}

/// The dependencies of the transactions of a file.
#[derive(Clone, Debug)]
pub struct Dependencies {
    known: Arc<Known>,
    /// Keys that were looked up, by number.
    looked_up: Vec<Option<Arc<Keys>>>,
    /// Numbers in payloads are of this life of the server.
    trusts: bool,
    /// The last transaction that has a key.
    history: HashMap<u64, u64, BuildHasherDefault<Same>>,
    most: usize,
    /// All up to this transaction are before all that come.
    barrier: u64,
    seen: Seen,
}

/// The keys of a transaction.
#[derive(Clone, Debug, Default)]
struct Seen {
    hashes: Vec<u64>,
    /// A text as its index compares it.
    compared: Vec<u8>,
    /// Of a row.
    before: Vec<Found>,
    after: Vec<Found>,
}

impl Dependencies {
    /// Behind so many transactions of a file.
    pub fn new(sequence: u64) -> Dependencies {
        Dependencies {
            known: Arc::default(),
            looked_up: Vec::new(),
            trusts: false,
            history: HashMap::default(),
            most: HISTORY,
            barrier: sequence,
            seen: Seen::default(),
        }
    }

    /// Tables have these keys, in payloads from now on.
    pub fn trust(&mut self, known: &Arc<Known>) {
        (self.known, self.trusts) = (known.clone(), true);
        self.looked_up.clear();
    }

    /// So many keys are remembered.
    pub fn remember(&mut self, most: usize) {
        self.most = most;
    }

    /// A file begins.
    pub fn begin_file(&mut self) {
        self.history.clear();
        self.barrier = 0;
    }

    /// The transaction stands alone. Gives its `last_committed`.
    pub fn alone(&mut self, sequence: u64) -> u64 {
        self.history.clear();
        self.barrier = sequence;
        sequence - 1
    }

    /// The `last_committed` of a group whose items these are.
    pub fn of_group(&mut self, head: &Head, items: Reader<'_>, sequence: u64) -> u64 {
        let rows = head.frame == Frame::Rows && head.file.is_none() && !head.linked && head.items > 0;
        self.seen.hashes.clear();
        // What cannot be read is another one's to tell.
        if !rows || !self.trusts || self.collect(items).is_none() {
            return self.alone(sequence);
        }
        let mut last = self.barrier;
        for hash in self.seen.hashes.drain(..) {
            if let Some(former) = self.history.insert(hash, sequence)
                && former < sequence
            {
                last = last.max(former);
            }
        }
        if self.history.len() > self.most {
            self.history.clear();
            self.barrier = sequence;
        }
        last
    }

    /// Collects the keys of all rows. `None`: they are not known.
    fn collect(&mut self, mut items: Reader<'_>) -> Option<()> {
        // Tables of the statement, by the numbers of their keys.
        let (mut tables, mut next) = ([(u64::MAX, 0); TABLES], 0);
        while !items.is_empty() {
            let item = Item::decode(&mut items).ok()?;
            let body = item.body;
            match item.kind {
                kind::ROWS_QUERY => {}
                kind::TABLE_MAP => {
                    let (id, number) =
                        (table_id(body)?, usize::from(u16::from_le_bytes(*body.get(MAP_FLAGS)?.first_chunk()?)));
                    if self.looked_up.len() <= number {
                        self.looked_up.resize(number + 1, None);
                    }
                    if self.looked_up[number].is_none() {
                        self.looked_up[number] = Some(self.known.get(number)?);
                    }
                    let at = tables.iter().position(|(of, _)| *of == id).unwrap_or(next % TABLES);
                    (tables[at], next) = ((id, number), at + 1);
                }
                kind::WRITE_ROWS | kind::UPDATE_ROWS | kind::DELETE_ROWS => {
                    let id = table_id(body)?;
                    let (_, number) = tables.iter().find(|(of, _)| *of == id)?;
                    let keys = self.looked_up.get(*number)?.as_ref()?;
                    self.seen.rows(id, keys, item.kind, body.get(8..)?)?;
                }
                _ => return None,
            }
        }
        Some(())
    }
}

/// So many tables of a statement are known at once.
const TABLES: usize = 4;

fn table_id(body: &[u8]) -> Option<u64> {
    let [a, b, c, d, e, f] = *body.first_chunk()?;
    Some(u64::from_le_bytes([a, b, c, d, e, f, 0, 0]))
}

impl Seen {
    /// `rest` of an event of rows is what stands behind its table and flags.
    fn rows(&mut self, table: u64, keys: &Keys, event: u8, rest: &[u8]) -> Option<()> {
        let mut r = Reader::new(rest);
        let extra = usize::from(r.u16().ok()?).checked_sub(2)?;
        r.bytes(extra).ok()?;
        let columns = usize::try_from(lenenc(&mut r).ok()?).ok()?;
        if columns != keys.widths.len() {
            return None;
        }
        let updates = event == kind::UPDATE_ROWS;
        let has_before = r.bytes(columns.div_ceil(8)).ok()?;
        let has_after = if updates { Some(r.bytes(columns.div_ceil(8)).ok()?) } else { None };
        let (mut before, mut after) = (std::mem::take(&mut self.before), std::mem::take(&mut self.after));
        let done = self.images(table, keys, r.rest(), (has_before, &mut before), (has_after, &mut after));
        (self.before, self.after) = (before, after);
        done
    }

    fn images(
        &mut self,
        table: u64,
        keys: &Keys,
        images: &[u8],
        (has_before, before): (&[u8], &mut Vec<Found>),
        (has_after, after): (Option<&[u8]>, &mut Vec<Found>),
    ) -> Option<()> {
        let mut at = 0;
        while at < images.len() {
            at = locate(images, at, &keys.widths, has_before, before)?;
            if let Some(has) = has_after {
                at = locate(images, at, &keys.widths, has, after)?;
            }
            let updates = has_after.is_some();
            for (number, key) in keys.keys.iter().enumerate() {
                let seed = mixed(table, number as u64);
                // A column that an image after does not have stays.
                let stays = |part: &Part| match (before[part.column], after[part.column]) {
                    (_, Found::Absent) | (Found::Null, Found::Null) => true,
                    (b @ Found::At(..), a @ Found::At(..)) => b.bytes(images) == a.bytes(images),
                    _ => false,
                };
                let moves = updates && !key.iter().all(stays);
                if key.iter().any(|part| before[part.column] == Found::Absent) {
                    // A unique key that stays need not be known.
                    if number == 0 || !updates || moves {
                        return None;
                    }
                    continue;
                }
                self.hash(seed, key, images, |i| before[i])?;
                if moves {
                    self.hash(seed, key, images, |i| if after[i] == Found::Absent { before[i] } else { after[i] })?;
                }
            }
        }
        Some(())
    }

    /// Adds a key, unless it has NULL: that equals no other. `None`: it is not known.
    fn hash(&mut self, seed: u64, key: &[Part], images: &[u8], find: impl Fn(usize) -> Found) -> Option<()> {
        let mut h = seed;
        for part in key {
            let Some(bytes) = find(part.column).bytes(images) else { return Some(()) };
            let ty = &part.compared.ty;
            if ty.id.is_string() {
                self.compared.clear();
                key::encode(&part.compared, ValueRef::Str(bytes, ty.collation), &mut self.compared).ok()?;
                h = hash(h, &self.compared);
            } else {
                h = hash(h, bytes);
            }
        }
        self.hashes.push(h);
        Some(())
    }
}

/// Where an image that begins there has its columns; gives where it ends.
fn locate(images: &[u8], at: usize, widths: &[Width], has: &[u8], found: &mut Vec<Found>) -> Option<usize> {
    found.clear();
    found.reserve(widths.len());
    let present = has.iter().map(|bits| bits.count_ones() as usize).sum::<usize>();
    let nulls = images.get(at..at + present.div_ceil(8))?;
    let (mut at, mut bit) = (at + nulls.len(), 0);
    for (i, width) in widths.iter().enumerate() {
        if has.get(i / 8)? >> (i % 8) & 1 == 0 {
            found.push(Found::Absent);
            continue;
        }
        let null = nulls.get(bit / 8)? >> (bit % 8) & 1 == 1;
        bit += 1;
        if null {
            found.push(Found::Null);
            continue;
        }
        let length = match *width {
            Width::Fixed(n) => n,
            Width::Said(1) => {
                at += 1;
                usize::from(*images.get(at - 1)?)
            }
            Width::Said(n) => {
                let said = images.get(at..at + n)?;
                at += n;
                said.iter().rev().fold(0, |v, b| v << 8 | usize::from(*b))
            }
        };
        found.push(Found::At(at as u32, (at + length) as u32));
        at += length;
    }
    (at <= images.len()).then_some(at)
}
