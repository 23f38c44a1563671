#!/usr/bin/env bash
# Nothing shared is written by a point select; what a commit writes is listed (xtask/src/atomics.rs). A server of its own, under callgrind.
. "$(dirname "$0")/lib.sh.inc"
need mysql mariadb-client
need sysbench sysbench
need valgrind valgrind
need objdump binutils
cargo --quiet xtask atomics
