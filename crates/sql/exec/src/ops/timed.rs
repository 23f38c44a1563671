//! Operators of EXPLAIN ANALYZE, which tell the statement's profile what they do.

use crate::batch::Batch;
use crate::context::{BoxedOperator, Cx, Operator};
use gannet_plan::physical::Physical;
use gannet_runtime::now_ns;
use gannet_types::Result;

/// An operator that is timed.
pub(crate) struct Timed<'p> {
    node: &'p Physical,
    inner: BoxedOperator<'p>,
    /// Nanoseconds of this run up to its first row; `None` afterwards.
    before_first: Option<u64>,
}

impl<'p> Timed<'p> {
    pub(crate) fn new(node: &'p Physical, inner: BoxedOperator<'p>) -> Self {
        Timed { node, inner, before_first: None }
    }

    fn time<R>(
        &mut self,
        cx: &mut Cx<'_, 'p>,
        f: impl FnOnce(&mut BoxedOperator<'p>, &mut Cx<'_, 'p>) -> R,
    ) -> (R, u64) {
        let around = cx.profile.as_mut().map_or(0, |p| std::mem::take(&mut p.nested));
        let (examined, started) = (cx.counts.examined, now_ns());
        let outcome = f(&mut self.inner, cx);
        let (spent, read) = (now_ns().saturating_sub(started), cx.counts.examined - examined);
        if let Some(profile) = &mut cx.profile {
            let own = read.saturating_sub(profile.nested);
            profile.nested = around + read;
            let node = profile.node(self.node);
            node.examined += own;
            node.total_ns += spent;
        }
        (outcome, spent)
    }
}

impl<'p> Operator<'p> for Timed<'p> {
    fn open(&mut self, cx: &mut Cx<'_, 'p>) -> Result<()> {
        let (outcome, spent) = self.time(cx, |inner, cx| inner.open(cx));
        self.before_first = Some(spent);
        if let Some(profile) = &mut cx.profile {
            profile.node(self.node).loops += 1;
        }
        outcome
    }

    fn next(&mut self, cx: &mut Cx<'_, 'p>) -> Result<Option<Batch>> {
        let (outcome, spent) = self.time(cx, |inner, cx| inner.next(cx));
        let rows = outcome.as_ref().ok().and_then(Option::as_ref).map_or(0, |b| b.rows as u64);
        let ended = !matches!(outcome, Ok(Some(_)));
        if let Some(profile) = &mut cx.profile {
            let node = profile.node(self.node);
            node.rows += rows;
            if let Some(before) = &mut self.before_first {
                *before += spent;
                if rows > 0 || ended {
                    node.first_ns += *before;
                    self.before_first = None;
                }
            }
        }
        outcome
    }
}
