//! SHOW PROFILES and SHOW PROFILE: how long the stages of the session's last statements took (`profiling`).
//!
//! Statements of the text protocol are kept, with the first 300 bytes of their text, as many as
//! `profiling_history_size` says. Stages are wall time; what else MySQL shows beside them (processor time, switches,
//! faults) is NULL, as it is there on systems which do not tell. SHOW PROFILES and SHOW PROFILE themselves are not
//! kept.

use super::profiles::{Profile, seconds};
use super::reply::Done;
use super::reply::Reply;
use super::reply::{RowsSink, plain_column};
use super::show::{column, table};
use super::text::lex_mode;
use super::{Session, show};
use gannet_core::kept::KeptText;
use gannet_core::vars::Live;
use gannet_parser::ast::Limit;
use gannet_runtime::now_ns;
use gannet_types::{Collation, CollationId, ErrorCode, Level, Result, SqlType, TypeId, Value, Warning};

/// Longest text that is kept of a statement, as in MySQL.
const TEXT_BYTES: usize = 300;

impl Session {
    /// SHOW PROFILES.
    pub(super) fn show_profiles(&mut self) -> RowsSink {
        self.state.profiles.forget();
        warn_of_profiling(self, "SHOW PROFILES");
        let duration = SqlType { length: 10, scale: 8, ..SqlType::new(TypeId::Decimal) }.not_null();
        let columns = vec![
            plain_column("Query_ID", SqlType::new(TypeId::Int).unsigned().not_null()),
            plain_column("Duration", duration),
            column("Query", TEXT_BYTES as u32),
        ];
        let collation = Collation::default_of(self.settings.charsets.client).id;
        let row = |p: &Profile| {
            let total = p.stages.iter().map(|(_, ns)| ns).sum();
            vec![Value::UInt(p.id), seconds(total, 8), Value::Str(p.text.bytes().into(), collation)]
        };
        table(columns, self.state.profiles.kept().map(row).collect())
    }

    /// SHOW PROFILE: of `query`, or of the last one.
    pub(super) fn show_profile(
        &mut self,
        types: &[Box<str>],
        query: Option<u64>,
        limit: Option<&Limit>,
    ) -> Result<RowsSink> {
        self.state.profiles.forget();
        warn_of_profiling(self, "SHOW PROFILE");
        let (skip, take) = show::window(self, limit)?;
        let all = types.iter().any(|t| **t == *"ALL");
        let mut columns = vec![
            column("Status", 30),
            plain_column("Duration", SqlType { length: 9, scale: 6, ..SqlType::new(TypeId::Decimal) }),
        ];
        for (kind, names) in DETAILS {
            if all || types.iter().any(|t| **t == **kind) {
                columns.extend(names.iter().map(|n| plain_column(n, detail(kind))));
            }
        }
        let width = columns.len();
        let profiles = &self.state.profiles;
        let id = query.unwrap_or(profiles.last());
        let rows = profiles.rows().filter(|r| r.0 == id).skip(skip).take(take).map(|(_, _, name, duration)| {
            let mut row = vec![Value::Str(name.into(), CollationId::UTF8MB3_GENERAL_CI), duration];
            row.resize(width, Value::Null);
            row
        });
        Ok(table(columns, rows.collect()))
    }
}

/// [`Session::unprofiled`], measured.
#[cold]
pub(crate) fn profiled(
    session: &mut Session,
    text: &[u8],
    consumed: &mut usize,
    reply: &mut dyn Reply,
) -> Result<Done> {
    session.state.profiles.begin();
    let outcome = session.unprofiled(text, consumed, reply);
    let on = session.state.vars[Live::Profiling].as_bool();
    if !on || !session.state.profiles.is_running() {
        session.state.profiles.forget();
        return outcome;
    }
    let text = &text[..(*consumed).min(text.len())];
    let text = text.trim_ascii().strip_suffix(b";").unwrap_or(text.trim_ascii());
    let text = KeptText::of(text, lex_mode(session.settings.exec.sql_mode)).first(TEXT_BYTES);
    let size = session.state.vars[Live::ProfilingHistorySize].as_u64() as usize;
    session.state.profiles.keep(text, now_ns(), size);
    outcome
}

/// Warning 1287, with the text for what nothing replaces.
fn warn_of_profiling(session: &mut Session, what: &str) {
    session.running.diagnostics.warnings.warn(ErrorCode::WarnDeprecatedSyntax, &[&what, &"Performance Schema"]);
}

/// Warning 1287 of a variable that nothing replaces.
pub(crate) fn warn_of_variable(session: &mut Session, name: &str) {
    let message = format!("'@@{name}' is deprecated and will be removed in a future release.");
    session.running.diagnostics.warnings.push(Warning::with_message(
        Level::Warning,
        ErrorCode::WarnDeprecatedSyntax,
        message,
    ));
}

/// Columns by the type of SHOW PROFILE that shows them.
const DETAILS: &[(&str, &[&str])] = &[
    ("CPU", &["CPU_user", "CPU_system"]),
    ("CONTEXT SWITCHES", &["Context_voluntary", "Context_involuntary"]),
    ("BLOCK IO", &["Block_ops_in", "Block_ops_out"]),
    ("IPC", &["Messages_sent", "Messages_received"]),
    ("PAGE FAULTS", &["Page_faults_major", "Page_faults_minor"]),
    ("SWAPS", &["Swaps"]),
    ("SOURCE", &["Source_function", "Source_file", "Source_line"]),
];

fn detail(kind: &str) -> SqlType {
    match kind {
        "CPU" => SqlType { length: 9, scale: 6, ..SqlType::new(TypeId::Decimal) },
        "SOURCE" => SqlType::varchar(30, CollationId::UTF8MB3_GENERAL_CI),
        _ => SqlType::new(TypeId::Int),
    }
}
