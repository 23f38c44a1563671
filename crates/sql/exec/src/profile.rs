//! EXPLAIN ANALYZE: what each operator of a plan did in one execution.

use gannet_plan::explain::Actual;
use gannet_plan::physical::Physical;
use std::collections::HashMap;

/// Figures of operators, by the address of their plan node: a plan does not move while it runs.
#[derive(Debug, Default)]
pub struct Profile {
    nodes: HashMap<usize, Actual>,
    /// Rows that operators below the one at hand have read.
    pub(crate) nested: u64,
}

impl Profile {
    /// What a node did; `None`: it never ran.
    pub fn of(&self, node: &Physical) -> Option<Actual> {
        self.nodes.get(&address(node)).copied()
    }

    pub(crate) fn node(&mut self, node: &Physical) -> &mut Actual {
        self.nodes.entry(address(node)).or_default()
    }
}

fn address(node: &Physical) -> usize {
    std::ptr::from_ref(node) as usize
}
