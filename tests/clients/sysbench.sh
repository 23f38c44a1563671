#!/usr/bin/env bash
# Every OLTP workload of sysbench: prepare, run with text and prepared statements over the socket and TCP, clean up, no error.
# Two of the four ways by default. SYSBENCH_THREADS takes all four, SYSBENCH_SECONDS longer ones: "1 8 64 512" is what a
# release is checked with.
. "$(dirname "$0")/lib.sh.inc"
need mysql mariadb-client
need sysbench sysbench
threads=${SYSBENCH_THREADS:-64}
seconds=${SYSBENCH_SECONDS:-1}
sql "CREATE DATABASE IF NOT EXISTS sbtest"
# 512 connections prepare 20,000 statements; MySQL's default, which Gannet shares, is 16,382.
sql "SET GLOBAL max_prepared_stmt_count = 1000000"
common=(--db-driver=mysql --mysql-user=root --mysql-db=sbtest --tables=2 --table-size=2000 --mysql-ssl=off)
socket=(--mysql-socket="$GANNET_SOCKET")
tcp=(--mysql-host=127.0.0.1 --mysql-port="$GANNET_PORT")
runs=0
run() { # run WORKLOAD THREADS PS_MODE CONNECTION...
  local workload=$1 n=$2 mode=$3; shift 3
  # bulk_insert numbers its rows from 1 in a table for each thread: every run wants fresh ones.
  [ "$workload" != bulk_insert ] || sysbench "$workload" "${options[@]}" "$@" --threads="$n" prepare >/dev/null
  if ! out=$(sysbench "$workload" "${options[@]}" "$@" --threads="$n" --db-ps-mode="$mode" --time="$seconds" --events=0 \
      --mysql-ignore-errors=1213,1205 run 2>&1); then
    echo "$workload, $n threads, ps-mode $mode, $*:"; echo "$out" | grep -E 'FATAL|ALERT' | head -5 | cut -c1-300; exit 1
  fi
  [ "$workload" != bulk_insert ] || sysbench "$workload" "${options[@]}" "$@" --threads="$n" cleanup >/dev/null
  runs=$((runs + 1))
}
for workload in oltp_point_select oltp_read_only oltp_read_write oltp_write_only oltp_update_index oltp_update_non_index \
    oltp_insert oltp_delete select_random_points select_random_ranges bulk_insert; do
  options=("${common[@]}")
  case $workload in select_random_*) options+=(--tables=1) ;; esac
  [ "$workload" = bulk_insert ] || sysbench "$workload" "${options[@]}" "${socket[@]}" prepare >/dev/null
  for n in $threads; do
    run "$workload" "$n" disable "${socket[@]}"
    run "$workload" "$n" auto "${tcp[@]}"
    [ -n "${SYSBENCH_THREADS:-}" ] || continue
    run "$workload" "$n" auto "${socket[@]}"
    run "$workload" "$n" disable "${tcp[@]}"
  done
  [ "$workload" = bulk_insert ] || sysbench "$workload" "${options[@]}" "${socket[@]}" cleanup >/dev/null
done
echo "sysbench: 11 workloads, $runs runs without an error"
