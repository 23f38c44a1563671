//! Listeners, sessions, authentication, variables, SHOW, information_schema.

pub mod vars;
