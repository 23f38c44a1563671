#!/usr/bin/env bash
# PyMySQL's own tests: those of 0.10.1, the last version whose source package holds them, with its own code.
. "$(dirname "$0")/suite.sh.inc"
need mysql mariadb-client
version=0.10.1
source=$work/PyMySQL-$version
if [ ! -d "$source" ]; then
  venv cryptography pytest setuptools wheel
  "$work/venv/bin/pip" download -q --no-binary :all: --no-build-isolation --no-deps -d "$work" "PyMySQL==$version"
  tar xzf "$work/PyMySQL-$version.tar.gz" -C "$work"
fi
sql "CREATE DATABASE IF NOT EXISTS test1; CREATE DATABASE IF NOT EXISTS test2"
sql "SET GLOBAL local_infile = 1" 2>/dev/null || true
one='"host": "127.0.0.1", "port": '$GANNET_PORT', "user": "root", "passwd": ""'
echo "[{$one, \"db\": \"test1\", \"use_unicode\": true, \"local_infile\": true}, {$one, \"db\": \"test2\"}]" >"$source/pymysql/tests/databases.json"
(cd "$source" && timeout 300 "$work/venv/bin/python" -W ignore -m unittest -v pymysql.tests) >"$log" 2>&1 || true
report_unittest
