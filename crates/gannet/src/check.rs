//! `gannet check`: walks a store that no server has open, and compares what must agree.

use std::io::Write;

use gannet_server::check::check_store;

const HELP: &str = "\
Usage: gannet check --datadir=DIR [--innodb-buffer-pool-size=N]

Checks a store that no server has open: every tree, every undo stream, the space map, and for each table that its indexes have
exactly the entries of its rows. The log is applied first, as a server would do at its start. Exit status 0: nothing found.
";

/// Runs `gannet check` with these arguments.
pub fn run(args: &[String]) -> Result<(), String> {
    if args.iter().any(|a| a == "--help" || a == "-?") {
        print!("{HELP}");
        return Ok(());
    }
    let report = check_store(args)?;
    let mut text = report.summary;
    for finding in &report.findings {
        text.push('\n');
        text.push_str(finding);
    }
    if report.findings.is_empty() {
        text.push_str("\nnothing found");
    }
    // A disk that is full, or a reader that has gone, must not look like a finding.
    writeln!(std::io::stdout(), "{text}").map_err(|e| format!("cannot write what was found: {e}"))?;
    match report.findings.len() {
        0 => Ok(()),
        n => Err(format!("{n} findings")),
    }
}
