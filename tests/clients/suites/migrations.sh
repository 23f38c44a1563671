#!/usr/bin/env bash
# Flyway and Liquibase over Connector/J, with scripts of programs, partitions and full text. The checks are ours.
. "$(dirname "$0")/suite.sh.inc"
need mvn maven
need javac default-jdk-headless
need mysql mariadb-client
mkdir -p "$work/src/main/java"
cp -r "$here"/migrations/{pom.xml,flyway,changelog.xml,departments.csv} "$work"
cp "$here/migrations/Main.java" "$work/src/main/java"
sql "CREATE USER IF NOT EXISTS migrations@'%' IDENTIFIED BY 'pw'; GRANT ALL ON *.* TO migrations@'%'"
(cd "$work" && mvn -q -B compile dependency:build-classpath -Dmdep.outputFile=classpath &&
  timeout 400 java -cp "target/classes:$(cat classpath)" Main "$GANNET_PORT") >"$log" 2>&1 || true
tail -1 "$log" | grep -q '^done$' || { tail -20 "$log"; exit 1; }
sed -nE 's/^not ok ([^:]*:[^:]*).*/\1/p' "$log" >"$work/names"
report "$(grep -c '^ok ' "$log" || true)" 0 "$work/names"
