//! Hash tables with a fast, seeded hasher, for hot paths. Made by `default()`.
//!
//! Keys that strangers choose (names, group keys) are safe from precomputed collisions by the random seed.

/// The hasher's state.
pub type Seed = foldhash::fast::RandomState;
/// A map.
pub type HashMap<K, V> = std::collections::HashMap<K, V, Seed>;
/// A set.
pub type HashSet<K> = std::collections::HashSet<K, Seed>;
