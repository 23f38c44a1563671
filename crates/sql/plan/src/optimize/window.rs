//! Window functions, above grouping and HAVING.

use super::build::{Builder, Node};
use super::cost;
use crate::expr::SortKey;
use crate::logical::WindowBlock;
use crate::physical::{FrameBound, Op, Window};
use gannet_types::Result;

impl Builder<'_> {
    /// Sorts by partition and order, then computes the functions over one definition.
    pub(super) fn window(&mut self, node: Node, window: &WindowBlock) -> Result<Node> {
        let mut keys: Vec<SortKey> =
            window.partition.iter().map(|e| SortKey { expr: e.clone(), descending: false }).collect();
        keys.extend(window.order.iter().cloned());
        let mut node = node;
        if !keys.is_empty() {
            let keys = self.lower_keys(&keys, &node.schema)?;
            node = self.sorted(node, keys, None, None);
        }
        let partition = self.lower_all(&window.partition, &node.schema)?.into();
        let order = self.lower_keys(&window.order, &node.schema)?;
        let mut frame = window.frame.clone();
        for bound in [&mut frame.start, &mut frame.end] {
            if let FrameBound::Preceding(e) | FrameBound::Following(e) = bound {
                self.lower_in_place(e, &node.schema)?;
            }
        }
        let mut schema = node.schema.clone();
        let mut functions = Vec::with_capacity(window.functions.len());
        for (function, id) in &window.functions {
            let mut function = function.clone();
            for arg in function.args.iter_mut() {
                self.lower_in_place(arg, &node.schema)?;
            }
            functions.push(function);
            schema.push(*id);
        }
        let (rows, cost) = (node.physical.rows, node.physical.cost + node.physical.rows * cost::ROW);
        let window = Window { partition, order, frame, functions: functions.into() };
        let op = Op::Window { input: Box::new(node.physical), window: Box::new(window) };
        Ok(self.node(op, schema, rows, cost))
    }
}
