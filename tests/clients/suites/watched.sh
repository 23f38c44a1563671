#!/usr/bin/env bash
# What watches a server, and whether it sees what is there. WATCHED_PARTS, of "sessions exporter":
#   sessions  four sessions that wait for a row of a fifth, and two that sleep, as gannet_active_session_history has them over WATCHED_SECONDS
#             (20): 4.0 +- 0.4 and 2.0 +- 0.2, and each row of the four names its blocker, digest, object and user
#   exporter  mysqld_exporter with all its collectors: in error are two, for TokuDB and for pt-heartbeat's table
# Prints what was measured; fails beyond these bounds. GANNET_BIN is the binary; server, directory and ports are its own.
. "$(dirname "$0")/../lib.sh.inc"
need python3 python3
need mysql mariadb-client
need mysqladmin mariadb-client
need prometheus-mysqld-exporter prometheus-mysqld-exporter
bin=${GANNET_BIN:-target/release/gannet}
dir=$(mktemp -d "${WATCHED_DIR:-${TMPDIR:-/tmp}}/gannet-watched-XXXXXX")
export GANNET_SOCKET=$dir/s.sock
server=
trap '[ -z "$server" ] || kill -9 "$server" 2>/dev/null || true; rm -rf "$dir"' EXIT
"$bin" serve "--datadir=$dir/data" "--socket=$GANNET_SOCKET" --port=0 >"$dir/out.log" 2>&1 &
server=$!
answers 'SELECT 1'
port=$(sql 'SELECT @@port')
sql "CREATE USER watch@'%' IDENTIFIED BY 'see'; GRANT ALL ON *.* TO watch@'%'; CREATE DATABASE sbtest;
     CREATE TABLE sbtest.held (id INT PRIMARY KEY, n INT); INSERT INTO sbtest.held VALUES (1, 1)"
status=0
python3 "${0%.sh}/watch.py" "$port" "$dir" "${WATCHED_SECONDS:-20}" ${WATCHED_PARTS:-sessions exporter} || status=$?
stop
exit $status
