#!/bin/sh
# profile.sh AMENDSCTL HISTORY SVG: where the oracle's processor time goes, by perf: a line for each phase, and bars of them
# as a picture. HISTORY is a folder of `amendsctl bench generate`. What the kernel does counts for the phase that asked for it.
set -eu
bin=$1 history=$2 svg=$3
data=$(mktemp)
trap 'rm -f "$data"' EXIT
perf record -q -F 1999 -g -o "$data" "$bin" oracle "$history/manifest.yaml" --records "$history/snapshot" -o summary >/dev/null
perf script -i "$data" -F ip,sym 2>/dev/null | awk -v svg="$svg" '
# The first phase of which a stack holds a function is the one it belongs to.
function phase(stack) {
	if (stack ~ /sha256/) return 1
	if (stack ~ /snapshot\.readInto/) return 2
	if (stack ~ /lz4block|zstd/) return 3
	if (stack ~ /vectorized\/snapshot\./) return 4
	if (stack ~ /Scatter\)\.append|Store\)\.(next|grow)/) return 6
	if (stack ~ /vectorized\.\(\*Scatter\)|vectorized\.plainText/) return 5
	if (stack ~ /Resolver\)\.(gather|place)/) return 7
	if (stack ~ /vectorized\.\(\*Authority\)/) return 8
	if (stack ~ /vectorized\.\(\*Fold\)/) return 9
	if (stack ~ /Resolver\)|arrow\.\(\*Result\)|arrow\.\(\*computation\)/) return 10
	return 11
}
NF { stack = stack " " $2; next }
stack != "" { count[phase(stack)]++; total++; stack = "" }
END {
	if (stack != "") { count[phase(stack)]++; total++ }
	n = split("SHA-256|read files|decompress|decode pages|check values|write rows to buckets|sort a bucket by key|authority|day sums, closes, crossings|collect results|start, manifest, collector", name, "|")
	for (i = 1; i <= n; i++) most = count[i] > most ? count[i] : most
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 640 %d\" font-family=\"sans-serif\" font-size=\"13\">\n", n * 24 + 8 > svg
	print "<title>Shares of processor time of the columnar oracle by phase</title>" > svg
	print "<style>text{fill:#333}rect{fill:#2f81c7}@media(prefers-color-scheme:dark){text{fill:#ddd}}</style>" > svg
	for (i = 1; i <= n; i++) {
		share = 100 * count[i] / total
		printf "| %s | %.0f %% |\n", name[i], share
		printf "<text x=\"196\" y=\"%d\" text-anchor=\"end\">%s</text>", i * 24 - 3, name[i] > svg
		printf "<rect x=\"204\" y=\"%d\" width=\"%.0f\" height=\"16\"/>", i * 24 - 16, 380 * count[i] / most > svg
		printf "<text x=\"%.0f\" y=\"%d\">%.0f %%</text>\n", 210 + 380 * count[i] / most, i * 24 - 3, share > svg
	}
	print "</svg>" > svg
}'
