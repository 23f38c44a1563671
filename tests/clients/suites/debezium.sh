#!/usr/bin/env bash
# Debezium's MySQL connector: a snapshot, then the binary log, while four sessions write and the server is killed and started
# DEBEZIUM_KILLS times (3). What its events add up to has to be what the tables hold in the end.
# The server, its directory and its port (DEBEZIUM_PORT, 13500) are its own; GANNET_BIN is the binary.
. "$(dirname "$0")/suite.sh.inc"
need mvn maven
need javac default-jdk-headless
need mysql mariadb-client
port=${DEBEZIUM_PORT:-13500}
bin=${GANNET_BIN:-target/release/gannet}
dir=$(mktemp -d "${TMPDIR:-/tmp}/gannet-debezium-XXXXXX")
server=
writers=
trap '[ -z "$writers" ] || kill $writers 2>/dev/null; [ -z "$server" ] || kill -9 "$server" 2>/dev/null; rm -rf "$dir"' EXIT
export GANNET_SOCKET=$dir/gannet.sock

start() {
  rm -f "$GANNET_SOCKET"
  "$bin" serve "--datadir=$dir/data" "--socket=$GANNET_SOCKET" "--port=$port" >>"$dir/server.log" 2>&1 &
  server=$!
  answers 'SELECT 1'
}
# The statements of a writer, without end; errors of a server that is gone are passed over.
statements() { # statements SEED
  awk -v seed="$1" 'BEGIN { srand(seed); for (n = 0; ; n++) {
    id = int(rand() * 400); k = rand(); s = sprintf("w%d-%d", seed, n)
    if (k < 0.3) printf "REPLACE INTO a VALUES (%d,%d,\"%s ü日\",\"{\\\"n\\\": %d}\",%d.25,NOW(6));\n", id, n, s, n, n
    else if (k < 0.5) printf "UPDATE a SET n = n + 1, d = d * 2 - d WHERE id BETWEEN %d AND %d;\n", id, id + 3
    else if (k < 0.6) printf "DELETE FROM a WHERE id = %d;\n", id
    else if (k < 0.7) printf "INSERT INTO b VALUES (\"%s\",%d) ON DUPLICATE KEY UPDATE n = n + 1;\n", "k" id, n
    else if (k < 0.75) printf "UPDATE b SET k = CONCAT(k, \"x\") WHERE k = \"k%d\";\n", id
    else if (k < 0.8) printf "BEGIN; DELETE FROM b WHERE k = \"k%d\"; SAVEPOINT s; DELETE FROM a; ROLLBACK TO s; COMMIT;\n", id
    else if (k < 0.9) printf "BEGIN; UPDATE a SET n = -n WHERE id < 50; UPDATE b SET n = -n; ROLLBACK;\n"
    else if (k < 0.99) printf "INSERT INTO big SELECT a.id + %d, REPEAT(\"%s\", 50) FROM a ON DUPLICATE KEY UPDATE t = VALUES(t);\n", id * 10, s
    else printf "ALTER TABLE b ALTER COLUMN n SET DEFAULT %d;\n", n
  } }'
}
writer() { # writer SEED
  local seed=$1
  while :; do
    # A client without its server reads statements to their end, which there is none: so many at a time.
    statements "$seed" | head -2000 | mysql --no-defaults -f -uroot -S "$GANNET_SOCKET" cdc >/dev/null 2>&1 || true
    seed=$((seed + 100))
    sleep 0.2
  done
}

mkdir -p "$work/src/main/java"
cp "$here/debezium/pom.xml" "$work"
cp "$here/debezium/Cdc.java" "$work/src/main/java"
(cd "$work" && mvn -q -B compile dependency:build-classpath -Dmdep.outputFile=classpath) >"$log" 2>&1 || { tail -20 "$log"; exit 1; }
start
sql "CREATE USER debezium@'%' IDENTIFIED BY 'secret'; GRANT SELECT, RELOAD, SHOW DATABASES, REPLICATION SLAVE, REPLICATION CLIENT ON *.*
  TO debezium@'%'; CREATE DATABASE cdc; USE cdc; CREATE TABLE marks (id INT PRIMARY KEY); CREATE TABLE b (k VARCHAR(40) PRIMARY KEY, n INT);
  CREATE TABLE a (id INT PRIMARY KEY, n BIGINT, s VARCHAR(50), j JSON, d DECIMAL(20,2), t DATETIME(6), KEY (n));
  CREATE TABLE big (id INT PRIMARY KEY, t TEXT); INSERT INTO a (id, n, d) VALUES (1, 1, 1), (399, 2, 2); INSERT INTO b VALUES ('first', 1)"
for seed in 1 2 3 4; do
  writer $seed &
  writers="$writers $!"
done
java -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$work/target/classes:$(cat "$work/classpath")" Cdc "$port" "$dir" 1 >"$log" 2>&1 &
reader=$!
deadline=$((SECONDS + 120))
until [ -n "$(sql "SELECT 1 FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'")" ]; do
  kill -0 $reader 2>/dev/null && [ $SECONDS -lt $deadline ] || { tail -20 "$log"; exit 1; }
  sleep 0.2
done
for _ in $(seq "${DEBEZIUM_KILLS:-3}"); do
  sleep $((4 + RANDOM % 4))
  kill -9 "$server"
  wait "$server" 2>/dev/null || true
  start
done
sleep 4
kill $writers
wait $writers 2>/dev/null || true
writers=
pkill -f "S $GANNET_SOCKET cdc" || true
sleep 1
sql "INSERT INTO cdc.marks VALUES (1)"
wait $reader || { tail -20 "$log"; exit 1; }
# A datetime is microseconds since 1970 there, and JSON is without spaces.
sql "SET time_zone = '+00:00'; SELECT CONCAT_WS('|', CONCAT('a: ', id), IFNULL(n, 'NULL'), IFNULL(s, 'NULL'),
  IFNULL(REPLACE(j, ': ', ':'), 'NULL'), IFNULL(d, 'NULL'), IFNULL(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', t), 'NULL')) FROM cdc.a
  UNION ALL SELECT CONCAT('b: ', k, '|', n) FROM cdc.b UNION ALL SELECT CONCAT('big: ', id, '|', t) FROM cdc.big
  UNION ALL SELECT 'marks: 1'" | LC_ALL=C sort >"$dir/wanted"
LC_ALL=C sort "$dir/rows" >"$dir/got"
diff "$dir/wanted" "$dir/got" | cut -c1-150 | head -5
cmp -s "$dir/wanted" "$dir/got" || { echo "debezium: the tables have $(wc -l <"$dir/wanted") rows, its events $(wc -l <"$dir/got")"; exit 1; }
stop
echo "debezium: $(grep -o 'snapshot rows .*' "$log"), ${DEBEZIUM_KILLS:-3} kills, $(wc -l <"$dir/got") rows equal"
