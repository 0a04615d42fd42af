#!/bin/sh
# Builds Pebble, the ACME server for tests, where it is missing and Go is there or can be installed.
# app/runtime/tests/acme gets certificates from it.
#
# Prints the path of the executable. Exits with 3 where that cannot be done: the tests then say what is not checked.
set -eu
cd "$(dirname "$0")/../.."
version=v2.8.0
PATH="$PATH:/usr/local/go/bin"
if command -v pebble >/dev/null; then
    command -v pebble
    exit 0
fi
bin="$PWD/target/tools/pebble-$version"
if [ ! -x "$bin/pebble" ]; then
    if ! command -v go >/dev/null; then
        if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
            echo "install.sh: Go is not installed, and this user cannot install it" >&2
            exit 3
        fi
        apt-get update -qq >&2 || exit 3
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends golang-go >&2 || exit 3
    fi
    mkdir -p "$bin"
    GOBIN="$bin" GOFLAGS=-modcacherw go install "github.com/letsencrypt/pebble/v2/cmd/pebble@$version" >&2 || exit 3
fi
echo "$bin/pebble"
