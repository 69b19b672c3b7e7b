#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks of every source file: licence line, access to files, sizes and leftovers.
. "$(dirname "$0")/tap.sh"
cd "$TOP_SRCDIR" || exit 1

code=$(sources .c .h .cu)
scripts="$(sources .sh .py .am .m4) bootstrap tests/cli/run tests/summary configure.ac $(ls .ci/run 2>/dev/null)"

for f in $code $scripts; do
	head -n 3 "$f" | grep -q 'SPDX-License-Identifier: Apache-2.0' || echo "$f"
done >"$offences"
rule 'each source file has a licence line'

# Source files that open, list or change files without lib/fsroot are listed in door-allowed with the reason.
calls='\b(fopen|freopen|open|openat|openat2|creat|opendir|fdopendir|scandir|readlink|readlinkat|l?stat|fstatat|statx|statvfs|access|faccessat|unlink|unlinkat|rename|renameat2?|mkdir|mkdirat|mkdtemp|mkstemp|mkostemp|realpath|truncate|chmod|symlink|symlinkat|glob|nftw|getmntent|setmntent)\('
grep -v '^#' tests/lint/door-allowed | cut -f1 >"$scratch/door"
# Comments and strings are removed first.
for f in $(printf '%s\n' $code | grep -E '^(lib|probe|sysctl|tune|runtime|bench)/' | grep -vxFf "$scratch/door"); do
	sed -e 's,"\([^"\\]\|\\.\)*","",g' -e 's,/\*.*\*/,,g' -e 's,//.*,,' -e '/^[[:blank:]]*\/\?\*/d' "$f" |
		grep -nE "(^|[^._a-zA-Z0-9>])$calls" | sed "s,^,$f:,"
done >"$offences"
rule 'only the files listed in door-allowed open files without lib/fsroot'
while read -r f; do
	[ -e "$f" ] || echo "$f: is not there"
done <"$scratch/door" >"$offences"
rule 'door-allowed lists only files that exist'
grep -nE "$calls\"/(proc|sys|etc|dev|run|var)" $code | grep -v -e '^tests/' -e '"/dev/null"' >"$offences"
rule 'no path of the kernel or of /etc is given to a system call'
grep -nE '\b(system|popen|execlp|execvp|execvpe|wordexp)\(' $code | grep -v -e '^tests/unit/' -e 'posix_spawn' |
	grep -vE '^[^:]+:[0-9]+:[[:blank:]]*(/?\*|//)' |
	grep -v -Ff tests/lint/exec-allowed >"$offences"
rule 'no shell, and no search along PATH unless named in exec-allowed'

# Kernel style: the braces of a function are in the first column.
awk 'FNR == 1 { start = 0 } /^\{/ { start = FNR }
	/^\}/ && start { if (FNR - start - 1 > 100) print FILENAME ":" start ": " FNR - start - 1 " lines"; start = 0 }' \
	$(printf '%s\n' $code | grep '\.c$') >"$offences"
rule 'no function is longer than 100 lines'
wc -l $(printf '%s\n' $code | grep '\.c$' | grep -v '^tests/unit/') | awk '$2 != "total" && $1 > 700 { print $2 ": " $1 " lines" }' >"$offences"
rule 'no .c file is longer than 700 lines'
# Counts characters, not bytes. Not every awk can do that.
/usr/bin/python3 -c 'import sys
for f in sys.argv[1:]:
    for i, line in enumerate(open(f, encoding="utf-8"), 1):
        n = len(line.rstrip("\n").expandtabs(8))
        if n > 132: print(f"{f}:{i}: {n} columns")' $code >"$offences"
rule 'no line is longer than 132 columns'
# The words are split so that this file does not contain them.
grep -nE "\b(TO""DO|FIX""ME|XX""X|HA""CK)\b" $code $scripts $(sources .md .t .1 .7 .8 .json) >"$offences"
rule 'nothing is left for later'
grep -nE '(^|[^A-Za-z0-9_.$}/*-])/(ro''ot|wo''rk|ho''me/[a-z]+)/' $code $scripts $(sources .md .t .1 .7 .8 .json) >"$offences"
rule 'no path of a developer'"'"'s machine'
grep -nE "deb\.deb""ian\.org|pyp""i\.org|python""hosted" $code $scripts $(sources .md .t .1 .7 .8 .json .tsv) >"$offences"
rule 'no host of a package registry'
grep -nE '[[:blank:]]+$' $code $scripts $(sources .1 .7 .8) >"$offences"
rule 'no blanks at the end of a line'

# Lists that must contain every file.
for f in $(find tests/cli -name '*.t'; find tests/lint -name '*.sh' ! -name tap.sh -o -name '*.py' ! -name tap.py; find tests/fuzz -name 'fuzz_*.c'); do
	grep -qF "${f%.c}" tests/Makemodule.am || echo "$f"
done >"$offences"
rule 'tests/Makemodule.am names every transcript, lint test and fuzz target'
for f in $(printf '%s\n' $code | grep -E '^(lib|probe|sysctl|tune|runtime|bench)/'); do
	cat $(sources Makemodule.am) | grep -qE "(^|[[:blank:]/])$f([[:blank:]]|\$)" || echo "$f"
done >"$offences"
rule 'every source file is in a Makemodule.am and so in the tarball'
# Skips the files that a build of the packages leaves in debian/.
for f in debian/changelog debian/co* debian/gpu*.* debian/lib*.* debian/rules debian/source/* debian/tests/*; do
	case $f in *.substvars|*.debhelper*) ;; *) grep -qw -- "$f" Makefile.am || echo "$f" ;; esac
done >"$offences"
rule 'Makefile.am names every file of debian/, so that the tarball makes the same packages'
for f in bench/results/*.* bench/results/*/*.*; do cat $(sources Makemodule.am) | grep -qw -- "$f" || echo "$f"; done >"$offences"
rule 'every stored result is in the tarball'
for r in $rooms tests; do [ -e "$r/README.md" ] || echo "$r/README.md"; done >"$offences"
rule 'each top-level source directory has a README'
grep -o '`tests/[a-z0-9_./-]*`' docs/security.md | tr -d '`' | sort -u | while read -r f; do [ -e "$f" ] || echo "$f"; done >"$offences"
rule 'each test that docs/security.md names exists'
grep -n '^ExecStop' tune/systemd/*.in >"$offences"
rule 'no unit puts settings back when it is stopped'
grep -nE '^Exec[A-Za-z]*=[-@:|]*[+!]' tune/systemd/* >"$offences"
rule 'no command of a unit runs with more rights than the unit'
plan
