//! What performance_schema takes of memory where there is much to see: 10,000 sessions, 100,000 digests. Of tables see
//! `engine/src/uses.rs`; the recent past has bounds of its own (`seen`). Alone in its process, which is measured.

use gannet_core::history::Ended;
use gannet_core::instances::Instance;
use gannet_core::kept::{KeptText, StatementStats};
use gannet_core::registry::{Activity, Entry, Registry, Who};
use gannet_core::transacted::{self, How};
use gannet_core::vars::{GlobalVars, Live, SessionVars, VarValue, defaults};
use gannet_engine::Isolation;
use gannet_parser::LexMode;
use gannet_telemetry::{Counter, DigestKey, DigestTexts, Execution, Rare, WORK, Work, add};
use std::sync::Arc;

const SESSIONS: u64 = 10_000;
const DIGESTS: u128 = 100_000;
const MIB: u64 = 1 << 20;

fn resident() -> u64 {
    gannet_runtime::resident_bytes().unwrap()
}

/// What a session of a program leaves that has run for a while: statements of several kinds, short and long, some with
/// errors; transactions; waits; variables of its own; prepared statements.
fn live(registry: &Registry, entry: &Entry, number: u64, globals: &GlobalVars) {
    let user = format!("user{}", number % 20);
    registry.known_as(entry, Who { user, host: "10.0.0.7:1234".into(), database: Some("app".into()) });
    let mut vars = SessionVars::new(globals);
    for id in [Live::CharacterSetClient, Live::CharacterSetConnection, Live::CharacterSetResults, Live::SqlMode] {
        vars.set(id, VarValue::text("utf8mb4"));
    }
    *entry.variables.lock() = Some(vars);
    entry.counters.enter();
    for c in [Counter::Questions, Counter::ComShowVariables, Counter::ComShowWarnings, Counter::ComChangeDb] {
        add(c, 1);
    }
    gannet_telemetry::waited(gannet_runtime::Wait::LogFlush, 5);
    entry.counters.leave();
    let long = format!("SELECT {} FROM a_table WHERE id = 5", "a_column, ".repeat(60));
    let kinds = [Counter::ComSelect, Counter::ComInsert, Counter::ComUpdate, Counter::ComSetOption];
    for n in 0..20u64 {
        let text = if n % 5 == 4 { &long[..] } else { "SELECT c FROM sbtest1 WHERE id = 123456" };
        entry.begin(Activity::Query, n, text.as_bytes());
        let work = (n % 4 == 3).then_some(Work { counters: [1; WORK.len()], memory: 1 });
        let error = (n == 7).then_some((1062, "Duplicate entry '1' for key 'PRIMARY'"));
        let rare = Rare { error: error.is_some(), work, ..Rare::default() }.if_any();
        let execution = Execution { latency_ns: 1000 + n, rows_sent: 1, rare, ..Execution::default() };
        registry.did(entry, Some(kinds[(n % 4) as usize]), error.map_or(0, |(n, _)| n), &execution);
        let digest = || Some(DigestKey(u128::from(n)));
        let listed = true;
        let (execution, digest) = (&execution, &digest);
        entry.ended(&Ended { execution, digest, started_ns: n, schema: 1, error, listed, owes: None });
        let (committed, read_only, autocommit) = (true, false, true);
        let how = How { committed, read_only, autocommit, isolation: Isolation::default(), savepoints: [0; 3] };
        let ended = transacted::Ended {
            number: n + 1,
            end_number: n + 1,
            started_ns: n,
            latency_ns: 5,
            trx: n,
            how: how.into(),
        };
        registry.transacted(entry, &ended);
    }
    // `max_prepared_stmt_count` allows no two for each.
    let text: Arc<[u8]> = b"SELECT c FROM sbtest1 WHERE id = ?"[..].into();
    entry.deeds.prepared.add(Arc::new(Instance::new((1, None), (text, 1, LexMode::default()), (1, 2))));
    entry.idle(100);
    entry.forget_long_info();
}

#[test]
fn much_to_see_takes_little() {
    let globals = GlobalVars::new(defaults());
    let (registry, context) = (Registry::default(), gannet_runtime::context());
    // What the first one makes for all.
    let (first, _) = registry.enter(context.clone(), "10.0.0.7:1234".into(), "10.0.0.7".into());
    live(&registry, &first, 0, &globals);
    let before = resident();
    for n in 0..SESSIONS {
        let (entry, _) = registry.enter(context.clone(), "10.0.0.7:1234".into(), "10.0.0.7".into());
        live(&registry, &entry, n, &globals);
    }
    let sessions = resident() - before;
    // As many are kept as the server's default says.
    let most = globals.get(Live::PerformanceSchemaDigestsSize).as_u64() as usize;
    let stats = StatementStats::new(most, 1024);
    let before = resident();
    for n in 0..DIGESTS {
        let text = format!("SELECT `a` , `b` , `c` FROM `table_{n}` WHERE `id` = ? AND `other` IN (...) ORDER BY `a`");
        let sample = KeptText::of(text.as_bytes(), LexMode::default());
        let digest = format!("{n:064x}");
        let handle = stats.enter(DigestKey(n + 1), "app", DigestTexts { digest, text, sample });
        handle.record(&Execution { latency_ns: 5, ..Execution::default() });
    }
    let digests = resident() - before;
    assert_eq!((registry.len() as u64, stats.len() as u64), (SESSIONS + 1, most as u64));
    eprintln!("an entry {} bytes", size_of::<Entry>());
    eprintln!("sessions {} MiB, digests {} MiB", sessions / MIB, digests / MIB);
    assert!(sessions < 92 * MIB, "{SESSIONS} sessions take {} MiB", sessions / MIB);
    assert!(digests < 40 * MIB, "{DIGESTS} digests take {} MiB", digests / MIB);
}
