#!/usr/bin/env bash
# What each isolation level gives, as named steps in all orders, against InnoDB's recorded results.
set -euo pipefail
# The command of the program that runs this, which has been built.
$GANNET_ISOLATION
