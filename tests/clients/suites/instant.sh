#!/usr/bin/env bash
# Changes of definitions that leave the rows as they are, on a table of INSTANT_ROWS (1,000,000) rows beside INSTANT_WRITERS (4) sessions
# that update it: the time of each by the server's own clock (performance_schema), of which none may take INSTANT_MS (100) milliseconds; and
# INSTANT_CHANGES (1,000) changes of one table, behind which rows of every version are read and compared. INSTANT_DIR: where the server's
# files lie. Server, directory and port (INSTANT_PORT) are its own; GANNET_BIN is the binary.
. "$(dirname "$0")/../lib.sh.inc"
need mysql mariadb-client
rows=${INSTANT_ROWS:-1000000}
writers=${INSTANT_WRITERS:-4}
most=${INSTANT_MS:-100}
changes=${INSTANT_CHANGES:-1000}
bin=${GANNET_BIN:-target/release/gannet}
dir=$(mktemp -d "${INSTANT_DIR:-${TMPDIR:-/tmp}}/gannet-instant-XXXXXX")
server= jobs=()
trap 'kill "${jobs[@]}" 2>/dev/null || true; [ -z "$server" ] || kill -9 "$server" 2>/dev/null || true; rm -rf "$dir"' EXIT
export GANNET_SOCKET=$dir/s.sock
"$bin" serve "--datadir=$dir/data" "--socket=$GANNET_SOCKET" "--port=${INSTANT_PORT:-13490}" --innodb-buffer-pool-size=1G \
  --innodb-redo-log-capacity=256M --performance-schema=ON >>"$dir/server.log" 2>&1 &
server=$!
answers 'SELECT 1'
sql 'CREATE DATABASE d'
on() { mysql --no-defaults -uroot -S "$GANNET_SOCKET" -N -B d "$@"; }
on -e "CREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL, b INT NOT NULL, s VARCHAR(60) NOT NULL, e ENUM('x','y') NOT NULL,
  g INT AS (b + 1) STORED, KEY ka (a), KEY kg (g), CHECK (b >= 0)) DEFAULT CHARACTER SET utf8mb4;
  CREATE TABLE parent (id INT PRIMARY KEY); INSERT INTO parent VALUES (1);
  SET cte_max_recursion_depth = 100000;
  INSERT INTO t (id, a, b, s, e) WITH RECURSIVE n AS (SELECT 0 i UNION ALL SELECT i + 1 FROM n WHERE i < 999)
    SELECT x.i * 1000 + y.i, y.i, 5, CONCAT('text ', x.i), 'x' FROM n x JOIN n y ON x.i * 1000 + y.i < LEAST($rows, 1000000)"
have=$((rows < 1000000 ? rows : 1000000))
while [ $have -lt "$rows" ]; do
  on -e "INSERT INTO t (id, a, b, s, e) SELECT id + $have, a, b, s, e FROM t WHERE id < $((rows - have))"
  have=$((have * 2))
done
for w in $(seq "$writers"); do
  awk -v w="$w" -v n="$rows" 'BEGIN { srand(w); for (;;) printf "UPDATE t SET b = b + 1 WHERE id = %d;\n", int(rand() * n) }' |
    mysql --no-defaults -uroot -S "$GANNET_SOCKET" -f d >/dev/null 2>"$dir/writer.$w" &
  jobs+=($!)
