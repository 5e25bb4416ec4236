#!/bin/sh
# Rewrites the pinned, hashed lock files from pyproject.toml (`make lock`). Needs uv; index settings stay out of the
# files. Pass -U to move every pin to its newest allowed release.
set -eu
cd "$(dirname "$0")/.."
command -v uv >/dev/null || { echo "lock: this needs uv (pipx install uv), which is not on the PATH" >&2; exit 1; }

lock() {
  uv pip compile --quiet --universal --generate-hashes --python-version 3.12 \
    --no-header --no-annotate --no-emit-index-url --no-emit-find-links "$@"
}

lock pyproject.toml --extra build --extra dev --extra notebook --extra postgres --extra dask --extra otel \
  --extra oidc --output-file .ci/lock.txt "$@"

# The peers are measured, and the packages looked at, in environments of their own: nothing of ours, nothing that pulls
# our versions about.
for extra in bench audit; do
  .venv/bin/python - "$extra" <<'PY' | lock - --output-file ".ci/lock-$extra.txt" "$@"
import pathlib, sys, tomllib
project = tomllib.loads(pathlib.Path("pyproject.toml").read_text())["project"]
print("\n".join(project["optional-dependencies"][sys.argv[1]]))
PY
done
