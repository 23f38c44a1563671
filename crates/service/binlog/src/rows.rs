//! ROWS events: rows of one table that were inserted, changed or deleted.
//!
//! ```text
//! 0   u48      number of the table, as its table map has it
//! 6   u16      flags
//! 8   u16      length of extra information, these two bytes included (not in version 1)
//! ..  lenenc   number of columns N
//! ..  ...      (N + 7) / 8 bytes: columns in the images before; of an insert, in those after
//! ..  ...      the same for the images after, of updates
//! ..  ...      rows: images, of updates two each
//! ```
//!
//! An image has a bit for each of its columns that is NULL, and the values of the others. In an update of documents'
//! parts two things are before the image after:
//!
//! ```text
//! 0   lenenc   options, of which there is one; 1: the bits follow
//! ..  ...      a bit for each JSON column of the table, in the image or not: instead of the document there are changes
//!              of it (see `diff`)
//! ```

use crate::diff::{self, Diff};
use crate::event::kind;
use crate::format::{lenenc, put_lenenc};
use crate::image;
use crate::map::{ColumnKind, TableMap, table_id};
use gannet_base::{DecodeError, Reader, Writer};
use gannet_types::{CollationId, Value};

/// Flags.
pub mod flags {
    /// The last of its statement.
    pub const STATEMENT_END: u16 = 1;
    /// `foreign_key_checks` was off.
    pub const NO_FOREIGN_KEY_CHECKS: u16 = 2;
    /// `unique_checks` was off.
    pub const RELAXED_UNIQUE_CHECKS: u16 = 4;
}

/// What became of the rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// They are new.
    Write,
    /// They are others.
    Update,
    /// They are gone.
    Delete,
}

impl Change {
    /// The kind of its events.
    pub fn kind(self) -> u8 {
        match self {
            Change::Write => kind::WRITE_ROWS,
            Change::Update => kind::UPDATE_ROWS,
            Change::Delete => kind::DELETE_ROWS,
        }
    }
}

/// A set of columns: the first in the lowest bit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Columns(Box<[u8]>);

impl Columns {
    /// The first `n`.
    pub fn all(n: usize) -> Columns {
        Columns::of(n, |_| true)
    }

    /// Those of the first `n` that `has` names.
    pub fn of(n: usize, has: impl Fn(usize) -> bool) -> Columns {
        let mut bits = vec![0; n.div_ceil(8)];
        for i in (0..n).filter(|i| has(*i)) {
            bits[i / 8] |= 1 << (i % 8);
        }
        Columns(bits.into())
    }

