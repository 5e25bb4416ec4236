#!/bin/sh
# Rewrites the pinned, hashed lock files from pyproject.toml. Needs uv; any index settings stay outside the files.
set -eu
cd "$(dirname "$0")/.."
lock() {
  out=$1; shift
  uv pip compile pyproject.toml --quiet --universal --generate-hashes --python-version 3.12 \
    --no-header --no-annotate --no-emit-index-url --no-emit-find-links --output-file "$out" "$@"
}
lock .ci/lock.txt --extra build --extra dev --extra notebook --extra postgres --extra dask --extra otel --extra oidc --extra encryption "$@"
lock .ci/lock-bench.txt --extra bench --extra build "$@"
