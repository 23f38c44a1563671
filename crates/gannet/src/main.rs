//! The `gannet` binary.

mod bench;
mod check;
mod connection;
mod connections;
mod dump;
mod micro;
mod model;
mod pressure;
mod serve;
mod sql;
mod top;
mod tpcc;

use std::process::ExitCode;

const HELP: &str = "\
Gannet, a relational database server that speaks MySQL.

Usage: gannet [serve] [options]    serve MySQL clients (gannet serve --help)
       gannet sql [options]        run statements on a server (gannet sql --help)
       gannet dump [options] DIR   write schemas of any MySQL server into a directory (gannet dump --help)
       gannet load [options] DIR|FILE
                                   bring a dump into any MySQL server (gannet load --help)
       gannet check --datadir=DIR  check a store that no server has open
       gannet top [options]        who is active on a server, and on what (gannet top --help)
       gannet model [stations]     what a server with these stations can give (gannet model --help)
       gannet bench tpcc|connections|pressure [options]
                                   measure a server (gannet bench tpcc --help, ...)
       gannet help [COMMAND] | version
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match words.split_first() {
        Some((verb, rest)) => match verb.as_str() {
            "serve" => serve::run(rest),
            "bench" => bench::run(rest),
            "check" => check::run(rest),
            "model" => model::run(rest),
            "top" => top::run(rest),
            "sql" => sql::run(rest),
            "dump" => dump::run(rest),
            "load" => dump::run_load(rest),
            // `gannet help serve` is `gannet serve --help`.
            "help" | "--help" | "-?" => match rest.first().map(String::as_str) {
                Some("serve") => serve::run(&["--help".into()]),
                Some("bench") => bench::run(&["--help".into()]),
                Some("check") => check::run(&["--help".into()]),
                Some("model") => model::run(&["--help".into()]),
                Some("top") => top::run(&["--help".into()]),
                Some("sql") => sql::run(&["--help".into()]),
                Some("dump") => dump::run(&["--help".into()]),
                Some("load") => dump::run_load(&["--help".into()]),
                Some(other) => Err(format!("unknown command '{other}'\n\n{HELP}")),
                None => {
                    print!("{HELP}");
                    Ok(())
                }
            },
            "version" | "--version" | "-V" => {
                println!("{}", serve::version());
                Ok(())
            }
            option if option.starts_with('-') => serve::run(&words),
            other => Err(format!("unknown command '{other}'\n\n{HELP}")),
        },
        None => serve::run(&[]),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("gannet: {message}");
            ExitCode::FAILURE
        }
    }
}
