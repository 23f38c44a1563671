#!/usr/bin/env bash
# The server when things are long and large. PRESSURE_PARTS, of "reader large spill cold":
#   reader  a snapshot held for PRESSURE_SECONDS (600) beside oltp_read_write: rates, history, disk and memory every minute; its last read,
#           and the seconds from its COMMIT (PRESSURE_AFTER, 60, are looked at) until all is normal again: the history below what the load
#           itself makes (50,000 of them wait for purge at most), nine tenths of the first minute's rate over ten seconds. What the disk has
#           is told apart: tables, undo, free blocks of the data file, log and its index, double-write and the rest; before, at the COMMIT,
#           at the end. PASS or FAIL for each: the rate (90 %), the history, and the disk: all but the tables as before, give or take 64 MiB
#           (32 of free blocks are kept), and no more than that with blocks in the tables beyond their pages in use.
#           PRESSURE_TWIN=1: a second server has the same load at the same time and no reader. What a shared machine gives to one it gives
#           to the other: rates are then shares of the twin's.
#   large   a transaction over PRESSURE_ROWS (10,000,000) rows in a pool of PRESSURE_LARGE_POOL_MIB (1024): done, rolled back, all rows locked,
#           and killed in the middle with the server
#   spill   four sorts, hash joins, groupings and DISTINCTs at once, beyond 64 MiB each, in a pool of 256 MiB: resident memory
#   cold    data of four times the pool (PRESSURE_POOL_MIB, 512), uniform point selects, and the device's own random reads
# PRESSURE_PEER=1 runs cold on MariaDB too. Prints measurements; fails when something is lost, and when the server takes more memory than
# the pool, a tenth of it, what statements may take, and 96 MiB (136 after a crash, when the log is read). Servers, directories and ports
# (PRESSURE_PORT and the next) are its own; GANNET_BIN is the binary. Needs 20 GB of disk for all parts.
. "$(dirname "$0")/../lib.sh.inc"
need mysql mariadb-client
need sysbench sysbench
parts=${PRESSURE_PARTS:-reader large spill cold}
seconds=${PRESSURE_SECONDS:-600}
after=${PRESSURE_AFTER:-60}
rows=${PRESSURE_ROWS:-10000000}
pool=${PRESSURE_POOL_MIB:-512}
threads=${PRESSURE_THREADS:-16}
port=${PRESSURE_PORT:-13420}
bin=${GANNET_BIN:-target/release/gannet}
dir=$(mktemp -d "${PRESSURE_DIR:-${TMPDIR:-/tmp}}/gannet-pressure-XXXXXX")
server= twin=
trap 'for p in $server $twin; do kill -9 "$p" 2>/dev/null || true; done; rm -rf "$dir"' EXIT

