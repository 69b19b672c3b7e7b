# SPDX-License-Identifier: Apache-2.0
# TAP for the lint tests. A rule fails if it has offending lines, and prints them.
n=0
failed=0
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
offences=$scratch/offences

# rule NAME: fails if the file $offences is not empty.
rule() {
	n=$((n + 1))
	if [ ! -s "$offences" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		head -n 40 "$offences" | sed 's/^/#   /'
		failed=1
	fi
	: >"$offences"
}

skip() { n=$((n + 1)); echo "ok $n - $1 # SKIP $2"; }

plan() { echo "1..$n"; exit "$failed"; }

: "${TOP_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}" "${TOP_BUILDDIR:=$PWD}" "${NM:=nm}" "${MANDOC:=mandoc}"
rooms='lib probe sysctl tune runtime bench'

# Lists the files of the tree with one of the given endings, relative to the top, tracked by git or not.
sources() {
	for ending; do
		find $rooms tests man m4 .ci ./*.am configure.ac bootstrap ./*.md -type f -name "*$ending" 2>/dev/null
	done | sed 's,^\./,,' | grep -v -e '^tests/fuzz/corpus/' -e '^tests/fixtures/' | sort -u
}
