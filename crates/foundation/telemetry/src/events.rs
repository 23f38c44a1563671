//! What background work has to tell a person: rare lines for the server's log.

use std::sync::Arc;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something failed.
    Error,
    /// Something is not as it should be.
    Warning,
    /// For information.
    Note,
}

type Sink = dyn Fn(Severity, &str) + Send + Sync;

/// Where such lines go: to stderr, unless somebody gave a sink. Clones go to the same place.
#[derive(Clone)]
pub struct Events(Arc<Sink>);

impl Events {
    /// Hands every line to `sink`, which may be called from any thread and must not wait for what calls it.
    pub fn to(sink: impl Fn(Severity, &str) + Send + Sync + 'static) -> Events {
        Events(Arc::new(sink))
    }

    /// Something failed.
    pub fn error(&self, text: impl std::fmt::Display) {
        (self.0)(Severity::Error, &text.to_string());
    }

    /// Something is not as it should be.
    pub fn warning(&self, text: impl std::fmt::Display) {
        (self.0)(Severity::Warning, &text.to_string());
    }

    /// For information.
    pub fn note(&self, text: impl std::fmt::Display) {
        (self.0)(Severity::Note, &text.to_string());
    }
}

impl Default for Events {
    /// To stderr, without notes.
    fn default() -> Events {
        Events::to(|severity, text| match severity {
            Severity::Error => eprintln!("[ERROR] {text}"),
            Severity::Warning => eprintln!("[Warning] {text}"),
            Severity::Note => {}
        })
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Events")
    }
}
