#!/usr/bin/env bash
# Clients of memcached's protocol: pymemcache's own integration tests, and programs of ours that use each command of gomemcache,
# spymemcached and xmemcached.
. "$(dirname "$0")/suite.sh.inc"
need go golang-go
need mvn maven
need javac default-jdk-headless
at=127.0.0.1:$GANNET_MEMCACHED_PORT
version=4.0.0
venv pytest "pymemcache==$version"
if [ ! -d "$work/pymemcache-$version" ]; then
  "$work/venv/bin/pip" download -q --no-deps --no-binary :all: -d "$work" "pymemcache==$version"
  tar xzf "$work/pymemcache-$version.tar.gz" -C "$work"
  sed -i '/^addopts/,/^$/d' "$work/pymemcache-$version/setup.cfg"
fi
(cd "$work/pymemcache-$version" && timeout 200 "$work/venv/bin/python" -m pytest -rfps -q -p no:cacheprovider --server 127.0.0.1 \
  --port "$GANNET_MEMCACHED_PORT" pymemcache/test/test_integration.py) >"$log" 2>&1 || true
grep -qE '^[0-9]+ (passed|failed)' "$log" || { tail -20 "$log"; exit 1; }
sed -nE 's/^FAILED [^ ]*::([^ ]*).*/\1/p' "$log" >"$work/names"
passed=$(grep -c '^PASSED' "$log" || true)
mkdir -p "$work/go" "$work/java"
cp "$here/memcached/main.go" "$work/go"
(cd "$work/go" && { [ -e go.mod ] || { printf 'module suite\ngo 1.22\n' >go.mod && go get -d github.com/bradfitz/gomemcache/memcache; }; } &&
  go build -o suite . && timeout 60 ./suite "$at") >>"$log" 2>&1 || echo gomemcache >>"$work/names"
cp "$here/memcached/pom.xml" "$here/memcached/Main.java" "$work/java"
(cd "$work/java" && mvn -q -B dependency:build-classpath -Dmdep.outputFile=classpath && javac -cp "$(cat classpath)" Main.java) >>"$log" 2>&1
for client in spymemcached xmemcached; do
  timeout 60 java -cp "$work/java:$(cat "$work/java/classpath")" Main "$client" "$at" >>"$log" 2>&1 || echo $client >>"$work/names"
done
report "$((passed + 3 - $(grep -cE '^(gomemcache|spymemcached|xmemcached)$' "$work/names" || true)))" "$(grep -c '^SKIPPED' "$log" || true)" "$work/names"
