//! Data dictionary, kept in the engine's own trees.
