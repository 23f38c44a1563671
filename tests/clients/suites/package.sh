#!/usr/bin/env bash
# The Debian package on a bare system: installs it into a root file system that holds nothing but Debian's base, starts the
# server there as its unit does, upgrades a store that an older binary has written (PACKAGE_OLD=BINARY; without it, this
# build's), removes the package and finds the data still there. Wants root.
. "$(dirname "$0")/../lib.sh.inc"
need mysql mariadb-client
need debootstrap debootstrap
cargo xtask dist
root=${PACKAGE_ROOT:-$(mktemp -d)/root}
[ -d "$root/usr" ] || debootstrap --variant=minbase bookworm "$root" >/dev/null
deb=$(ls target/dist/gannet_*.deb)
server=
trap '[ -z "$server" ] || kill -9 "$server"' EXIT
old=${PACKAGE_OLD:-$GANNET_BIN}
port=$((20000 + $$ % 10000))
client() { mysql --no-defaults -h127.0.0.1 -P$port -uroot -N -B -e "$1"; }
up() {
  local deadline=$((SECONDS + 60))
  until client 'SELECT 1' >/dev/null 2>&1; do [ $SECONDS -lt $deadline ] || { echo "no answer"; exit 1; }; sleep 0.05; done
}

# A store of the build before, killed with work in its log.
rm -rf "$root/var/lib/gannet"
"$old" serve --datadir="$root/var/lib/gannet" --port=$port >/dev/null 2>&1 &
server=$!
up
client 'CREATE DATABASE shop; CREATE TABLE shop.item (id INT PRIMARY KEY, name VARCHAR(40), KEY (name))'
for i in $(seq 1 50); do client "INSERT INTO shop.item VALUES ($i, 'item $i')"; done
kill -9 $server; wait $server 2>/dev/null || true
server=

cp "$deb" "$root/tmp/gannet.deb"
chroot "$root" dpkg -i /tmp/gannet.deb
chroot "$root" chown -R gannet:gannet /var/lib/gannet
chroot "$root" install -d -o gannet -g gannet /run/gannet
# What systemd would do by the unit; a chroot has none.
start=$(sed -n 's/^ExecStart=//p' "$root/lib/systemd/system/gannet.service")
user=$(sed -n 's/^User=//p' "$root/lib/systemd/system/gannet.service")
chroot "$root" setpriv --reuid "$user" --regid "$user" --clear-groups $start --port=$port >/dev/null 2>&1 &
server=$!
up
same "rows of the older store" "50	1275" "$(client 'SELECT COUNT(*), SUM(id) FROM shop.item FORCE INDEX (name)')"
client "INSERT INTO shop.item VALUES (51, 'from the package'); CHECK TABLE shop.item" | grep -q OK
[ -S "$root/run/gannet/gannet.sock" ] || { echo "no socket where the configuration says"; exit 1; }
client SHUTDOWN
wait $server || { echo "the server did not end cleanly"; exit 1; }
server=

chroot "$root" dpkg -P gannet | grep -q 'stay in /var/lib/gannet'
[ ! -e "$root/usr/bin/gannet" ] && [ -e "$root/var/lib/gannet/data.gnt" ]
same "names in a back trace's symbols" 1 "$(nm -C target/dist/gannet.debug | grep -c ' gannet::main$')"
echo "package: installed on a bare system, upgraded a store, removed"
