#!/usr/bin/env bash
# Django's own tests of its database layer, with PyMySQL in place of mysqlclient.
. "$(dirname "$0")/suite.sh.inc"
version=5.2.8
source=$work/django-$version
if [ ! -d "$source" ]; then
  venv "Django==$version" PyMySQL==1.1.2 cryptography tblib jinja2 Pillow
  "$work/venv/bin/pip" download -q --no-binary :all: --no-deps -d "$work" "Django==$version"
  tar xzf "$work/django-$version.tar.gz" -C "$work"
fi
cat >"$source/tests/suite_settings.py" <<P
import pymysql
pymysql.install_as_MySQLdb()
server = {"ENGINE": "django.db.backends.mysql", "HOST": "127.0.0.1", "PORT": $GANNET_PORT, "USER": "root"}
DATABASES = {
    "default": {**server, "NAME": "django", "TEST": {"CHARSET": "utf8mb4"}},
    "other": {**server, "NAME": "django_other", "TEST": {"CHARSET": "utf8mb4"}},
}
SECRET_KEY = "django_tests_secret_key"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
P
apps=${DJANGO_APPS:-backends basic queries aggregation annotations expressions transactions schema migrations introspection inspectdb
  bulk_create select_for_update indexes constraints}
(cd "$source/tests" && timeout 3000 "$work/venv/bin/python" -W ignore runtests.py --settings=suite_settings --parallel=1 --noinput -v 2 $apps) \
  >"$log" 2>&1 || true
report_unittest
