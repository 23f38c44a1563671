//! Stages of the last statements, kept for SHOW PROFILES.

use gannet_core::kept::KeptText;
use gannet_runtime::now_ns;
use gannet_types::Value;
use gannet_types::decimal::Decimal;
use std::collections::VecDeque;

/// What a session keeps.
#[derive(Default)]
pub(crate) struct Profiles {
    /// Statements so far.
    pub(super) last: u64,
    pub(super) kept: VecDeque<Profile>,
    /// Stages of the statement that runs, and when each began, nanoseconds; empty while none is measured.
    pub(super) running: Vec<(&'static str, u64)>,
}

pub(super) struct Profile {
    pub(super) id: u64,
    pub(super) text: KeptText,
    /// Stages and how long each took, nanoseconds.
    pub(super) stages: Vec<(&'static str, u64)>,
}

impl Profiles {
    /// The statement that runs begins a stage.
    pub(crate) fn stage(&mut self, name: &'static str) {
        if !self.running.is_empty() {
            self.running.push((name, now_ns()));
        }
    }

    /// The statement that runs is not kept.
    pub(super) fn forget(&mut self) {
        self.running.clear();
    }

    pub(super) fn keep(&mut self, text: KeptText, ended: u64, size: usize) {
        let begun = std::mem::take(&mut self.running);
        let ends = begun.iter().skip(1).map(|(_, at)| *at).chain([ended]);
        let stages = begun.iter().zip(ends).map(|((name, at), end)| (*name, end.saturating_sub(*at))).collect();
        self.last += 1;
        self.kept.push_back(Profile { id: self.last, text, stages });
        while self.kept.len() > size {
            self.kept.pop_front();
        }
    }

    /// Query, sequence, stage and seconds of each stage that is kept.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (u64, u64, &'static str, Value)> {
        let of = |p: &Profile| {
            let id = p.id;
            let row = move |(n, (name, ns)): (usize, &(&'static str, u64))| (id, n as u64 + 2, *name, seconds(*ns, 6));
            p.stages.iter().enumerate().map(row).collect::<Vec<_>>()
        };
        self.kept.iter().flat_map(of)
    }
}

/// Nanoseconds as seconds with `scale` digits, at most 9.
pub(super) fn seconds(ns: u64, scale: u8) -> Value {
    let units = i128::from(ns) / 10_i128.pow(9 - u32::from(scale));
    Value::Decimal(Decimal::from_i128(units, scale))
}
