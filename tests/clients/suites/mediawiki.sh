#!/usr/bin/env bash
# MediaWiki as Debian packages it, at the server and at a MariaDB: installer, imports, 150 maintenance programs, all special pages, searches,
# all modules of its API, edits, moves, deletions, uploads. The walk is ours.
. "$(dirname "$0")/suite.sh.inc"
. "$(dirname "$0")/beside.sh.inc"
packages mediawiki php-cli php-mysql php-mbstring php-xml php-intl php-gd
[ -d "$work/wiki" ] || cp -rL /usr/share/mediawiki "$work/wiki" 2>/dev/null || true
rm -f "$work/wiki/LocalSettings.php"
begin_peer
sql 'DROP DATABASE IF EXISTS suite_wiki'
walk mediawiki "$work/wiki"
