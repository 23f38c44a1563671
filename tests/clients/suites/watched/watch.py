"""What watched.sh measures: watch.py PORT DIRECTORY SECONDS PART..."""

import os
import re
import subprocess
import sys
import time
import urllib.request

PORT, DIRECTORY, SECONDS = sys.argv[1], sys.argv[2], int(sys.argv[3])
SOCKET = os.environ["GANNET_SOCKET"]
# Of what there is nowhere but in TokuDB, and where pt-heartbeat writes its table.
IN_ERROR = {"collect.engine_tokudb_status", "collect.heartbeat"}
failed = []


def sql(text):
    command = ["mysql", "--no-defaults", "-uroot", "-S", SOCKET, "-N", "-B", "-e", text]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def session(text):
    return subprocess.Popen(["mysql", "--no-defaults", "-uroot", "-S", SOCKET, "-e", text], stdout=subprocess.DEVNULL)


def within(what, found, wanted, by):
    """Prints a figure, which is to be within `by` of what is wanted."""
    good = abs(found - wanted) <= by
    print(f"{'PASS' if good else 'FAIL'} {what}: {found:.4g} ({wanted:.4g} +- {by:.2g})", flush=True)
    if not good:
        failed.append(what)


def at_most(what, found, most):
    good = found <= most
    print(f"{'PASS' if good else 'FAIL'} {what}: {found:.4g} (at most {most})", flush=True)
    if not good:
        failed.append(what)


def sessions():
    begun = [session("BEGIN; UPDATE sbtest.held SET n = 2; DO SLEEP(300)")]
    time.sleep(1)
    waits = "SET innodb_lock_wait_timeout = 300; UPDATE sbtest.held SET n = n + 1 WHERE id = 1"
    begun += [session(waits) for _ in range(4)] + [session("DO SLEEP(300)")]
    time.sleep(2)
    sql("TRUNCATE performance_schema.gannet_active_session_history")
    time.sleep(SECONDS)
    seen = sql("SELECT WAIT_CLASS, SUM(WEIGHT), COUNT(DISTINCT SAMPLE_TIME), SUM(BLOCKING_THREAD_ID IS NULL OR DIGEST IS NULL OR "
               "OBJECT <> 'sbtest.held.PRIMARY' OR USER <> 'root'), COUNT(DISTINCT ROOT_BLOCKING_THREAD_ID) FROM "
               "performance_schema.gannet_active_session_history WHERE WAIT_CLASS IN ('lock', 'user') GROUP BY 1 ORDER BY 1")
    (_, blocked, times, unnamed, blockers), (_, sleeping, _, _, _) = seen
    within("samples", int(times), SECONDS, 1)
    within("sessions that wait for the row", int(blocked) / int(times), 4.0, 0.4)
    within("sessions that sleep", int(sleeping) / int(times), 2.0, 0.2)
    at_most("rows without a blocker, digest, object or user", int(unnamed), 0)
    within("sessions that hold all of them up", int(blockers), 1, 0)
    for (number,) in sql("SELECT ID FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND USER = 'root'"):
        subprocess.run(["mysql", "--no-defaults", "-uroot", "-S", SOCKET, "-e", f"KILL {number}"], capture_output=True)
    for one in begun:
        one.wait()


def exporter():
    help_text = subprocess.run(["prometheus-mysqld-exporter", "--help"], capture_output=True, text=True)
    flags = re.findall(r"^ +--(?:\[no-\])?(collect\.\S+)", help_text.stdout + help_text.stderr, re.M)
    name = ["prometheus-mysqld-exporter", "--web.listen-address=127.0.0.1:0"]
    for port in range(19104, 19204):
        name[1] = f"--web.listen-address=127.0.0.1:{port}"
        environment = {**os.environ, "DATA_SOURCE_NAME": f"watch:see@tcp(127.0.0.1:{PORT})/"}
        with open(f"{DIRECTORY}/exporter.log", "w") as log:
            running = subprocess.Popen(name + ["--" + f for f in flags if "=" not in f], env=environment, stdout=log, stderr=log)
        time.sleep(1.5)
        if running.poll() is None:
            break
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
            text = answer.read().decode()
    finally:
        running.terminate()
        running.wait()
    samples = sum(1 for line in text.splitlines() if line.startswith("mysql_"))
    found = re.findall(r'^mysql_exporter_collector_duration_seconds\{collector="([^"]+)"\}', text, re.M)
    errors = set(re.findall(r'^mysql_exporter_scrape_errors_total\{collector="([^"]+)"\} [1-9]', text, re.M))
    print(f"{len(found)} collectors, {samples} samples, in error: {' '.join(sorted(errors)) or 'none'}")
    within("mysql_up of the exporter", float(re.search(r"^mysql_up (\d)", text, re.M)[1]), 1, 0)
    at_most("in error beyond TokuDB and pt-heartbeat", len(errors - IN_ERROR), 0)
    within("collectors", len(found), 35, 10)


for part in sys.argv[4:]:
    print(f"-- {part}", flush=True)
    {"sessions": sessions, "exporter": exporter}[part]()
print(f"{len(failed)} failed" + "".join(f"; {what}" for what in failed))
sys.exit(bool(failed))
