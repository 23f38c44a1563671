#!/usr/bin/env bash
# Builds, loads and dumps beside MariaDB, both durable, in turn: for each step the microseconds of the server's processor a row
# and the rows a second. LOADING_ROWS: 1,000,000; LOADING_ROUNDS: 2, of which the best is told; LOADING_POOL: 2G.
# LOADING_PARTS, of "build insert load dump narrow": rebuilds and CREATE INDEX; multi-row INSERT; LOAD DATA, mysql < dump, gannet load
# and myloader; gannet dump and mydumper; and all of it once with short rows, of which 10,000,000 fit. LOADING_PEER=0: without MariaDB. LOADING_OPTIONS: more options of the server.
# LOADING_DIR: where servers and dumps lie. Servers and ports (LOADING_PORT and the next) are its own; GANNET_BIN is the binary.
# Needs 2 GB of disk for a million rows.
. "$(dirname "$0")/../lib.sh.inc"
need mysql mariadb-client
need mariadb-dump mariadb-client
need mydumper mydumper
rows=${LOADING_ROWS:-1000000}
rounds=${LOADING_ROUNDS:-2}
pool=${LOADING_POOL:-2G}
parts=${LOADING_PARTS:-build insert load dump}
port=${LOADING_PORT:-13460}
bin=${GANNET_BIN:-target/release/gannet}
dir=$(mktemp -d "${LOADING_DIR:-${TMPDIR:-/tmp}}/gannet-loading-XXXXXX")
declare -A pids
trap 'for p in "${pids[@]}"; do kill -9 "$p" 2>/dev/null; wait "$p" 2>/dev/null; done || true; rm -rf "$dir"' EXIT
kinds="gannet mariadb"
[ "${LOADING_PEER:-1}" = 1 ] || kinds=gannet

start() { # start KIND
  export GANNET_SOCKET=$dir/$1.sock
  if [ "$1" = gannet ]; then
    # shellcheck disable=SC2086
    "$bin" serve "--datadir=$dir/gannet" "--socket=$GANNET_SOCKET" "--port=$port" "--innodb-buffer-pool-size=$pool" \
      --innodb-redo-log-capacity=1G "--secure-file-priv=$dir/files" --local-infile=1 --skip-log-bin \
      ${LOADING_OPTIONS:-} >>"$dir/gannet.log" 2>&1 &
  else
    [ -d "$dir/mariadb" ] || mariadb-install-db --no-defaults "--user=$(id -un)" "--datadir=$dir/mariadb" \
      --auth-root-authentication-method=normal >"$dir/install.log" 2>&1
    mariadbd --no-defaults "--datadir=$dir/mariadb" "--socket=$GANNET_SOCKET" "--port=$((port + 1))" \
      "--innodb-buffer-pool-size=$pool" --innodb-log-file-size=1G --skip-name-resolve --bind-address=127.0.0.1 \
      "--user=$(id -un)" "--tmpdir=$dir" "--secure-file-priv=$dir/files" --local-infile=1 >>"$dir/mariadb.log" 2>&1 &
  fi
  server=$!
  pids[$1]=$server
  answers 'SELECT 1'
}
on() { # on KIND SQL
  mysql --no-defaults -uroot -S "$dir/$1.sock" -N -B d -e "$2"
}
cpu() { awk '{ print ($14 + $15) * 10000 }' "/proc/$1/stat"; } # microseconds
timed() { # timed KIND STEP COMMAND...: notes what it took
  local kind=$1 step=$2 at before began
  shift 2
  at=${pids[$kind]} before=$(cpu "${pids[$kind]}") began=$(date +%s%N)
  "$@" >"$dir/out.log" 2>&1 || { echo "$kind: $step"; tail -5 "$dir/out.log"; exit 1; }
  local ended; ended=$(date +%s%N)
  awk -v k="$kind" -v s="$step" -v c="$(($(cpu "$at") - before))" -v t=$((ended - began)) -v n="$rows" \
    'BEGIN { printf "%s\t%s\t%.3f\t%.0f\n", s, k, c / n, n * 1e9 / t }' | tee -a "$dir/results" |
    awk -F'\t' '{ printf "  %s, %s: %s us a row, %s rows/s\n", $1, $2, $3, $4 }'
}
each() { # each STEP SQL: on each server, as often as there are rounds, each time behind $before
  local kind
  for _ in $(seq "$rounds"); do
    for kind in $kinds; do
      [ -z "${before:-}" ] || on "$kind" "$before"
      timed "$kind" "$1" on "$kind" "$2"
    done
  done
  before=
}

