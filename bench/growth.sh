#!/bin/sh
# growth.sh AMENDSCTL DIR: time and processor time for each record at 1M, 10M and 50M records, as medians of interleaved
# runs (RUNS of the first two, 5 by default, and 3 of the last). Histories are kept under DIR, the last one is removed.
# BEFORE is put in front of each measured command.
set -eu
bin=$1 dir=$2
runs=${RUNS:-5}
mkdir -p "$dir"
log=$dir/growth.log
: >"$log"

# one SIZE ROWS: a measured run, as a line "SIZE wall CPU peak" of nanoseconds for each record, and bytes.
one() {
	${BEFORE:-} "$bin" bench verify --rows "$2" --no-raw --dir "$dir/$1" -o json |
		sed -n 's/.*"recompute":{"wallMs":\([0-9]*\),"cpuMs":\([0-9]*\),[^}]*"peakBytes":\([0-9]*\)}.*/\1 \2 \3/p' |
		awk -v size="$1" -v rows="$2" '{ printf "%s %.1f %.1f %d\n", size, $1*1e6/rows, $2*1e6/rows, $3 }' >>"$log"
}

"$bin" bench generate --rows 1000000 --no-raw --dir "$dir/1m"
"$bin" bench generate --rows 10000000 --no-raw --dir "$dir/10m"
"$bin" bench generate --rows 50000000 --no-raw --dir "$dir/50m"
n=0
while [ "$n" -lt "$runs" ]; do
	n=$((n + 1))
	one 1m 1000000
	one 10m 10000000
	[ "$n" -gt 3 ] || one 50m 50000000
done
rm -rf "$dir/50m"

# median SIZE COLUMN
median() { awk -v size="$1" -v c="$2" '$1 == size { print $c }' "$log" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

printf '%-6s %14s %14s %12s %8s\n' records 'wall ns/record' 'CPU ns/record' 'peak MB' 'CPU to 1m'
for size in 1m 10m 50m; do
	awk -v s=$size -v w="$(median $size 2)" -v c="$(median $size 3)" -v p="$(median $size 4)" -v first="$(median 1m 3)" \
		'BEGIN { printf "%-6s %14.1f %14.1f %12.0f %8.2f\n", s, w, c, p / 1e6, c / first }'
done
