//! What INNODB_METRICS shows, and how `innodb_monitor_enable` and its kin switch it (MySQL's manual, 17.15.6 "InnoDB
//! INFORMATION_SCHEMA Metrics Table").
//!
//! Everything is counted anyway. A metric that is switched off is one whose value is not looked at: what the counter
//! grows by meanwhile is left out. At the start those are on that InnoDB has on, and the server's own. Largest and
//! smallest values are those that were read, as InnoDB's of counters that it shares with SHOW STATUS.

mod list;
mod rows;

use crate::Core;
use crate::vars::{Live, Switch, VarId};
use gannet_base::sync::Mutex;
use gannet_runtime::{Wait, WallTime};
use gannet_types::{Result, sql_err};
use list::{Figures, Kind, Looked, Source};
use std::sync::OnceLock;

struct Metric {
    name: String,
    subsystem: &'static str,
    kind: Kind,
    /// On at the start.
    on: bool,
    source: Source,
    comment: String,
}

impl Metric {
    fn is_value(&self) -> bool {
        matches!(self.source, Source::Value(_))
    }

    /// It only grows: InnoDB keeps no smallest value of such.
    fn grows(&self) -> bool {
        !matches!(self.source, Source::Value(_) | Source::Average(..))
    }

    /// InnoDB counts it for its metrics alone: before the first time there is no largest value.
    fn is_own(&self) -> bool {
        self.grows() && !matches!(self.kind, Kind::StatusCounter)
    }
}

/// The subsystem of a wait's class, `wait/class/what`; nothing for those of tasks that have nothing to do.
fn subsystem_of(class: &str) -> Option<&'static str> {
    Some(match class {
        "idle" => return None,
        "lock" => "lock",
        "log" => "log",
        "buffer" => "buffer",
        "io" => "os",
        "storage" => "purge",
        _ => "server",
    })
}

fn metrics() -> &'static [Metric] {
    static ALL: OnceLock<Vec<Metric>> = OnceLock::new();
    ALL.get_or_init(|| {
        let listed = rows::ROWS.iter().map(|r| Metric {
            name: r.name.to_owned(),
            subsystem: r.subsystem,
            kind: r.kind,
            on: r.on,
            source: r.source,
            comment: r.comment.to_owned(),
        });
        let waits = Wait::ALL.iter().enumerate().filter_map(|(at, wait)| {
            let name = wait.name();
            let subsystem = subsystem_of(name.split('/').nth(1).unwrap_or_default())?;
            let own = format!("gannet_{}", name.replace('/', "_"));
            let times = (format!("{own}_usec"), Source::Waited(at), format!("Microseconds in {name}"));
            let waits = (own, Source::Waits(at), format!("Number of {name}"));
            let metric =
                |(name, source, comment)| Metric { name, subsystem, kind: Kind::Counter, on: true, source, comment };
            Some([waits, times].map(metric))
        });
        listed.chain(waits.flatten()).collect()
    })
}

/// Modules by the names that `innodb_monitor_enable` has for them.
const MODULES: [(&str, &str); 17] = [
    ("module_metadata", "metadata"),
    ("module_lock", "lock"),
    ("module_buffer", "buffer"),
    ("module_buffer_page", "buffer_page_io"),
    ("module_os", "os"),
    ("module_trx", "transaction"),
    ("module_purge", "purge"),
    ("module_log", "log"),
    ("module_index", "index"),
    ("module_innodb", "server"),
    ("module_srv", "server"),
    ("module_dml", "dml"),
    ("module_ddl", "ddl"),
    ("module_icp", "icp"),
    ("module_cpu", "cpu"),
    ("module_dblwr", "dblwr"),
    ("module_file", "file_system"),
];

/// Figures since a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Since {
    pub count: i64,
    /// Of what was read: nothing was.
    pub max: Option<i64>,
    pub min: Option<i64>,
    /// A second; values have none.
    pub average: Option<f64>,
}

