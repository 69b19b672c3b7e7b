The runtime is usable as a library: installed headers, library and pkg-config file are enough for a program that trains,
saves, loads and predicts.

  $ command -v cc pkg-config >/dev/null || { echo 'wants cc and pkg-config'; exit 80; }
  $ make -s -C $BUILDDIR install-nobase_pkgincludeHEADERS install-devlibDATA install-pkgconfigDATA install-runtime-links DESTDIR=$PWD/root >log 2>&1 || cat log
  $ of() { sed -n "s/^$1 = //p" $BUILDDIR/Makefile; }
  $ export PKG_CONFIG_SYSROOT_DIR=$PWD/root PKG_CONFIG_PATH=$(dirname "$(find root -name gputune-runtime.pc)")
  $ src=$(cd $BUILDDIR && cd "$(of top_srcdir)" && pwd) san=$(of SAN_FLAGS)
  $ so=$(find $PWD/root -name libgputune-runtime.so)
  $ export LD_LIBRARY_PATH=$(dirname "$so")
  $ cc -O2 $san "$src/runtime/example/circle.c" $(pkg-config --cflags --libs gputune-runtime) -o circle
  $ ./circle weights.safetensors
  6? of 64 points are classified correctly, loss 0.* (glob)
  $ ./circle
  usage: circle FILE
  [1]

The program needs the soname. The archive works as well.

  $ readelf -d circle | grep -o 'libgputune-runtime[^]]*'
  libgputune-runtime.so.0
  $ mkdir static && cp "$(dirname "$so")"/*.a static
  $ cc -O2 $san "$src/runtime/example/circle.c" -Lstatic $(pkg-config --cflags --libs --static gputune-runtime | sed 's/ -L[^ ]*//g') -o circle-static
  $ readelf -d circle-static | grep -c libgputune-runtime
  0
  [1]
  $ LD_LIBRARY_PATH= ./circle-static weights.safetensors
  6? of 64 points are classified correctly, loss 0.* (glob)

Shared library and archive export the functions of the installed headers and nothing else.

  $ cat $(find root -name '*.h') | grep -o '\brt_[a-z0-9_]*' | sort -u >declared
  $ nm -D --defined-only "$so" | awk '{ print $3 }' | grep -v '^_\|^__' | sort >exported
  $ nm -g --defined-only static/*.a | awk 'NF == 3 { print $3 }' | sort >archived
  $ cmp exported archived && test $(wc -l <exported) -gt 100
  $ comm -23 exported declared

Each header is complete by itself, and a C++ program can include them.

  $ for h in $(cd root && find . -name '*.h'); do echo "#include \"$PWD/root/$h\"" | cc -fsyntax-only -Wall -Wextra $(pkg-config --cflags gputune-runtime) -x c - || echo "$h"; done
  $ command -v g++ >/dev/null || { echo 'wants g++'; exit 80; }
  $ cat >mlp.cc <<'END'
  > #include "runtime/data/loader.h"
  > #include "runtime/runtime.h"
  > #include "runtime/transport/comm.h"
  > #include <cstdio>
  > int main()
  > {
  > 	rt_graph *g = rt_graph_new();
  > 	rt_node *x = rt_input(g, "x", RT_F32, RT_SHAPE(4, 2)), *y = rt_input(g, "y", RT_I32, RT_SHAPE(4));
  > 	rt_node *w = rt_param(g, "w", RT_SHAPE(3, 2), RT_INIT_NORMAL(0.1f));
  > 	rt_node *loss = rt_cross_entropy(g, rt_linear(g, x, w, nullptr), y);
  > 	rt_options o{};
  > 	rt_program *p = nullptr;
  > 	rt_metrics m{};
  > 	gt_err err{};
  > 	float rows[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
  > 	int32_t labels[4] = { 0, 1, 2, 0 };
  > 	const void *inputs[] = { rows, labels };
  > 	o.optimizer.kind = RT_SGD;
  > 	o.optimizer.lr = 0.1;
  > 	int r = rt_compile(g, loss, &o, &p, &err);
  > 	if (!r)
  > 		r = rt_step(p, inputs, &m, &err);
  > 	std::printf("%s %d\n", r ? err.msg : "trained", m.updated);
  > 	rt_program_free(p);
  > 	rt_graph_free(g);
  > }
  > END
  $ g++ -Wall -Wextra $san mlp.cc $(pkg-config --cflags --libs gputune-runtime) -o mlp && ./mlp
  trained 1
