# SPDX-License-Identifier: Apache-2.0
# GT_WITH_CUDA: --with-cuda=auto|yes|no|DIR. Finds nvcc and sets NVCC, NVCC_GENCODE, HAVE_CUDA (conditional) and cuda_summary.
# The kernels are built for the architectures of CUDA_ARCHS, by default all that nvcc knows. libcuda is never linked: it is opened
# at run time.
AC_DEFUN([GT_WITH_CUDA], [
AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda=auto|yes|no|DIR], [build CUDA kernels with the toolkit in DIR @<:@auto@:>@])],
	[], [with_cuda=auto])
AC_ARG_VAR([CUDA_ARCHS], [architectures of the CUDA kernels, such as "80 90"; default: all that nvcc knows])
NVCC=no
AS_CASE([$with_cuda],
	[no], [],
	[yes|auto], [AC_PATH_PROG([NVCC], [nvcc], [no], [$PATH:/usr/local/cuda/bin])],
	[AC_PATH_PROG([NVCC], [nvcc], [no], [$with_cuda/bin])])
AS_IF([test "x$NVCC" = xno && test "x$with_cuda" != xno && test "x$with_cuda" != xauto],
	[AC_MSG_ERROR([no nvcc found for --with-cuda=$with_cuda])])
NVCC_GENCODE=
AS_IF([test "x$NVCC" != xno], [
	AC_MSG_CHECKING([which architectures $NVCC builds])
	gt_known=`$NVCC --list-gpu-arch 2>/dev/null | $SED -n 's/^compute_\(@<:@0-9@:>@*\)$/\1/p' | sort -n | tr '\n' ' '`
	AS_IF([test -z "$gt_known"], [AC_MSG_ERROR([$NVCC --list-gpu-arch names no architecture])])
	gt_archs=`echo ${CUDA_ARCHS:-$gt_known} | tr ' ' '\n' | sort -n | tr '\n' ' '`
	for gt_a in $gt_archs; do
		AS_CASE([" $gt_known"], [*" $gt_a "*], [],
			[AC_MSG_ERROR([CUDA_ARCHS: $NVCC does not build architecture $gt_a (it builds $gt_known)])])
		NVCC_GENCODE="$NVCC_GENCODE -gencode arch=compute_$gt_a,code=sm_$gt_a"
		gt_last=$gt_a
	done
	# the newest as PTX too, so that cards newer than this toolkit still run
	NVCC_GENCODE="$NVCC_GENCODE -gencode arch=compute_$gt_last,code=compute_$gt_last"
	AC_MSG_RESULT([$gt_archs])
	# "Cuda compilation tools, release 13.0, V13.0.88"
	gt_release=`$NVCC --version 2>/dev/null | $SED -n 's/.*release \(@<:@0-9@:>@*\)\.\(@<:@0-9@:>@*\),.*/\1 * 1000 + \2 * 10/p'`
	AC_DEFINE_UNQUOTED([RT_CUDA_TOOLKIT], [(${gt_release:-0})], [the CUDA of nvcc: 13000 is 13.0; 0: it did not say])
	AC_DEFINE([HAVE_CUDA_KERNELS], [1], [CUDA kernels are built in])
	# toolkits that are about to drop an architecture warn of it at each compilation; which are built is decided here
	NVCC_WARNS=-Wno-deprecated-gpu-targets
	cuda_summary="$NVCC (sm_`echo $gt_archs | tr ' ' ','`)"
], [cuda_summary="no (the backend says so at run time)"])
AM_CONDITIONAL([HAVE_CUDA], [test "x$NVCC" != xno])
AC_SUBST([NVCC])
AC_SUBST([NVCC_GENCODE])
AC_SUBST([NVCC_WARNS])
CUDA_ARCHS=`echo $gt_archs`
])
