//! Page formats as pure functions on bytes.
