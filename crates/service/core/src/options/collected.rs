//! `--performance-schema-consumer-NAME` and `--performance-schema-instrument='NAME=VALUE'`: what is collected from the
//! start on, as the tables `setup_consumers` and `setup_instruments` switch it later (MySQL manual, "Performance Schema
//! Startup Configuration").

use crate::consumers::Consumer;
use crate::ledger::Kind;
use crate::registry::Registry;
use gannet_telemetry::Stage;

const CONSUMER: &str = "performance-schema-consumer-";
const INSTRUMENT: &str = "performance-schema-instrument";

/// Consumers of MySQL's that are always as they are here.
const FIXED: [(&str, bool); 5] = [
    ("global_instrumentation", true),
    ("thread_instrumentation", true),
    ("statements_digest", true),
    ("events_waits_history", false),
    ("events_waits_history_long", false),
];

/// Consumers and instruments, in the order in which they were given.
#[derive(Debug, Clone, Default)]
pub(crate) struct Collected {
    consumers: Vec<(Consumer, bool)>,
    instruments: Vec<Switched>,
}

/// Instruments whose names are like a pattern.
#[derive(Debug, Clone)]
struct Switched {
    pattern: String,
    enabled: bool,
    timed: bool,
}

/// What there is that can be switched.
enum Instrument {
    Stage(Stage),
    /// `None`: transactions.
    Statement(Option<Kind>),
}

/// What became of an option.
pub(super) enum Taken {
    Whole,
    /// It says something that is not done, which is said.
    Partly(String),
}

impl Collected {
    /// Takes an option that is about it; `None`: it is about something else. An error says why it is refused.
    pub(super) fn take(&mut self, name: &str, value: Option<&str>) -> Option<Result<Taken, String>> {
        if name == INSTRUMENT {
            return Some(self.instrument(value.unwrap_or_default()));
        }
        let prefixes = [("", value), ("enable-", Some("1")), ("skip-", Some("0")), ("disable-", Some("0"))];
        let named = |(prefix, value)| Some((name.strip_prefix(prefix)?.strip_prefix(CONSUMER)?, value));
        let (consumer, value): (&str, Option<&str>) = prefixes.into_iter().find_map(named)?;
        let name = consumer.replace('-', "_");
        let fixed = FIXED.iter().find(|(known, _)| *known == name);
        let Some(on) = value.map_or(Some(true), switch) else {
            return Some(Err(format!("option --{CONSUMER}{consumer}: '{}' is no switch", value.unwrap_or_default())));
        };
        match (Consumer::by_name(&name), fixed) {
            (Some(consumer), _) => self.consumers.push((consumer, on)),
            (None, Some((_, is))) if *is == on => {}
            (None, Some(_)) => {
                let why = "not supported yet; only the default is there";
                return Some(Err(format!("option --{CONSUMER}{consumer}={}: {why}", if on { "ON" } else { "OFF" })));
            }
            (None, None) => return None,
        }
        Some(Ok(Taken::Whole))
    }

    fn instrument(&mut self, given: &str) -> Result<Taken, String> {
        let refused = || format!("option --{INSTRUMENT}: '{given}' is not NAME=ON, OFF or COUNTED");
        let (pattern, value) = given.split_once('=').ok_or_else(refused)?;
        let (pattern, value) = (pattern.trim(), value.trim());
        let counted = value.eq_ignore_ascii_case("COUNTED");
        let enabled = if counted { Some(true) } else { switch(value) }.ok_or_else(refused)?;
        let switched = Switched { pattern: pattern.to_owned(), enabled, timed: enabled && !counted };
        let found: Vec<Instrument> = switched.instruments().collect();
        let untimed = counted && found.iter().any(|i| matches!(i, Instrument::Statement(_)));
        // Waits are always on, what else there is in MySQL is not there.
        let nothing = found.is_empty() && !(enabled && !counted && pattern.starts_with("wait/"));
        self.instruments.push(switched);
        Ok(match nothing || untimed {
            true => Taken::Partly(format!("{INSTRUMENT}={given}")),
            false => Taken::Whole,
        })
    }

