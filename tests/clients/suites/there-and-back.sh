#!/usr/bin/env bash
# Dumps there and back: MariaDB -> Gannet -> another Gannet -> MariaDB by `gannet dump` and `gannet load --verify`, and the checksums of
# the four dumps of the same tables compared: BACK_TABLES (200) tables, one of BACK_ROWS (200,000) rows, blobs of megabytes, odd character
# sets, generated columns, zero dates; then a file of mariadb-dump into Gannet, dumped and compared again.
# Servers, directories and ports (BACK_PORT and the next two) are its own; GANNET_BIN is the binary.
. "$(dirname "$0")/../lib.sh.inc"
need mysql mariadb-client
need mariadb-dump mariadb-client
tables=${BACK_TABLES:-200}
rows=${BACK_ROWS:-200000}
port=${BACK_PORT:-13470}
bin=${GANNET_BIN:-target/release/gannet}
dir=$(mktemp -d "${TMPDIR:-/tmp}/gannet-back-XXXXXX")
server= pids=()
trap 'for p in "${pids[@]}"; do kill -9 "$p" 2>/dev/null; wait "$p" 2>/dev/null; done || true; rm -rf "$dir"' EXIT
begin() { # begin NAME COMMAND...
  export GANNET_SOCKET=$dir/$1.sock
  shift
  "$@" >>"$dir/servers.log" 2>&1 &
  server=$!
  pids+=("$server")
  answers 'SELECT 1'
}
mariadb-install-db --no-defaults "--user=$(id -un)" "--datadir=$dir/m" --auth-root-authentication-method=normal >"$dir/install.log" 2>&1
begin m mariadbd --no-defaults "--datadir=$dir/m" "--socket=$dir/m.sock" "--port=$port" --skip-name-resolve --bind-address=127.0.0.1 \
  "--user=$(id -un)" "--tmpdir=$dir" --local-infile=1 --max-allowed-packet=64M
for g in a b; do
  port=$((port + 1))
  begin $g "$bin" serve "--datadir=$dir/$g" "--socket=$dir/$g.sock" "--port=$port" --local-infile=1 --innodb-redo-log-capacity=256M \
    --max-allowed-packet=64M
