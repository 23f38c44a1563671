#!/usr/bin/env bash
# phpMyAdmin as Debian packages it, at the server and at a MariaDB: the pages of server, accounts, databases and tables, forms for tables
# with partitions and full-text indexes, programs, imports and exports, designer, tracking, search. The walk is ours.
. "$(dirname "$0")/suite.sh.inc"
. "$(dirname "$0")/beside.sh.inc"
packages phpmyadmin php-cli php-mysql php-mbstring php-xml php-zip php-bz2
[ -d "$work/pma" ] || cp -rL /usr/share/phpmyadmin "$work/pma" 2>/dev/null || true
sed -i "s#'configFile' => .*#'configFile' => getenv('PMA_CONFIG'),#; s#'tempDir' => .*#'tempDir' => getenv('PMA_TEMP'),#" \
  "$work/pma/libraries/vendor_config.php"
begin_peer
walk phpmyadmin "$work/pma"
