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
same "dump of the copy" "$(grep -av innodb_ "$dir/all.sql" | md5sum)" "$(everything "$dir/other.sock" | grep -av innodb_ | md5sum)"
sql "DROP USER web@localhost, owner@localhost"
echo "mysqldump: the copy's dump is the same text, and the dump of everything comes back"
