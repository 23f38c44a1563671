#!/usr/bin/env bash
# mysql2, Sequelize and TypeORM (their packages hold no tests): what applications do with them, check by check.
. "$(dirname "$0")/suite.sh.inc"
need node nodejs
need npm npm
need mysql mariadb-client
cp "$here"/node/*.js "$work"
[ -d "$work/node_modules/typeorm" ] || (cd "$work" && echo '{"private": true}' >package.json && npm install --silent --no-audit --no-fund \
  mysql2@3.15.3 sequelize@6.37.7 typeorm@0.3.27 reflect-metadata@0.2.2)
sql "DROP DATABASE IF EXISTS node; CREATE DATABASE node CHARACTER SET utf8mb4"
(cd "$work" && timeout 200 node main.js) >"$log" 2>&1 || true
tail -1 "$log" | grep -q '^done$' || { tail -20 "$log"; exit 1; }
sed -nE 's/^not ok ([^:]*).*/\1/p' "$log" >"$work/names"
report "$(grep -c '^ok ' "$log" || true)" 0 "$work/names"
