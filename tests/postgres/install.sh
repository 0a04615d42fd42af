#!/bin/sh
# Installs PostgreSQL where it is missing and can be installed. Tests of the database on a server start their own.
#
# Exits with 3 where that cannot be done: the tests then say what is not checked.
set -eu
if command -v postgres >/dev/null || [ -n "$(find /usr/lib/postgresql -path '*/bin/postgres' 2>/dev/null)" ]; then
    exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "install.sh: PostgreSQL is not installed, and this user cannot install it" >&2
    exit 3
fi
apt-get update -qq >&2 || exit 3
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql >&2 || exit 3
