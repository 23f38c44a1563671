#!/usr/bin/env bash
# What each isolation level gives, as named steps in all orders, against InnoDB's recorded results.
set -euo pipefail
cargo run --quiet --package xtask -- isolation --socket-a "$GANNET_SOCKET"
