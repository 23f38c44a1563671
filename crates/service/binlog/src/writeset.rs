//! Write sets: which transactions of a file have to be applied before which, from the keys of the rows they change.
//!
//! A transaction may be applied beside those before it, down to the last one that has one of its keys: of each row
//! those of the primary and the unique keys, before the change and after it, as their indexes compare them. Where that
//! is not known it stands alone: behind all before it, before all behind it. As with MySQL's WRITESET, so many keys
//! are remembered; here a key may be taken for another one, and is behind that one's transaction, too.
//!
//! What foreign keys link stands alone too. Of two transactions whose order matters to a foreign key, one at least
//! changes a child or takes away a parent's key, and of that one the payload says so.

use crate::event::kind;
use crate::format::lenenc;
use crate::group::{Frame, Head, Item};
use crate::map::{ColumnKind, GENERATED_KEY};
use crate::rows::PARTIAL_DOCUMENTS;
use gannet_base::Reader;
use gannet_base::sync::{Arc, Mutex};
use gannet_types::ValueRef;
use gannet_types::decimal::stored;
use gannet_types::key::{self, KeyPart};

/// Keys that are remembered: `binlog_transaction_dependency_history_size`.
pub const HISTORY: usize = 25_000;
/// The number of a table map whose table's keys are not known, which is what its flags are in events.
pub const UNKNOWN: u16 = 1;
/// With the number of a table that has a generated primary key.
const GENERATED: u16 = 1 << 15;
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
            ColumnKind::Decimal(precision, scale) => Width::Fixed(stored::len(precision, scale)),
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

impl Width {
    /// Where the bytes of a value at `at` begin and end.
    #[inline]
    fn place(self, images: &[u8], at: usize) -> Option<(usize, usize)> {
        Some(match self {
            Width::Fixed(n) => (at, at + n),
            Width::Said(1) => (at + 1, at + 1 + usize::from(*images.get(at)?)),
            Width::Said(2) => {
                let said = images.get(at..)?.first_chunk()?;
                (at + 2, at + 2 + usize::from(u16::from_le_bytes(*said)))
            }
            Width::Said(n) => {
                let said = images.get(at..at + n)?;
                let length = said.iter().rev().fold(0, |v, b| v << 8 | usize::from(*b));
                (at + n, at + n + length)
            }
        })
    }
}

/// Whether the first `n` bits are set, and no others.
fn has_all(bits: &[u8], n: usize) -> bool {
    let Some((last, whole)) = bits.split_last() else { return false };
    bits.len() == n.div_ceil(8)
        && whole.iter().all(|bits| *bits == 0xFF)
        && u32::from(*last) == (1 << (n - 8 * whole.len())) - 1
}

/// Whether one of the first `n` bits is set.
fn any_null(nulls: &[u8], n: usize) -> bool {
    let Some((last, whole)) = nulls.split_last() else { return false };
    let unused = 8 * nulls.len() - n;
    whole.iter().any(|bits| *bits != 0) || last << unused != 0
}

/// The keys of a table.
#[derive(Clone, Debug)]
pub struct Keys {
    widths: Box<[Width]>,
    /// So many of the columns are documents.
    documents: usize,
    keys: Box<[Box<[Part]>]>,
    /// No key has a column behind these.
    shown: usize,
    /// What lies behind them in an image without NULL: bytes, and then, if it is not 0, so many that say how many more.
    rest: Box<[(usize, usize)]>,
}

impl Keys {
    /// For a table with these columns in events; the first key is the one that a row is found by. `None`: images do not
    /// show them.
    pub fn new(kinds: impl Iterator<Item = ColumnKind>, keys: Vec<Box<[Part]>>) -> Option<Keys> {
        let mut documents = 0;
        let kinds = kinds.inspect(|kind| documents += usize::from(kind.is_document()));
        let widths = kinds.map(Width::of).collect::<Option<Box<[Width]>>>()?;
        let shown = keys.iter().flatten().map(|part| part.column + 1).max().unwrap_or(0);
        (shown <= widths.len()).then(|| Keys::of(widths, documents, keys, shown))
    }

    fn of(widths: Box<[Width]>, documents: usize, keys: Vec<Box<[Part]>>, shown: usize) -> Keys {
        let (mut rest, mut fixed) = (Vec::new(), 0);
        for width in widths.iter().skip(shown) {
            match *width {
                Width::Fixed(n) => fixed += n,
                Width::Said(n) => rest.push((std::mem::take(&mut fixed), n)),
            }
        }
        if fixed > 0 {
            rest.push((fixed, 0));
        }
        Keys { widths, documents, keys: keys.into(), shown, rest: rest.into() }
    }