done
# What MySQL does not call INSTANT is so all the same, without the word.
cat >"$dir/kinds.sql" <<'SQL'
ALTER TABLE t ADD COLUMN c1 INT NOT NULL DEFAULT 7, ALGORITHM = INSTANT;
ALTER TABLE t ADD COLUMN c2 VARCHAR(20) DEFAULT 'two' FIRST, ADD COLUMN c3 DATETIME, ALGORITHM = INSTANT;
ALTER TABLE t ALTER COLUMN c1 SET DEFAULT 8, ALGORITHM = INSTANT;
ALTER TABLE t ALTER COLUMN c2 DROP DEFAULT, ALGORITHM = INSTANT;
ALTER TABLE t RENAME COLUMN c1 TO c4, ALGORITHM = INSTANT;
ALTER TABLE t MODIFY COLUMN c4 INT NOT NULL DEFAULT 8 AFTER id;
ALTER TABLE t MODIFY COLUMN c4 BIGINT NOT NULL DEFAULT 8;
ALTER TABLE t MODIFY COLUMN s VARCHAR(2000) NOT NULL;
ALTER TABLE t MODIFY COLUMN e ENUM('x','y','z') NOT NULL;
ALTER TABLE t DROP COLUMN c3, ALGORITHM = INSTANT;
ALTER TABLE t ALTER INDEX ka INVISIBLE, ALGORITHM = INSTANT;
ALTER TABLE t RENAME INDEX ka TO kb;
ALTER TABLE t ALTER COLUMN c2 SET INVISIBLE;
ALTER TABLE t COMMENT = 'a table';
ALTER TABLE t DROP INDEX kb;
RENAME TABLE t TO u, u TO t;
ALTER TABLE t DROP COLUMN c2, DROP COLUMN c4, ALGORITHM = INSTANT;
SQL
sleep 1
worst=0
while read -r change; do
  took=$(on -e "$change" -e "SELECT ROUND(MAX(TIMER_WAIT) / 1e9, 1) FROM performance_schema.events_statements_history
    WHERE THREAD_ID = PS_CURRENT_THREAD_ID() AND SQL_TEXT NOT LIKE 'SELECT%'")
  printf '  %6s ms: %s\n' "$took" "$change"
  awk -v t="$took" -v m="$most" 'BEGIN { exit !(t < m) }' || worst=1
done <"$dir/kinds.sql"
# Many versions, mixed with indexes, generated columns, foreign keys and checks: each row says what it has to be.
on -e "CREATE TABLE v (id INT PRIMARY KEY AUTO_INCREMENT, n INT NOT NULL, p INT NOT NULL DEFAULT 1, g INT AS (n * 2) STORED,
  KEY kn (n), KEY kg (g), CHECK (n >= 0), FOREIGN KEY (p) REFERENCES parent (id))"
awk -v m="$changes" 'BEGIN {
  for (i = 1; i <= m; i++) {
    if (i % 4 == 1) printf "ALTER TABLE v ADD COLUMN x%d INT NOT NULL DEFAULT %d, ALGORITHM = INSTANT;\n", i, i
    if (i % 4 == 2) printf "ALTER TABLE v ALTER COLUMN x%d SET DEFAULT %d, ALGORITHM = INSTANT;\n", i - 1, i
    if (i % 4 == 3) printf "ALTER TABLE v RENAME COLUMN x%d TO y%d, ALGORITHM = INSTANT;\n", i - 2, i - 2
    if (i % 4 == 0) {
      if (i > 80) printf "ALTER TABLE v DROP COLUMN y%d, ALGORITHM = INSTANT;\n", i - 83
      else printf "ALTER TABLE v COMMENT = \"%d\";\n", i
    }
    printf "INSERT INTO v (n) VALUES (%d);\n", i
    if (i % 100 == 0) printf "UPDATE v SET n = n WHERE n %% 7 = 0; ALTER TABLE v DROP INDEX kn, ADD INDEX kn (n);\n"
  }
}' >"$dir/many.sql"
begun=$(date +%s%N)
on <"$dir/many.sql"
echo "  $changes changes of one table and as many rows: $((($(date +%s%N) - begun) / 1000000)) ms"
same 'rows of many versions' "$changes	$changes	$changes	0" \
  "$(on -e "SELECT COUNT(*), SUM(g = n * 2), SUM(id = n), SUM(p <> 1) FROM v")"
same 'rows of many versions by an index' "$changes" "$(on -e 'SELECT COUNT(*) FROM v FORCE INDEX (kn) WHERE n > 0')"
# A column that was added with change i: i in rows before it, what its default was then in rows behind.
for column in $(on -e "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'd' AND TABLE_NAME = 'v'
    AND COLUMN_NAME LIKE 'y%'"); do
  i=${column#y}
  same "column $column" "$changes" "$(on -e "SELECT SUM($column = IF(n <= $i, $i, $i + 1)) FROM v")"
done
for refused in 'INSERT INTO v (n) VALUES (-1)' 'INSERT INTO v (n, p) VALUES (1, 2)'; do
  if on -e "$refused" 2>/dev/null; then echo "not refused: $refused"; exit 1; fi
done
kill "${jobs[@]}" 2>/dev/null || true
wait "${jobs[@]}" 2>/dev/null || true
jobs=()
# A writer's statements are never refused because a definition changes.
sed 's/^/  writer: /' "$dir"/writer.* | grep -v "Lost connection\|gone away" || true
same 'the table' "$rows	$rows" "$(on -e 'SELECT COUNT(*), SUM(g = b + 1) FROM t')"
same 'CHECK TABLE' "d.t	check	status	OK
d.v	check	status	OK" "$(on -e 'CHECK TABLE t, v')"
stop
"$bin" check "--datadir=$dir/data"
[ $worst = 0 ] || { echo "a change took longer than $most ms"; exit 1; }
echo "instant: $(wc -l <"$dir/kinds.sql") kinds on $rows rows beside $writers writers, each below $most ms; $changes changes of one table"
