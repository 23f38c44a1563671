#!/usr/bin/env bash
# The memory of seeing: resident memory of a server with performance_schema on beside one without, after SEEING_DIGESTS (100,000) digests,
# each from two connections, after SEEING_SESSIONS (10,000) sessions that ran 12 statements and stay, and after a minute. What takes an hour
# or more to fill, and what is counted in both servers, is added as unit tests bound it: rows of active sessions, the other histories, long
# texts, and what 200,000 tables were used for. Prints MiB; fails beyond SEEING_MOST (128). GANNET_BIN is the binary; servers and their
# directories are its own.
. "$(dirname "$0")/../lib.sh.inc"
need python3 python3
bin=${GANNET_BIN:-target/release/gannet}
dir=$(mktemp -d "${SEEING_DIR:-${TMPDIR:-/tmp}}/gannet-seeing-XXXXXX")
server=
trap '[ -z "$server" ] || kill -9 "$server" 2>/dev/null || true; rm -rf "$dir"' EXIT
ulimit -n $((${SEEING_SESSIONS:-10000} + 200)) # of the client, and of the server

for seen in ON OFF; do
  "$bin" serve "--datadir=$dir/$seen" "--socket=$dir/$seen.sock" --skip-networking "--performance-schema=$seen" \
    --max-connections=$((${SEEING_SESSIONS:-10000} + 10)) >"$dir/$seen.log" 2>&1 &
  server=$!
  for _ in $(seq 100); do [ -S "$dir/$seen.sock" ] && break; sleep 0.1; done
  python3 "${0%.sh}/load.py" "$dir/$seen.sock" "$server" >"$dir/$seen.txt"
  kill "$server" && wait "$server" || true
  server=
  rm -rf "${dir:?}/$seen"
done
python3 - "$dir" "${SEEING_MOST:-128}" <<'END'
import sys
read = lambda seen: [line.split() for line in open(f"{sys.argv[1]}/{seen}.txt")]
total, before = 0.0, None
for (step, on), (_, off) in zip(read("ON"), read("OFF")):
    on, off = int(on) / 1024, int(off) / 1024
    more = on - before[0] - off + before[1] if before else 0.0
    before, total = (on, off), total + more
    print(f"{step:9} {on:7.1f} MiB resident, {off:7.1f} without: {more:5.1f}, {total:6.1f} in all")
for step, bound in (("active", 15.9), ("histories", 32), ("texts", 4), ("tables", 200_000 * 96 / 2**20)):
    total += bound
    print(f"{step:9} at most {bound:5.1f} MiB: {total:6.1f} in all")
sys.exit(total > float(sys.argv[2]))
END