mkdir -p "$dir/files"
chmod 777 "$dir" "$dir/files"
# Rows by chance, the same each time: integers and texts of which some are equal.
awk -v n="$rows" 'BEGIN {
  srand(38)
  split("anna bernd carla dieter emma franz greta hans ida jakob klara ludwig maria norbert olga peter", w, " ")
  for (i = 1; i <= n; i++) {
    a = int(rand() * n); b = int(rand() * 1000); c = int(rand() * 2000000000); x = 1 + int(rand() * 16); y = 1 + int(rand() * 16)
    printf "%d\t%d\t%d\t%d\t2024-%02d-%02d %02d:%02d:00\t%s.%s.%d\t%s-%d\t%s%d@%s.example\t%09d\n", i, a, b, c, 1 + b % 12,
      1 + a % 28, a % 24, b % 60, w[x], w[y], a, toupper(w[y]), b, w[x], c, w[y], c % 1000000000
  }
}' >"$dir/files/rows"
columns="id INT NOT NULL PRIMARY KEY, a INT NOT NULL, b INT NOT NULL, c BIGINT NOT NULL, t DATETIME NOT NULL, name VARCHAR(60) NOT NULL,
  city VARCHAR(40) NOT NULL, mail VARCHAR(80) NOT NULL, code CHAR(12) NOT NULL"
integers="KEY ka (a), KEY kb (b, c), KEY kc (c), KEY kt (t)"
texts="KEY ka (name), KEY kb (city, code), KEY kc (mail), KEY kt (code)"
options="ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
for kind in $kinds; do
  start "$kind"
  sql 'CREATE DATABASE d'
  on "$kind" "CREATE TABLE one ($columns, KEY ka (a)) $options; CREATE TABLE i ($columns, $integers) $options;
    CREATE TABLE x ($columns, $texts) $options; CREATE TABLE n ($columns) $options"
done
file="LOAD DATA INFILE '$dir/files/rows' INTO TABLE"
case " $parts " in *" load "* | *" build "*)
  before='TRUNCATE TABLE n' each 'LOAD DATA, no index' "$file n"
  before='TRUNCATE TABLE one' each 'LOAD DATA, one index' "$file one"
  before='TRUNCATE TABLE i' each 'LOAD DATA, four indexes of integers' "$file i"
  before='TRUNCATE TABLE x' each 'LOAD DATA, four indexes of texts' "$file x" ;;
