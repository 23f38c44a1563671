//! Warnings of syntax, and of variables, that are still taken, but deprecated.

use super::{Session, profile};
use gannet_core::vars::{self, VarId};
use gannet_parser::Notice;
use gannet_types::{CollationId, ErrorCode, Level, Value, Warning, convert};

/// Variables that MySQL 8.4 takes with warning 1287, and nothing takes the place of.
const DEPRECATED: &[&str] = &[
    "binlog_format",
    "binlog_max_flush_queue_time",
    "delayed_insert_limit",
    "delayed_insert_timeout",
    "delayed_queue_size",
    "log_bin_trust_function_creators",
    "log_statements_unsafe_for_binlog",
    "max_delayed_threads",
    "max_insert_delayed_threads",
    "max_length_for_sort_data",
    "new",
    "profiling",
    "profiling_history_size",
    "query_prealloc_size",
    "sync_relay_log_info",
    "terminology_use_previous",
    "transaction_prealloc_size",
];

/// Those that are to become read only, of which warning 1681 tells.
const TO_BE_READ_ONLY: &[&str] = &["character_set_database", "collation_database", "default_collation_for_utf8mb4"];

impl Session {
    /// Warns of deprecated syntax.
    pub(crate) fn warn_of(&mut self, notices: &[Notice]) {
        for notice in notices {
            self.running.diagnostics.warnings.push(gannet_exec::deprecation(*notice));
        }
    }
}

/// Warns of a character set or a collation that is to go, by its name or its number.
pub(crate) fn warn_of_charset(
    session: &mut Session,
    value: Option<&Value>,
    number: Option<CollationId>,
    is_collation: bool,
) {
    let notice = match value {
        Some(Value::Str(..)) => {
            let text = value.map(|v| convert::utf8_text(&v.as_ref()).into_owned()).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            if is_collation { Notice::of_collation(&text) } else { Notice::of_charset(&text) }
        }
        _ => match number.map(|id| id.get()) {
            Some(collation) if is_collation => Notice::of_collation(collation.name),
            Some(collation) => Notice::of_charset(collation.charset.name()),
            None => None,
        },
    };
    session.warn_of(notice.as_slice());
}

/// Warns of a deprecated variable that is set, and of an older name of one.
pub(crate) fn warn_of_variable(session: &mut Session, id: VarId, name: &str) {
    let own = id.def().name;
    let is_older =
        |(older, _): &&(&str, &str)| older.eq_ignore_ascii_case(name) && !older.starts_with("rpl_semi_sync_");
    let newer = if name.eq_ignore_ascii_case(own) { None } else { vars::SYNONYMS.iter().find(is_older) };
    let (code, text) = if let Some((older, newer)) = newer {
        let text = "is deprecated and will be removed in a future release. Please use";
        (ErrorCode::WarnDeprecatedSyntax, format!("'@@{older}' {text} {newer} instead."))
    } else if DEPRECATED.contains(&own) {
        return profile::warn_of_variable(session, own);
    } else if TO_BE_READ_ONLY.contains(&own) {
        let text = format!("Updating '{own}' is deprecated. It will be made read-only in a future release.");
        (ErrorCode::WarnDeprecatedSyntaxNoReplacement, text)
    } else {
        return;
    };
    session.running.diagnostics.warnings.push(Warning::with_message(Level::Warning, code, text));
}
