#!/bin/sh
# gobench.sh: runs the Go benchmarks of the oracle and of the worker's core, COUNT times each (6 by default), and keeps what
# benchstat reads under results/, with the conditions in front.
set -eu
cd "$(dirname "$0")/.."
count=${COUNT:-6}
new=$(mktemp)
trap 'rm -f "$new"' EXIT
for package in ${PACKAGES:-vectorized vectorized/snapshot oracle/synthetic oracle/decode oracle/reference oracle/compare stages/ledger}; do
	grep -ql '^func Benchmark' "$package"/*_test.go || continue
	to=bench/results/$(echo "$package" | tr / -).txt
	{
		echo "commit: $(git rev-parse --short HEAD)"
		echo "date: $(date -u +%Y-%m-%d)"
		echo "go: $(go env GOVERSION)"
		echo "cores: $(getconf _NPROCESSORS_ONLN)"
		echo "load: $(cut -d' ' -f1-3 /proc/loadavg 2>/dev/null || echo unknown)"
		go test -run '^$' -bench . -benchmem -benchtime "${BENCHTIME:-0.2s}" -count "$count" "./$package"
	} >"$new"
	cp "$new" "$to"
	echo "$to"
done
