"""mycli, as a program with its input from a pipe and as the library below its prompt: "ok NAME" or "not ok NAME: why", "done" at the end."""
import subprocess
import sys
import tempfile

from mycli.completion_refresher import CompletionRefresher
from mycli.main import MyCli
from mycli.packages import special
from mycli.sqlcompleter import SQLCompleter
from mycli.sqlexecute import SQLExecute
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

program, port = sys.argv[1], int(sys.argv[2])


def connect(database="suite_mycli"):
    return SQLExecute(database, "root", "", "127.0.0.1", port, None, "utf8mb4", True, None, None, None, None, None, None)


def mycli(*options, given=None):
    command = [program, "--no-warn", "--myclirc", "/dev/null", "-h", "127.0.0.1", "-P", str(port), "-u", "root", "suite_mycli", *options]
    return subprocess.run(command, input=given, capture_output=True, text=True, timeout=60)


def same(a, b):
    assert a == b, f"{a!r} is not {b!r}"


def schema():
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as f:
        f.write("CREATE TABLE people (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20), born DATE, kind ENUM('x','y'));\n"
                "INSERT INTO people (name, born, kind) VALUES ('Ann 日本', '2000-02-29', 'x'), (NULL, NULL, 'y');\n"
                "CREATE VIEW seen AS SELECT name FROM people;\n")
        f.flush()
        done = mycli("-e", f"source {f.name}")
    same(done.returncode, 0)


def formats():
    sql = "SELECT id, name, born FROM people ORDER BY id"
    same(mycli("-e", sql, "--csv").stdout.splitlines(), ['"id","name","born"', '"1","Ann 日本","2000-02-29"', '"2","",""'])
    assert "| Ann 日本 | 2000-02-29 |" in mycli("-e", sql, "--table").stdout
    same(mycli("-e", sql).stdout.splitlines()[1], "1\tAnn 日本\t2000-02-29")


def standard_input():
    out = mycli("--csv", given="SELECT 1 AS a;\nSELECT 2 AS b;\n")
    assert '"2"' in out.stdout, out
    failed = mycli("-e", "SELECT nope FROM people")
    assert failed.returncode != 0 and "Unknown column 'nope'" in failed.stderr + failed.stdout, failed


def results():
    c = connect()
    all_results = [(list(cursor or []), status) for _, cursor, _, status in c.run("SELECT 1; UPDATE people SET name = 'B' WHERE id = 2; SHOW TABLES")]
    same([rows for rows, _ in all_results], [[(1,)], [], [("people",), ("seen",)]])
    assert "1 row affected" in all_results[1][1], all_results
    same(list(next(c.run("SHOW COLUMNS FROM people"))[1])[0][:4], ("id", "int(11)" if "MariaDB" in str(c.server_info) else "int", "NO", "PRI"))
    c.change_db("mysql")
    same(c.dbname, "mysql")


def special_commands():
    c = connect()
    for command in ["\\dt", "\\dt+ people", "\\l", "status", "\\s", "help"]:
        for _, cursor, _, _ in c.run(command):
            list(cursor or [])
    shown = [str(part) for result in c.run("status") for part in result]
    assert any("Uptime" in part or "Server version" in part for part in shown), shown
    rows = [r for _, cursor, _, _ in c.run("SELECT * FROM people \\G") for r in cursor]
    same(len(rows), 2)


def completion():
    done = []
    MyCli(myclirc="/dev/null")
    refresher = CompletionRefresher()
    refresher.refresh(connect(), lambda completer: done.append(completer), {})
    refresher._completer_thread.join(30)
    completer = done[0]

    def complete(text):
        return {c.text for c in completer.get_completions(Document(text, len(text)), CompleteEvent())}

    assert {"people", "seen"} <= complete("SELECT * FROM "), "tables"
    assert {"id", "name", "born", "kind"} <= complete("SELECT  FROM people WHERE "), "columns"
    assert "suite_mycli" in complete("USE "), "databases"


def lists():
    c = connect()
    same([t for (t,) in c.tables()], ["people", "seen"])
    assert ("people", "name") in set(map(tuple, c.table_columns()))
    assert "suite_mycli" in c.databases()
    list(c.functions())
    list(c.show_candidates())
    assert any("root" in u[0] for u in c.users())
    same(c.get_connection_id() > 0 if callable(getattr(c, "get_connection_id")) and c.get_connection_id() is not None else c.connection_id > 0, True)
    assert isinstance(SQLCompleter(), SQLCompleter) and special


for check in [schema, formats, standard_input, results, special_commands, completion, lists]:
    try:
        check()
        print(f"ok mycli.{check.__name__}")
    except Exception as e:  # the report goes on
        print(f"not ok mycli.{check.__name__}: {type(e).__name__} {e}".replace("\n", " "))
print("done")
