//! Access methods: which entries a row makes in an index, and what such an index may be used for.
//!
//! The B-tree has one entry a row, in the order of its columns. A full-text index has one for each word of the row:
//!
//! ```text
//! word's key · clustered key → how often, the word, where (text::posting)
//! ```
//!
//! The words of a new row wait in the row ([`FullText::waits`]), which one entry says, until the server's background
//! task gives them their own.
//!
//! A multi-valued index has one for each element of an array ([`crate::array`]).

use gannet_base::sync::Mutex;
use gannet_base::sync::atomic::{AtomicBool, Ordering};
use gannet_text::{Analyzer, Definition, Splitter, Tokens};
use gannet_types::key::KeyPart;
use gannet_types::{CollationId, SqlType};
use std::sync::Arc;

/// How an index finds rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Method {
    /// A B-tree over the values of its columns.
    #[default]
    Ordered,
    /// The words of its columns.
    FullText(Arc<FullText>),
    /// A B-tree in which one part, the one over a JSON column, is each element of the array there, as a value of this
    /// type.
    Array(SqlType),
}

/// A full-text index's definition, ready to use.
#[derive(Debug)]
pub struct FullText {
    /// As it is stored.
    pub definition: Definition,
    /// Ready to use.
    pub analyzer: Analyzer,
    /// What has taken the last rows apart: their words come again in the next ones.
    spare: Mutex<Splitter>,
    /// So many rows wait that new ones do not.
    pub crowded: AtomicBool,
}

/// Bytes of words that are kept for the next rows: some 60,000, of which a text hardly has another one.
const SPARE_BYTES: usize = 8 << 20;

impl PartialEq for FullText {
    fn eq(&self, other: &FullText) -> bool {
        self.definition == other.definition
    }
}

impl Method {
    /// A full-text index.
    pub fn full_text(definition: Definition) -> Method {
        let analyzer = Analyzer::new(&definition);
        Method::FullText(Arc::new(FullText {
            definition,
            analyzer,
            spare: Mutex::default(),
            crowded: AtomicBool::new(false),
        }))
    }
}

impl FullText {
    /// The words of a new row wait. (Ngrams do not: their keys may begin with anything.)
    pub fn waits(&self) -> bool {
        self.definition.waits
            && matches!(self.definition.tokens, Tokens::Words { .. })
            && !self.crowded.load(Ordering::Relaxed)
    }

    /// There may be rows whose words wait.
    pub fn may_have_waiting(&self) -> bool {
        self.definition.waits && matches!(self.definition.tokens, Tokens::Words { .. })
    }

    /// Takes a row's columns apart, and calls `then` with its words in the order of their keys.
    pub fn split<'t, T>(
        &self,
        columns: impl Iterator<Item = Option<&'t [u8]>>,
        then: impl FnOnce(&Splitter) -> T,
    ) -> T {
        self.with_splitter(|splitter| {
            splitter.split(&self.analyzer, columns);
            splitter.sort();
            then(splitter)
        })
    }

    /// Calls `run` with what has taken rows apart before: it knows their words.
    pub fn with_splitter<T>(&self, run: impl FnOnce(&mut Splitter) -> T) -> T {
        // Nobody waits for it: who comes meanwhile begins with a new one.
        let mut splitter = std::mem::take(&mut *self.spare.lock());
        let done = run(&mut splitter);
        if splitter.size() > SPARE_BYTES {
            splitter.clear();
        }
        let mut spare = self.spare.lock();
        if spare.words() <= splitter.words() {
            *spare = splitter;
        }
        done
    }
}

/// The part of a full-text index's key before the clustered key.
pub(crate) fn word_part(collation: CollationId) -> KeyPart {
    let ty = SqlType { nullable: false, ..SqlType::varchar(84, collation) };
    KeyPart { ty, prefix: None, descending: false }
}
