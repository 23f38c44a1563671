#!/usr/bin/env bash
# The console in a headless Chromium: signing in, every page, a brush, a drill-down, a lock tree, three widths, both
# schemes. Nothing may be asked of another server, and nothing may be said in the browser's console.
# GANNET_SHOTS=DIR keeps the pictures.
. "$(dirname "$0")/lib.sh.inc"
need mysql mariadb-client
need mysqladmin mariadb-client
need curl curl
need chromium chromium
need node nodejs
dir=$(mktemp -d)
trap '[ -z "${server:-}" ] || kill "$server" 2>/dev/null; rm -rf "$dir"' EXIT
export GANNET_SOCKET=$dir/gannet.sock
"$GANNET_BIN" serve --datadir="$dir/data" --socket="$GANNET_SOCKET" --port=0 --gannet-console=127.0.0.1:0 > "$dir/out.log" 2>&1 &
server=$!
answers 'SELECT 1'
url=$(sed -n 's/.*console: *//p' "$dir/out.log")
[ -n "$url" ] || { echo "no console"; cat "$dir/out.log"; exit 1; }
base=${url%/}
host=${base#http://}

sql "CREATE USER console_watch@localhost IDENTIFIED BY 'see'; GRANT PROCESS ON *.* TO console_watch@localhost;
     GRANT SELECT ON performance_schema.* TO console_watch@localhost; CREATE USER console_blind@localhost IDENTIFIED BY 'see';
     CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY, n INT NOT NULL, KEY (n));
     INSERT INTO shop.orders WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 1000) SELECT i, i % 10 FROM r"

# What no browser would send.
code() { curl -s -o /dev/null -w '%{http_code}' "$@"; }
json=(-H 'Content-Type: application/json')
sign() { curl -s -D "$dir/head" "${json[@]}" -d "{\"user\":\"$1\",\"password\":\"$2\"}" "$base/api/sign-in"; }
same "the page" 200 "$(code "$base/")"
same "without signing in" 401 "$(code "$base/api/series")"
same "another name" 421 "$(code -H 'Host: evil.example' "$base/")"
same "another page" 403 "$(code "${json[@]}" -H 'Origin: http://evil.example' -d '{}' "$base/api/sign-in")"
same "a form" 415 "$(code -d 'user=root' "$base/api/sign-in")"
same "too long" 431 "$(code -H "X: $(head -c 20000 /dev/zero | tr '\0' a)" "$base/")"
same "too large" 413 "$(code "${json[@]}" -H 'Expect:' -d "$(head -c 70000 /dev/zero | tr '\0' a)" "$base/api/sign-in")"
same "a wrong password" 1 "$(sign console_watch wrong | grep -c 'Access denied')"
same "an account without rights" 1 "$(sign console_blind see | grep -c 'needs PROCESS')"
proof=$(sign console_watch see | sed 's/.*"proof":"\([0-9a-f]*\)".*/\1/')
cookie=$(sed -n 's/^Set-Cookie: \([^;]*\);.*/\1/ip' "$dir/head")
same "the cookie is kept from scripts" 1 "$(grep -ci 'set-cookie:.*HttpOnly; SameSite=Strict' "$dir/head")"
same "signed in" 200 "$(code -b "$cookie" "$base/api/series")"
same "a change without proof" 403 "$(code -b "$cookie" "${json[@]}" -d '{"id":"1","what":"query"}' "$base/api/kill")"
same "a change without the right" 403 "$(code -b "$cookie" "${json[@]}" -H "X-Gannet-Proof: $proof" -d "{\"id\":\"$(sql 'SELECT CONNECTION_ID()')\",\"what\":\"query\"}" "$base/api/kill")"
same "signing out" 200 "$(code -b "$cookie" "${json[@]}" -H "X-Gannet-Proof: $proof" -d '{}' "$base/api/sign-out")"
same "signed out" 401 "$(code -b "$cookie" "$base/api/series")"
same "figures without an account" 401 "$(code "$base/metrics")"
curl -s -u console_watch:see "$base/metrics" > "$dir/metrics"
same "figures" 1 "$(grep -c '^mysql_up 1$' "$dir/metrics")"
[ "$(grep -vc '^#' "$dir/metrics")" -le 20000 ] || { echo "too many samples"; exit 1; }
same "no figure twice" "" "$(grep -v '^#' "$dir/metrics" | sed 's/ [^ ]*$//' | sort | uniq -d | head)"
same "no type twice" "" "$(grep '^# TYPE' "$dir/metrics" | sort | uniq -d | head)"

# Work to look at: queries, changes, four sessions that wait for one that sleeps in its transaction.
work() {
  for _ in $(seq 1 400); do
    echo "SELECT COUNT(*) FROM shop.orders a JOIN shop.orders b ON a.n = b.n; UPDATE shop.orders SET n = n + 1 WHERE id = $((RANDOM % 900 + 90)); SELECT id FROM shop.orders WHERE id = $((RANDOM % 1000)); DO SLEEP(0.02);"
  done | mysql --no-defaults -uroot -S "$GANNET_SOCKET" -f > /dev/null 2>&1
}
work & work &
jobs_=$(jobs -p | tail -n 2)
printf 'BEGIN; UPDATE shop.orders SET n = 1 WHERE id = 7; DO SLEEP(40);' | mysql --no-defaults -uroot -S "$GANNET_SOCKET" > /dev/null 2>&1 &
sleep 1
for _ in 1 2 3 4; do sql "SET innodb_lock_wait_timeout = 60; UPDATE shop.orders SET n = n + 1 WHERE id = 7" > /dev/null 2>&1 & done
sleep "${GANNET_LOOK:-15}"
same "four wait for one" "4 1" "$(sql "SELECT COUNT(*), COUNT(DISTINCT ROOT_BLOCKING_THREAD_ID) FROM performance_schema.gannet_active_session_history
  WHERE OBJECT = 'shop.orders.PRIMARY' AND SAMPLE_TIME = (SELECT MAX(SAMPLE_TIME) FROM performance_schema.gannet_active_session_history WHERE OBJECT = 'shop.orders.PRIMARY')" | tr '\t' ' ')"
same "one holds, four wait" "1 4 IX" "$(sql "SELECT SUM(LOCK_STATUS = 'GRANTED'), SUM(LOCK_STATUS = 'WAITING'), (SELECT MAX(LOCK_MODE) FROM performance_schema.data_locks
  WHERE LOCK_TYPE = 'TABLE' AND OBJECT_NAME = 'orders') FROM performance_schema.data_locks WHERE OBJECT_NAME = 'orders' AND LOCK_DATA = '7'" | tr '\t' ' ')"
same "both locks of each wait" "0" "$(sql "SELECT COUNT(*) FROM performance_schema.data_lock_waits w JOIN performance_schema.data_locks r ON r.ENGINE_LOCK_ID = w.REQUESTING_ENGINE_LOCK_ID
  LEFT JOIN performance_schema.data_locks b ON b.ENGINE_LOCK_ID = w.BLOCKING_ENGINE_LOCK_ID WHERE r.LOCK_DATA = '7' AND b.LOCK_DATA IS NULL")"
top=$("$GANNET_BIN" top -S "$GANNET_SOCKET" -uconsole_watch -psee --once)
same "top" 1 "$(grep -c 'shop.orders.PRIMARY' <<< "$top")"
node "$(dirname "$0")/console.mjs" "$base" "${GANNET_SHOTS:-$dir}"
# shellcheck disable=SC2086
kill $jobs_ 2>/dev/null || true
stop
echo "console: names, origins, proofs and rights refused as they should; six pages, a brush, a drill-down, three widths, both schemes"
