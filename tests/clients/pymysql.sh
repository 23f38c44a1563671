#!/usr/bin/env bash
# PyMySQL: text protocol, types, errors, a transaction, UTF-8, a large value.
. "$(dirname "$0")/lib.sh.inc"
need python3 python3
venv=$(mktemp -d)
python3 -m venv "$venv" 2>/dev/null || { need pip3 python3-venv; python3 -m venv "$venv"; }
"$venv/bin/pip" install -q PyMySQL cryptography
"$venv/bin/python" - "$GANNET_SOCKET" "$GANNET_PORT" <<'P'
import sys, datetime, decimal, pymysql
sock, port = sys.argv[1], int(sys.argv[2])
for where in (dict(unix_socket=sock), dict(host="127.0.0.1", port=port)):
    c = pymysql.connect(user="root", autocommit=False, **where)
    k = c.cursor()
    k.execute("CREATE DATABASE IF NOT EXISTS py"); k.execute("USE py"); k.execute("DROP TABLE IF EXISTS t")
    k.execute("CREATE TABLE t (i INT PRIMARY KEY, d DECIMAL(8,3), x DOUBLE, s VARCHAR(40), b LONGBLOB, w DATETIME(6), y DATE, z TIME)")
    blob = bytes(range(256)) * 4000
    row = (1, decimal.Decimal("-12.345"), 0.5, "naïve – 日本", blob, datetime.datetime(2026, 1, 2, 3, 4, 5, 678), datetime.date(2024, 2, 29), datetime.timedelta(hours=-5, minutes=-1))
    k.execute("INSERT INTO t VALUES (%s,%s,%s,%s,%s,%s,%s,%s)", row)
    c.commit()
    k.execute("SELECT * FROM t"); got = k.fetchone()
    assert got == row, got[:4] + got[5:]
    k.executemany("INSERT INTO t (i, s) VALUES (%s, %s)", [(n, str(n)) for n in range(2, 500)])
    c.rollback()
    k.execute("SELECT COUNT(*) FROM t"); assert k.fetchone() == (1,)
    try:
        k.execute("INSERT INTO t (i) VALUES (1)"); raise SystemExit("no duplicate error")
    except pymysql.err.IntegrityError as e:
        assert e.args[0] == 1062, e
    c.close()
P
rm -rf "$venv"
echo "PyMySQL: types there and back, rollback, errors, socket and TCP"
