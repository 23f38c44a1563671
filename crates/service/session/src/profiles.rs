//! Stages of the last statements, kept for SHOW PROFILES.

use gannet_core::kept::KeptText;
use gannet_runtime::now_ns;
use gannet_types::Value;
use gannet_types::decimal::Decimal;
use std::collections::VecDeque;

/// What a session keeps; nothing before `profiling` is on for the first time.
#[derive(Default)]
pub(crate) struct Profiles(Option<Box<Stages>>);

#[derive(Default)]
struct Stages {
    /// Statements so far.
    last: u64,
    kept: VecDeque<Profile>,
    /// Stages of the statement that runs, and when each began, nanoseconds; empty while none is measured.
    running: Vec<(&'static str, u64)>,
}

pub(super) struct Profile {
    pub(super) id: u64,
    pub(super) text: KeptText,
    /// Stages and how long each took, nanoseconds.
    pub(super) stages: Vec<(&'static str, u64)>,
}

impl Profiles {
    /// A statement begins that is measured.
    pub(super) fn begin(&mut self) {
        self.0.get_or_insert_default().running = vec![("starting", now_ns())];
    }

    /// The statement that runs begins a stage.
    #[inline]
    pub(crate) fn stage(&mut self, name: &'static str) {
        if let Some(stages) = &mut self.0
            && !stages.running.is_empty()
        {
            stages.running.push((name, now_ns()));
        }
    }

    /// The statement that runs is measured.
    pub(super) fn is_running(&self) -> bool {
        self.0.as_ref().is_some_and(|s| !s.running.is_empty())
    }

    /// The statement that runs is not kept.
    pub(super) fn forget(&mut self) {
        if let Some(stages) = &mut self.0 {
            stages.running.clear();
        }
    }

    pub(super) fn keep(&mut self, text: KeptText, ended: u64, size: usize) {
        let Some(s) = &mut self.0 else { return };
        let begun = std::mem::take(&mut s.running);
        let ends = begun.iter().skip(1).map(|(_, at)| *at).chain([ended]);
        let stages = begun.iter().zip(ends).map(|((name, at), end)| (*name, end.saturating_sub(*at))).collect();
        s.last += 1;
        s.kept.push_back(Profile { id: s.last, text, stages });
        while s.kept.len() > size {
            s.kept.pop_front();
        }
    }

    /// The number of the last statement that was kept; 0: none was.
    pub(super) fn last(&self) -> u64 {
        self.0.as_ref().map_or(0, |s| s.last)
    }

    /// Those that are kept, the oldest first.
    pub(super) fn kept(&self) -> impl Iterator<Item = &Profile> {
        self.0.iter().flat_map(|s| &s.kept)
    }

    /// Query, sequence, stage and seconds of each stage that is kept.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (u64, u64, &'static str, Value)> {
        let of = |p: &Profile| {
            let id = p.id;
            let row = move |(n, (name, ns)): (usize, &(&'static str, u64))| (id, n as u64 + 2, *name, seconds(*ns, 6));
            p.stages.iter().enumerate().map(row).collect::<Vec<_>>()
        };
        self.kept().flat_map(of)
    }
}

/// Nanoseconds as seconds with `scale` digits, at most 9.
pub(super) fn seconds(ns: u64, scale: u8) -> Value {
    let units = i128::from(ns) / 10_i128.pow(9 - u32::from(scale));
    Value::Decimal(Decimal::from_i128(units, scale))
}
