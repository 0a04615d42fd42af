#!/bin/sh
# Installs the browser of the tests in faces/cli/tests/examples, where it is missing and this user may install it: Debian's
# Chromium, its driver, and letters for the languages of the pages.
#
# Exits with 3 where that cannot be done: a test should then say that it is skipped.
set -eu
if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then
    exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "install.sh: chromium and chromedriver are not installed, and this user cannot install them" >&2
    exit 3
fi
apt-get update -qq >&2 || exit 3
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    chromium chromium-driver fonts-noto-core fonts-noto-cjk >&2 || exit 3
