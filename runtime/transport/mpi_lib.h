/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_MPI_LIB_H
#define RT_MPI_LIB_H
/*
 * The used part of OpenMPI, opened at run time: the program needs no MPI for building or for running on one host. Names
 * and constants are those of libmpi.so.40. Their binary interface is the same in OpenMPI 2 to 5.
 */
#include "lib/err.h"

typedef void *rt_mpi_comm, *rt_mpi_request, *rt_mpi_type;

#define RT_MPI_FUNNELED		1      /* MPI_THREAD_FUNNELED */
#define RT_MPI_SHARED		0      /* MPI_COMM_TYPE_SHARED */
#define RT_MPI_UNDEFINED	-32766 /* MPI_UNDEFINED */
#define RT_MPI_NAME_MAX		256    /* MPI_MAX_PROCESSOR_NAME */

struct rt_mpi_lib {
	int (*init_thread)(int *argc, char ***argv, int required, int *provided);
	int (*finalize)(void);
	int (*abort)(rt_mpi_comm c, int status);
	int (*comm_rank)(rt_mpi_comm c, int *rank);
	int (*comm_size)(rt_mpi_comm c, int *size);
	int (*comm_split)(rt_mpi_comm c, int color, int key, rt_mpi_comm *ret);
	int (*comm_split_type)(rt_mpi_comm c, int type, int key, void *info, rt_mpi_comm *ret);
	int (*comm_free)(rt_mpi_comm *c);
	int (*isend)(const void *x, int n, rt_mpi_type t, int to, int tag, rt_mpi_comm c, rt_mpi_request *ret);
	int (*irecv)(void *x, int n, rt_mpi_type t, int from, int tag, rt_mpi_comm c, rt_mpi_request *ret);
	int (*iallgather)(const void *x, int n, rt_mpi_type t, void *all, int n_all, rt_mpi_type t_all, rt_mpi_comm c,
			  rt_mpi_request *ret);
	int (*bcast)(void *x, int n, rt_mpi_type t, int root, rt_mpi_comm c);
	int (*test)(rt_mpi_request *q, int *done, void *status);
	int (*processor_name)(char *name, int *len);
	rt_mpi_comm world;
	rt_mpi_type byte, real;
	void *no_info;
};
/* Call it once per process. -ENOENT: OpenMPI is not installed; the message says which package to install. */
int rt_mpi_lib_open(const struct rt_mpi_lib **ret, struct gt_err *err);
#endif
