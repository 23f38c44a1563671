#!/usr/bin/env bash
# Compressed packets: the command line client, over TLS too, and Connector/Python.
. "$(dirname "$0")/lib.sh.inc"
need mysql mariadb-client
need python3 python3
same "on" "ON" "$(mysql --no-defaults -uroot -S "$GANNET_SOCKET" --compress -N -B -e "SHOW STATUS LIKE 'Compression'" | cut -f2)"
for tls in "--ssl=0" "--ssl"; do
  same "long result $tls" "5000000" "$(mysql --no-defaults -uroot -h127.0.0.1 -P"$GANNET_PORT" --compress $tls -N -B -e "SELECT REPEAT('ab', 2500000)" | tr -d '\n' | wc -c)"
  same "long statement $tls" "2000000" "$(printf "SELECT LENGTH('%s');\n" "$(head -c 2000000 /dev/zero | tr '\0' x)" | mysql --no-defaults -uroot -h127.0.0.1 -P"$GANNET_PORT" --compress $tls --max-allowed-packet=16M -N -B)"
done
venv=$(mktemp -d)
python3 -m venv "$venv"
"$venv/bin/pip" install -q mysql-connector-python
"$venv/bin/python" - "$GANNET_PORT" <<'P'
import os, sys, mysql.connector
for tls in (False, True):
    c = mysql.connector.connect(host="127.0.0.1", port=int(sys.argv[1]), user="root", compress=True, ssl_disabled=not tls, use_pure=True)
    k = c.cursor()
    k.execute("SHOW STATUS LIKE 'Compression_algorithm'")
    assert k.fetchone()[1] == "zlib"
    text = "0123456789" * 2000000
    k.execute("SELECT %s", (text,)); assert k.fetchone()[0] == text
    k.execute("SELECT %s", (os.urandom(100000).hex(),)); assert len(k.fetchone()[0]) == 200000
    c.close()
P
rm -rf "$venv"
echo "compression: the command line client and Connector/Python, over TLS too, 20 MB both ways"
