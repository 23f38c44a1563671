//! Warnings of syntax that is still taken, but deprecated.

use super::Session;
use gannet_parser::Notice;

impl Session {
    /// Warns of deprecated syntax.
    pub(crate) fn warn_of(&mut self, notices: &[Notice]) {
        for notice in notices {
            self.running.diagnostics.warnings.push(gannet_exec::deprecation(*notice));
        }
    }
}