start() { # start KIND POOL_MIB [option...]: leaves the process id in $server
  local kind=$1 size=$2 at=$port
  shift 2
  [ "$kind" != twin ] || at=$((port + 1))
  export GANNET_SOCKET=$dir/$kind.sock
  rm -f "$GANNET_SOCKET"
  if [ "$kind" != mariadb ]; then
    "$bin" serve "--datadir=$dir/$kind" "--socket=$GANNET_SOCKET" "--port=$at" --max-connections=2000 \
      "--innodb-buffer-pool-size=${size}M" --innodb-redo-log-capacity=512M "$@" >>"$dir/$kind.log" 2>&1 &
  else
    [ -d "$dir/$kind/mysql" ] || { mkdir -p "$dir/$kind" && mariadb-install-db --no-defaults "--user=$(id -un)" \
      "--datadir=$dir/$kind" --auth-root-authentication-method=normal >"$dir/install.log" 2>&1; }
    mariadbd --no-defaults "--datadir=$dir/$kind" "--socket=$GANNET_SOCKET" "--port=$((port + 1))" --max-connections=2000 \
      "--innodb-buffer-pool-size=${size}M" --innodb-log-file-size=512M --innodb-flush-method=O_DIRECT --skip-name-resolve \
      --bind-address=127.0.0.1 "--user=$(id -un)" "--tmpdir=$dir" "$@" >>"$dir/$kind.log" 2>&1 &
  fi
  server=$!
}
rss() { awk '/^VmRSS/ { print int($2 / 1024) }' "/proc/$server/status"; }
within() { # within MIB: what the server may take beside its pool and a tenth of it, which is $size MiB
  local most=$((size * 11 / 10 + $1))
  [ "$(peak)" -le $most ] || { echo "resident memory: $(peak) MiB, at most $most were to be"; exit 1; }
}
peak() { awk '/^VmHWM/ { print int($2 / 1024) }' "/proc/$server/status"; }
disk() { du -sm "$dir/gannet" | cut -f1; }
metric() { sql "SELECT count FROM information_schema.INNODB_METRICS WHERE name = '$1'"; }
metrics() { sql "SHOW GLOBAL STATUS LIKE 'Gannet_space%'" | tr '\t' ' '; }
stolen() { # leaves in $stolen the percentage of the processors that the host gave to others since the last call
  local now=($(awk '/^cpu / { for (i = 2; i <= 9; i++) all += $i; print all, $9 }' /proc/stat))
  stolen=$(awk -v a="$((now[0] - stolen_was[0]))" -v h="$((now[1] - stolen_was[1]))" 'BEGIN { printf "%.1f", a ? 100 * h / a : 0 }')
  stolen_was=("${now[@]}")
}
stolen_was=(0 0)
made_of() { # made_of WHAT: what the disk has, in MiB; leaves it in $tables $used $undo $free $rest
  local m log double all
  m=$(metrics)
  of() { awk -v n="Gannet_space_$1" '$1 == n { print int($2 / 1048576) }' <<<"$m"; }
  tables=$(of tables) used=$(of tables_used) undo=$(of undo) free=$(of free)
  log=$(du -sm "$dir/gannet/log" | cut -f1) double=$(du -m "$dir/gannet/double.gnt" | cut -f1) all=$(disk)
  rest=$((all - tables - free - undo))
  echo "  disk $1: $all MiB: tables $tables (of them in use $used), undo $undo (in use $(of undo_used)), free $free, log $log, double-write $double, other $((rest - log - double))"
}
verdict() { # verdict WHAT CONDITION: an arithmetic one
  if (($2)); then echo "  PASS: $1"; else echo "  FAIL: $1"; failed=1; fi
}
now() { date +%s.%N; }
since() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.1f", b - a }'; }
run() { # run LOG: oltp_read_write on the tables just loaded, until it is killed
  sysbench oltp_read_write "${bench[@]}" "--threads=$threads" --time=36000 --report-interval=1 run >"$dir/$1" 2>&1 &
}
load() { # load TABLES ROWS: sysbench's tables
  bench=(--db-driver=mysql "--mysql-socket=$GANNET_SOCKET" --mysql-user=root --mysql-db=sbtest "--tables=$1" "--table-size=$2"
    --rand-type=uniform --mysql-ignore-errors=1213,1020,1062)
  sql 'DROP DATABASE IF EXISTS sbtest; CREATE DATABASE sbtest'
  sysbench oltp_read_write "${bench[@]}" "--threads=$1" prepare >"$dir/prepare.log" 2>&1 || { tail -5 "$dir/prepare.log"; exit 1; }
}