done
on() { mysql --no-defaults -uroot -S "$dir/$1.sock" -N -B --default-character-set=utf8mb4 -e "$2"; }
on m "CREATE DATABASE d CHARACTER SET latin1; USE d; SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES';
  CREATE TABLE odd (id BIGINT UNSIGNED PRIMARY KEY, l VARCHAR(60), w VARCHAR(60) CHARACTER SET utf16, c VARCHAR(60) CHARACTER SET cp1251,
    g VARCHAR(60) CHARACTER SET greek, u VARCHAR(60) CHARACTER SET utf8mb4, u3 VARCHAR(60) CHARACTER SET utf8mb3, b VARBINARY(60),
    h CHAR(8) CHARACTER SET ucs2, bi BIT(13), f FLOAT, d DOUBLE, n DECIMAL(40, 12), dt DATE, t DATETIME(6), ts TIMESTAMP(3) NULL, ti TIME(2),
    y YEAR, e ENUM('a', 'b,c', 'd''e'), s SET('x', 'y', 'z'), KEY (c), UNIQUE KEY (u, id));
  INSERT INTO odd SELECT seq, CONCAT('äöüß', seq), CONCAT('wide ', seq, 'ж'), CONCAT('Привет ', seq), CONCAT('αβγ', seq), CONCAT('日本語😀', seq),
    CONCAT('€\\t\\\\n\\'', seq), UNHEX(SHA1(seq)), 'ucs', seq % 8192, seq / 3, 1 / seq, seq * 1234567.000000000001,
    IF(seq % 7, '2024-02-28', '0000-00-00'), '1999-12-31 23:59:59.999999', FROM_UNIXTIME(seq * 1000), SEC_TO_TIME(CAST(seq AS SIGNED) * 7 - 3000000), 1901 + seq % 250,
    1 + seq % 3, seq % 8 FROM seq_1_to_2000;
  CREATE TABLE blobs (id INT PRIMARY KEY, b LONGBLOB, t LONGTEXT CHARACTER SET utf8mb4);
  INSERT INTO blobs SELECT seq, REPEAT(UNHEX(MD5(seq)), seq * 10000), REPEAT('tab\\tline\\n', seq * 9000) FROM seq_1_to_20;
  CREATE TABLE made (id INT PRIMARY KEY AUTO_INCREMENT, a INT, p INT AS (a * 3) STORED, v VARCHAR(30) AS (CONCAT('v', a)) VIRTUAL, KEY (p));
  INSERT INTO made (id, a) SELECT seq - 1, IF(seq % 5, seq, NULL) FROM seq_1_to_5000;
  CREATE TABLE nokey (a INT, b TEXT); INSERT INTO nokey SELECT seq % 10, 'equal' FROM seq_1_to_3000;
  CREATE TABLE huge (id INT PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, KEY (k), KEY (c(20)));
  INSERT INTO huge SELECT seq, seq * 7919 % 100003, SHA2(seq, 512) FROM seq_1_to_$rows;
  CREATE VIEW seen AS SELECT id, p FROM made; CREATE PROCEDURE pr(x INT) SELECT x;
  CREATE TRIGGER tr BEFORE INSERT ON nokey FOR EACH ROW SET NEW.a = NEW.a + 1"
for n in $(seq "$tables"); do
  echo "CREATE TABLE t$n (id INT PRIMARY KEY, a VARCHAR(40), KEY (a)); INSERT INTO t$n SELECT seq, MD5(seq + $n) FROM seq_1_to_$((n % 50));"
done >"$dir/many.sql"
mysql --no-defaults -uroot -S "$dir/m.sock" d <"$dir/many.sql"
sums() { # the checksums of a dump's tables, without the schema's name
  grep -A1000000 '"tables"' "$1/@.done.json" | grep -E '"(rows|sum)"|": \{' | grep -vE '"(d|e|f)": \{'
}
dump() { "$bin" dump -q -S "$dir/$1.sock" -u root "--schema=$2" "$dir/$3" >"$dir/out.log" 2>&1 || { cat "$dir/out.log"; exit 1; }; }
load() { "$bin" load -q -S "$dir/$1.sock" -u root "--into=$2" --verify "$dir/$3" >"$dir/out.log" 2>&1 || { cat "$dir/out.log"; exit 1; }; }
dump m d first
load a d first
dump a d second
load b d second
dump b d third
load m e third
dump m e fourth
for n in second third fourth; do same "checksums of the $n dump" "$(sums "$dir/first")" "$(sums "$dir/$n")"; done
same 'tables' "$((tables + 5))" "$(sums "$dir/fourth" | grep -c '"rows"')"
# A file of SQL: FLOAT has lost digits there, so its table is left out.
mariadb-dump --no-defaults -uroot -S "$dir/m.sock" --routines --hex-blob --ignore-table=d.odd d >"$dir/d.sql"
sed -i '/^\/\*M!999999/d' "$dir/d.sql"
on a 'CREATE DATABASE f'
"$bin" load -q -S "$dir/a.sock" -u root --into=f "$dir/d.sql" >"$dir/out.log" 2>&1 || { cat "$dir/out.log"; exit 1; }
on a 'DROP TABLE d.odd'
dump a d fifth
dump a f sixth
same 'checksums of the file of SQL' "$(sums "$dir/fifth")" "$(sums "$dir/sixth")"
for table in odd huge blobs; do
  same "CHECK TABLE $table" "d.$table	check	status	OK" "$(on b "CHECK TABLE d.$table")"
done
echo "there and back: $((tables + 5)) tables, $rows rows in one; MariaDB, Gannet, Gannet, MariaDB: equal checksums"
