#!/usr/bin/env bash
# The tests of the Go module github.com/go-sql-driver/mysql.
. "$(dirname "$0")/suite.sh.inc"
need go golang-go
need mysql mariadb-client
version=v1.9.3
module=$work/mysql@$version
if [ ! -x "$work/driver.test" ]; then
  (cd "$work" && printf 'module suite\ngo 1.22\n' >go.mod && go mod download "github.com/go-sql-driver/mysql@$version")
  rm -rf "$module"
  cp -r "$(go env GOMODCACHE)/github.com/go-sql-driver/mysql@$version" "$module"
  chmod -R u+w "$module"
  (cd "$module" && go test -c -o "$work/driver.test" .)
fi
sql "CREATE DATABASE IF NOT EXISTS gotest; SET GLOBAL local_infile = 1"
# TestConnectorReturnsTimeout asks for an address outside, and ends the whole run with a panic where there is no route to it.
(cd "$module" && MYSQL_TEST_ADDR=127.0.0.1:$GANNET_PORT timeout 300 "$work/driver.test" -test.v -test.timeout 280s \
  -test.skip TestConnectorReturnsTimeout) >"$log" 2>&1 || true
tail -1 "$log" | grep -qE '^(PASS|FAIL)$' || { tail -5 "$log"; exit 1; }
count() { grep -cE "^ *--- $1" "$log" || true; }
grep -E '^ *--- FAIL' "$log" | sed -E 's/^ *--- FAIL: ([^ ]*) .*/\1/' >"$work/names" || true
report "$(count PASS)" "$(count SKIP)" "$work/names"
