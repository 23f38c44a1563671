#!/usr/bin/env bash
# A history like Zabbix's: tables by RANGE (clock), two writers that insert items in batches, a reader, and a housekeeper
# that adds tomorrow's partition and drops the oldest one meanwhile; hourly trends of each day that is over. What is there
# at the end, and what the reader finds of yesterday, is known beforehand. GANNET_REFERENCE=HOST:PORT (root, no password)
# does the same on another server.
. "$(dirname "$0")/lib.sh.inc"
need python3 python3
venv=$(mktemp -d)
python3 -m venv "$venv" 2>/dev/null || { need pip3 python3-venv; python3 -m venv "$venv"; }
"$venv/bin/pip" install -q PyMySQL cryptography
"$venv/bin/python" - "$GANNET_SOCKET" "${GANNET_REFERENCE:-}" <<'P'
import functools, sys, threading, pymysql
DAY, DAYS, KEEP, ITEMS, BATCHES, ROWS = 86400, 24, 7, 12, 20, 25
FIRST = 1_700_006_400 // DAY * DAY
TABLES = {'history': 'double NOT NULL DEFAULT 0', 'history_uint': 'bigint unsigned NOT NULL DEFAULT 0'}

def sent(table, day, writer):
    """The rows of a day that a writer sends, in batches: (itemid, clock, value, ns)."""
    for batch in range(BATCHES):
        first = batch * ROWS
        yield [(writer * ITEMS // 2 + n % (ITEMS // 2), FIRST + day * DAY + n * (DAY // (BATCHES * ROWS)),
                (n * 7 + day) % 101 + (0.25 if table == 'history' else 0), n * 1000 + writer)
               for n in range(first, first + ROWS)]

def all_of(table, days):
    return sorted(row for day in days for writer in (0, 1) for batch in sent(table, day, writer) for row in batch)

def grouped(rows, key):
    groups = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row[2])
    return sorted((*k, len(v), float(min(v)), round(sum(v) / len(v), 4), float(max(v))) for k, v in groups.items())

@functools.cache
def of_day(day):
    """What the reader finds of a day: figures of each item, the last values of one."""
    last = [(row[1], int(row[2])) for row in all_of('history_uint', [day]) if row[0] == 3][::-1][:5]
    return grouped(all_of('history', [day]), lambda row: (row[0],)), last

