#!/bin/sh
# Installs PostgreSQL and pgbouncer where they are missing and can be installed. Tests of the database on a server start
# their own.
#
# Exits with 3 where that cannot be done: the tests then say what is not checked.
set -eu
PATH="$PATH:/usr/sbin"
if [ -n "$(find /usr/lib/postgresql /usr/local/bin -name postgres 2>/dev/null)" ] && command -v pgbouncer >/dev/null; then
    exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "install.sh: PostgreSQL or pgbouncer is not installed, and this user cannot install it" >&2
    exit 3
fi
apt-get update -qq >&2 || exit 3
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql pgbouncer >&2 || exit 3