    /// Sessions and what is collected of them, from the start on.
    pub(crate) fn registry(&self) -> Registry {
        let registry = Registry::default();
        self.consumers.iter().for_each(|(consumer, on)| registry.consumers.set(*consumer, *on));
        for switched in &self.instruments {
            switched.instruments().for_each(|instrument| match instrument {
                Instrument::Stage(stage) => registry.consumers.stages.switch(stage, switched.enabled, switched.timed),
                Instrument::Statement(kind) => registry.setup.switch(kind, switched.enabled),
            });
        }
        registry
    }
}

impl Switched {
    fn instruments(&self) -> impl Iterator<Item = Instrument> {
        let stages = Stage::ALL.iter().map(|stage| (stage.name().to_owned(), Instrument::Stage(*stage)));
        let statements = Kind::all().map(|kind| (kind.name(), Instrument::Statement(Some(kind))));
        let transactions = std::iter::once(("transaction".to_owned(), Instrument::Statement(None)));
        let all = stages.chain(statements).chain(transactions);
        all.filter(|(name, _)| is_like(name, &self.pattern)).map(|(_, instrument)| instrument)
    }
}

fn switch(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "1" | "on" | "true" => Some(true),
        "0" | "off" | "false" => Some(false),
        _ => None,
    }
}

/// `%` in the pattern stands for anything.
fn is_like(name: &str, pattern: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('%') else { return name == pattern };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('%').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percent_sign_stands_for_anything() {
        for (pattern, like) in [
            ("stage/sql/copy to tmp table", true),
            ("stage/sql", false),
            ("stage/%", true),
            ("%", true),
            ("%table", true),
            ("stage/%/copy%table", true),
            ("stage/%/copy%tables", false),
            ("%copy%copy%", false),
            ("wait/%", false),
            ("", false),
        ] {
            assert_eq!(is_like("stage/sql/copy to tmp table", pattern), like, "{pattern}");
        }
    }

    #[test]
    fn the_last_one_holds() {
        let mut collected = Collected::default();
        let mut take = |name: &str, value| match collected.take(name, value) {
            Some(Ok(Taken::Whole)) => "taken".to_owned(),
            Some(Ok(Taken::Partly(what))) => what,
            Some(Err(why)) => why,
            None => "unknown".into(),
        };
        for (name, value, outcome) in [
            ("performance-schema-consumer-events-stages-current", None, "taken"),
            ("performance-schema-consumer-events-stages-history", Some("ON"), "taken"),
            ("skip-performance-schema-consumer-events-statements-history", None, "taken"),
            ("performance-schema-consumer-statements-digest", Some("1"), "taken"),
            ("performance-schema-consumer-nothing", None, "unknown"),
            ("performance-schema", Some("ON"), "unknown"),
            ("performance-schema-instrument", Some("stage/%=OFF"), "taken"),
            ("performance-schema-instrument", Some("stage/sql/% = COUNTED"), "taken"),
            ("performance-schema-instrument", Some("statement/sql/select=off"), "taken"),
            ("performance-schema-instrument", Some("wait/synch/%=ON"), "taken"),
            ("performance-schema-instrument", Some("memory/%=ON"), "performance-schema-instrument=memory/%=ON"),
            ("performance-schema-instrument", Some("wait/%=OFF"), "performance-schema-instrument=wait/%=OFF"),
        ] {
            assert_eq!(take(name, value), outcome, "{name}");
        }
        for (name, value) in [
            ("performance-schema-consumer-statements-digest", Some("OFF")),
            ("performance-schema-consumer-events-waits-history", None),
            ("performance-schema-consumer-events-stages-current", Some("perhaps")),
            ("performance-schema-instrument", Some("stage/%")),
            ("performance-schema-instrument", Some("stage/%=maybe")),
            ("performance-schema-instrument", None),
        ] {
            assert!(take(name, value).starts_with("option --performance-schema-"), "{name}");
        }
        let registry = collected.registry();
        let on = |consumer| registry.consumers.is_on(consumer);
        assert!(on(Consumer::StagesCurrent) && on(Consumer::StagesHistory) && !on(Consumer::StagesHistoryLong));
        assert!(on(Consumer::StatementsCurrent) && !on(Consumer::StatementsHistory));
        let stages = &registry.consumers.stages;
        assert_eq!((stages.switches(Stage::Copy), stages.switches(Stage::AlterEnd)), ((true, false), (false, false)));
        let off = Kind::all().filter(|kind| !registry.setup.is_on(*kind)).map(Kind::name).collect::<Vec<_>>();
        assert_eq!(off, ["statement/sql/select"]);
    }
}
