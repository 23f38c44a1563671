//! Row, gap and metadata locks over opaque keys.
