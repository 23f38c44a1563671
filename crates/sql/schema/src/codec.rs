//! What coding a table's rows and keys needs of its definition, prepared once. `rows.rs` codes with it.

use crate::column::Column;
use crate::history::History;
use crate::index::{Index, IndexPart};
use gannet_types::key::KeyPart;
use gannet_types::row::RowLayout;
use gannet_types::{SqlType, TypeId};

/// Prepared codecs of a table.
#[derive(Debug)]
pub(crate) struct Codecs {
    pub(crate) layout: RowLayout,
    pub(crate) clustered: Box<[u32]>,
    pub(crate) clustered_parts: Box<[KeyPart]>,
    pub(crate) indexes: Box<[IndexCodec]>,
}

#[derive(Debug)]
pub(crate) struct IndexCodec {
    pub(crate) columns: Box<[u32]>,
    pub(crate) parts: Box<[KeyPart]>,
    /// The part that is an element of an array.
    pub(crate) array: Option<usize>,
    pub(crate) carried_columns: Box<[u32]>,
    pub(crate) carried: Option<RowLayout>,
    /// Where each covered column's value is; by column, ascending.
    pub(crate) sources: Box<[(u32, Source)]>,
}

/// Where an index entry has a column's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// Part of the index.
    Part(usize),
    /// Part of the clustered key behind it.
    Clustered(usize),
    /// Position in the carried row.
    Carried(usize),
}

fn key_parts(columns: &[Column], index: &Index) -> Box<[KeyPart]> {
    let part = |p: &IndexPart| KeyPart {
        ty: columns[p.column as usize].ty.clone(),
        prefix: p.prefix,
        descending: p.descending,
    };
    index.parts.iter().map(part).collect()
}

impl Codecs {
    pub(crate) fn new(columns: &[Column], indexes: &[Index], clustered: Option<usize>, history: &History) -> Codecs {
        let of_index = |i: usize| indexes[i].parts.iter().map(|p| p.column).collect::<Box<[u32]>>();
        let clustered_columns = clustered.map(of_index).unwrap_or_default();
        let clustered_parts = clustered.map(|i| key_parts(columns, &indexes[i])).unwrap_or_default();
        let codec = |i: usize| {
            let parts = key_parts(columns, &indexes[i]);
            if let Some(text) = indexes[i].text() {
                return IndexCodec::of_words(text.definition.collation);
            }
            if let Some(element) = indexes[i].element() {
                return IndexCodec::of_elements(of_index(i), parts, element);
            }
            if Some(i) == clustered {
                return IndexCodec::clustered(of_index(i), parts, columns.len());
            }
            IndexCodec::secondary(columns, of_index(i), parts, &clustered_columns, &clustered_parts)
        };
        let indexes = (0..indexes.len()).map(codec).collect();
        Codecs { layout: history.layout(columns), clustered: clustered_columns, clustered_parts, indexes }
    }
}

impl IndexCodec {
    /// Words stand for no column: such an index covers nothing.
    fn of_words(collation: gannet_types::CollationId) -> IndexCodec {
        let parts = Box::new([crate::method::word_part(collation)]);
        IndexCodec { parts, ..IndexCodec::bare() }
    }

    /// Elements stand for no column either, and a row with an empty array has no entry.
    fn of_elements(columns: Box<[u32]>, mut parts: Box<[KeyPart]>, element: &SqlType) -> IndexCodec {
        let array = parts.iter().position(|p| p.ty.id == TypeId::Json);
        if let Some(part) = array.and_then(|at| parts.get_mut(at)) {
            part.ty = SqlType { nullable: true, ..element.clone() };
        }
        IndexCodec { columns, parts, array, ..IndexCodec::bare() }
    }

    fn bare() -> IndexCodec {
        IndexCodec {
            columns: Box::new([]),
            parts: Box::new([]),
            array: None,
            carried_columns: Box::new([]),
            carried: None,
            sources: Box::new([]),
        }
    }

    fn clustered(columns: Box<[u32]>, parts: Box<[KeyPart]>, width: usize) -> IndexCodec {
        let sources = (0..width as u32).map(|c| (c, Source::Carried(c as usize))).collect();
        IndexCodec { columns, parts, sources, ..IndexCodec::bare() }
    }

    fn secondary(
        all: &[Column],
        columns: Box<[u32]>,
        parts: Box<[KeyPart]>,
        clustered: &[u32],
        clustered_parts: &[KeyPart],
    ) -> IndexCodec {
        let mut sources: Vec<(u32, Source)> = Vec::new();
        let mut carried_columns = Vec::new();
        let own = columns.iter().zip(&parts).enumerate().map(|(i, (c, p))| (*c, p, Source::Part(i)));
        let behind = clustered.iter().zip(clustered_parts).enumerate().map(|(i, (c, p))| (*c, p, Source::Clustered(i)));
        for (column, part, source) in own.chain(behind) {
            if sources.iter().any(|(c, _)| *c == column) || part.prefix.is_some() {
                continue;
            }
            if part.is_invertible() {
                sources.push((column, source));
            } else {
                sources.push((column, Source::Carried(carried_columns.len())));
                carried_columns.push(column);
            }
        }
        sources.sort_by_key(|(c, _)| *c);
        let types: Vec<SqlType> = carried_columns.iter().map(|c: &u32| all[*c as usize].ty.clone()).collect();
        let carried = if types.is_empty() { None } else { Some(RowLayout::new(&types)) };
        let (carried_columns, sources) = (carried_columns.into(), sources.into());
        IndexCodec { columns, parts, array: None, carried_columns, carried, sources }
    }

    pub(crate) fn source(&self, column: u32) -> Option<Source> {
        let at = self.sources.binary_search_by_key(&column, |(c, _)| *c).ok()?;
        Some(self.sources[at].1)
    }
}
