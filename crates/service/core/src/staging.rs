//! What sessions show of their long work: the entry of each tells its [`crate::stages::SessionStages`].

use crate::registry::Entry;
use crate::stages::Session;
use gannet_telemetry::{Stage, Staging};

/// Of the session.
fn of(entry: &Entry) -> Session {
    let (statement, account) = (entry.deeds.history.count() + 1, entry.account());
    Session { thread: entry.id, statement, account, watched: entry.watched.get() }
}

impl Staging for Entry {
    fn begin_work(&self) -> bool {
        self.own_stages().begin()
    }

    fn enter(&self, stage: Stage) {
        self.own_stages().enter(stage, &of(self));
    }

    fn done(&self, units: u64) {
        self.own_stages().did(units);
    }

    fn expect_instead(&self, before: u64, now: u64) {
        self.own_stages().expect_instead(before, now);
    }

    fn end_work(&self) {
        self.own_stages().end(&of(self));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consumers::Consumer;
    use crate::registry::Registry;
    use crate::setup::Watched;
    use crate::stages::{SessionStages, Sums};
    use crate::sums::{ALL, Of};
    use gannet_telemetry::LongWork;
    use std::sync::Arc;

    fn entry(registry: &Registry) -> Arc<Entry> {
        let entry = registry.enter_own(gannet_runtime::context(), "u", "h");
        entry.begin(crate::registry::Activity::Query, 1, b"ALTER TABLE t FORCE");
        entry.counters.enter();
        entry
    }

    fn listed(entry: &Entry) -> Vec<(Stage, u64, u64, Option<u64>)> {
        let kept = entry.stages().map_or(Vec::new(), SessionStages::kept);
        kept.iter().map(|e| (e.stage, e.number, e.done, e.estimated)).collect()
    }

    #[test]
    fn stages_follow_one_another_and_all_work_counts() {
        let registry = Registry::default();
        let entry = entry(&registry);
        assert!(entry.stages().is_none());
        [Consumer::StagesCurrent, Consumer::StagesHistory, Consumer::StagesHistoryLong]
            .iter()
            .for_each(|c| registry.consumers.set(*c, true));
        let work = LongWork::begin();
        let stages = entry.stages().unwrap();
        assert_eq!((stages.stage(), stages.current()), (None, None));
        work.expect(10);
        work.enter(Stage::AlterRead);
        work.done(4);
        work.enter(Stage::AlterRead);
        let current = stages.current().unwrap();
        assert_eq!((current.number, current.statement, current.done, current.estimated), (1, 1, 4, Some(10)));
        work.enter(Stage::AlterInsert);
        work.expect_instead(6, 3);
        work.done(8);
        // What was expected was too little.
        assert_eq!(stages.current().map(|e| (e.done, e.estimated, e.ended)), Some((12, Some(12), false)));
        assert_eq!(entry.state(), "alter table (insert)");
        drop(work);
        assert_eq!((stages.stage(), stages.current()), (None, None));
        assert_eq!(listed(&entry), [(Stage::AlterRead, 1, 4, Some(10)), (Stage::AlterInsert, 2, 12, Some(12))]);
        assert_eq!(registry.consumers.stages.long().len(), 2);
        let count = |sums: &Sums| sums.iter().map(|sum| sum.count).sum::<u64>();
        let of = |of: Of| registry.consumers.stages.sums(of).values().map(count).sum::<u64>();
        assert_eq!((ALL.map(of), count(&stages.sums())), ([2; 4], 2));
        registry.forget_stages(Some(Of::User));
        assert_eq!((ALL.map(of), count(&stages.sums())), ([0, 0, 2, 2], 0));
        // Ten are kept, and work begins at nothing.
        for _ in 0..12 {
            let work = LongWork::begin();
            work.enter(Stage::Copy);
            work.done(1);
        }
        let kept = listed(&entry);
        assert_eq!((kept.len(), kept[0], kept[9]), (10, (Stage::Copy, 5, 1, None), (Stage::Copy, 14, 1, None)));
        stages.forget_kept();
        registry.consumers.stages.forget_long();
        assert_eq!((stages.kept().len(), registry.consumers.stages.long().len()), (0, 0));
        entry.counters.leave();
    }

    #[test]
    fn what_is_switched_off_leaves_nothing() {
        let registry = Registry::default();
        let (entry, shared) = (entry(&registry), &registry.consumers.stages);
        let run = |during: &dyn Fn()| {
            let work = LongWork::begin();
            work.enter(Stage::Copy);
            during();
        };
        let sums = || {
            let all = shared.sums(Of::All);
            all.values()
                .fold((0, 0), |(n, ns), s| (n + s[Stage::Copy as usize].count, ns + s[Stage::Copy as usize].total_ns))
        };
        // Without consumers there are sums alone.
        run(&|| assert_eq!(entry.stages().unwrap().current(), None));
        assert_eq!((sums().0, listed(&entry).len()), (1, 0));
        // The histories are made of the current ones.
        registry.consumers.set(Consumer::StagesHistory, true);
        registry.consumers.set(Consumer::StagesHistoryLong, true);
        run(&|| {});
        assert_eq!((listed(&entry).len(), shared.long().len()), (0, 0));
        registry.consumers.set(Consumer::StagesCurrent, true);
        run(&|| entry.stages().unwrap().forget_current());
        assert_eq!((sums().0, listed(&entry).len()), (3, 0));
        entry.watched.set(Watched { instrumented: true, history: false });
        run(&|| assert!(entry.stages().unwrap().current().is_some()));
        assert_eq!((sums().0, listed(&entry).len()), (4, 0));
        entry.watched.set(Watched::ALL);
        shared.switch(Stage::Copy, false, true);
        run(&|| {
            assert_eq!((entry.stages().unwrap().current(), entry.state()), (None, "copy to tmp table"));
        });
        assert_eq!(
            (sums().0, shared.switches(Stage::Copy), shared.switches(Stage::AlterEnd)),
            (4, (false, true), (true, true))
        );
        shared.switch(Stage::Copy, true, false);
        let before = sums();
        run(&|| assert_eq!(entry.stages().unwrap().current().map(|e| e.started_ns), Some(None)));
        assert_eq!((sums(), listed(&entry).len()), ((before.0 + 1, before.1), 1));
        registry.consumers.switch_all(false);
        run(&|| assert_eq!(entry.stages().unwrap().current(), None));
        assert_eq!((sums().0, listed(&entry).len()), (before.0 + 1, 1));
        entry.counters.leave();
    }
}