reader() {
  local before from load i history held read normal failed=0 tables used undo free rest was last first size=${PRESSURE_READER_POOL_MIB:-1024}
  if [ -n "${PRESSURE_TWIN:-}" ]; then
    start twin "$size"
    answers 'SELECT 1'
    load 8 ${PRESSURE_READER_ROWS:-200000}
    twin=$server twin_bench=("${bench[@]}")
  fi
  start gannet "$size"
  answers 'SELECT 1'
  load 8 ${PRESSURE_READER_ROWS:-200000}
  echo "reader: 8 x ${PRESSURE_READER_ROWS:-200000} rows, pool $size MiB, $threads threads of oltp_read_write, $seconds s with a snapshot, then $after s without"
  made_of before
  was=$((undo + free + rest)) before=$tables
  # The reader: its own connection, open as long as the pipe. Reads the same sum at the beginning and at the end.
  mkfifo "$dir/pipe"
  mysql --no-defaults --unbuffered -uroot -S "$GANNET_SOCKET" -N -B sbtest <"$dir/pipe" >"$dir/reader.out" 2>&1 &
  exec 7>"$dir/pipe"
  echo 'START TRANSACTION WITH CONSISTENT SNAPSHOT; SELECT SUM(k), COUNT(*), MIN(c) FROM sbtest1;' >&7
  until [ -s "$dir/reader.out" ]; do sleep 0.1; done
  run load.log
  load=$!
  if [ -n "$twin" ]; then
    bench=("${twin_bench[@]}")
    run twin.log
    twin="$twin $!"
  fi
  from=$(now)
  stolen
  for ((i = 60; i <= seconds; i += 60)); do
    until [ "$(since "$from" | cut -d. -f1)" -ge $i ]; do sleep 0.2; done
    stolen
    echo "  $i s: $(rate $((i - 60)) $i), history $(metric trx_rseg_history_len), disk $(disk) MiB, rss $(rss) MiB, $stolen % of the processors stolen"
  done
  until [ "$(since "$from" | cut -d. -f1)" -ge "$seconds" ]; do sleep 0.2; done
  read=$(now)
  echo 'SELECT SUM(k), COUNT(*), MIN(c) FROM sbtest1;' >&7
  until [ "$(wc -l <"$dir/reader.out")" -ge 2 ]; do
    sleep 0.1
    kill -0 $load || { echo "the load ended"; tail -5 "$dir/load.log"; exit 1; }
  done
  same "what the snapshot reads" "$(sed -n 1p "$dir/reader.out")" "$(sed -n 2p "$dir/reader.out")"
  held=$(metric trx_rseg_history_len)
  echo "  its last read: $(since "$read") s; history $held; then COMMIT"
  made_of "at the COMMIT"
  # Whole seconds of the load's own clock, as its reports have them.
  read=$(awk '$1 == "[" { t = $2 + 0 } END { print t }' "$dir/load.log")
  echo 'COMMIT;' >&7
  exec 7>&-
  from=$(now)
  normal= i=10
  stolen
  until [ "$(since "$from" | cut -d. -f1)" -ge "$after" ]; do
    if [ "$(since "$from" | cut -d. -f1)" -ge $i ]; then
      stolen
      echo "  $i s after: $(rate $((read + i - 10)) $((read + i))), $stolen % of the processors stolen"
      i=$((i + 10))
    fi
    history=$(metric trx_rseg_history_len)
    if [ -z "$normal" ] && [ "$history" -lt 50000 ]; then
      normal=$(since "$from")
      echo "  the history is short again $normal s after the COMMIT ($held before, $history now)"
      made_of "then"
    fi
    sleep 0.5
  done
  made_of "$after s after"
  { kill $load; wait $load; } 2>/dev/null || true
  last=$(rate $((seconds - 60)) "$seconds") first=$(rate 0 60)
  verdict "last minute with the snapshot: $last; first: $first (at least 90 % wanted)" "$(share "$last") * 100 >= $(share "$first") * 90"
  for ((i = 10; i <= after; i++)); do
    last=$(rate $((read + i - 10)) $((read + i)))
    (($(share "$last") * 100 < $(share "$first") * 90)) || break
  done
  verdict "nine tenths of the first minute over the ten seconds up to $i s after the COMMIT (within 60 wanted): $last" "i <= 60"
  verdict "history short again after ${normal:-more than 60} s (within 60 wanted)" "${#normal} > 0"
  verdict "disk without tables $was MiB before, $((undo + free + rest)) $after s after (64 more allowed)" "undo + free + rest <= was + 64"
  verdict "tables $before MiB before, $tables after, $((tables - used)) of them without a page in use (64 allowed)" "tables - used <= 64"
  echo "  history $(metric trx_rseg_history_len), rss $(rss) MiB, at most $(peak)"
  stop
  [ -z "$twin" ] || { kill -9 $twin; wait $twin; } 2>/dev/null || true
  rm -rf "$dir/gannet" "$dir/twin"
  twin=
  [ "$failed" = 0 ]
}
mean() { # mean LOG FROM TO: of the reports in between
  awk -v from="$2" -v to="$3" '$1 == "[" && $2 + 0 > from && $2 + 0 <= to { for (i = 1; i < NF; i++) if ($i == "tps:") { n++; t += $(i + 1) } }
    END { printf "%.1f", n ? t / n : 0 }' "$dir/$1"
}
rate() { # rate FROM TO: the load's, and its share of the twin's
  local of=$(mean load.log "$1" "$2") twins
  echo -n "$of transactions/s"
  [ -n "$twin" ] || return 0
  twins=$(mean twin.log "$1" "$2")
  awk -v a="$of" -v b="$twins" 'BEGIN { printf ", twin %s, share %d per mille", b, b ? 1000 * a / b : 0 }'
}
share() { # share RATE: what is compared of what `rate` prints
  awk '{ print (/share/) ? $(NF - 2) : int($1) }' <<<"$1"
}

