#!/usr/bin/env bash
# Measures `autotune report` of a large database: seconds, size of the page, and, where a headless
# Chromium is installed (scripts/setup --browser), milliseconds until the page's first plot.
# usage: measure.sh PROGRAM DATABASE    (make_trials makes a database, e.g. of 1000000 trials)
set -euo pipefail
program=$1 database=$2
exec 2>&1  # the time too
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
page=$folder/report.html

echo "$(nproc) cores, load $(cut -d ' ' -f 1 /proc/loadavg), $("$program" --version | head -n 1)"
TIMEFORMAT='report: %R s, of which the processor worked %U s and the system %S s'
time "$program" report --db "$database" --output "$page" 2>/dev/null
grep -oE '"trials":[0-9]+' "$page" | sort -t : -k 2n | tail -n 1
echo "page: $(stat -c %s "$page") bytes"

browser=$(command -v chromium-headless-shell || command -v chromium || true)
[[ -n $browser ]] || { echo "no Chromium is installed"; exit 0; }
for _ in 1 2 3; do
  "$browser" --no-sandbox --disable-gpu --timeout=60000 --dump-dom "file://$page" 2>/dev/null |
    grep -oE 'data-first-plot-ms="[0-9]+' | tr '\n"' '  '
  echo
done
