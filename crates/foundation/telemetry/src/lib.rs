//! Per-worker counters, wait events, histograms, statement digests.
