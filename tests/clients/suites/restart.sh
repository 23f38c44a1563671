#!/usr/bin/env bash
# Restart after kill -9: fills the redo log with the checkpoint held back, kills the server, measures the next start: seconds from
# the start of the process to the first answered query, and to all redo applied. RESTART_MIB: sizes of the log, "512 1024 2048".
# RESTART_PEER=1 measures MariaDB beside it (it answers when all redo is applied). RESTART_TABLES, RESTART_ROWS: 8 of 1,000,000.
# RESTART_POOL: size of the pool at the start that is measured, 4G, which it is while the log is filled.
# Servers, directories and ports (RESTART_PORT and the next) are its own; GANNET_BIN is the binary. Needs 12 GB of disk.
. "$(dirname "$0")/../lib.sh.inc"
need mysql mariadb-client
need sysbench sysbench
sizes=${RESTART_MIB:-"512 1024 2048"}
tables=${RESTART_TABLES:-8}
rows=${RESTART_ROWS:-1000000}
port=${RESTART_PORT:-13400}
bin=${GANNET_BIN:-target/release/gannet}
dir=$(mktemp -d "${TMPDIR:-/tmp}/gannet-restart-XXXXXX")
server=
trap '[ -z "$server" ] || kill -9 "$server" 2>/dev/null; rm -rf "$dir"' EXIT

start() { # start KIND held|free: leaves the process id in $server
  local options
  export GANNET_SOCKET=$dir/$1.sock
  rm -f "$GANNET_SOCKET"
  options=("--datadir=$dir/$1" "--socket=$GANNET_SOCKET" --max-connections=500)
  if [ "$2" = free ]; then options+=("--innodb-buffer-pool-size=${RESTART_POOL:-4G}"); else options+=(--innodb-buffer-pool-size=4G); fi
  if [ "$1" = gannet ]; then
    options+=("--port=$port" --innodb-redo-log-capacity=4G --innodb-flush-log-at-trx-commit=2)
    [ "$2" = free ] || options+=(--innodb-checkpoint-disabled=1)
    "$bin" serve "${options[@]}" >>"$dir/$1.log" 2>&1 &
  else
    options+=("--port=$((port + 1))" --innodb-log-file-size=4G --innodb-flush-log-at-trx-commit=2 --innodb-flush-method=O_DIRECT
      --skip-name-resolve --bind-address=127.0.0.1 --user="$(id -un)" --tmpdir="$dir")
    [ "$2" = free ] || options+=(--innodb-adaptive-flushing=0 --innodb-io-capacity=100 --innodb-max-dirty-pages-pct=99)
    mariadbd --no-defaults "${options[@]}" >>"$dir/$1.log" 2>&1 &
  fi
  server=$!
}
age() { # MiB of log since the last checkpoint
  sql 'SHOW ENGINE INNODB STATUS\G' |
    awk '/^Log sequence number/ { l = $NF } /^Last checkpoint at/ { c = $NF } END { print int((l - c) / 1048576) }'
}
run() { # run KIND MIB
  local load begin first done
  start "$1" held
  answers 'SELECT 1'
  sysbench oltp_update_index "${bench[@]}" --rand-type=uniform --threads=16 --time=3600 run >"$dir/load.log" 2>&1 &
  load=$!
  until [ "$(age)" -ge "$2" ]; do
    kill -0 $load 2>/dev/null || { tail -5 "$dir/load.log"; exit 1; }
    sleep 0.2
  done
  local mib; mib=$(age)
  kill -9 "$server"
  wait "$server" 2>/dev/null || true
  wait $load 2>/dev/null || true
  begin=$(date +%s%N)
  start "$1" free
  answers 'SELECT c FROM sbtest.sbtest1 WHERE id = 471'
  first=$(date +%s%N)
  if [ "$1" = gannet ]; then
    until [ "$(sql "SHOW STATUS LIKE 'Gannet_recovery_phase'" | cut -f2)" = Done ]; do sleep 0.02; done
  fi
  done=$(date +%s%N)
  awk -v k="$1" -v m="$mib" -v f=$((first - begin)) -v d=$((done - begin)) \
    'BEGIN { printf "%s: %d MiB of redo, first query after %.2f s, all applied after %.2f s\n", k, m, f / 1e9, d / 1e9 }'
  stop
}
kinds=gannet
[ -z "${RESTART_PEER:-}" ] || kinds="gannet mariadb"
for kind in $kinds; do
  if [ "$kind" = mariadb ]; then
    mariadb-install-db --no-defaults --user="$(id -un)" --datadir="$dir/mariadb" --auth-root-authentication-method=normal \
      >"$dir/install.log" 2>&1
  fi
  start "$kind" free
  answers 'CREATE DATABASE IF NOT EXISTS sbtest'
  bench=(--db-driver=mysql --mysql-socket="$GANNET_SOCKET" --mysql-user=root --mysql-db=sbtest --mysql-ssl=off
    --tables="$tables" --table-size="$rows")
  sysbench oltp_update_index "${bench[@]}" --threads=4 prepare >/dev/null
  stop
  for mib in $sizes; do run "$kind" "$mib"; done
  rm -rf "${dir:?}/$kind"
done
echo "restart: $kinds at $sizes MiB"