def run(where):
    def connect(database='zbx'):
        return pymysql.connect(user='root', autocommit=True, database=database, **where)
    c = connect(None); q = c.cursor()
    def ask(sql, args=None):
        q.execute(sql, args and [args]); return q.fetchall()
    ask('DROP DATABASE IF EXISTS zbx'); ask('CREATE DATABASE zbx CHARACTER SET utf8mb4 COLLATE utf8mb4_bin'); ask('USE zbx')
    part = lambda day: f'PARTITION p{day:03} VALUES LESS THAN ({FIRST + (day + 1) * DAY})'
    for table, value in TABLES.items():
        ask(f'CREATE TABLE {table} (itemid bigint unsigned NOT NULL, clock integer NOT NULL DEFAULT 0, value {value}, '
            f'ns integer NOT NULL DEFAULT 0, PRIMARY KEY (itemid, clock, ns)) PARTITION BY RANGE (clock) ({part(0)})')
    ask('CREATE TABLE trends (itemid bigint unsigned NOT NULL, clock integer NOT NULL DEFAULT 0, num integer NOT NULL, '
        'value_min double NOT NULL, value_avg double NOT NULL, value_max double NOT NULL, PRIMARY KEY (itemid, clock)) '
        f'PARTITION BY RANGE (clock) (PARTITION early VALUES LESS THAN ({FIRST + 10 * DAY}), PARTITION late VALUES LESS THAN MAXVALUE)')
    failed, looks = [], [0]
    # Three at work meet when a day begins; the reader goes on.
    begins, over, today = threading.Barrier(3), threading.Event(), [0]
    def work(f):
        def guarded():
            try:
                f()
            except Exception as e:
                failed.append(repr(e)); over.set(); begins.abort()
        return threading.Thread(target=guarded)
    def writer(number):
        def go():
            w = connect(); wq = w.cursor()
            for day in range(DAYS):
                begins.wait(120)
                for table in TABLES:
                    for batch in sent(table, day, number):
                        values = ','.join('(%d,%d,%s,%d)' % row for row in batch)
                        wq.execute(f'INSERT INTO {table} (itemid,clock,value,ns) VALUES {values}')
                begins.wait(120)
        return go
    def housekeeper():
        h = connect(); hq = h.cursor()
        for day in range(DAYS):
            today[0] = day
            begins.wait(120)
            for table in TABLES:
                hq.execute('SELECT PARTITION_NAME, PARTITION_DESCRIPTION + 0 FROM information_schema.PARTITIONS '
                           'WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = %s ORDER BY PARTITION_DESCRIPTION + 0', [table])
                parts = hq.fetchall()
                if int(parts[-1][1]) <= FIRST + (day + 1) * DAY:
                    hq.execute(f'ALTER TABLE {table} ADD PARTITION ({part(day + 1)})')
                for name, bound in parts:
                    if int(bound) <= FIRST + (day - KEEP + 1) * DAY:
                        hq.execute(f'ALTER TABLE {table} DROP PARTITION {name}')
            if day > 0:
                hq.execute('INSERT INTO trends SELECT itemid, clock - clock %% 3600 AS hour, COUNT(*), MIN(value), AVG(value), '
                           'MAX(value) FROM history WHERE clock >= %s AND clock < %s GROUP BY itemid, hour '
                           'ON DUPLICATE KEY UPDATE num = VALUES(num)', (FIRST + (day - 1) * DAY, FIRST + day * DAY))
            begins.wait(120)
        over.set()
    def reader():
        r = connect(); rq = r.cursor()
        while not over.is_set():
            day = today[0] - 1
            if day < 0:
                continue
            rq.execute('SELECT itemid, COUNT(*), MIN(value), ROUND(AVG(value), 4), MAX(value) FROM history '
                       'WHERE clock >= %s AND clock < %s GROUP BY itemid ORDER BY itemid', (FIRST + day * DAY, FIRST + (day + 1) * DAY))
            found, (wanted, last) = list(rq.fetchall()), of_day(day)
            # The day's rows are dropped when it is the oldest.
            if today[0] - day >= KEEP:
                continue
            if found != wanted:
                raise AssertionError(f'day {day}: {found[:2]} instead of {wanted[:2]}')
            rq.execute('SELECT clock, value FROM history_uint WHERE itemid = 3 AND clock BETWEEN %s AND %s ORDER BY clock DESC LIMIT 5',
                       (FIRST + day * DAY, FIRST + (day + 1) * DAY - 1))
            found = list(rq.fetchall())
            assert found == last or today[0] - day >= KEEP, (found, last)
            looks[0] += 1
    at_work = [work(f) for f in (writer(0), writer(1), housekeeper, reader)]
    [t.start() for t in at_work]; [t.join() for t in at_work]
    assert not failed, failed
    kept = range(DAYS - KEEP, DAYS)
    for table in TABLES:
        rows = sorted(ask(f'SELECT itemid, clock, value, ns FROM {table}'))
        assert rows == all_of(table, kept), f'{table}: {len(rows)} rows'
        names = [row[0] for row in ask('SELECT PARTITION_NAME FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = DATABASE() '
                                       'AND TABLE_NAME = %s ORDER BY PARTITION_ORDINAL_POSITION', table)]
        assert names == [f'p{day:03}' for day in range(DAYS - KEEP, DAYS + 1)], names
        assert [row[3] for row in ask(f'CHECK TABLE {table}')] == ['OK']
    trends = [(*row[:4], round(row[4], 4), row[5]) for row in ask('SELECT * FROM trends ORDER BY itemid, clock')]
    wanted = grouped(all_of('history', range(DAYS - 1)), lambda row: (row[0], row[1] - row[1] % 3600))
    assert trends == wanted, (len(trends), len(wanted), trends[:1], wanted[:1])
    # Hourly values of a week, as a graph asks for them: each from its partition.
    week = ask('SELECT itemid, SUM(num), MIN(value_min), MAX(value_max) FROM trends PARTITION (early) GROUP BY itemid ORDER BY itemid')
    assert len(week) == ITEMS and looks[0] > 0, (len(week), looks)
    return f'{sum(len(all_of(t, kept)) for t in TABLES)} rows kept, {len(trends)} trends, yesterday read {looks[0]} times'

print('Housekeeper:', run({'unix_socket': sys.argv[1]}))
if sys.argv[2]:
    host, port = sys.argv[2].rsplit(':', 1)
    print('Reference:  ', run({'host': host, 'port': int(port)}))
P
rm -rf "$venv"
