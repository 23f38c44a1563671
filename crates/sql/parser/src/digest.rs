//! Shape and digest of a statement's text.
