#!/usr/bin/env bash
# The command line client: socket, TCP, errors, warnings, a transaction, mysqladmin.
. "$(dirname "$0")/lib.sh.inc"
need mysql mariadb-client
same "socket" "2" "$(sql 'SELECT 1 + 1')"
same "tcp" "2" "$(mysql --no-defaults -h127.0.0.1 -P"$GANNET_PORT" -uroot --ssl=0 -N -B -e 'SELECT 1 + 1')"
sql "CREATE DATABASE cli; CREATE TABLE cli.t (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(20), UNIQUE KEY (v))"
sql "INSERT INTO cli.t (v) VALUES ('one'), ('two'), ('three')"
same "rows" "$(printf '1\tone\n3\tthree\n2\ttwo')" "$(sql 'SELECT id, v FROM cli.t ORDER BY v')"
same "rollback" "3" "$(sql 'BEGIN; DELETE FROM cli.t; ROLLBACK; SELECT COUNT(*) FROM cli.t')"
duplicate=$(sql "INSERT INTO cli.t (v) VALUES ('two')" 2>&1 | tail -1 || true)
same "duplicate" "ERROR 1062 (23000) at line 1: Duplicate entry 'two' for key 't.v'" "$duplicate"
syntax=$(sql "SELEC 1" 2>&1 | tail -1 || true)
same "syntax" "ERROR 1064 (42000) at line 1: You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use near 'SELEC 1' at line 1" "$syntax"
missing=$(sql "SELECT * FROM cli.nothing" 2>&1 | tail -1 || true)
same "missing table" "ERROR 1146 (42S02) at line 1: Table 'cli.nothing' doesn't exist" "$missing"
mysqladmin --no-defaults -uroot -S "$GANNET_SOCKET" ping >/dev/null
mysqladmin --no-defaults -uroot -S "$GANNET_SOCKET" status | grep -q Uptime
echo "mysql: queries, transaction, three errors word for word, mysqladmin"
