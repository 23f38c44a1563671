//! `gannet dump` and `gannet load`: clients for any MySQL server.
//!
//! [`dump`](dump()) writes the definitions and rows of a server into a directory, [`load`](load()) brings a dump into a
//! server. Both speak to MySQL (5.6 and later), MariaDB and Gannet by `gannet_wire`'s client, with several connections,
//! each in a thread of its own.
//!
//! - Out: [`dump`]; `definitions` and `catalog`, what there is; `ranges`, ranges of keys; `chunk`,
//!   files of rows.
//! - In: [`load`]; `plan`, tables and what comes after their rows; `shell`, `mydumper`, `sqlfile`,
//!   what a directory holds; `work`, `put`, pieces of files; `ddl`, `inserts`, `script`, `read`, statements
//!   and rows in them; `ledger`, what is in.
//! - Both: `rows`, rows as lines; `peer` and `link`, the server at the other end; [`split`], a text of SQL in
//!   statements.
//!
//! *Invariants.* Nothing of a source is changed. A row is never loaded twice: its piece is in the ledger by the same
//! commit. A file is only ever read as a whole number of rows.

mod catalog;
mod chunk;
mod ddl;
mod definitions;
mod dump;
mod fault;
mod inserts;
mod ledger;
mod link;
mod load;
mod mydumper;
mod names;
mod peer;
mod plan;
mod progress;
mod put;
mod ranges;
mod read;
mod rows;
mod script;
mod shell;
pub mod split;
mod sqlfile;
mod work;

pub use chunk::Compression;
pub use dump::{DumpOptions, dump};
pub use fault::{Fault, Outcome};
pub use load::{Existing, LoadOptions, load};
pub use peer::Peer;
