#!/usr/bin/env bash
# SQLAlchemy's dialect suite and its own tests of the MySQL dialect, with PyMySQL.
. "$(dirname "$0")/suite.sh.inc"
need mysql mariadb-client
version=2.0.44
source=$work/sqlalchemy-$version
if [ ! -d "$source" ]; then
  venv "SQLAlchemy==$version" PyMySQL==1.1.2 cryptography 'pytest<9' greenlet setuptools wheel cython
  PATH=$work/venv/bin:$PATH "$work/venv/bin/pip" download -q --no-binary :all: --no-build-isolation --no-deps -d "$work" "SQLAlchemy==$version"
  tar xzf "$work/sqlalchemy-$version.tar.gz" -C "$work"
fi
for schema in test test_schema test_schema_2; do
  sql "DROP DATABASE IF EXISTS $schema; CREATE DATABASE $schema CHARACTER SET utf8mb4"
done
(cd "$source" && timeout 1500 "$work/venv/bin/python" -m pytest test/dialect/mysql test/dialect/test_suite.py -p no:cacheprovider -q -rfE \
  --maxfail=10000 --dburi "mysql+pymysql://root@127.0.0.1:$GANNET_PORT/test?charset=utf8mb4") >"$log" 2>&1 || true
tail -1 "$log" | grep -qE '(passed|failed).* in ' || { tail -5 "$log"; exit 1; }
count() { tail -1 "$log" | sed -nE "s/.* ([0-9]+) $1.*/\1/p"; }
grep -E '^(FAILED|ERROR) ' "$log" | sed -E 's/^(FAILED|ERROR) test\/dialect\/([^ ]*).*/\2/; s/_(mysql|mariadb)\+pymysql_[0-9_]*//; s/ - .*//' >"$work/names" || true
passed=$(count passed) skipped=$(count skipped)
report "${passed:-0}" "${skipped:-0}" "$work/names"
