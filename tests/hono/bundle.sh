#!/bin/sh
# Bundles the Hono app of this folder into OUT_DIR/bundle.mjs with the packages that package.json pins.
# Nothing is written beside the sources. A second run with the same sources does nothing.
#
#   sh tests/hono/bundle.sh OUT_DIR
#
# Exits with 3 where npm is not there or its registry cannot be reached: a test should then say that it is skipped.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
out=${1:?usage: bundle.sh OUT_DIR}
mkdir -p "$out"
cd "$out"
if [ -f bundle.mjs ] && cmp -s "$here/app.mjs" app.mjs && cmp -s "$here/package.json" package.json; then
    exit 0
fi
command -v npm >/dev/null 2>&1 || { echo "bundle.sh: npm is not installed" >&2; exit 3; }
rm -f bundle.mjs
cp "$here/app.mjs" "$here/package.json" .
# Without scripts: esbuild's binary comes in a package of its own, so its install script has nothing to do.
npm install --ignore-scripts --no-package-lock --no-audit --no-fund --fetch-retries=1 --loglevel=error >&2 || {
    echo "bundle.sh: npm install failed" >&2
    exit 3
}
npm run --silent bundle >&2
test -s bundle.mjs
