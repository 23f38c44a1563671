#!/usr/bin/env bash
# mycli: its program and what its prompt asks of a server. The checks are ours.
. "$(dirname "$0")/suite.sh.inc"
need mysql mariadb-client
[ -x "$work/venv/bin/mycli" ] || venv mycli==1.31.2
sql "DROP DATABASE IF EXISTS suite_mycli; CREATE DATABASE suite_mycli CHARACTER SET utf8mb4"
timeout 200 "$work/venv/bin/python" "$here/mycli/checks.py" "$work/venv/bin/mycli" "$GANNET_PORT" >"$log" 2>&1 || true
tail -1 "$log" | grep -q '^done$' || { tail -20 "$log"; exit 1; }
sed -nE 's/^not ok ([^:]*).*/\1/p' "$log" >"$work/names"
report "$(grep -c '^ok ' "$log" || true)" 0 "$work/names"