    /// Whether a column is in it.
    pub fn has(&self, i: usize) -> bool {
        self.0.get(i / 8).is_some_and(|b| b >> (i % 8) & 1 == 1)
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Appends the part of a body before the rows. `before` of an insert are its only columns.
pub fn put_head(table: u64, flags: u16, columns: usize, before: &Columns, after: Option<&Columns>, out: &mut Vec<u8>) {
    Writer::new(out).bytes(&table.to_le_bytes()[..6]).u16(flags).u16(2);
    put_lenenc(columns as u64, out);
    out.extend_from_slice(before.bytes());
    if let Some(after) = after {
        out.extend_from_slice(after.bytes());
    }
}

/// Rows of an event.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    /// What became of them.
    pub change: Change,
    /// The number of their table.
    pub table: u64,
    /// See [`flags`].
    pub flags: u16,
    /// Number of columns.
    pub columns: usize,
    /// Columns in the images before; of an insert, after.
    pub before: Columns,
    /// Of an update: columns in the images after.
    pub after: Option<Columns>,
    /// Of an update: documents may be changes of documents.
    pub partial: bool,
    /// The images.
    pub images: &'a [u8],
}

/// Options of an image after: bits say of which documents there are changes; or there are none.
pub(crate) const PARTIAL_DOCUMENTS: u8 = 1;
pub(crate) const WHOLE_DOCUMENTS: u8 = 0;

/// A row of an event.
#[derive(Debug)]
pub struct Row {
    /// Its image before; of an insert, after.
    pub first: Image,
    /// Of an update, the image after.
    pub second: Option<Image>,
    /// By columns that the image after lacks for that: changes of the documents that are there.
    pub diffs: Vec<(usize, Vec<Diff>)>,
}

/// A column's value, where an image has the column.
pub type Image = Vec<Option<Value>>;

impl<'a> Rows<'a> {
    /// From a body of this kind; `None` when it is no kind of rows that this server reads.
    pub fn decode(event: u8, body: &'a [u8]) -> Result<Option<Rows<'a>>, DecodeError> {
        let partial = event == kind::PARTIAL_UPDATE_ROWS;
        let (change, second) = match event {
            kind::WRITE_ROWS_V1 => (Change::Write, false),
            kind::UPDATE_ROWS_V1 => (Change::Update, false),
            kind::DELETE_ROWS_V1 => (Change::Delete, false),
            kind::WRITE_ROWS => (Change::Write, true),
            kind::UPDATE_ROWS | kind::PARTIAL_UPDATE_ROWS => (Change::Update, true),
            kind::DELETE_ROWS => (Change::Delete, true),
            _ => return Ok(None),
        };
        let mut r = Reader::new(body);
        let (table, flags) = (table_id(&mut r)?, r.u16()?);
        if second {
            let extra = usize::from(r.u16()?).checked_sub(2).ok_or(r.invalid("length of extra information"))?;
            r.bytes(extra)?;
        }
        let columns = lenenc(&mut r)?;
        if columns == 0 || columns > 4096 {
            return Err(r.invalid("number of columns"));
        }
        let columns = columns as usize;
        let before = Columns(r.bytes(columns.div_ceil(8))?.into());
        let after = match change {
            Change::Update => Some(Columns(r.bytes(columns.div_ceil(8))?.into())),
            _ => None,
        };
        Ok(Some(Rows { change, table, flags, columns, before, after, partial, images: r.rest() }))
    }

    /// Takes the next row off the front of `images`. `None` at the end.
    pub fn next(&mut self, map: &TableMap) -> Result<Option<Row>, DecodeError> {
        if self.images.is_empty() {
            return Ok(None);
        }
        let mut r = Reader::new(self.images);
        if map.columns.len() != self.columns {
            return Err(r.invalid("number of columns"));
        }
        let (mut second, mut diffs) = (None, Vec::new());
        let first = read(&mut r, map, &self.before, None, &mut diffs)?;
        if let Some(columns) = &self.after {
            let changed = if self.partial { changed(&mut r, map)? } else { None };
            second = Some(read(&mut r, map, columns, changed.as_ref(), &mut diffs)?);
        }
        if r.position() == 0 {
            return Err(r.invalid("row"));
        }
        self.images = r.rest();
        Ok(Some(Row { first, second, diffs }))
    }
}

/// Which of the JSON columns have changes of documents.
fn changed(r: &mut Reader<'_>, map: &TableMap) -> Result<Option<Columns>, DecodeError> {
    match r.u8()? {
        WHOLE_DOCUMENTS => Ok(None),
        PARTIAL_DOCUMENTS => {
            let documents = map.columns.iter().filter(|column| column.kind.is_document()).count();
            Ok(Some(Columns(r.bytes(documents.div_ceil(8))?.into())))
        }
        _ => Err(r.invalid("options of a row")),
    }
}

fn read(
    r: &mut Reader<'_>,
    map: &TableMap,
    columns: &Columns,
    changed: Option<&Columns>,
    diffs: &mut Vec<(usize, Vec<Diff>)>,
) -> Result<Image, DecodeError> {
    let present = (0..map.columns.len()).filter(|i| columns.has(*i)).count();
    let nulls = Columns(r.bytes(present.div_ceil(8))?.into());
    let (mut image, mut bit, mut documents) = (Vec::with_capacity(map.columns.len()), 0, 0);
    for (i, column) in map.columns.iter().enumerate() {
        let changes = column.kind.is_document() && changed.is_some_and(|bits| bits.has(documents));
        documents += usize::from(column.kind.is_document());
        if !columns.has(i) {
            image.push(None);
            continue;
        }
        let null = nulls.has(bit);
        bit += 1;
        image.push(match column.kind {
            _ if null => Some(Value::Null),
            ColumnKind::Json(n) if changes => {
                diffs.push((i, diff::decode(image::document(n, r)?)?));
                None
            }
            kind => {
                let collation = column.collation.map_or(CollationId::BINARY, CollationId);
                Some(image::value(kind, column.unsigned == Some(true), collation, r)?)
            }
        });
    }
    Ok(image)
}
