#!/usr/bin/env bash
# memcached's protocol: libmemcached's memccapable and memcaslap, which verifies what it reads, and the Python clients python-memcached
# and pymemcache. Others are in suites/memcached.sh.
. "$(dirname "$0")/lib.sh.inc"
need memccapable libmemcached-tools
need python3 python3
said=$(memccapable -h 127.0.0.1 -p "$GANNET_MEMCACHED_PORT" -a 2>&1)
grep -q '^All tests passed' <<<"$said" || { echo "$said"; exit 1; }
dir=$(mktemp -d)
printf 'key\n32 32 1\nvalue\n100 100 1\ncmd\n0 0.3\n1 0.7\n' >"$dir/load"
memcaslap -s "127.0.0.1:$GANNET_MEMCACHED_PORT" -T 1 -c 8 -w 1k -x 2000 -F "$dir/load" -v 0.5 >"$dir/said"
for zero in verify_misses verify_failed; do grep -q "^$zero: 0$" "$dir/said" || { cat "$dir/said"; exit 1; }; done
python3 -m venv "$dir/venv" 2>/dev/null || { need pip3 python3-venv; python3 -m venv "$dir/venv"; }
"$dir/venv/bin/pip" install -q python-memcached==1.62 pymemcache==4.0.0
"$dir/venv/bin/python" - "$GANNET_MEMCACHED_PORT" <<'P'
import sys, time, memcache, pymemcache
from pymemcache.client.base import Client
at = "127.0.0.1:" + sys.argv[1]
c = memcache.Client([at], cache_cas=True)
c.flush_all()
assert c.set("s", "text") and c.get("s") == "text" and c.append("s", "+") and c.prepend("s", "-") and c.gets("s") == "-text+"
assert c.cas("s", "new") and not c.add("s", "x") and c.replace("s", 5) and c.incr("s", 3) == 8 and c.decr("s", 2) == 6
assert memcache.Client([at]).set("s", "other") and not c.cas("s", "late")
assert c.set_multi({"k%d" % i: [i] for i in range(50)}) == [] and len(c.get_multi(["k%d" % i for i in range(60)])) == 50
assert c.touch("s", 100) and c.set("e", 1, time=1) and c.delete_multi(["k1", "k2"]) and c.delete("s") and c.get("s") is None
assert c.set("big", "x" * 500000) and len(c.get("big")) == 500000
assert c.get_stats()[0][1]["version"] == "1.6.18"
time.sleep(1.5)
assert c.get("e") is None
p = Client(("127.0.0.1", int(sys.argv[1])))
assert p.set("a", b"1", noreply=False) and p.incr("a", 41) == 42 and p.decr("a", 100) == 0
value, cas = p.gets("a")
assert p.cas("a", b"5", cas) and p.cas("a", b"6", cas) is False and p.cas("none", b"6", cas) is None
assert p.append("a", b"x", noreply=False) and p.prepend("a", b"y", noreply=False) and p.get("a") == b"y5x"
# An error of a command that wants no reply is not taken for another one's answer.
p.set("long", b"x" * 2000000, noreply=True)
assert p.get("long") is None and p.get("a") == b"y5x" and p.touch("a", 0, noreply=False)
try:
    p.incr("a", 1)
    raise SystemExit("a text was counted")
except pymemcache.exceptions.MemcacheClientError:
    pass
assert p.delete_many(["a"], noreply=False) and p.version() == b"1.6.18" and p.flush_all(noreply=False) and p.get("big") is None
P
same "what SQL sees" 0 "$(sql 'SELECT COUNT(*) FROM test.demo_test')"
rm -rf "$dir"
echo "memcached's protocol: memccapable, memcaslap, python-memcached, pymemcache"