/// A row of INNODB_METRICS.
pub struct Read {
    pub name: &'static str,
    pub subsystem: &'static str,
    pub comment: &'static str,
    /// As InnoDB calls it.
    pub kind: &'static str,
    pub is_on: bool,
    pub since_enabled: Since,
    pub since_reset: Since,
    /// Microseconds since 1970.
    pub enabled_us: Option<u64>,
    pub disabled_us: Option<u64>,
    pub reset_us: Option<u64>,
    /// Seconds that it has been on, or was.
    pub elapsed_s: Option<i64>,
}

/// How a metric is switched.
#[derive(Clone, Copy)]
struct State {
    on: bool,
    /// `None`: it never was.
    enabled_us: Option<u64>,
    disabled_us: Option<u64>,
    reset_us: Option<u64>,
    /// The counter when it was switched on.
    base: i64,
    /// What it had before that; of a value what it was when it was switched off.
    kept: i64,
    /// The count at the last reset.
    reset: i64,
    ends: Ends,
    ends_reset: Ends,
}

/// Largest and smallest.
#[derive(Clone, Copy, Default)]
struct Ends(Option<(i64, i64)>);

impl Ends {
    fn look(&mut self, n: i64) {
        let (max, min) = self.0.unwrap_or((n, n));
        self.0 = Some((max.max(n), min.min(n)));
    }

    fn since(self, metric: &Metric, count: i64, average: Option<f64>) -> Since {
        let ends = self.0.filter(|(max, _)| *max != 0 || !metric.is_own());
        let min = ends.filter(|_| !metric.grows()).map(|(_, min)| min);
        Since { count, max: ends.map(|(max, _)| max), min, average }
    }
}

impl State {
    /// On since then, or never.
    fn new(enabled_us: Option<u64>) -> State {
        State {
            on: enabled_us.is_some(),
            enabled_us,
            disabled_us: None,
            reset_us: None,
            base: 0,
            kept: 0,
            reset: 0,
            ends: Ends::default(),
            ends_reset: Ends::default(),
        }
    }

    /// The count, where the source stands at `now`.
    fn count(&self, is_value: bool, now: i64) -> i64 {
        match (self.on, is_value) {
            (true, true) => now,
            (true, false) => self.kept + (now - self.base),
            (false, _) => self.kept,
        }
    }

    fn switch(&mut self, to: Switch, is_value: bool, (now, now_us): (i64, u64)) {
        let count = self.count(is_value, now);
        match to {
            Switch::Enable if !self.on => {
                (self.on, self.enabled_us, self.disabled_us, self.base) = (true, Some(now_us), None, now);
            }
            Switch::Disable if self.on => {
                (self.on, self.disabled_us, self.kept) = (false, Some(now_us), count);
            }
            Switch::Reset => {
                (self.reset, self.reset_us, self.ends_reset) = (count, Some(now_us), Ends::default());
            }
            // As InnoDB: only of what is off.
            Switch::ResetAll if !self.on => {
                *self = State { on: false, disabled_us: self.disabled_us, ..State::new(self.enabled_us) };
            }
            _ => {}
        }
    }

    fn read(&mut self, metric: &'static Metric, now: i64, now_us: u64) -> Read {
        let is_value = metric.is_value();
        let count = self.count(is_value, now);
        let reset = if is_value { count } else { count - self.reset };
        if self.on {
            self.ends.look(count);
            self.ends_reset.look(reset);
        }
        let until = self.disabled_us.unwrap_or(now_us);
        let seconds = |from: u64| (until.saturating_sub(from) / 1_000_000) as i64;
        let average = |n: i64, from: Option<u64>| match seconds(from?) {
            _ if is_value => None,
            0 => None,
            s => Some(n as f64 / s as f64),
        };
        Read {
            name: &metric.name,
            subsystem: metric.subsystem,
            comment: &metric.comment,
            kind: metric.kind.name(),
            is_on: self.on,
            since_enabled: self.ends.since(metric, count, average(count, self.enabled_us)),
            since_reset: self.ends_reset.since(metric, reset, average(reset, self.reset_us)),
            enabled_us: self.enabled_us,
            disabled_us: self.disabled_us,
            reset_us: self.reset_us,
            elapsed_s: self.enabled_us.map(seconds),
        }
    }
}

