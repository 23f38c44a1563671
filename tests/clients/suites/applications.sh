#!/usr/bin/env bash
# WordPress, MediaWiki and Redmine as Debian packages them: their installers, migrations and maintenance programs, and what a site asks of its
# database. The checks are ours.
. "$(dirname "$0")/suite.sh.inc"
packages=(wordpress mediawiki redmine redmine-mysql ruby-mysql2 php-cli php-mysql php-mbstring php-xml php-intl)
dpkg -s "${packages[@]}" >/dev/null 2>&1 || {
  echo 'redmine redmine/instances/default/dbconfig-install boolean false' | debconf-set-selections
  apt-get update -qq >/dev/null
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >"$work/apt.log" 2>&1
}
need mysql mariadb-client
: >"$log"
for name in wordpress mediawiki redmine; do
  sql "DROP DATABASE IF EXISTS suite_$name; CREATE DATABASE suite_$name CHARACTER SET utf8mb4"
  [ -d "$work/$name" ] || cp -rL "/usr/share/$name" "$work/$name" 2>/dev/null || true
done
sql "DROP USER IF EXISTS suite_app@'%'; CREATE USER suite_app@'%' IDENTIFIED BY 'pw'; GRANT ALL ON *.* TO suite_app@'%'"
# step NAME COMMAND...: one check, that a program ends well and speaks of no error.
step() {
  local name=$1
  shift
  timeout 400 "$@" >"$work/step.log" 2>&1 && ! grep -qE 'DBQueryError|rake aborted|Fatal error' "$work/step.log" && echo "ok $name" || { echo "not ok $name"; tail -5 "$work/step.log"; }
} >>"$log"

rm -f "$work/wordpress/wp-config.php"
timeout 300 php "$here/applications/wordpress.php" "$work/wordpress" "$GANNET_PORT" >>"$log" 2>&1 || true

wiki=$work/mediawiki
rm -f "$wiki/LocalSettings.php"
step 'MediaWiki: installer' php "$wiki/maintenance/install.php" --dbtype mysql --dbserver "127.0.0.1:$GANNET_PORT" --dbname suite_mediawiki \
  --dbuser suite_app --dbpass pw --pass adminpass12345 --server http://localhost --scriptpath "" --confpath "$wiki" Wiki Admin
mkdir -p "$work/pages"
for i in $(seq 1 20); do echo "[[Page $((i % 7))]] [[Category:C$((i % 5))]] {{T$((i % 3))}} http://example.org/$i é😀" >"$work/pages/Page $i.txt"; done
step 'MediaWiki: 20 pages' php "$wiki/maintenance/importTextFiles.php" --overwrite "$work"/pages/*.txt
for program in runJobs refreshLinks rebuildrecentchanges initSiteStats updateSpecialPages cleanupTitles deleteOldRevisions "update --quick" namespaceDupes "dumpBackup --full"; do
  # shellcheck disable=SC2086 -- a program's options are words
  step "MediaWiki: ${program%% *}" php "$wiki/maintenance/${program%% *}.php" $(echo "$program " | cut -d' ' -f2-)
done
step 'MediaWiki: rebuildtextindex' php "$wiki/maintenance/rebuildtextindex.php"
# Its own search, by MATCH ... IN BOOLEAN MODE.
for wanted in '20 category' '0 nothingsuch' '20 page category' '3 "page 4" category'; do
  step "MediaWiki: search of ${wanted#* }" env "MW_INSTALL_PATH=$wiki" php "$here/applications/search.php" "${wanted#* }" "${wanted%% *}"
done

export RAILS_ENV=production DATABASE_URL="mysql2://suite_app:pw@127.0.0.1:$GANNET_PORT/suite_redmine?encoding=utf8mb4" REDMINE_LANG=en
cd "$work/redmine"
mkdir -p tmp log files
step 'Redmine: 301 migrations' rake db:migrate
step 'Redmine: default data' rake redmine:load_default_data
timeout 300 ruby bin/rails runner "$here/applications/redmine.rb" >>"$log" 2>&1 || true
[ "$(grep -c '^done$' "$log")" = 2 ] || { tail -20 "$log"; exit 1; }
sed -nE 's/^not ok ([^:]*).*/\1/p' "$log" >"$work/names"
report "$(grep -c '^ok ' "$log" || true)" 0 "$work/names"
