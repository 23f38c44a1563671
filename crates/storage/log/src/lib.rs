//! The one write-ahead log.
