#!/bin/sh
# Installs what reads the blocks of docs/, where it is missing and this user may install it: nginx, Caddy, systemd, OpenSSL.
# testkit/tests/docs checks the blocks with them. None of them is started.
#
# Exits with 3 where that cannot be done: the test then says what is not checked.
set -eu
PATH="$PATH:/usr/sbin"
missing=""
command -v nginx >/dev/null || missing="$missing nginx-light"
command -v caddy >/dev/null || missing="$missing caddy"
command -v systemd-analyze >/dev/null || missing="$missing systemd"
command -v openssl >/dev/null || missing="$missing openssl"
[ -n "$missing" ] || exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "install.sh: not installed, and this user cannot install:$missing" >&2
    exit 3
fi
# The packages of servers start them, unless this says no.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
    trap 'rm -f "$policy"' EXIT
fi
apt-get update -qq >&2 || exit 3
# The names are words of this script.
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >&2 || exit 3
