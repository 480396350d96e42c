#!/usr/bin/env bash
# Runs the host of a plugin with storage of its own. usage: plugin_test.sh HOST PLUGIN
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export AUTOTUNE_DB=$scratch/autotune.db XDG_CACHE_HOME=$scratch/cache
cp "$2" "$scratch/copy.so"
"$1" "$2" "$scratch/copy.so"
