//! What rows of the dictionary are made of.

use gannet_base::{DecodeError, Reader};
use gannet_types::{Collation, CollationId};

pub(crate) type Decoded<T> = Result<T, DecodeError>;

pub(crate) fn text(r: &mut Reader<'_>, max: usize) -> Decoded<Box<str>> {
    Ok(r.prefixed_str(max)?.into())
}

pub(crate) fn collation(r: &mut Reader<'_>) -> Decoded<CollationId> {
    let id = r.u16()?;
    Collation::by_id(id).map(|c| c.id).ok_or(r.invalid("collation"))
}