    /// Where an image that begins there has its columns, those of keys at least; gives where it ends.
    fn locate(&self, images: &[u8], at: usize, has: &[u8], found: &mut Vec<Found>) -> Option<usize> {
        let all = self.widths.len();
        let bytes = all.div_ceil(8);
        if !has_all(has, all) || any_null(images.get(at..at + bytes)?, all) {
            return locate_some(images, at, &self.widths, has, found);
        }
        // Most images.
        let mut at = at + bytes;
        if found.len() != self.shown {
            found.resize(self.shown, Found::Null);
        }
        for (place, width) in found.iter_mut().zip(&self.widths) {
            let (from, to) = width.place(images, at)?;
            *place = Found::At(from as u32, to as u32);
            at = to;
        }
        for (fixed, said) in &self.rest {
            at += fixed;
            if *said > 0 {
                (_, at) = Width::Said(*said).place(images, at)?;
            }
        }
        (at <= images.len()).then_some(at)
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
        let Some(number) = u16::try_from(number).ok().filter(|n| n & GENERATED == 0) else { return UNKNOWN };
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
        let generated = if flags[0] & GENERATED_KEY as u8 == 0 { 0 } else { GENERATED };
        flags.copy_from_slice(&(number | generated).to_le_bytes());
    }
}

/// A table map in an event has its flags.
pub fn plain_map(map: &mut [u8]) {
    if let Some(flags) = map.get_mut(MAP_FLAGS) {
        let generated = if flags[1] & (GENERATED >> 8) as u8 == 0 { 0 } else { GENERATED_KEY };
        flags.copy_from_slice(&(UNKNOWN | generated).to_le_bytes());
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

/// Whether values are equal; most keys are integers, for which the call of a function costs more than comparing.
#[inline]
fn same(a: Option<&[u8]>, b: Option<&[u8]>) -> bool {
    match (a, b) {
        (Some(&[a, b, c, d]), Some(&[e, f, g, h])) => [a, b, c, d] == [e, f, g, h],
        (Some(a), Some(b)) if a.len() == 8 && b.len() == 8 => a.first_chunk::<8>() == b.first_chunk::<8>(),
        _ => a == b,
    }
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
    history: History,
    most: usize,
    /// All up to this transaction are before all that come.
    barrier: u64,
    seen: Seen,
}

/// The last transactions of a file that have keys, in few places: a place has the last of all keys that fall to it.
#[derive(Clone, Debug)]
struct History(Box<[u32]>);

impl History {
    /// Of so many keys, with four places for each: transactions that are under way together share one seldom.
    fn new(keys: usize) -> History {
        History(vec![0; (4 * keys.max(1)).next_power_of_two()].into())
    }

    /// A transaction has a key. Gives the last one before that may have it; 0: none.
    fn pass(&mut self, hash: u64, sequence: u32) -> u32 {
        let place = hash as usize & (self.0.len() - 1);
        // There is a place at least.
        self.0.get_mut(place).map_or(0, |last| std::mem::replace(last, sequence))
    }
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
            history: History::new(HISTORY),
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

    /// So many keys are remembered, from the next file on.
    pub fn remember(&mut self, most: usize) {
        self.most = most;
    }

    /// A file begins.
    pub fn begin_file(&mut self) {
        self.history = History::new(self.most);
        self.barrier = 0;
    }

    /// The transaction stands alone. Gives its `last_committed`.
    pub fn alone(&mut self, sequence: u64) -> u64 {
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
        // No file has so many: it would be 400 GB.
        let Ok(number) = u32::try_from(sequence) else { return self.alone(sequence) };
        let mut last = 0;
        for hash in self.seen.hashes.drain(..) {
            let former = self.history.pass(hash, number);
            last = last.max(if former < number { former } else { 0 });
        }
        self.barrier.max(u64::from(last))
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
                    let flags = u16::from_le_bytes(*body.get(MAP_FLAGS)?.first_chunk()?);
                    let (id, number) = (table_id(body)?, usize::from(flags & !GENERATED));
                    if self.looked_up.len() <= number {
                        self.looked_up.resize(number + 1, None);
                    }
                    if self.looked_up[number].is_none() {
                        self.looked_up[number] = Some(self.known.get(number)?);
                    }
                    let at = tables.iter().position(|(of, _)| *of == id).unwrap_or(next % TABLES);
                    (tables[at], next) = ((id, number), at + 1);
                }
                kind::WRITE_ROWS | kind::UPDATE_ROWS | kind::DELETE_ROWS | kind::PARTIAL_UPDATE_ROWS => {
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
        let partial = event == kind::PARTIAL_UPDATE_ROWS;
        let updates = partial || event == kind::UPDATE_ROWS;
        let has_before = r.bytes(columns.div_ceil(8)).ok()?;
        let has_after = if updates { Some(r.bytes(columns.div_ceil(8)).ok()?) } else { None };
        let (mut before, mut after) = (std::mem::take(&mut self.before), std::mem::take(&mut self.after));
        let images = (r.rest(), partial);
        let done = self.images(table, keys, images, (has_before, &mut before), (has_after, &mut after));
        (self.before, self.after) = (before, after);
        done
    }

    fn images(
        &mut self,
        table: u64,
        keys: &Keys,
        (images, partial): (&[u8], bool),
        (has_before, before): (&[u8], &mut Vec<Found>),
        (has_after, after): (Option<&[u8]>, &mut Vec<Found>),
    ) -> Option<()> {
        let mut at = 0;
        while at < images.len() {
            at = keys.locate(images, at, has_before, before)?;
            if let Some(has) = has_after {
                if partial {
                    at += match images.get(at)? {
                        &PARTIAL_DOCUMENTS => 1 + keys.documents.div_ceil(8),
                        _ => 1,
                    };
                }
                at = keys.locate(images, at, has, after)?;
            }
            let updates = has_after.is_some();
            for (number, key) in keys.keys.iter().enumerate() {
                let seed = mixed(table, number as u64);
                // A column that an image after does not have stays.
                let stays = |part: &Part| match (before[part.column], after[part.column]) {
                    (_, Found::Absent) | (Found::Null, Found::Null) => true,
                    (b @ Found::At(..), a @ Found::At(..)) => same(b.bytes(images), a.bytes(images)),
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

/// Where an image that lacks columns, or has NULL, has the others.
fn locate_some(images: &[u8], at: usize, widths: &[Width], has: &[u8], found: &mut Vec<Found>) -> Option<usize> {
    let present = has.iter().map(|bits| bits.count_ones() as usize).sum::<usize>();
    let nulls = images.get(at..at + present.div_ceil(8))?;
    let (mut at, mut bit) = (at + nulls.len(), 0);
    found.clear();
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
        let (from, to) = width.place(images, at)?;
        found.push(Found::At(from as u32, to as u32));
        at = to;
    }
    (at <= images.len()).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::{Found, History, Keys, Width, any_null, has_all};

    #[test]
    fn a_history_forgets_no_key_and_takes_few_for_another() {
        let mut history = History::new(1000);
        let (mut exact, mut wrong) = (std::collections::HashMap::new(), 0);
        let mut state = 5u64;
        for sequence in 1..200_000u32 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let key = super::mixed(7, (state >> 33) % 100_000);
            let former = history.pass(key, sequence);
            let right = exact.insert(key, sequence).unwrap_or(0);
            assert!((right..sequence).contains(&former), "{former} of {sequence}, and {right} has the key");
            // 64 transactions are under way.
            wrong += u32::from(former != right && former + 64 > sequence);
        }
        assert!(wrong < 200_000 / 40, "{wrong} are behind one that has not their key");
        assert_eq!((History::new(0).0.len(), History::new(25_000).0.len()), (4, 131_072));
    }

    /// Column by column.
    fn slow(images: &[u8], widths: &[Width], nulls: usize) -> Option<(usize, Vec<Found>)> {
        let (mut at, mut found) = (widths.len().div_ceil(8), Vec::new());
        for (i, width) in widths.iter().enumerate() {
            if nulls >> i & 1 == 1 {
                found.push(Found::Null);
                continue;
            }
            let (from, to) = width.place(images, at)?;
            found.push(Found::At(from as u32, to as u32));
            at = to;
        }
        (at <= images.len()).then_some((at, found))
    }

    #[test]
    fn columns_are_found_with_and_without_null() {
        let mut found = Vec::new();
        for n in [1, 3, 7, 8, 9, 16, 17] {
            let kinds = [Width::Fixed(4), Width::Said(1), Width::Said(2), Width::Fixed(0), Width::Said(4)];
            let widths: Vec<Width> = (0..n).map(|i| kinds[i % kinds.len()]).collect();
            let has: Vec<u8> = (0..n.div_ceil(8)).map(|b| (0..8).map(|i| u8::from(8 * b + i < n) << i).sum()).collect();
            assert!(has_all(&has, n) && !has_all(&has, n + 1) && !has_all(&has, n - 1));
            for nulls in [0, 1, 1 << (n - 1), (1 << n) - 1] {
                // Bits beyond the last column are set.
                let bits = (nulls | usize::MAX << n).to_le_bytes();
                let mut image = bits[..n.div_ceil(8)].to_vec();
                assert_eq!(any_null(&image, n), nulls != 0);
                for (i, width) in widths.iter().enumerate().filter(|(i, _)| nulls >> i & 1 == 0) {
                    let length = [i as u8, 0, 0, 0];
                    match *width {
                        Width::Fixed(n) => image.extend_from_slice(&[9; 4][..n]),
                        Width::Said(n) => {
                            image.extend_from_slice(&length[..n]);
                            image.extend_from_slice(&[8; 20][..i]);
                        }
                    }
                }
                let (end, places) = slow(&image, &widths, nulls).unwrap();
                assert_eq!(end, image.len());
                for shown in [0, 1, n / 2, n] {
                    let keys = Keys::of(widths.clone().into(), 0, Vec::new(), shown);
                    assert_eq!(keys.locate(&image, 0, &has, &mut found), Some(end));
                    assert_eq!(found, places[..if nulls == 0 { shown } else { n }]);
                    for len in 0..image.len() {
                        assert_eq!(keys.locate(&image[..len], 0, &has, &mut found), None, "{len} of {end} bytes");
                    }
                    // One column less.
                    let mut fewer = has.clone();
                    fewer[0] &= !1;
                    keys.locate(&image, 0, &fewer, &mut found);
                    assert!(found.first().is_none_or(|f| *f == Found::Absent));
                }
            }
        }
    }
}