*" narrow "*) ;;
*) for kind in $kinds; do on "$kind" "$file one"; done ;;
esac
for part in $parts; do
  case $part in
  build)
    each 'rebuild, four indexes of integers' 'ALTER TABLE i FORCE'
    each 'rebuild, four indexes of texts' 'ALTER TABLE x FORCE'
    each 'rebuild by COPY, four indexes of integers' 'ALTER TABLE i FORCE, ALGORITHM = COPY'
    each 'rebuild by COPY, four indexes of texts' 'ALTER TABLE x FORCE, ALGORITHM = COPY'
    before='ALTER TABLE n DROP INDEX IF EXISTS p'
    drop='ALTER TABLE n DROP INDEX p'
    for index in "a" "b, c" "name" "city, code" "mail"; do
      for kind in $kinds; do on "$kind" "CREATE INDEX p ON n (id)"; done
      before=$drop each "CREATE INDEX ($index)" "CREATE INDEX p ON n ($index)"
      for kind in $kinds; do on "$kind" "$drop"; done
    done
    for kind in $kinds; do on "$kind" "ALTER TABLE n ADD KEY p (id), ADD KEY q (id), ADD KEY r (id)"; done
    drop='ALTER TABLE n DROP INDEX p, DROP INDEX q, DROP INDEX r'
    before=$drop each 'three indexes of integers at once' 'ALTER TABLE n ADD KEY p (a), ADD KEY q (b, c), ADD KEY r (c)'
    before=$drop each 'three indexes of texts at once' 'ALTER TABLE n ADD KEY p (name), ADD KEY q (city, code), ADD KEY r (mail)'
    for kind in $kinds; do on "$kind" "$drop"; done ;;
  insert)
    # Into a table that is not empty, so that its trees cannot be built: rows of ten and of a thousand a statement.
    for many in 10 1000; do
      awk -F'\t' -v m=$many 'BEGIN { q = "\047" } {
        printf "%s(%s,%s,%s,%s,%s%s%s,%s%s%s,%s%s%s,%s%s%s,%s%s%s)%s", (NR % m == 1 ? "INSERT INTO m VALUES " : ","), $1, $2, $3, $4,
          q, $5, q, q, $6, q, q, $7, q, q, $8, q, q, $9, q, (NR % m == 0 ? ";\n" : "")
      } NR % 10000 == 1 && NR > 1 { } END { }' "$dir/files/rows" >"$dir/insert.sql"
      { echo 'SET autocommit = 0;'; awk '{ print } NR % 100 == 0 { print "COMMIT;" } END { print "COMMIT;" }' "$dir/insert.sql"; } \
        >"$dir/insert2.sql" && mv "$dir/insert2.sql" "$dir/insert.sql"
      for kind in $kinds; do on "$kind" "DROP TABLE IF EXISTS m; CREATE TABLE m ($columns, KEY ka (a)) $options"; done
      for _ in $(seq "$rounds"); do
        for kind in $kinds; do
          on "$kind" "TRUNCATE TABLE m; INSERT INTO m SELECT -1, 0, 0, 0, NOW(), '', '', '', ''"
          timed "$kind" "INSERT of $many rows" mysql --no-defaults -uroot -S "$dir/$kind.sock" d -e "source $dir/insert.sql"
        done
      done
      rm "$dir/insert.sql"
    done
    for kind in $kinds; do on "$kind" "DROP TABLE m"; done ;;
  load | dump)
    from=${kinds##* }
    if [ "$part" = dump ]; then
      for _ in $(seq "$rounds"); do
        for kind in $kinds; do
          rm -rf "$dir/shell" "$dir/my"
          timed "$kind" 'gannet dump, 4 connections' "$bin" dump -q -S "$dir/$kind.sock" -u root --schema=d --table=one --compression=none "$dir/shell"
          timed "$kind" 'mydumper, 4 threads' mydumper -S "$dir/$kind.sock" -u root -B d -T one -t 4 -r 100000 -o "$dir/my"
        done
      done
      rm -rf "$dir/shell" "$dir/my"
      continue
    fi
    "$bin" dump -q -S "$dir/$from.sock" -u root --schema=d --table=one --compression=none "$dir/shell"
    mydumper -S "$dir/$from.sock" -u root -B d -T one -t 4 -r 100000 -o "$dir/my" >"$dir/out.log" 2>&1
    mariadb-dump --no-defaults -uroot -S "$dir/$from.sock" d one >"$dir/one.sql"
    sed -i 1d "$dir/one.sql"
    for kind in $kinds; do on "$kind" 'CREATE DATABASE e'; done
    for _ in $(seq "$rounds"); do
      for kind in $kinds; do
        on "$kind" 'DROP TABLE IF EXISTS e.one'
        timed "$kind" 'mysql < dump' mysql --no-defaults -uroot -S "$dir/$kind.sock" e -e "source $dir/one.sql"
        on "$kind" 'DROP TABLE e.one'
        timed "$kind" 'gannet load of files of rows' "$bin" load -q --reset -S "$dir/$kind.sock" -u root --into=e "$dir/shell"
        on "$kind" 'DROP TABLE e.one'
        timed "$kind" 'gannet load of a file of SQL' "$bin" load -q --reset -S "$dir/$kind.sock" -u root --into=e "$dir/one.sql"
        on "$kind" 'DROP TABLE e.one'
        timed "$kind" 'myloader, 4 threads' myloader -S "$dir/$kind.sock" -u root -B e -t 4 -o -d "$dir/my"
      done
    done
    rm -rf "$dir/shell" "$dir/my" "$dir/one.sql" ;;
  narrow)
    for kind in $kinds; do
      on "$kind" 'CREATE TABLE s (id INT PRIMARY KEY, a INT NOT NULL, name VARCHAR(20) NOT NULL, KEY ka (a)) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci'
    done
    awk -F'\t' '{ printf "%d\t%d\t%s\n", $1, $2, $9 "-" $3 }' "$dir/files/rows" >"$dir/files/short"
    before='TRUNCATE TABLE s' each 'short rows: LOAD DATA, one index' "LOAD DATA INFILE '$dir/files/short' INTO TABLE s"
    each 'short rows: CREATE INDEX over texts' 'CREATE INDEX p ON s (name)'
    each 'short rows: ADD of two indexes at once' 'ALTER TABLE s ADD KEY q (a, name), ADD KEY r (name, a)'
    each 'short rows: rebuild, four indexes' 'ALTER TABLE s FORCE'
    for kind in $kinds; do
      rm -rf "$dir/shell"
      timed "$kind" 'short rows: gannet dump' "$bin" dump -q -S "$dir/$kind.sock" -u root --schema=d --table=s --compression=none "$dir/shell"
      on "$kind" 'DROP TABLE s'
      timed "$kind" 'short rows: gannet load, four indexes' "$bin" load -q --reset -S "$dir/$kind.sock" -u root --verify "$dir/shell"
      same "$kind: rows" "$rows" "$(on "$kind" 'SELECT COUNT(*) FROM s')"
      on "$kind" 'DROP TABLE s'
    done
    rm -rf "$dir/shell" ;;
  *) echo "no part $part"; exit 1 ;;
  esac
done
echo "| step, $rows rows | CPU, us a row | MariaDB | ratio | rows/s | MariaDB | ratio |"
echo "|---|--:|--:|--:|--:|--:|--:|"
awk -F'\t' '
  !($1 in seen) { seen[$1] = 1; order[++n] = $1 }
  { at = $1 "\t" $2; if (!(at in c) || $3 < c[at]) c[at] = $3; if ($4 > r[at]) r[at] = $4 }
  END { for (i = 1; i <= n; i++) { g = order[i] "\tgannet"; m = order[i] "\tmariadb"
    printf "| %s | %.2f | %.2f | %.2f | %d | %d | %.2f |\n", order[i], c[g], c[m], c[m] ? c[g] / c[m] : 0, r[g], r[m], r[m] ? r[g] / r[m] : 0 } }
' "$dir/results"
for kind in $kinds; do
  echo "$kind: resident memory at most $(awk '/^VmHWM/ { print int($2 / 1024) }' "/proc/${pids[$kind]}/status") MiB, pool $pool"
done