/// `%` stands for any text, `_` for a character, letters for themselves in any case.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    // Where the pattern goes on behind its last `%`, and the name there: later places of that `%` are tried from it.
    let (mut at, mut pos, mut again) = (0, 0, None);
    while pos < name.len() {
        match pattern.get(at) {
            Some(b'%') => {
                at += 1;
                again = Some((at, pos));
            }
            Some(p) if *p == b'_' || p.eq_ignore_ascii_case(&name[pos]) => (at, pos) = (at + 1, pos + 1),
            _ => {
                let Some((behind, from)) = again else { return false };
                (at, pos, again) = (behind, from + 1, Some((behind, from + 1)));
            }
        }
    }
    pattern[at..].iter().all(|p| *p == b'%')
}

/// What a value of the variables names.
fn names(pattern: &str, metric: &Metric) -> bool {
    let is = |name: &str| pattern.eq_ignore_ascii_case(name);
    is("all")
        || is(&metric.name)
        || MODULES.iter().any(|(module, subsystem)| is(module) && *subsystem == metric.subsystem)
        || pattern.contains('%') && matches(pattern.as_bytes(), metric.name.as_bytes())
}

/// How all metrics are switched.
pub struct Monitors(Mutex<Vec<State>>, Looked);

impl Monitors {
    /// Those that are on at the start are since then, microseconds since 1970.
    pub(crate) fn new(started_us: u64) -> Monitors {
        let states = metrics().iter().map(|m| State::new(m.on.then_some(started_us))).collect();
        Monitors(Mutex::new(states), Looked::default())
    }

    /// Switches what a name, a module or a pattern says.
    ///
    /// # Errors
    /// 1231 if that is nothing.
    pub(crate) fn switch(&self, core: &Core, (variable, to): (&str, Switch), pattern: &str) -> Result<()> {
        let found = metrics().iter().any(|m| names(pattern, m));
        // Names are short.
        const MOST: usize = 193;
        if pattern.len() > MOST || !found {
            return if pattern.is_empty() { Ok(()) } else { Err(sql_err!(WrongValueForVar, variable, pattern)) };
        }
        let (figures, now_us) = (Figures::of(core, &self.1), WallTime::now().micros());
        let mut states = self.0.lock();
        for (metric, state) in metrics().iter().zip(states.iter_mut()).filter(|(m, _)| names(pattern, m)) {
            state.switch(to, metric.is_value(), (figures.read(metric.source), now_us));
        }
        Ok(())
    }

    /// Does what the server's options say.
    pub(crate) fn start(&self, core: &Core) {
        let variables = [
            (Live::InnodbMonitorDisable, Switch::Disable),
            (Live::InnodbMonitorEnable, Switch::Enable),
            (Live::InnodbMonitorReset, Switch::Reset),
            (Live::InnodbMonitorResetAll, Switch::ResetAll),
        ];
        for (id, to) in variables {
            let name = VarId::from(id).def().name;
            if let Err(e) = self.switch(core, (name, to), core.globals.get(id).as_str()) {
                core.log.warning(e);
            }
        }
    }

    /// The rows of INNODB_METRICS.
    pub fn read(&self, core: &Core) -> Vec<Read> {
        let (figures, now_us) = (Figures::of(core, &self.1), WallTime::now().micros());
        let mut states = self.0.lock();
        let both = metrics().iter().zip(states.iter_mut());
        both.map(|(m, state)| state.read(m, figures.read(m.source), now_us)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_once_and_have_modules() {
        let mut all: Vec<&str> = metrics().iter().map(|m| &*m.name).collect();
        let own = all.iter().filter(|name| name.starts_with("gannet_")).count();
        assert!(all.len() - own >= 217, "{} names of InnoDB", all.len() - own);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), metrics().len());
        let of = |pattern: &str| metrics().iter().filter(|m| names(pattern, m)).count();
        assert_eq!((of("dml_reads"), of("DML_%"), of("module_dml"), of("dml_read")), (1, 8, 8, 0));
        assert_eq!((of("all"), of("%"), of("")), (metrics().len(), metrics().len(), 0));
        assert_eq!((of("dml_rea_s"), of("dml%rea_s"), of("%nserts")), (0, 2, 2));
    }

