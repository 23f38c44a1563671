//! Rows, clustered keys and index entries of a table as bytes.
//!
//! ```text
//! row tree     clustered key → row payload with all stored columns (types::row)
//!              clustered key = the parts of the clustered index, or the hidden row id, 6 bytes big-endian
//! index tree   parts · clustered key → carried bytes
//! ```
//!
//! Carried bytes hold the columns which the index covers but whose values cannot be had back from a key (text under a
//! collation that folds case): a small row of its own layout, empty when there are none. So a covering scan covers.
//!
//! Everything here appends to buffers which the caller reuses.

use crate::codec::Source;
use crate::method::Method;
use crate::table::Table;
use gannet_types::charset::Charset;
use gannet_types::key::{self, KeyPart};
use gannet_types::row::RowLayout;
use gannet_types::{Result, SqlError, Value, ValueRef};
use smallvec::SmallVec;

/// Stands for the hidden row id in a list of columns, behind all of them.
pub const ROW_ID: u32 = u32::MAX - 1;

/// Bytes of a hidden row id.
pub const ROW_ID_BYTES: usize = 6;

/// What [`Table::index_key`] tells of the key it made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexKey {
    /// Bytes of the index's own parts; the clustered key follows.
    pub prefix_len: usize,
    /// One of the parts is NULL: a unique index does not look for duplicates then.
    pub has_null: bool,
}

/// Where the values of some columns are in an entry of an index: [`Table::entry_places`].
#[derive(Debug)]
pub struct EntryPlaces {
    /// For each part of the key, those of the clustered key behind the index's own: the place of its value in the list
    /// of columns, if that has it.
    key: SmallVec<[Option<usize>; 8]>,
    /// The place of the hidden row id.
    row_id: Option<usize>,
    /// Carried columns, and their places.
    carried: SmallVec<[(usize, usize); 4]>,
}

impl Table {
    /// Encoding of rows. A payload holds all columns, those of the clustered key too.
    #[inline]
    pub fn layout(&self) -> &RowLayout {
        &self.codecs.layout
    }

    /// Parts of an index as keys encode them.
    #[inline]
    pub fn key_parts(&self, index: usize) -> &[KeyPart] {
        &self.codecs.indexes[index].parts
    }

    /// Columns of the clustered key; empty for a hidden row id.
    #[inline]
    pub fn clustered_columns(&self) -> &[u32] {
        &self.codecs.clustered
    }

