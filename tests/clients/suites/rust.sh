#!/usr/bin/env bash
# sqlx and diesel (over MariaDB's client library). The checks are ours.
. "$(dirname "$0")/suite.sh.inc"
need cargo cargo
need mysql mariadb-client
need mariadb_config libmariadb-dev
need pkg-config pkg-config
cp -r "$here/rust/." "$work"
sql "DROP DATABASE IF EXISTS suite_sqlx; CREATE DATABASE suite_sqlx CHARACTER SET utf8mb4; DROP DATABASE IF EXISTS suite_diesel; CREATE DATABASE suite_diesel CHARACTER SET utf8mb4"
(cd "$work" && cargo build -q --bins && for program in sqlx diesel; do timeout 100 "target/debug/${program}_checks" "$GANNET_PORT"; done) >"$log" 2>&1 || true
[ "$(grep -c '^done$' "$log")" = 2 ] || { tail -20 "$log"; exit 1; }
sed -nE 's/^not ok ([^:]*).*/\1/p' "$log" >"$work/names"
report "$(grep -c '^ok ' "$log" || true)" 0 "$work/names"
