#!/usr/bin/env bash
# PHP's mysqli and PDO with what blogs and wikis send. The checks are ours.
. "$(dirname "$0")/suite.sh.inc"
need php php-cli
php -m | grep -q '^mysqli$' || { apt-get update -qq >/dev/null; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends php-mysql >/dev/null; }
need mysql mariadb-client
sql "DROP DATABASE IF EXISTS suite_php; CREATE DATABASE suite_php CHARACTER SET utf8mb4; SET GLOBAL local_infile = 1"
timeout 100 php -d mysqli.allow_local_infile=1 "$here/php/checks.php" "$GANNET_PORT" "$GANNET_SOCKET" >"$log" 2>&1 || true
tail -1 "$log" | grep -q '^done$' || { tail -20 "$log"; exit 1; }
sed -nE 's/^not ok ([^:]*).*/\1/p' "$log" >"$work/names"
report "$(grep -c '^ok ' "$log" || true)" 0 "$work/names"
