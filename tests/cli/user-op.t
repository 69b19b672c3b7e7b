An op of the user's own, in a program that links the library: it agrees with the same function made of the library's
small ops, and says what each costs.

  $ $BUILDDIR/runtime/example/user_gelu 65536
  65536 elements: my_gelu * ms per step, small ops * ms, * times as long; gradients apart by * (glob)
  $ $BUILDDIR/runtime/example/user_gelu nothing
  usage: user_gelu [ELEMENTS, 1 to 2^30]
  [64]
