#!/usr/bin/env bash
# A Gannet follows a MariaDB whose binary log is compressed (log_bin_compress), and another Gannet follows the first: rows and statements
# that are compressed, CREATE OR REPLACE, CREATE TABLE ... SELECT, PERSISTENT and VIRTUAL columns, CHECK; then load with the replica killed
# again and again. The tables of all three are compared. Servers, directories and ports (FROM_PORT and the next two) are its own;
# GANNET_BIN is the binary. FROM_KILLS (5): how often the replica is killed.
. "$(dirname "$0")/../lib.sh.inc"
need mysql mariadb-client
need mariadbd mariadb-server
port=${FROM_PORT:-13480}
bin=${GANNET_BIN:-target/release/gannet}
kills=${FROM_KILLS:-5}
dir=$(mktemp -d "${TMPDIR:-/tmp}/gannet-from-XXXXXX")
server= pids=()
trap 'for p in "${pids[@]}"; do kill -9 "$p" 2>/dev/null; wait "$p" 2>/dev/null; done || true; rm -rf "$dir"' EXIT
begin() { # begin NAME COMMAND...: its process is in $server, too
  export GANNET_SOCKET=$dir/$1.sock
  shift
  "$@" >>"$dir/servers.log" 2>&1 &
  server=$!
  pids+=("$server")
  answers 'SELECT 1'
}
on() { mysql --no-defaults -uroot -S "$dir/$1.sock" -N -B --default-character-set=utf8mb4 -e "$2"; }
replica() { # replica NAME NUMBER
  begin "$1" "$bin" serve "--datadir=$dir/$1" "--socket=$dir/$1.sock" "--port=$((port + $2))" "--server-id=$2" --log-bin \
    --innodb-redo-log-capacity=256M
}
follows() { # follows REPLICA HOST-OPTIONS
  on "$1" "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_USER = 'reader', SOURCE_PASSWORD = 'secret',
    SOURCE_CONNECT_RETRY = 1, GET_SOURCE_PUBLIC_KEY = 1, $2; START REPLICA"
}
status() { mysql --no-defaults -uroot -S "$dir/$1.sock" -e 'SHOW REPLICA STATUS\G' | awk -v n="$2:" '$1 == n { $1 = ""; print substr($0, 2) }'; }
tables() { # all rows of database d, table by table
  local t
  for t in $(on m "SELECT TABLE_NAME FROM information_schema.tables WHERE TABLE_SCHEMA = 'd' AND TABLE_TYPE = 'BASE TABLE' ORDER BY 1"); do
    echo "-- $t"
    on "$1" "SELECT * FROM d.\`$t\` ORDER BY 1, 2"
  done
}
reached() { # reached NAME: it has what the MariaDB has
  local deadline=$((SECONDS + 60)) want
  on m "REPLACE INTO d.mark VALUES (1, UUID())"
  want=$(on m 'SELECT id FROM d.mark')
  until [ "$(on "$1" 'SELECT id FROM d.mark' 2>/dev/null)" = "$want" ]; do
    [ $SECONDS -lt $deadline ] || { echo "$1 does not follow: $(status "$1" Last_IO_Error) $(status "$1" Last_SQL_Error)"; exit 1; }
    sleep 0.05
  done
}
agree() { # agree WHAT
  local name
  for name in g h; do
    reached $name
    same "$1 at $name" "$(tables m)" "$(tables $name)"
  done
}
mariadb-install-db --no-defaults "--user=$(id -un)" "--datadir=$dir/m" --auth-root-authentication-method=normal >"$dir/install.log" 2>&1
begin m mariadbd --no-defaults "--datadir=$dir/m" "--socket=$dir/m.sock" "--port=$port" --bind-address=127.0.0.1 --skip-name-resolve "--user=$(id -un)" \
  "--tmpdir=$dir" --performance-schema=OFF --log-bin=mdb --server-id=77 --binlog-format=ROW --log-bin-compress=1 --log-bin-compress-min-len=10
replica g 1
g=$server
on g "CREATE USER reader IDENTIFIED BY 'secret'; GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO reader; RESET BINARY LOGS AND GTIDS"
replica h 2
on m "CREATE USER reader@'%' IDENTIFIED BY 'secret'; GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO reader@'%';
  FLUSH BINARY LOGS; CREATE DATABASE d; CREATE TABLE d.mark (n INT PRIMARY KEY, id CHAR(36))"
follows g "SOURCE_PORT = $port, SOURCE_LOG_FILE = 'mdb.000002'"
follows h "SOURCE_PORT = $((port + 1)), SOURCE_AUTO_POSITION = 1"
agree "the beginning"

on m "USE d; CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(2000), l LONGTEXT);
  INSERT INTO t SELECT seq, REPEAT('abc', seq MOD 300), REPEAT(CHAR(65 + seq MOD 26), 30000) FROM seq_1_to_200;
  UPDATE t SET b = REPEAT('z', 300) WHERE a MOD 3 = 0; DELETE FROM t WHERE a MOD 7 = 0;
  BEGIN; INSERT INTO t VALUES (1001, 'x', NULL); SAVEPOINT s; UPDATE t SET b = 'gone'; ROLLBACK TO s; COMMIT;
  ALTER TABLE t ADD COLUMN n INT DEFAULT 7; UPDATE t SET l = NULL, n = a"
