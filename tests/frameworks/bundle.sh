#!/bin/sh
# Bundles the apps of this folder into OUT_DIR/bundled/ with the packages that package.json pins.
# Nothing is written beside the sources. A second run with the same sources does nothing.
#
#   sh tests/frameworks/bundle.sh OUT_DIR
#
# Exits with 3 where npm is not there or its registry cannot be reached: a test should then say that it is skipped.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
out=${1:?usage: bundle.sh OUT_DIR}
mkdir -p "$out"
cd "$out"
# Tests of two programs share the folder.
exec 9>lock
flock 9 2>/dev/null || true
if [ -d bundled ] && cmp -s "$here/hono.mjs" hono.mjs && cmp -s "$here/itty.mjs" itty.mjs &&
    cmp -s "$here/package.json" package.json; then
    exit 0
fi
command -v npm >/dev/null 2>&1 || { echo "bundle.sh: npm is not installed" >&2; exit 3; }
rm -rf bundled
cp "$here/hono.mjs" "$here/itty.mjs" "$here/package.json" .
# Without scripts: esbuild's binary comes in a package of its own, so its install script has nothing to do.
npm install --ignore-scripts --no-package-lock --no-audit --no-fund --fetch-retries=1 --loglevel=error >&2 || {
    echo "bundle.sh: npm install failed" >&2
    exit 3
}
npm run --silent bundle >&2
test -s bundled/hono.mjs && test -s bundled/itty.mjs
