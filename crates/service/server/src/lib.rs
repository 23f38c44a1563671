//! Listeners, sessions, authentication, variables, SHOW, information_schema.

pub mod options;
pub mod vars;
