#!/bin/sh
# Installs a program of `cargo xtask conformance` where it is missing: h2spec, kosoku, sslyze, testssl
# or pebble.
#
# Prints the command. Exits with 3 where that cannot be done; the last line says why.
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
pebble)
    exec sh ../acme/install.sh
    ;;
*)
    fail "there is no $1"
    ;;
esac
