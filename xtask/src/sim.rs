//! `cargo xtask sim`: the engine, and the whole server, in the simulation, with power cuts, failing disks and
//! connections that are cut, compared with their oracles. Without `--workload` all of them in turn: two thirds of the
//! time for the engine. `--workload planted` plants faults, each of which one of the seeds from 0 to 999 must find.

use std::{path::Path, process::Command};

const USAGE: &str = "cargo xtask sim [--workload rows|trees|consumers|history|log|server|keys|planted] [--seed N] [--steps M] [--seeds N] [--minutes M]";

/// In place of a test program: the tests within the crate.
const LIBRARY: &str = "";

/// Runs `cargo xtask sim` with these arguments.
pub fn run(root: &Path, args: &[String]) -> Result<String, String> {
    let mut env: Vec<(&str, String)> = Vec::new();
    let mut words = args.iter();
    let engine = |program, filter| ("gannet-engine", program, filter);
    let server = ("gannet-server", "simulated", "sessions_lose_nothing");
    let (mut fresh, mut seconds) = (true, None);
    let mut programs = vec![engine("crash", "all_workloads"), server];
    while let Some(name) = words.next() {
        let word = words.next().ok_or_else(|| format!("{name} takes a value\n{USAGE}"))?;
        if name == "--workload" {
            if word == "planted" {
                (fresh, programs) =
                    (false, vec![engine("crash", "planted"), ("gannet-server", "simulated", "planted")]);
                env.push(("GANNET_FIRST_SEED", "0".into()));
                continue;
            }
            programs = vec![match word.as_str() {
                "rows" => engine("crash", "rows_told_are_not_lost"),
                "trees" => engine("crash", "trees_come_and_go_whole"),
                "consumers" => engine("crash", "consumers_are_given_what_has_committed"),
                "history" => engine("history", "no_level_shows_what_it_forbids"),
                "log" => ("gannet-core", LIBRARY, "crashes_take_nothing_from_readers"),
                "server" => server,
                "keys" => ("gannet-server", "simulated", "keys_are_not_lost"),
                _ => return Err(format!("unknown workload {word}\n{USAGE}")),
            }];
            continue;
        }
        let value: u64 = word.parse().map_err(|_| format!("{name} takes a number\n{USAGE}"))?;
        match name.as_str() {
            "--seed" => {
                fresh = false;
                env.push(("GANNET_SEED", value.to_string()));
            }
            // Scheduling decisions until the power is cut, at most.
            "--steps" => env.push(("GANNET_STEPS", value.to_string())),
            "--seeds" => env.push(("GANNET_SEEDS", value.to_string())),
            "--minutes" => {
                seconds = Some(value * 60);
                env.push(("GANNET_SEEDS", u32::MAX.to_string()));
            }
            other => return Err(format!("unknown option {other}\n{USAGE}")),
        }
    }
    if fresh {
        let now = std::time::UNIX_EPOCH.elapsed().map_or(1, |d| d.as_secs());
        println!("first seed {now}");
        env.push(("GANNET_FIRST_SEED", now.to_string()));
    }
    let shares: &[u64] = if programs.len() == 2 { &[2, 1] } else { &[3] };
    for ((package, program, filter), share) in programs.into_iter().zip(shares) {
        let seconds = seconds.map(|s| ("GANNET_SECONDS", (s * share / 3).to_string()));
        let status = Command::new("cargo")
            .args(["test", "--quiet", "--profile", "sim", "--package", package])
            .args(if program == LIBRARY { vec!["--lib"] } else { vec!["--test", program] })
            .args([filter, "--"])
            .args(["--include-ignored", "--nocapture"])
            .envs(env.iter().cloned().chain(seconds))
            .current_dir(root)
            .status()
            .map_err(|e| format!("cargo: {e}"))?;
        if !status.success() {
            return Err("sim: see the line that replays it above".into());
        }
    }
    Ok("sim: nothing lost".into())
}
