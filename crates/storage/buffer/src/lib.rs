//! Buffer pool: frames and latches.
