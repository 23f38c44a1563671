//! One verb a job: `cargo xtask VERB`.

use std::process::ExitCode;

use xtask::{
    atomics, bench, clients, crash, diff, dist, fuzz, instructions, isolation, ledger, memcached, sim, statements, tidy,
};

const USAGE: &str = "\
cargo xtask VERB

  tidy [--bless]     house rules: layering, unsafe, file sizes, left-over markers (also run by cargo test)
  clients [FILTER]
                     installs real clients and runs them against the release build (tests/clients/*.sh)
  fuzz [--target T] [--minutes M] [--seed N] [--input FILE]
                     mutated valid inputs into the decoders; without a target all of them, one after the other
  fuzz --target statements|prepared|changes [--minutes M] [--seed N] [--rounds N] [--findings N] [--server BINARY]
                     statements to a server that is started for them, until it breaks or changes a row that it should not
  sim [--seed N] [--steps M] [--seeds N] [--minutes M]
                     the engine with power cuts and failing disks, in the simulation
  crash [--kind definitions|recovery|full-disk] [--rounds N] [--seed N] [--binary PATH] [--dir PATH]
                     the real server under load, killed with -9; all that was acknowledged must be there, and all space given back
  diff --port-a A --port-b B [--seed N] [--statements N]   (or --socket-a, --socket-b)
                     random statements on two servers, Gannet and MariaDB; differences made small (--database, gannet_diff)
  instructions [FILTER] [--accept | --gate] [--binary PATH] [--client PATH] [--with=OPTION]...
                     instructions of the server per event of sysbench's workloads and of shapes of `bench micro`
                     (valgrind, sysbench); into the ledger; or compared with its newest: more than 2 % above fails.
                     Of this build, or of a binary that is there
  atomics [FILTER] [--binary PATH]
                     its atomic read-modify-writes per point select, get and commit, by place; more than is listed fails
  isolation --port-a A [--port-b B] [--only TEXT] [--record]
                     what each isolation level gives, as named steps in all orders: server A against B or InnoDB's recorded lines
  ledger [--seconds S] [--rounds N] [--threads T] [--only WORKLOAD] [--beside NAME=BINARY]... | --build | --table
                     sysbench against this build, MariaDB and other builds in turn, or the time of a release build;
                     figures go to docs/ledger.csv; --table writes the table of docs/benchmarks.md anew
  memcached --a HOST:PORT --b HOST:PORT [--seed N] [--rounds N] [--steps N]
                     random commands of memcached's protocol to two servers: what they answer otherwise, made small
  memcached bench --server NAME=HOST:PORT,PID... [--rounds N] [--seconds S] [--only SHAPE]
                     processor time per operation of servers that speak memcached's protocol, in turn
  memcached both [--seconds S] [--seed N] [--binary PATH]
                     SQL and memcached's protocol on the same rows, definitions and locks beside them
  bench tpch|operators --server NAME=SOCKET[,PID]... [--scale F] [--rounds N] [--only NAME] [--keep]
                     the 22 queries of TPC-H, or forty operators over 1,000,000 rows: times, and answers compared
  dist               the binary without symbols, its symbols, and a Debian package, in target/dist
  statements --server A --reference A FILE...
                     recorded statements against two servers: what differs, most frequent first
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match args.first().map(String::as_str) {
        Some("tidy") => tidy::run(&xtask::root(), args.iter().any(|a| a == "--bless")),
        Some("sim") => sim::run(&xtask::root(), &args[1..]),
        Some("crash") => crash::run(&xtask::root(), &args[1..]),
        Some("fuzz") => fuzz::run(&xtask::root(), &args[1..]),
        Some("diff") => diff::run(&args[1..]),
        Some("instructions") => instructions::run(&xtask::root(), &args[1..]),
        Some("bench") => bench::run(&args[1..]),
        Some("atomics") => atomics::run(&xtask::root(), &args[1..]),
        Some("statements") => statements::run(&args[1..]),
        Some("isolation") => isolation::run(&xtask::root(), &args[1..]),
        Some("ledger") => ledger::run(&xtask::root(), &args[1..]),
        Some("memcached") => memcached::run(&xtask::root(), &args[1..]),
        Some("dist") => dist::run(&xtask::root()),
        Some("clients") => clients::run(&xtask::root(), &args[1..]),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(message) => {
            println!("{message}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
