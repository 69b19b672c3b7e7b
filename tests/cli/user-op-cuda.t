The same op on a CUDA device, which loads the program's own kernels next to the library's.

  $ test -e "$BUILDDIR/tests/standin/libcuda.so.1" || { echo 'the stand-in driver is not built'; exit 80; }
  $ gelu() { LD_LIBRARY_PATH=$BUILDDIR/tests/standin $BUILDDIR/runtime/example/user_gelu "$@"; }
  $ gelu 4096 $BUILDDIR/runtime/example/user_gelu.fatbin
  4096 elements: my_gelu * ms per step, small ops * ms, * times as long; gradients apart by * (glob)
  of each element my_gelu moves 40.0 bytes, small ops 220.0
  $ gelu 4096 missing
  user_gelu: missing cannot be read
  [1]
  $ echo 'no kernels' >image; gelu 4096 image
  user_gelu: the image of my_gelu: cuModuleLoadData failed with CUDA error 200, CUDA_ERROR_OTHER (some error); the driver cannot read this code: it is damaged, or was built with a toolkit that is newer than the driver
  [1]
