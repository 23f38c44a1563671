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
echo "mysqldump: the copy's dump is the same text"
