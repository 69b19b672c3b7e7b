# SPDX-License-Identifier: Apache-2.0
# OpenBLAS with threads of its own spins on the cores that OpenMP's team wants: 1.7 to 2.7 times slower. What the program would get
# at run time is asked, for the loader's alternatives decide, not the headers.
AC_DEFUN([GT_OPENBLAS_FLAVOUR], [
AC_MSG_CHECKING([whose threads OpenBLAS uses])
gt_save_LIBS=$LIBS gt_save_CFLAGS=$CFLAGS
LIBS="$LIBS $OPENBLAS_LIBS" CFLAGS="$CFLAGS $OPENBLAS_CFLAGS"
AC_RUN_IFELSE([AC_LANG_PROGRAM([[int openblas_get_parallel(void);]], [[return openblas_get_parallel() == 1 ? 7 : 0;]])],
	[AC_MSG_RESULT([OpenMP's, or none])],
	[AC_MSG_RESULT([its own])
	AC_MSG_ERROR([OpenBLAS with its own threads (the pthread flavour) beside OpenMP is about twice as slow: install libopenblas-openmp-dev and choose it (update-alternatives --get-selections names the links of libopenblas), or take --with-blas=dnnl])],
	[AC_MSG_RESULT([not known: cross compiling; the program looks when it runs])])
LIBS=$gt_save_LIBS CFLAGS=$gt_save_CFLAGS
])
