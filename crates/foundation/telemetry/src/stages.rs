//! Long work of statements: at which stage it is, and how much of it is done.
//!
//! Whoever does long work says so by a [`LongWork`]; the session whose statement it is shows it, by a [`Staging`]. Work
//! is told of in large pieces, by whichever task does it: what is written is shared. A statement without long work says
//! nothing, and costs nothing.

use std::sync::Arc;

/// Stages: `Name: "as performance_schema calls it"`. Those called as MySQL's do what is done there under that name.
macro_rules! stages {
    ($($(#[$doc:meta])* $stage:ident: $name:literal,)*) => {
        /// A stage of a statement's long work.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Stage {
            $($(#[$doc])* $stage,)*
        }

        impl Stage {
            /// Every stage.
            pub const ALL: &'static [Stage] = &[$(Stage::$stage),*];
            /// How many there are.
            pub const COUNT: usize = Stage::ALL.len();

            /// As performance_schema calls it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Stage::$stage => $name,)*
                }
            }
        }
    };
}

stages! {
    /// ALTER TABLE that keeps its rows, or makes them anew as InnoDB does in place: rows are read and sorted.
    AlterRead: "stage/innodb/alter table (read PK and internal sort)",
    /// Sorted runs in files are merged, so that the rest can be merged at once.
    AlterMerge: "stage/innodb/alter table (merge sort)",
    /// Trees are made of sorted entries.
    AlterInsert: "stage/innodb/alter table (insert)",
    /// New indexes follow the rows that others have changed meanwhile.
    AlterFollow: "stage/innodb/alter table (log apply index)",
    /// The rest.
    AlterEnd: "stage/innodb/alter table (end)",
    /// ALTER TABLE that copies the rows.
    Copy: "stage/sql/copy to tmp table",
    /// Rows of a statement that fills an empty table come, and are sorted.
    LoadRead: "stage/gannet/load (read and sort)",
    /// Its trees are made of them.
    LoadInsert: "stage/gannet/load (insert)",
    /// CHECK TABLE reads trees.
    Check: "stage/gannet/check table",
}

impl Stage {
    /// As lists of sessions show it: the name's last part.
    pub fn state(self) -> &'static str {
        self.name().rsplit('/').next().unwrap_or_default()
    }
}

/// Where a session's long work is shown.
pub trait Staging: Send + Sync {
    /// A statement of the session begins long work. False: it is in the midst of some.
    fn begin_work(&self) -> bool;
    /// The work is at this stage from now on.
    fn enter(&self, stage: Stage);
    /// So much of it is done.
    fn done(&self, units: u64);
    /// Where `before` was to be done, `now` is. The task's own matter: no other one says so at the same time.
    fn expect_instead(&self, before: u64, now: u64);
    /// It has ended, in whichever way.
    fn end_work(&self);
}

/// Long work of a statement; ends when it is dropped. Its tasks may all tell of it.
#[derive(Default)]
pub struct LongWork(Option<Arc<dyn Staging>>);

impl LongWork {
    /// The session that runs on this thread, if there is one, begins it. Work inside other work is a part of that, and
    /// not told of.
    pub fn begin() -> LongWork {
        LongWork(crate::session::staging().filter(|staging| staging.begin_work()))
    }

    /// It is at this stage from now on, and stays if it is.
    pub fn enter(&self, stage: Stage) {
        if let Some(staging) = &self.0 {
            staging.enter(stage);
        }
    }

    /// So many units of it are done.
    pub fn done(&self, units: u64) {
        if let Some(staging) = &self.0 {
            staging.done(units);
        }
    }

    /// So many more are to be done.
    pub fn expect(&self, units: u64) {
        self.expect_instead(0, units);
    }

    /// So many are to be done in place of those that were expected.
    pub fn expect_instead(&self, before: u64, now: u64) {
        if let Some(staging) = &self.0 {
            staging.expect_instead(before, now);
        }
    }
}

impl Drop for LongWork {
    fn drop(&mut self) {
        if let Some(staging) = &self.0 {
            staging.end_work();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SessionCounters;
    use gannet_base::sync::Mutex;

    #[derive(Default)]
    struct Told {
        working: Mutex<bool>,
        lines: Mutex<Vec<String>>,
    }

    impl Told {
        fn say(&self, line: String) {
            self.lines.lock().push(line);
        }
    }

    impl Staging for Told {
        fn begin_work(&self) -> bool {
            !std::mem::replace(&mut *self.working.lock(), true)
        }

        fn enter(&self, stage: Stage) {
            self.say(stage.state().into());
        }

        fn done(&self, units: u64) {
            self.say(format!("{units} done"));
        }

        fn expect_instead(&self, before: u64, now: u64) {
            self.say(format!("{now} for {before}"));
        }

        fn end_work(&self) {
            *self.working.lock() = false;
            self.say("ended".into());
        }
    }

    #[test]
    fn the_session_that_runs_is_told_and_work_inside_work_says_nothing() {
        let told = Arc::new(Told::default());
        let staging: Arc<dyn Staging> = told.clone();
        // No session runs.
        LongWork::begin().done(1);
        let session = SessionCounters::new();
        session.stages_go_to(Arc::downgrade(&staging));
        session.enter();
        let work = LongWork::begin();
        work.expect(10);
        work.enter(Stage::Copy);
        let inner = LongWork::begin();
        inner.done(5);
        drop(inner);
        work.done(3);
        work.expect_instead(10, 7);
        drop(work);
        session.leave();
        LongWork::begin().done(2);
        assert_eq!(*told.lines.lock(), ["10 for 0", "copy to tmp table", "3 done", "7 for 10", "ended"]);
        // Another session that has the block tells nobody.
        drop(session);
        let other = SessionCounters::new();
        other.enter();
        LongWork::begin().done(4);
        assert_eq!(told.lines.lock().len(), 5);
    }

    #[test]
    fn names_are_different_and_have_three_parts() {
        let mut names: Vec<_> = Stage::ALL.iter().map(|s| s.name()).collect();
        assert!(names.iter().all(|n| n.starts_with("stage/") && n.split('/').count() == 3));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Stage::COUNT);
        assert_eq!(Stage::AlterInsert.state(), "alter table (insert)");
    }
}
