#!/usr/bin/env bash
# Writes a store fixture: make.sh BINARY NAME [killed]
#
# BINARY makes a store of content.sql and closes it; with `killed` it is killed with an unfinished transaction and redo in
# its log. NAME.tar.gz beside this script is the data directory; what it must hold is in crates/gannet/tests/stores.rs.
set -euo pipefail
binary=$1 name=$2 how=${3:-closed} here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
client() { mysql --no-defaults -S "$dir/s" -uroot "$@"; }
"$binary" serve --datadir="$dir/data" --socket="$dir/s" --skip-networking --innodb-buffer-pool-size=16M \
  --innodb-redo-log-capacity=8M --tls-version= >/dev/null 2>&1 &
server=$!
until client -e 'SELECT 1' >/dev/null 2>&1; do sleep 0.05; done
client <"$here/content.sql" >/dev/null
if [ "$how" = killed ]; then
  { echo "USE fixture; BEGIN; UPDATE kinds SET v = 'unfinished' WHERE id < 200; INSERT INTO parent VALUES (9, 'unfinished', 9);"
    echo "SELECT 'ready'; SELECT SLEEP(60);"; } | client --unbuffered >"$dir/out" 2>/dev/null &
  until grep -q ready "$dir/out"; do sleep 0.05; done
  client -e "INSERT INTO fixture.child VALUES (5, 3)"
  kill -9 $server
else
  client -e SHUTDOWN
fi
wait $server || true
tar -C "$dir" --sort=name --owner=0 --group=0 --mtime='2026-01-01' --sparse -czf "$here/$name.tar.gz" data
ls -l "$here/$name.tar.gz"
