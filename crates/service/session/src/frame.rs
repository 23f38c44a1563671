//! A stored program that runs: its variables, where it is, its cursors and the handlers at work.

use super::Session;
use super::diagnostics::Handled;
use gannet_program::{Place, Program};
use gannet_types::Value;
use std::sync::Arc;

/// A program that runs.
pub(super) struct Frame {
    pub(super) program: Arc<Program>,
    pub(super) slots: Vec<Value>,
    /// How many of them are OLD and NEW.
    pub(super) rows: usize,
    /// Those of NEW that were set to NULL.
    pub(super) nulled: Vec<u32>,
    pub(super) at: Place,
    pub(super) cursors: Vec<Option<OpenCursor>>,
    /// Handlers at work.
    pub(super) active: Vec<Active>,
    /// So far it has read and set variables of its own, and raised nothing.
    pub(super) plain: bool,
    /// Ways back that were taken since it was asked whether others are to run.
    pub(super) rounds: u8,
}

/// The rows of a cursor, and how many were fetched.
pub(super) struct OpenCursor {
    pub(super) rows: std::vec::IntoIter<Vec<Value>>,
    pub(super) width: usize,
    pub(super) held: usize,
}

/// A handler whose statement runs.
pub(super) struct Active {
    /// Where CONTINUE goes on.
    pub(super) resume: Place,
    /// The conditions that go with the handler.
    pub(super) handled: Handled,
}

impl Frame {
    pub(super) fn new(program: Arc<Program>) -> Frame {
        let slots = vec![Value::Null; program.slots.len()];
        let cursors = program.cursors.iter().map(|_| None).collect();
        Frame {
            program,
            slots,
            rows: 0,
            nulled: Vec::new(),
            at: 0,
            cursors,
            active: Vec::new(),
            plain: true,
            rounds: 0,
        }
    }

    pub(super) fn set(&mut self, slot: u32, value: Value) {
        if value.is_null() && (slot as usize) < self.rows && !self.nulled.contains(&slot) {
            self.nulled.push(slot);
        }
        self.slots[slot as usize] = value;
    }
}

/// Runs `f` with the program's variables as parameters.
pub(super) fn in_program<R>(
    session: &mut Session,
    program: &Arc<Program>,
    frame: &mut Frame,
    scope: u32,
    f: impl FnOnce(&mut Session) -> R,
) -> R {
    let markers = std::mem::replace(&mut session.running.markers, std::mem::take(&mut frame.slots));
    let locals = session.running.locals.replace(program.names(scope));
    let result = f(session);
    session.running.locals = locals;
    frame.slots = std::mem::replace(&mut session.running.markers, markers);
    result
}
