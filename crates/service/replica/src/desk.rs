//! Who writes the relay log: the receiver, or a statement for a moment while no packet is there.

use super::receiver::Receiver;
use gannet_runtime::{Monitor, Wait};

/// Where the writer lies.
#[derive(Default)]
pub(crate) struct Desk(Monitor<State>);

#[derive(Default)]
enum State {
    /// There is none: nothing was received.
    #[default]
    Empty,
    /// Nobody has it, between packets.
    Left(Box<Receiver>),
    /// The receiver, or a statement.
    Taken,
}

impl Desk {
    /// Waits until nobody has the writer; then it is another one.
    pub(crate) fn set(&self, mut next: Option<Box<Receiver>>) {
        self.0.wait(Wait::FileMeta, |state| {
            if matches!(state, State::Taken) {
                return None;
            }
            *state = next.take().map_or(State::Empty, State::Left);
            Some(())
        });
    }

    /// Takes it; waits while a statement has it.
    pub(crate) fn take(&self) -> Box<Receiver> {
        self.0.wait(Wait::FileMeta, taken)
    }

    /// Takes it, if nobody has it.
    pub(crate) fn try_take(&self) -> Option<Box<Receiver>> {
        self.0.change(taken)
    }

    /// Puts it back.
    pub(crate) fn leave(&self, receiver: Box<Receiver>) {
        self.0.change(|state| *state = State::Left(receiver));
    }
}

fn taken(state: &mut State) -> Option<Box<Receiver>> {
    match std::mem::replace(state, State::Taken) {
        State::Left(receiver) => Some(receiver),
        other => {
            *state = other;
            None
        }
    }
}