    /// Appends a row's clustered key. `value` gives columns by ordinal. Error 1815 for a table with hidden row ids.
    pub fn clustered_key<'v>(&self, value: impl Fn(usize) -> ValueRef<'v>, out: &mut Vec<u8>) -> Result<()> {
        if self.clustered.is_none() {
            return Err(SqlError::internal("the table has no clustered index"));
        }
        for (column, part) in self.codecs.clustered.iter().zip(&self.codecs.clustered_parts) {
            key::encode(part, value(*column as usize), out)?;
        }
        Ok(())
    }

    /// Appends the key of a hidden row id.
    pub fn row_id_key(&self, row_id: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&row_id.to_be_bytes()[8 - ROW_ID_BYTES..]);
    }

    /// The hidden row id of a clustered key.
    pub fn row_id_of_key(&self, key: &[u8]) -> Option<u64> {
        let bytes = key.first_chunk::<ROW_ID_BYTES>()?;
        Some(bytes.iter().fold(0, |id, b| id << 8 | u64::from(*b)))
    }

    /// Appends the key of a row's entry in a secondary index.
    pub fn index_key<'v>(
        &self,
        index: usize,
        value: impl Fn(usize) -> ValueRef<'v>,
        clustered_key: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<IndexKey> {
        let codec = &self.codecs.indexes[index];
        let start = out.len();
        let mut has_null = false;
        for (column, part) in codec.columns.iter().zip(&codec.parts) {
            let v = value(*column as usize);
            has_null |= v.is_null();
            key::encode(part, v, out)?;
        }
        let prefix_len = out.len() - start;
        out.extend_from_slice(clustered_key);
        Ok(IndexKey { prefix_len, has_null })
    }

    /// Appends the carried bytes of a row's entry in a secondary index.
    pub fn index_carried<'v>(
        &self,
        index: usize,
        value: impl Fn(usize) -> ValueRef<'v>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let codec = &self.codecs.indexes[index];
        match &codec.carried {
            None => Ok(()),
            Some(layout) => layout.encode_with(|i| value(codec.carried_columns[i] as usize), out),
        }
    }

    /// The values of carried bytes differ when one of these columns changes, though the key may stay equal ('a' to
    /// 'A').
    pub fn carried_columns(&self, index: usize) -> &[u32] {
        &self.codecs.indexes[index].carried_columns
    }

    /// Splits a secondary index's key into its parts and the clustered key.
    pub fn split_index_key<'k>(&self, index: usize, key: &'k [u8]) -> Result<(&'k [u8], &'k [u8])> {
        let mut rest = key;
        for part in &self.codecs.indexes[index].parts {
            key::skip(part, &mut rest)?;
        }
        Ok(key.split_at(key.len() - rest.len()))
    }

    /// Offsets behind each part of a key of the index; fewer when the bytes are damaged.
    pub fn part_ends(&self, index: usize, key: &[u8], ends: &mut Vec<usize>) {
        ends.clear();
        let mut rest = key;
        for part in &self.codecs.indexes[index].parts {
            if key::skip(part, &mut rest).is_err() {
                return;
            }
            ends.push(key.len() - rest.len());
        }
    }

    /// An entry of the index has the column's value (the clustered index has all).
    pub fn index_has(&self, index: usize, column: u32) -> bool {
        self.codecs.indexes[index].source(column).is_some()
    }

    /// Appends the values of `columns` (ascending) from an entry of a secondary index; each must be covered
    /// ([`Table::index_has`]). [`ROW_ID`] stands for the hidden row id.
    pub fn index_values(
        &self,
        index: usize,
        key: &[u8],
        carried: &[u8],
        columns: &[u32],
        out: &mut Vec<Value>,
    ) -> Result<()> {
        let start = out.len();
        out.resize(start + columns.len(), Value::Null);
        self.read_entry(index, &self.entry_places(index, columns), key, carried, |at, value| out[start + at] = value)
    }

    /// Where the values of `columns` (ascending) are in an entry of the index: [`Table::read_entry`].
    pub fn entry_places(&self, index: usize, columns: &[u32]) -> EntryPlaces {
        let codec = &self.codecs.indexes[index];
        let place = |(column, source): (u32, Source)| match columns.binary_search(&column) {
            Ok(at) if codec.source(column) == Some(source) => Some(at),
            _ => None,
        };
        let parts = codec.columns.iter().enumerate().map(|(i, c)| (*c, Source::Part(i)));
        let clustered = self.codecs.clustered.iter().enumerate().map(|(i, c)| (*c, Source::Clustered(i)));
        let mut key: SmallVec<[Option<usize>; 8]> = parts.chain(clustered).map(place).collect();
        let row_id = columns.binary_search(&ROW_ID).ok().filter(|_| self.clustered.is_none());
        // Behind the last part that is wanted nothing has to be looked at.
        while row_id.is_none() && key.last() == Some(&None) {
            key.pop();
        }
        let carried = codec.carried_columns.iter().enumerate();
        let carried = carried.filter_map(|(i, c)| Some((i, columns.binary_search(c).ok()?))).collect();
        EntryPlaces { key, row_id, carried }
    }

    /// Gives `put` the values of an entry of a secondary index, each with its column's place in the list that
    /// `places` was made of.
    #[inline]
    pub fn read_entry(
        &self,
        index: usize,
        places: &EntryPlaces,
        key: &[u8],
        carried: &[u8],
        mut put: impl FnMut(usize, Value),
    ) -> Result<()> {
        let codec = &self.codecs.indexes[index];
        let mut rest = key;
        for (part, place) in codec.parts.iter().chain(&self.codecs.clustered_parts).zip(&places.key) {
            match place {
                Some(at) => put(*at, key::decode(part, &mut rest)?),
                None => key::skip(part, &mut rest)?,
            }
        }
        if let Some(at) = places.row_id {
            let id = self.row_id_of_key(rest);
            put(at, Value::UInt(id.ok_or_else(|| SqlError::internal("index entry without row id"))?));
        }
        if let Some(layout) = &codec.carried {
            for (i, at) in &places.carried {
                put(*at, layout.get(carried, *i)?.to_owned());
            }
        }
        Ok(())
    }

    /// Text of the key values as error 1062 prints them: `'1-abc'` without the quotes.
    pub fn duplicate_text<'v>(&self, index: usize, value: impl Fn(usize) -> ValueRef<'v>) -> String {
        let mut text = Vec::new();
        let codec = &self.codecs.indexes[index];
        for (i, (column, part)) in codec.columns.iter().zip(&codec.parts).enumerate() {
            if i > 0 {
                text.push(b'-');
            }
            let from = text.len();
            let value = value(*column as usize);
            match value {
                ValueRef::Json(_) if codec.array == Some(i) => self.array_text(index, value, &mut text),
                ValueRef::Null => text.extend_from_slice(b"NULL"),
                v => v.write_text(&mut text),
            }
            if let Some(n) = part.prefix {
                let charset = part.ty.collation.charset();
                let keep = charset.prefix_len(&text[from..], n as usize);
                text.truncate(from + keep);
            }
            let shown = match value {
                ValueRef::Str(_, c) if c.charset() == Charset::Binary => {
                    gannet_types::charset::escaped(&text[from..]).into_bytes()
                }
                ValueRef::Str(_, c) => c.charset().convert(&text[from..], Charset::Utf8mb4).bytes.into_owned(),
                _ => continue,
            };
            text.truncate(from);
            text.extend_from_slice(&shown);
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl Table {
    /// Gives `each` the entries of a row in an index that is no plain B-tree, ascending: the key, how many of its bytes
    /// no other entry may have (0: it may repeat), and carried bytes. A plain one has none here. Errors 3903 to 3908
    /// for elements of arrays.
    pub fn entries<'v, E: From<SqlError>>(
        &self,
        index: usize,
        value: impl Fn(usize) -> ValueRef<'v>,
        clustered_key: &[u8],
        each: &mut dyn FnMut(&[u8], usize, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.indexes[index].method {
            Method::Ordered => Ok(()),
            Method::FullText(_) => self.text_entries(index, value, clustered_key, each),
            Method::Array(_) => self.array_entries(index, value, clustered_key, each),
        }
    }

    fn text_entries<'v, E>(
        &self,
        index: usize,
        value: impl Fn(usize) -> ValueRef<'v>,
        clustered_key: &[u8],
        each: &mut dyn FnMut(&[u8], usize, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(text) = self.indexes[index].text() else { return Ok(()) };
        let columns = self.indexes[index].parts.iter().map(|part| match value(part.column as usize) {
            ValueRef::Str(bytes, _) => Some(bytes),
            _ => None,
        });
        let (mut key, mut carried) = (Vec::new(), Vec::new());
        text.split(columns, |words| {
            words.found().try_for_each(|word| {
                key.clear();
                carried.clear();
                key.extend_from_slice(word.key);
                key.extend_from_slice(clustered_key);
                word.carried(&mut carried);
                each(&key, 0, &carried)
            })
        })
    }
}
