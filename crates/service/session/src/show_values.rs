//! SHOW STATUS and SHOW VARIABLES without a WHERE. Monitors ask for them all day: each name and value goes to the reply
//! as it is read, and no query is run over a table of them.

use super::Session;
use super::reply::{Done, Reply};
use super::state::State;
use super::variables;
use gannet_core::status;
use gannet_exec::{RowSource, Rows};
use gannet_parser::ast::{Show, ShowFilter, ShowKind, VarScope};
use gannet_plan::plan::ResultColumn;
use gannet_telemetry::{Counter, add};
use gannet_types::collation::LikePattern;
use gannet_types::{CollationId, Result, TimeZone, ValueRef};
use std::sync::OnceLock;

const TEXT: CollationId = CollationId::UTF8MB3_GENERAL_CI;

/// Whether a name is wanted.
pub(crate) enum Names {
    All,
    /// LIKE, and what a name has to begin with for that, in any case.
    Like(Box<str>, Box<LikePattern>),
}

impl Names {
    fn of(pattern: Option<&[u8]>) -> Names {
        let Some(pattern) = pattern else { return Names::All };
        let plain = |b: &u8| b.is_ascii_alphanumeric();
        let prefix = pattern.iter().take_while(|b| plain(b)).map(|b| char::from(*b)).collect::<String>();
        Names::Like(prefix.into(), Box::new(LikePattern::new(pattern, Some('\\'), TEXT)))
    }

    pub(crate) fn wants(&self, name: &str) -> bool {
        match self {
            Names::All => true,
            Names::Like(prefix, pattern) => {
                let begins = name.as_bytes().get(..prefix.len());
                begins.is_some_and(|b| b.eq_ignore_ascii_case(prefix.as_bytes())) && pattern.matches(name.as_bytes())
            }
        }
    }
}

struct Delivery<'a> {
    reply: &'a mut dyn Reply,
    zone: &'a TimeZone,
    sent: u64,
}

impl Delivery<'_> {
    fn send(&mut self, name: &str, value: &str) -> Result<()> {
        self.sent += 1;
        let row = [ValueRef::Str(name.as_bytes(), TEXT), ValueRef::Str(value.as_bytes(), TEXT)];
        self.reply.rows(Rows { source: RowSource::One(&row), zone: self.zone }, 1)
    }
}

/// Answers the statement if it is one of these. `columns`: of the query that answers where there is a WHERE.
pub(super) fn show(
    session: &mut Session,
    show: &Show,
    columns: impl FnOnce(&mut Session, &str, VarScope) -> Result<Vec<ResultColumn>>,
    reply: &mut dyn Reply,
) -> Option<Result<Done>> {
    let (is_status, scope) = match &show.kind {
        ShowKind::Status(scope) => (true, *scope),
        ShowKind::Variables(scope) => (false, *scope),
        _ => return None,
    };
    let like = match &show.filter {
        None => None,
        Some(ShowFilter::Like(pattern)) => Some(&**pattern),
        Some(ShowFilter::Where(_)) => return None,
    };
    static COLUMNS: [OnceLock<Vec<ResultColumn>>; 8] = [const { OnceLock::new() }; 8];
    let global = scope == VarScope::Global;
    let made = &COLUMNS[usize::from(is_status) << 2 | usize::from(global) << 1 | usize::from(like.is_some())];
    let made = match made.get() {
        Some(made) => made,
        None => match columns(session, if is_status { "status" } else { "variables" }, scope) {
            Ok(columns) => made.get_or_init(|| columns),
            Err(e) => return Some(Err(e)),
        },
    };
    Some(answer(session, (is_status, global), &Names::of(like), made, reply))
}

fn answer(
    session: &mut Session,
    (is_status, global): (bool, bool),
    names: &Names,
    columns: &[ResultColumn],
    reply: &mut dyn Reply,
) -> Result<Done> {
    add(if is_status { Counter::ComShowStatus } else { Counter::ComShowVariables }, 1);
    // The session's counters do not tell of the statement that shows them.
    let aside = is_status.then(gannet_telemetry::put_aside);
    let sent = deliver(session, (is_status, global), names, columns, reply);
    if let Ok(sent) = sent {
        // As the query over their table counts.
        add(Counter::HandlerReadRndNext, sent + 1);
        add(Counter::CreatedTmpTables, 1);
        add(Counter::SelectScan, 1);
    }
    aside.into_iter().for_each(gannet_telemetry::take_up);
    let sent = sent?;
    let figures = &mut session.running.figures;
    (figures.sent, figures.examined, figures.works) = (sent, sent, true);
    Ok(Done::ROWS)
}

fn deliver(
    session: &mut Session,
    (is_status, global): (bool, bool),
    names: &Names,
    columns: &[ResultColumn],
    reply: &mut dyn Reply,
) -> Result<u64> {
    reply.begin(columns, session.manner(), None)?;
    let state = &session.state;
    let zone = &session.settings.exec.time_zone;
    let mut to = Delivery { reply, zone, sent: 0 };
    if is_status {
        statuses(state, global, names, &mut to)?;
    } else {
        variables::each(state, global, |name| names.wants(name), |name, value| to.send(name, value))?;
    }
    Ok(to.sent)
}

fn statuses(state: &State, global: bool, names: &Names, to: &mut Delivery<'_>) -> Result<()> {
    let entry = (!global).then_some(&*state.entry);
    let own = entry.map(|e| &e.counters);
    status::each(&state.server, own, entry, |name| names.wants(name), &mut |name, value| match name {
        "Last_query_cost" if !global => to.send(name, &format!("{:.6}", state.last_query_cost)),
        _ => to.send(name, value),
    })
}
