#!/bin/sh
# limited.sh AMENDSCTL DIR ROWS: generates ROWS records and recomputes them, each as a process that the kernel gives no more
# than 2 GB of memory (RLIMIT_DATA: what a process may write into and is no file). The history is removed afterwards.
set -eu
bin=$1 dir=$2 rows=$3
limit=2000000000
run() { GOMEMLIMIT=1800MiB prlimit --data=$limit "$@"; }

trap 'rm -rf "$dir/limited"' EXIT
run "$bin" bench generate --rows "$rows" --no-raw --dir "$dir/limited"
du -sk "$dir/limited"
run "$bin" bench verify --rows "$rows" --no-raw --dir "$dir/limited" --memory 768MiB
