//! Statements that a session knows by their text: those that begin and end transactions come again and again, and are
//! short. They are not parsed anew, and their digests, which all workers share, are not looked up.

use gannet_core::kept::DigestHandle;
use gannet_parser::ast::Statement;
use gannet_parser::{LexMode, Parsed};
use std::sync::Arc;

/// As many as BEGIN, COMMIT and ROLLBACK, and one that is written otherwise.
const MOST: usize = 4;
/// Bytes of a text.
const LONGEST: usize = 64;

/// One of them.
pub(crate) struct KnownText {
    text: Box<[u8]>,
    mode: LexMode,
    database: Option<Arc<str>>,
    pub(crate) parsed: Arc<Parsed>,
    pub(crate) digest: DigestHandle,
}

/// The last of a session.
#[derive(Default)]
pub(crate) struct Known(Vec<Arc<KnownText>>);

impl Known {
    /// The same text, read in the same way in the same database, where its digest counts.
    pub(crate) fn find(&self, text: &[u8], mode: LexMode, database: Option<&str>) -> Option<Arc<KnownText>> {
        let same = |k: &&Arc<KnownText>| *k.text == *text && k.mode == mode && k.database.as_deref() == database;
        self.0.iter().find(same).cloned()
    }

    /// Knows it from now on, if it is of the kind, stands alone in its text, and has a digest of its own.
    pub(crate) fn keep(
        &mut self,
        text: &[u8],
        mode: LexMode,
        database: Option<&Arc<str>>,
        parsed: &Arc<Parsed>,
        digest: &DigestHandle,
    ) {
        let is_such = matches!(parsed.statement, Statement::Begin(_) | Statement::Commit(_) | Statement::Rollback(_));
        if !is_such || text.len() > LONGEST || parsed.consumed != text.len() || digest.key().is_none() {
            return;
        }
        if self.0.len() == MOST {
            self.0.remove(0);
        }
        let (parsed, digest) = (parsed.clone(), digest.clone());
        self.0.push(Arc::new(KnownText { text: text.into(), mode, database: database.cloned(), parsed, digest }));
    }
}
