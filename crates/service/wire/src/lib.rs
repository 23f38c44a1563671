//! MySQL client/server protocol as pure state machines over bytes.
