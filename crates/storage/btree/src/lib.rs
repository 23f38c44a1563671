//! B+trees over buffer and log.
