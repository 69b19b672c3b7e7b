A user op in a program that links the library: it agrees with a composition of the library's small ops, counts its cost, and
moves less than a fifth of the bytes. The test does not compare times.

  $ $BUILDDIR/runtime/example/user_gelu 65536
  65536 elements: my_gelu * ms per step, small ops * ms, * times as long; gradients apart by * (glob)
  of each element my_gelu moves 40.0 bytes, small ops 220.0

The same source builds outside the tree, with the installed files.

  $ command -v cc pkg-config >/dev/null || { echo 'wants cc and pkg-config'; exit 80; }
  $ make -s -C $BUILDDIR install-nobase_pkgincludeHEADERS install-devlibDATA install-pkgconfigDATA install-runtime-links DESTDIR=$PWD/root >log 2>&1 || cat log
  $ of() { sed -n "s/^$1 = //p" $BUILDDIR/Makefile; }
  $ export PKG_CONFIG_SYSROOT_DIR=$PWD/root PKG_CONFIG_PATH=$(dirname "$(find root -name gputune-runtime.pc)")
  $ src=$(cd $BUILDDIR && cd "$(of top_srcdir)" && pwd)
  $ cc -O2 -fopenmp $(of SAN_FLAGS) "$src/runtime/example/user_gelu.c" $(pkg-config --cflags --libs gputune-runtime) -lm -o mine
  $ export LD_LIBRARY_PATH=$(dirname "$(find $PWD/root -name libgputune-runtime.so)")
  $ ./mine 65536
  65536 elements: my_gelu * ms per step, small ops * ms, * times as long; gradients apart by * (glob)
  of each element my_gelu moves 40.0 bytes, small ops 220.0
  $ $BUILDDIR/runtime/example/user_gelu nothing
  usage: user_gelu [ELEMENTS, 1 to 2^30 [IMAGE, of user_gelu.cu]]
  [64]