    /// `docs/metrics.md` names each of MySQL's metrics that is not here, with its reason: none is forgotten when one is
    /// added or taken away.
    #[test]
    fn mysqls_are_here_or_explained() {
        const MYSQLS: usize = 311;
        let page = include_str!("../../../../../docs/metrics.md");
        let mut absent = std::collections::BTreeSet::new();
        for row in page.lines().filter(|line| line.starts_with("| ")) {
            let named: Vec<&str> = row.split('|').nth(2).unwrap().split('`').skip(1).step_by(2).collect();
            for name in named.iter().filter(|name| !name.ends_with('_')) {
                assert!(absent.insert(name.to_string()), "{name} stands there twice");
                // "The same with" another beginning.
                if let Some(other) = named.iter().find(|name| name.ends_with('_')) {
                    let (_, kind) = name.split_once("_read_").unwrap();
                    absent.insert(format!("{other}{kind}"));
                }
            }
        }
        let here = metrics().iter().filter(|m| !m.name.starts_with("gannet_"));
        let both: Vec<&str> = here.clone().map(|m| &*m.name).filter(|name| absent.contains(*name)).collect();
        assert!(both.is_empty(), "here, and said not to be: {both:?}");
        assert_eq!(here.count() + absent.len(), MYSQLS);
        assert!(page.contains(&format!("Of MySQL's {MYSQLS} metrics {} are there", MYSQLS - absent.len())));
    }

    #[test]
    fn what_is_off_stands_still() {
        let metric = metrics().iter().find(|m| m.name == "dml_reads").unwrap();
        let mut s = State::new(Some(1_000_000));
        let figures = |r: Read| (r.since_enabled.count, r.since_reset.count, r.is_on);
        assert_eq!(figures(s.read(metric, 10, 6_000_000)), (10, 10, true));
        s.switch(Switch::Reset, false, (15, 7_000_000));
        assert_eq!(figures(s.read(metric, 18, 8_000_000)), (18, 3, true));
        // What is on keeps its figures.
        s.switch(Switch::ResetAll, false, (18, 8_000_000));
        s.switch(Switch::Disable, false, (20, 9_000_000));
        assert_eq!(figures(s.read(metric, 100, 10_000_000)), (20, 5, false));
        s.switch(Switch::Enable, false, (100, 11_000_000));
        let r = s.read(metric, 103, 13_000_000);
        assert_eq!((r.since_enabled.max, r.since_enabled.min), (Some(23), None));
        assert_eq!((r.since_enabled.average, r.elapsed_s), (Some(11.5), Some(2)));
        assert_eq!((figures(r), s.disabled_us), ((23, 8, true), None));
        s.switch(Switch::Disable, false, (103, 13_000_000));
        s.switch(Switch::ResetAll, false, (103, 13_000_000));
        let r = s.read(metric, 200, 14_000_000);
        assert_eq!((r.since_enabled.max, r.reset_us, figures(r)), (None, None, (0, 0, false)));
        // What InnoDB counts for its metrics alone has no largest value before it counts, and none has a mean since a
        // reset that never was.
        let own = metrics().iter().find(|m| m.name == "trx_rollbacks").unwrap();
        let mut s = State::new(Some(0));
        let r = s.read(own, 0, 2_000_000);
        assert_eq!((r.since_enabled.max, r.since_enabled.min, r.since_enabled.average), (None, None, Some(0.0)));
        let r = s.read(own, 4, 2_000_000);
        assert_eq!((r.since_enabled.max, r.since_reset.average, r.since_enabled.average), (Some(4), None, Some(2.0)));
        // A value is what it is.
        let value = metrics().iter().find(|m| m.name == "innodb_page_size").unwrap();
        let mut s = State::new(Some(0));
        s.switch(Switch::Reset, true, (5, 1));
        assert_eq!(figures(s.read(value, 7, 2)), (7, 7, true));
        s.switch(Switch::Disable, true, (8, 3));
        assert_eq!(figures(s.read(value, 9, 4)), (8, 8, false));
    }
}
