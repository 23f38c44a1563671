//! memcached's protocol, text and meta: requests as pure functions over bytes.
//!
//! | module | what |
//! |---|---|
//! | [`base64`] | keys of any bytes |
//! | [`parse`] | what comes next in a client's bytes |
//! | [`flags`] | the flags of meta commands |
//! | `number` | numbers |

pub mod base64;
pub mod flags;
#[doc(hidden)]
pub mod fuzzing;
mod number;
pub mod parse;

pub use number::unsigned;
