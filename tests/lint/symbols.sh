#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks that each symbol has the prefix of its library, and that a library calls only libraries below it.
. "$(dirname "$0")/tap.sh"
cd "$TOP_BUILDDIR" || exit 1

defined() { "$NM" -g --defined-only "$1" | awk 'NF == 3 { print $3 }' | grep -v '^__'; }

for pair in liblib:gt_ libprobe:pr_ libsysctl:sc_ libstats:bn_ libtune:tn_ libruntime:rt_ libbackends:rt_ libcudadev:rt_ libbench:bn_; do
	archive=${pair%:*}.a
	prefix=${pair#*:}
	if [ -n "$(defined "$archive" 2>/dev/null)" ]; then
		defined "$archive" | grep -v "^$prefix"
	else
		echo "$archive defines nothing"
	fi >"$offences"
	rule "each symbol of $archive begins with $prefix"
done

# arrows USER PREFIX...: the archive may call only symbols with these prefixes and the functions in $also.
also=
arrows() {
	user=$1
	shift
	allowed=$(printf '|%s' "$@" $also)
	"$NM" -u "lib$user.a" 2>&1 | awk '$1 == "U" { print $2 }' | sort -u |
		grep -E '^(gt|pr|sc|tn|rt|bn)_' | grep -vE "^(${allowed#|})" >"$offences"
	rule "$user calls only: $*${also:+ and libstats.a}"
}
arrows lib gt_
arrows probe gt_ pr_ sc_
arrows sysctl gt_ sc_
also=$(defined libstats.a)
arrows stats gt_
arrows tune gt_ pr_ sc_ tn_
also=
arrows runtime gt_ pr_ rt_
arrows bench gt_ pr_ sc_ tn_ rt_ bn_
plan
