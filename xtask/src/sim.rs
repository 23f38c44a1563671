//! `cargo xtask sim`: the engine in the simulation, with power cuts and failing disks, compared with its oracle.

use std::{path::Path, process::Command};

const USAGE: &str =
    "cargo xtask sim [--workload rows|trees|history|server] [--seed N] [--steps M] [--seeds N] [--minutes M]";

/// Runs `cargo xtask sim` with these arguments.
pub fn run(root: &Path, args: &[String]) -> Result<String, String> {
    let mut env: Vec<(&str, String)> = Vec::new();
    let mut words = args.iter();
    let (mut fresh, mut program, mut filter) = (true, "crash", "all_workloads");
    while let Some(name) = words.next() {
        let word = words.next().ok_or_else(|| format!("{name} takes a value\n{USAGE}"))?;
        if name == "--workload" {
            (program, filter) = match word.as_str() {
                "rows" => ("crash", "rows_told_are_not_lost"),
                "trees" => ("crash", "trees_come_and_go_whole"),
                "history" => ("history", "no_level_shows_what_it_forbids"),
                "server" => ("simulated", "sessions_lose_nothing"),
                _ => return Err(format!("unknown workload {word}\n{USAGE}")),
            };
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
                env.push(("GANNET_SECONDS", (value * 60).to_string()));
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
    let package = if program == "simulated" { "gannet-server" } else { "gannet-engine" };
    let status = Command::new("cargo")
        .args(["test", "--quiet", "--profile", "sim", "--package", package, "--test", program, filter, "--"])
        .args(["--include-ignored", "--nocapture"])
        .envs(env)
        .current_dir(root)
        .status()
        .map_err(|e| format!("cargo: {e}"))?;
    if status.success() {
        Ok("sim: nothing lost".into())
    } else {
        Err("sim: see the line that replays it above".into())
    }
}
