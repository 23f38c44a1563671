//! Ids, codecs, the synchronisation facade, assertions, errors of the lower layers.
