//! Access methods: which entries a row makes in an index, and what such an index may be used for.
//!
//! The B-tree has one entry a row, in the order of its columns. A full-text index has one for each word of the row:
//!
//! ```text
//! word's key · clustered key → how often, the word, where (text::posting)
//! ```

use crate::column::Column;
use crate::index::{Index, IndexPart};
use crate::table::Table;
use gannet_text::{Analyzer, Definition, postings};
use gannet_types::key::KeyPart;
use gannet_types::{CollationId, ErrorCode, Result, SqlError, SqlType, TypeId, ValueRef};
use std::sync::Arc;

/// How an index finds rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Method {
    /// A B-tree over the values of its columns.
    #[default]
    Ordered,
    /// The words of its columns.
    FullText(Arc<FullText>),
}

/// A full-text index's definition, ready to use.
#[derive(Debug)]
pub struct FullText {
    /// As it is stored.
    pub definition: Definition,
    /// Ready to use.
    pub analyzer: Analyzer,
}

impl PartialEq for FullText {
    fn eq(&self, other: &FullText) -> bool {
        self.definition == other.definition
    }
}

impl Method {
    /// A full-text index.
    pub fn full_text(definition: Definition) -> Method {
        let analyzer = Analyzer::new(&definition);
        Method::FullText(Arc::new(FullText { definition, analyzer }))
    }
}

impl Index {
    /// Entries have the order of the columns' values, one for each row: foreign keys, AUTO_INCREMENT and all accesses
    /// but a search may use it.
    #[inline]
    pub fn is_ordered(&self) -> bool {
        matches!(self.method, Method::Ordered)
    }

    /// The definition of a full-text index.
    #[inline]
    pub fn text(&self) -> Option<&FullText> {
        match &self.method {
            Method::Ordered => None,
            Method::FullText(text) => Some(text),
        }
    }
}

/// The part of a full-text index's key before the clustered key.
pub(crate) fn word_part(collation: CollationId) -> KeyPart {
    let ty = SqlType { nullable: false, ..SqlType::varchar(84, collation) };
    KeyPart { ty, prefix: None, descending: false }
}

/// Checks the columns of a full-text index: texts of one collation, which it takes over. Error 1283.
pub(crate) fn define(columns: &[Column], parts: &mut [IndexPart], method: &Method) -> Result<Method> {
    let Method::FullText(text) = method else { return Ok(method.clone()) };
    let mut collation = None;
    for part in parts {
        let column = &columns[part.column as usize];
        let refused = || SqlError::new(ErrorCode::BadFtColumn, &[&column.name]);
        let is_text = column.ty.id.is_string() && column.ty.id != TypeId::Json && !column.ty.id.is_binary_string();
        let virtually = column.generated.as_ref().is_some_and(|g| !g.stored);
        if !is_text || column.ty.collation == CollationId::BINARY || virtually {
            return Err(refused());
        }
        if collation.is_some_and(|c| c != column.ty.collation) {
            return Err(refused());
        }
        collation = Some(column.ty.collation);
        // A prefix is read over, as in MySQL.
        (part.prefix, part.descending) = (None, false);
    }
    let collation = collation.unwrap_or(text.definition.collation);
    if collation == text.definition.collation {
        return Ok(method.clone());
    }
    Ok(Method::full_text(Definition { collation, ..text.definition.clone() }))
}

impl Table {
    /// Gives `each` the entries of a row in a full-text index: key and carried bytes, ascending. An index of another
    /// method has none.
    pub fn text_entries<'v, E>(
        &self,
        index: usize,
        value: impl Fn(usize) -> ValueRef<'v>,
        clustered_key: &[u8],
        each: &mut dyn FnMut(&[u8], &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(text) = self.indexes[index].text() else { return Ok(()) };
        let columns = self.indexes[index].parts.iter().map(|part| match value(part.column as usize) {
            ValueRef::Str(bytes, _) => Some(bytes),
            _ => None,
        });
        let (mut key, mut carried) = (Vec::new(), Vec::new());
        for word in postings(&text.analyzer, columns) {
            key.clear();
            carried.clear();
            key.extend_from_slice(&word.key);
            key.extend_from_slice(clustered_key);
            word.carried(&text.analyzer, &mut carried);
            each(&key, &carried)?;
        }
        Ok(())
    }
}