agree "compressed events"
on m "USE d; CREATE OR REPLACE TABLE t (a INT PRIMARY KEY, c INT AS (a * 2) PERSISTENT, v INT AS (a + 1) VIRTUAL, w VARCHAR(20)
    GENERATED ALWAYS AS (CONCAT('w', a)) STORED, CHECK (a > 0), CONSTRAINT below CHECK (a < 100), KEY (v));
  INSERT INTO t (a) VALUES (5), (6); UPDATE t SET a = a + 10; DELETE FROM t WHERE a = 16;
  CREATE OR REPLACE TABLE u AS SELECT a, c FROM t; CREATE TABLE w SELECT * FROM t; INSERT INTO w (a) VALUES (17);
  CREATE OR REPLACE TABLE w LIKE t; INSERT INTO w (a) SELECT a + 1 FROM t; CREATE OR REPLACE TABLE u SELECT a, w FROM w;
  CREATE OR REPLACE INDEX i ON t (w); CREATE OR REPLACE INDEX i ON t (a, w); CREATE OR REPLACE DATABASE e; CREATE TABLE e.x (a INT);
  CREATE OR REPLACE DATABASE e; CREATE TABLE e.x (a INT); CREATE OR REPLACE PROCEDURE p() SELECT 1; CREATE OR REPLACE PROCEDURE p() SELECT 2;
  CREATE OR REPLACE TRIGGER tr BEFORE INSERT ON u FOR EACH ROW SET NEW.w = 'tr'; INSERT INTO u VALUES (1, 'x');
  CREATE OR REPLACE TEMPORARY TABLE t2 (a INT); CREATE OR REPLACE VIEW seen AS SELECT a FROM t; INSERT INTO t (a) VALUES (42)"
agree "definitions"
on m "CREATE USER one IDENTIFIED BY 'x'; CREATE OR REPLACE USER one@'%' IDENTIFIED BY 'y' WITH MAX_USER_CONNECTIONS 5; CREATE ROLE r;
  CREATE OR REPLACE ROLE r, s; CREATE ROLE IF NOT EXISTS made WITH ADMIN one; CREATE OR REPLACE ROLE made WITH ADMIN one; GRANT s TO one;
  GRANT SELECT ON d.* TO two IDENTIFIED BY 'z' WITH GRANT OPTION; SET PASSWORD FOR one = PASSWORD('w'); SET DEFAULT ROLE s FOR one;
  GRANT USAGE ON *.* TO two REQUIRE NONE WITH MAX_USER_CONNECTIONS 7; SET DEFAULT ROLE NONE FOR one"
agree "accounts"
for name in g h; do
  same "roles at $name" "made one Y s one N" \
    "$(on $name 'SELECT FROM_USER, TO_USER, WITH_ADMIN_OPTION FROM mysql.role_edges ORDER BY 1' | xargs)"
  same "limits at $name" "5 7" "$(on $name "SELECT max_user_connections FROM mysql.user WHERE user IN ('one', 'two') ORDER BY user" | xargs)"
  same "passwords at $name" "one@% two@%" "$(mysql --no-defaults -uone -pw -S "$dir/$name.sock" -N -e 'SELECT CURRENT_USER()') $(
    mysql --no-defaults -utwo -pz -S "$dir/$name.sock" -N -e 'SELECT CURRENT_USER()')"
done
same "generated columns" "15 30 16 w15" "$(on g 'SELECT a, c, v, w FROM d.t WHERE a = 15' | tr '\t' ' ')"
same "a check" 2 "$(on g "SELECT COUNT(*) FROM information_schema.check_constraints WHERE CONSTRAINT_SCHEMA = 'd' AND TABLE_NAME = 't'" 2>/dev/null || on g "SELECT COUNT(*) FROM information_schema.table_constraints WHERE TABLE_SCHEMA = 'd' AND TABLE_NAME = 't' AND CONSTRAINT_TYPE = 'CHECK'")"

for round in $(seq "$kills"); do
  (for i in $(seq 40); do
    echo "INSERT INTO t (a) SELECT seq FROM seq_50_to_80; UPDATE u SET w = REPEAT('r', $i MOD 20); DELETE FROM t WHERE a BETWEEN 50 AND 80;"
    echo "CREATE OR REPLACE TABLE k AS SELECT a, REPEAT('k', 20) b FROM t; INSERT INTO k VALUES (1000 + $i, 'more');"
  done) | mysql --no-defaults -uroot -S "$dir/m.sock" d &
  load=$!
  sleep 0.$((RANDOM % 8 + 1))
  kill -9 "$g"
  wait "$g" 2>/dev/null || true
  replica g 1
  g=$server
  wait $load
  agree "after kill $round"
done
same "errors" "0 0" "$(status g Last_SQL_Errno) $(status h Last_SQL_Errno)"
echo "from-mariadb: all agree, $kills kills"
