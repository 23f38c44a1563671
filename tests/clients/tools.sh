#!/usr/bin/env bash
# Tools around the server: dumps that load to identical dumps, slap, check, show, admin.
. "$(dirname "$0")/lib.sh.inc"
need mysql mariadb-client
need mysqldump mariadb-client
need mydumper mydumper
at=(--no-defaults -uroot --default-character-set=utf8mb4 -S "$GANNET_SOCKET")
sql "DROP DATABASE IF EXISTS tools; DROP DATABASE IF EXISTS tools2; DROP DATABASE IF EXISTS tools3; CREATE DATABASE tools CHARACTER SET utf8mb4; CREATE DATABASE tools2 CHARACTER SET utf8mb4; CREATE DATABASE tools3 CHARACTER SET utf8mb4"
mysql "${at[@]}" tools <<'Q'
CREATE TABLE parent (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40) COLLATE utf8mb4_swedish_ci NOT NULL COMMENT 'it''s', kind ENUM('a','b') DEFAULT 'a', tags SET('x','y'),
  price DECIMAL(10,2) NOT NULL DEFAULT '1.50', ratio DOUBLE, bits BIT(9) DEFAULT b'101', day DATE, at DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6), y YEAR, doc JSON, body LONGTEXT, raw VARBINARY(30),
  UNIQUE KEY names (name), KEY days (day DESC, price), KEY words (body(20)), CONSTRAINT positive CHECK (price >= 0)) AUTO_INCREMENT = 100 COMMENT 'all types';
CREATE TABLE child (id INT NOT NULL PRIMARY KEY, p BIGINT UNSIGNED, KEY p (p), CONSTRAINT own FOREIGN KEY (p) REFERENCES parent (id) ON DELETE SET NULL ON UPDATE CASCADE);
INSERT INTO parent (name, kind, tags, price, ratio, bits, day, at, y, doc, body, raw) VALUES ('Zürich', 'b', 'x,y', 2.25, -0.1, b'111111111', '2024-02-29', '2026-01-02 03:04:05.678901', 2026, '{"a": [1, null, "x\\"y"]}', 'line\nbreak\ttab\\', x'00ff27'),
  ('日本 🐍', NULL, '', 0, 1e300, b'0', '1000-01-01', '1999-12-31 23:59:59.999999', 1901, 'null', '', NULL);
INSERT INTO child VALUES (1, 100), (2, NULL);
CREATE VIEW names AS SELECT id, name FROM parent WHERE price > 1;
Q
for mode in "--single-transaction" "--lock-tables" "--single-transaction --skip-extended-insert --complete-insert" "--hex-blob --skip-opt --create-options --quick"; do
  # shellcheck disable=SC2086
  dump() { mysqldump "${at[@]}" --skip-comments --skip-dump-date --routines=0 --triggers=0 --order-by-primary $mode "$1" | sed "s/\`tools2\?\`\.//g"; }
  first=$(dump tools)
  sql "DROP DATABASE tools2; CREATE DATABASE tools2 CHARACTER SET utf8mb4"
  { echo "SET foreign_key_checks = 0;"; printf '%s\n' "$first"; } | mysql "${at[@]}" tools2
  same "mysqldump $mode" "$first" "$(dump tools2)"
done
# MariaDB's mysqldump writes values of generated columns, which MySQL and Gannet refuse (3105): only mydumper gets one.
mysql "${at[@]}" tools -e "ALTER TABLE parent ADD total DECIMAL(12,2) GENERATED ALWAYS AS (price * 2) STORED"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mydumper -u root -S "$GANNET_SOCKET" -B tools -o "$dir/a" --no-backup-locks 2>"$dir/log" || mydumper -u root -S "$GANNET_SOCKET" -B tools -o "$dir/a" 2>"$dir/log" || { cat "$dir/log"; exit 1; }
myloader -u root -S "$GANNET_SOCKET" -s tools -B tools3 -o -d "$dir/a" 2>"$dir/log" || { cat "$dir/log"; exit 1; }
mydumper -u root -S "$GANNET_SOCKET" -B tools3 -o "$dir/b" 2>"$dir/log" || { cat "$dir/log"; exit 1; }
for file in "$dir"/a/tools.*.sql; do
  # mydumper asks for no order of rows.
  same "mydumper ${file##*/}" "$(tr -d ',;' <"$file" | sort)" "$(sed 's/`tools3`/`tools`/g' "$dir/b/tools3.${file##*/tools.}" | tr -d ',;' | sort)"
done
mysqlslap --no-defaults -uroot -S "$GANNET_SOCKET" --concurrency=4 --iterations=1 --auto-generate-sql --number-of-queries=200 >/dev/null
mysqlslap --no-defaults -uroot -S "$GANNET_SOCKET" --concurrency=2 --create-schema=tools --query='SELECT COUNT(*) FROM parent' --number-of-queries=20 >/dev/null
mysqlcheck "${at[@]}" --check tools parent child | grep -vqE 'OK$' && { echo "mysqlcheck --check complains"; exit 1; }
mysqlcheck "${at[@]}" --analyze tools >/dev/null
mysqlcheck "${at[@]}" --optimize tools >/dev/null
mysqlshow "${at[@]}" | grep -qw tools
mysqlshow "${at[@]}" --count tools | grep -qE 'parent .* 2 '
mysqlshow "${at[@]}" tools parent | grep -qw price
mysqlshow "${at[@]}" --keys --status tools >/dev/null
for command in status processlist variables extended-status version "flush-tables" "flush-privileges" refresh; do
  mysqladmin "${at[@]}" "$command" >/dev/null || { echo "mysqladmin $command failed"; exit 1; }
done
mysqladmin "${at[@]}" create tools4
mysqladmin "${at[@]}" -f drop tools4 >/dev/null
echo "tools: mysqldump in four modes and mydumper to identical text, mysqlslap, mysqlcheck, mysqlshow, mysqladmin"
