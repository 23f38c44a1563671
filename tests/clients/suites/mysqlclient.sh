#!/usr/bin/env bash
# The tests of mysqlclient (MySQLdb), over MariaDB's client library.
. "$(dirname "$0")/suite.sh.inc"
need mysql mariadb-client
need mariadb_config libmariadb-dev
need pkg-config pkg-config
need gcc gcc
version=2.2.7
source=$work/mysqlclient-$version
if [ ! -d "$source" ]; then
  venv 'pytest<9' setuptools wheel
  "$work/venv/bin/pip" download -q --no-binary :all: --no-deps -d "$work" "mysqlclient==$version"
  "$work/venv/bin/pip" install -q "$work/mysqlclient-$version.tar.gz"
  tar xzf "$work/mysqlclient-$version.tar.gz" -C "$work"
fi
sql "DROP DATABASE IF EXISTS mysqldb_test; CREATE DATABASE mysqldb_test CHARACTER SET utf8mb4"
# The tests read their server from an option file, and the group that the environment names.
printf '[MySQLdb-tests]\nhost=127.0.0.1\nport=%s\nuser=root\ndatabase=mysqldb_test\ndefault-character-set=utf8mb4\n' "$GANNET_PORT" >"$work/tests.cnf"
(cd "$work" && TESTDB="$work/tests.cnf" timeout 200 venv/bin/python -m pytest "$source/tests" --rootdir "$source/tests" -p no:cacheprovider -q -rfE) >"$log" 2>&1 || true
tail -1 "$log" | grep -qE '(passed|failed).* in ' || { tail -5 "$log"; exit 1; }
count() { tail -1 "$log" | sed -nE "s/.* ?\b([0-9]+) $1.*/\1/p"; }
grep -E '^(FAILED|ERROR) ' "$log" | sed -E 's/^(FAILED|ERROR) ([^ ]*).*/\2/; s/.*tests\///' >"$work/names" || true
passed=$(count passed) skipped=$(count skipped)
report "${passed:-0}" "${skipped:-0}" "$work/names"
