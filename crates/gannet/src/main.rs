//! The `gannet` binary.

mod bench;
mod tpcc;

fn main() -> std::process::ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match words.split_first() {
        Some((verb, rest)) if verb == "bench" => bench::run(rest),
        _ => Err("only `gannet bench` is here yet".to_owned()),
    };
    match outcome {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            std::process::ExitCode::FAILURE
        }
    }
}
