#!/usr/bin/env bash
# Connector/J and MariaDB Connector/J: Hibernate ORM with entities, and JDBC itself. The checks are ours.
. "$(dirname "$0")/suite.sh.inc"
need mvn maven
need javac default-jdk-headless
need mysql mariadb-client
mkdir -p "$work/src/main/java"
cp "$here/hibernate/pom.xml" "$work"
cp "$here"/hibernate/*.java "$work/src/main/java"
sql "DROP DATABASE IF EXISTS hibernate; CREATE DATABASE hibernate CHARACTER SET utf8mb4"
(cd "$work" && mvn -q -B compile dependency:build-classpath -Dmdep.outputFile=classpath &&
  timeout 400 java -cp "target/classes:$(cat classpath)" Main "$GANNET_PORT" "$(sql 'SELECT VERSION()')") >"$log" 2>&1 || true
tail -1 "$log" | grep -q '^done$' || { tail -20 "$log"; exit 1; }
sed -nE 's/^not ok ([^:]*).*/\1/p' "$log" >"$work/names"
report "$(grep -c '^ok ' "$log" || true)" 0 "$work/names"
