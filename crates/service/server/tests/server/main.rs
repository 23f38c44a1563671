//! The server over its protocol, a file for each subject: one program, for linking forty takes minutes and gigabytes.

#[path = "../common/mod.rs"]
mod common;

mod accounts;
mod bad_input;
mod beside_writers;
mod binlog;
mod catalogs;
mod charset_names;
mod clauses;
mod client_charset;
mod compression;
mod cursors;
mod cutover;
mod definitions_agree;
mod dynamic_privileges;
mod effects_agree;
mod gone_accounts;
mod grant_tables;
mod index_agrees;
mod kept_texts;
mod load;
mod logins;
mod memcached;
mod memcached_tables;
mod midway;
mod own_sessions;
mod parts_agree;
mod persisted;
mod plans_agree;
mod protocol;
mod relay;
mod replica;
mod reports;
mod restore;
mod rights;
mod semisync;
mod statement_events;
mod statement_logs;
mod statement_rights;
mod statement_summary;
mod storage;
mod tls;
mod tracking;
mod usage;
mod writesets;
