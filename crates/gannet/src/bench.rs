//! `gannet bench`: measures a server, this one or another.

use crate::{connections, micro, pressure, tpcc};

/// Runs `gannet bench WORDS`; the error is the message for the user.
pub fn run(words: &[String]) -> Result<(), String> {
    match words.split_first() {
        Some((name, rest)) if name == "tpcc" => tpcc::run(rest),
        Some((name, rest)) if name == "connections" => connections::run(rest),
        Some((name, rest)) if name == "pressure" => pressure::run_words(rest),
        Some((name, rest)) if name == "micro" => micro::run(rest),
        Some((name, rest)) if name == "insert" => micro::insert::run(rest),
        other => {
            let all = [tpcc::HELP, connections::HELP, pressure::HELP, micro::HELP, micro::insert::HELP];
            let help = format!("gannet bench knows these:\n\n{}", all.join("\n"));
            if other.is_some_and(|(word, _)| word == "--help") {
                print!("{help}");
                return Ok(());
            }
            Err(help)
        }
    }
}
