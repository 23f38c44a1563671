#!/usr/bin/env bash
# mysqldump: dump, load, dump again: the same text.
. "$(dirname "$0")/lib.sh.inc"
need mysql mariadb-client
need mysqldump mariadb-client
sql "CREATE DATABASE d1; CREATE DATABASE d2"
sql "CREATE TABLE d1.a (id INT NOT NULL AUTO_INCREMENT, n DECIMAL(10,2) DEFAULT '1.50', t DATETIME(3) DEFAULT NULL, s VARCHAR(50) NOT NULL DEFAULT 'x', b BLOB, PRIMARY KEY (id), KEY k (s, n))"
sql "INSERT INTO d1.a (n, t, s, b) VALUES (12.25, '2026-01-02 03:04:05.678', 'it''s', x'00ff27'), (NULL, NULL, 'Zürich 日本', NULL), (-0.01, '1999-12-31 23:59:59.999', '', 'plain')"
dump() { mysqldump --no-defaults -uroot -S "$GANNET_SOCKET" --skip-comments --skip-dump-date --hex-blob --single-transaction "$1"; }
first=$(dump d1)
printf '%s\n' "$first" | mysql --no-defaults -uroot -S "$GANNET_SOCKET" d2
same "dump of the copy" "$first" "$(dump d2)"


# Everything: accounts, views with definers, into the same server and into an empty one.
sql "CREATE USER web@localhost IDENTIFIED BY 'secret', owner@localhost; GRANT SELECT ON d1.* TO owner@localhost; CREATE DEFINER = owner@localhost VIEW d1.v AS SELECT s FROM d1.a; GRANT SELECT ON d1.v TO web@localhost"
dir=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$dir"' EXIT
everything() { mysqldump --no-defaults -uroot -S "$1" --skip-comments --skip-dump-date --single-transaction --all-databases; }
restored() { # restored SOCKET
  same "view" "3" "$(mysql --no-defaults -uweb -psecret -S "$1" -N -B -e 'SELECT COUNT(*) FROM d1.v')"
  same "accounts" "owner web" "$(mysql --no-defaults -uroot -S "$1" -N -B -e "SELECT GROUP_CONCAT(User ORDER BY User SEPARATOR ' ') FROM mysql.user WHERE User IN ('web', 'owner', 'later')")"
}
everything "$GANNET_SOCKET" > "$dir/all.sql"
sql "CREATE USER later@localhost; DROP VIEW d1.v; DELETE FROM d1.a"
mysql --no-defaults -uroot -S "$GANNET_SOCKET" < "$dir/all.sql"
restored "$GANNET_SOCKET"
"$GANNET_BIN" serve --datadir="$dir/data" --socket="$dir/other.sock" --skip-networking > "$dir/other.log" 2>&1 &
server=$!
GANNET_SOCKET=$dir/other.sock answers "SELECT 1"
mysql --no-defaults -uroot -S "$dir/other.sock" < "$dir/all.sql"
restored "$dir/other.sock"
alike() { grep -av innodb_ | sed '/INTO `gtid_executed`/,/;$/d' | md5sum; } # without what is the server's own
same "dump of the copy" "$(alike < "$dir/all.sql")" "$(everything "$dir/other.sock" | alike)"
sql "DROP USER web@localhost, owner@localhost"

# Back to a second: the dump of the night, and the binary log from there.
need mysqlbinlog mariadb-client
sql "CREATE DATABASE shop; CREATE TABLE shop.o (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(20)); INSERT INTO shop.o (v) VALUES ('a'), ('b')"
mysqldump --no-defaults -uroot -S "$GANNET_SOCKET" --single-transaction --master-data=2 --databases shop > "$dir/night.sql"
sql "INSERT INTO shop.o (v) VALUES ('c'); UPDATE shop.o SET v = 'd' WHERE id = 1"
sleep 1.1
now=$(date '+%F %T')
sql "DELETE FROM shop.o; DROP DATABASE shop"
read -r file at <<< "$(sed -n "s/.*MASTER_LOG_FILE='\(.*\)', MASTER_LOG_POS=\([0-9]*\);/\1 \2/p" "$dir/night.sql")"
mysql --no-defaults -uroot -S "$GANNET_SOCKET" < "$dir/night.sql"
data=$(sql "SELECT @@datadir")
mysqlbinlog --no-defaults --start-position="$at" --stop-datetime="$now" "$data/$file" | mysql --no-defaults -uroot -S "$GANNET_SOCKET"
same "rows as they were" "1d 2b 3c" "$(sql "SELECT GROUP_CONCAT(id, v ORDER BY id SEPARATOR ' ') FROM shop.o")"
echo "mysqldump: the copy's dump is the same text, the dump of everything comes back, and the log behind a dump"
