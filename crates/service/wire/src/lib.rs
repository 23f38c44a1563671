//! MySQL client/server protocol as pure state machines over bytes.
//!
//! Nothing here opens a socket (apart from [`client`], the blocking client that load tools and tests use): the server
//! hands in what arrived and gets back what to send.
//!
//! *Invariants.* No input makes a function here panic. Memory grows with what a peer really sent, never with what a
//! length field promises. Only this crate knows packet bytes.
//!
//! | module | what |
//! |---|---|
//! | [`codec`] | bounded reader, length-encoded integers and strings |
//! | [`frame`] | packets: header, sequence, 16 MiB split, `max_allowed_packet` |
//! | [`compress`] | compressed packets around the ordinary ones |
//! | [`flags`] | capability, status, column flags; command and column type bytes |
//! | [`handshake`] | greeting, HandshakeResponse41, SSLRequest, COM_CHANGE_USER |
//! | [`auth`] | `mysql_native_password`, `caching_sha2_password`, the exchange as a state machine |
//! | [`command`] | commands of the command phase, COM_STMT_EXECUTE parameters |
//! | [`reply`] | OK, ERR, EOF, column definitions, prepare replies |
//! | [`row`] | text and binary rows, written straight into the output buffer |
//! | [`value`] | SQL values in rows |
//! | [`tls`] | TLS, and the certificates a server makes for itself |
//! | [`memcached`] | requests of memcached's protocol |
//! | [`client`] | a small blocking client for any MySQL or MariaDB server |

pub mod auth;
pub mod client;
pub mod codec;
pub mod command;
pub mod compress;
pub mod flags;
pub mod frame;
#[doc(hidden)]
pub mod fuzzing;
pub mod handshake;
pub mod memcached;
pub mod reply;
pub mod row;
pub mod tls;
pub mod value;
