#!/usr/bin/env bash
# TLS: the command line client over TCP and socket, with the server's own authority, and Python's ssl module by PyMySQL.
. "$(dirname "$0")/lib.sh.inc"
need mysql mariadb-client
need python3 python3
datadir=$(sql 'SELECT @@datadir')
tls() { mysql --no-defaults -uroot --ssl -N -B "$@"; }
for where in "-h127.0.0.1 -P$GANNET_PORT" "-S $GANNET_SOCKET"; do
  # shellcheck disable=SC2086
  cipher=$(tls $where -e "SHOW STATUS LIKE 'Ssl_cipher'" | cut -f2)
  [ -n "$cipher" ] || { echo "no cipher over $where"; exit 1; }
  # shellcheck disable=SC2086
  same "status shows it" "1" "$(tls $where -e '\s' | grep -c "$cipher")"
done
for version in TLSv1.2 TLSv1.3; do
  same "$version" "$version" "$(tls -h127.0.0.1 -P"$GANNET_PORT" --tls-version=$version -e "SHOW STATUS LIKE 'Ssl_version'" | cut -f2)"
done
same "verified" "1" "$(tls -hlocalhost --protocol=tcp -P"$GANNET_PORT" --ssl-ca="$datadir/ca.pem" --ssl-verify-server-cert -e 'SELECT 1')"
sql "CREATE USER tls_x509@localhost REQUIRE X509"
same "client certificate" "1" "$(mysql --no-defaults -utls_x509 -h127.0.0.1 -P"$GANNET_PORT" --ssl-ca="$datadir/ca.pem" --ssl-cert="$datadir/client-cert.pem" --ssl-key="$datadir/client-key.pem" -N -e 'SELECT 1')"
venv=$(mktemp -d)
python3 -m venv "$venv"
"$venv/bin/pip" install -q PyMySQL cryptography mysql-connector-python
"$venv/bin/python" - "$GANNET_PORT" "$datadir" <<'P'
import sys, ssl, pymysql, mysql.connector
port, datadir = int(sys.argv[1]), sys.argv[2]
context = ssl.create_default_context(cafile=datadir + "/ca.pem")
c = pymysql.connect(host="localhost", port=port, user="root", ssl=context)
k = c.cursor()
k.execute("SELECT REPEAT('x', 3000000)")
assert len(k.fetchone()[0]) == 3000000
k.execute("CREATE USER tls_py@localhost IDENTIFIED WITH caching_sha2_password BY 'p'")
for _ in range(2):
    pymysql.connect(host="localhost", port=port, user="tls_py", password="p", ssl=context).close()
m = mysql.connector.connect(host="localhost", port=port, user="tls_py", password="p", ssl_ca=datadir + "/ca.pem", ssl_verify_identity=True, use_pure=True)
k = m.cursor()
k.execute("SHOW STATUS LIKE 'Ssl_version'")
assert k.fetchone()[1] == "TLSv1.3"
m.close()
P
rm -rf "$venv"
echo "TLS: both versions, TCP and socket, verified by OpenSSL, client certificate, PyMySQL and Connector/Python"