large() {
  local from size=${PRESSURE_LARGE_POOL_MIB:-1024}
  start gannet "$size"
  answers 'SELECT 1'
  echo "large: one transaction over $rows rows, pool $size MiB"
  sql "CREATE DATABASE big; CREATE TABLE big.seq (n INT PRIMARY KEY); SET SESSION cte_max_recursion_depth = 100000;
    INSERT INTO big.seq WITH RECURSIVE s (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 9999) SELECT n FROM s;
    CREATE TABLE big.t (id INT PRIMARY KEY, n INT NOT NULL, c CHAR(60) NOT NULL)"
  from=$(now)
  sql "INSERT INTO big.t SELECT a.n * 10000 + b.n, 0, REPEAT('x', 60) FROM big.seq a JOIN big.seq b WHERE a.n < $((rows / 10000))"
  echo "  INSERT ... SELECT: $(since "$from") s, disk $(disk) MiB, rss at most $(peak) MiB"
  from=$(now)
  sql "BEGIN; UPDATE big.t SET n = n + 1; COMMIT"
  echo "  UPDATE, committed: $(since "$from") s, disk $(disk) MiB, rss at most $(peak) MiB"
  from=$(now)
  sql "BEGIN; UPDATE big.t SET n = n + 1; ROLLBACK"
  echo "  UPDATE and ROLLBACK: $(since "$from") s, rss at most $(peak) MiB"
  within 96
  from=$(now)
  echo "  all rows FOR UPDATE: $(sql "BEGIN; SELECT CONCAT(COUNT(*), ' rows, ') FROM (SELECT id FROM big.t FOR UPDATE) l;
    SELECT CONCAT(variable_value, ' bytes of locks') FROM performance_schema.global_status WHERE variable_name = 'Gannet_lock_memory'; ROLLBACK" | tr -d '\n'), $(since "$from") s, rss at most $(peak) MiB"
  within 96
  same "rows after the rollback" "$rows $rows 1" "$(sql 'SELECT COUNT(*), SUM(n), MAX(n) FROM big.t' | tr '\t' ' ')"
  mysql --no-defaults --unbuffered -uroot -S "$GANNET_SOCKET" -N -B \
    -e "BEGIN; UPDATE big.t SET n = n + 1; SELECT 'done'; SELECT SLEEP(600)" >"$dir/open" 2>&1 &
  until grep -q done "$dir/open"; do sleep 0.1; done
  kill -9 "$server"
  wait "$server" 2>/dev/null || true
  from=$(now)
  start gannet "$size"
  answers 'SELECT n FROM big.t WHERE id = 77'
  echo "  killed in it: first query $(since "$from") s after the start"
  sql "SET SESSION innodb_lock_wait_timeout = 1; INSERT INTO big.t VALUES (-1, 1, 'new'); UPDATE big.seq SET n = n + 1 ORDER BY n DESC LIMIT 10; DELETE FROM big.t WHERE id = -1"
  echo "  other rows written $(since "$from") s after the start"
  until sql 'SET SESSION innodb_lock_wait_timeout = 1; SELECT COUNT(*) FROM big.t WHERE id IN (0, 77, 9999) FOR UPDATE' >/dev/null 2>&1 &&
    [ "$(sql 'SELECT COUNT(*) FROM information_schema.INNODB_TRX')" = 0 ]; do
    sleep 0.2
    [ "$(since "$from" | cut -d. -f1)" -lt 600 ] || { echo "not rolled back after ten minutes"; exit 1; }
  done
  echo "  all rolled back $(since "$from") s after the start, rss $(rss) MiB, at most $(peak) MiB"
  within 136
  same "rows after the crash" "$rows $rows 1" "$(sql 'SELECT COUNT(*), SUM(n), MAX(n) FROM big.t' | tr '\t' ' ')"
  stop
  rm -rf "$dir/gannet"
}

