//! Values, conversions, collations, decimal, temporal, key and row encoding.