spill() {
  local before query size=256
  start gannet $size --gannet-statement-memory=64M
  answers 'SELECT 1'
  load 4 "${PRESSURE_SPILL_ROWS:-500000}"
  before=$(peak)
  echo "spill: 4 x ${PRESSURE_SPILL_ROWS:-500000} rows, pool 256 MiB, 64 MiB a statement, four at once; resident $before MiB after loading"
  for query in 'SELECT pad FROM sbtest%d ORDER BY c, pad LIMIT 400000, 1' \
    'SELECT COUNT(*), MAX(a.c) FROM sbtest%d a JOIN sbtest1 b ON a.pad = b.pad' \
    'SELECT COUNT(*) FROM (SELECT c, COUNT(*) FROM sbtest%d GROUP BY c) g' \
    'SELECT COUNT(*) FROM (SELECT DISTINCT c, pad FROM sbtest%d) d'; do
    for i in 1 2 3 4; do
      # shellcheck disable=SC2059
      mysql --no-defaults -uroot -S "$GANNET_SOCKET" -N -B sbtest -e "$(printf "$query" $i)" >"$dir/spill.$i" 2>&1 &
    done
    for i in $(jobs -p | grep -v "^$server\$"); do wait "$i" || { cat "$dir"/spill.*; exit 1; }; done
    echo "  ${query%% FROM*} ...: resident $(rss) MiB, at most $(peak) MiB"
    within $((96 + 4 * 64))
  done
  sleep 6
  echo "  six seconds later: resident $(rss) MiB"
  stop
  rm -rf "$dir/gannet"
}

cold() {
  local kind depth data reads
  need fio fio
  # 8 tables; a row takes about 240 bytes with its index.
  local each=$((pool * 4 * 1024 * 1024 / 8 / 240))
  for kind in gannet ${PRESSURE_PEER:+mariadb}; do
    start "$kind" 2048
    answers 'SELECT 1'
    load 8 $each
    stop
    [ "$kind" != gannet ] || data=$(disk)
    start "$kind" "$pool"
    answers 'SELECT 1'
    echo "cold: $kind, 8 x $each rows, pool $pool MiB${data:+, data $data MiB}"
    for depth in 16 64; do
      sysbench oltp_point_select "${bench[@]}" --skip-trx "--threads=$depth" --time=20 --percentile=99 run >"$dir/load.log" 2>&1 || { tail -5 "$dir/load.log"; exit 1; }
      reads=$(awk '/transactions:/ { gsub(/\(/, ""); print $3 }' "$dir/load.log")
      echo "  $depth connections: $reads selects/s, p99 $(awk '/99th/ { print $3 }' "$dir/load.log") ms, rss $(rss) MiB"
    done
    stop
  done
  for depth in 16 64; do
    reads=$(fio --name=reads "--filename=$(find "$dir/gannet" -type f -size +100M | head -1)" --readonly --rw=randread --bs=16k --direct=1 \
      --ioengine=io_uring "--iodepth=$depth" --runtime=15 --time_based --output-format=terse --terse-version=3 | cut -d';' -f8)
    echo "  the device: $reads random reads/s of 16 KiB at depth $depth"
  done
  rm -rf "$dir/gannet" "$dir/mariadb"
}

for part in $parts; do "$part"; done
