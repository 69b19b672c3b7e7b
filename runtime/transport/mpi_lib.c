/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include "lib/dl.h"
#include "runtime/transport/mpi_lib.h"

static const struct gt_dlsym symbols[] = {
	GT_DLSYM(rt_mpi_lib, init_thread, MPI_Init_thread),
	GT_DLSYM(rt_mpi_lib, finalize, MPI_Finalize),
	GT_DLSYM(rt_mpi_lib, abort, MPI_Abort),
	GT_DLSYM(rt_mpi_lib, comm_rank, MPI_Comm_rank),
	GT_DLSYM(rt_mpi_lib, comm_size, MPI_Comm_size),
	GT_DLSYM(rt_mpi_lib, comm_split, MPI_Comm_split),
	GT_DLSYM(rt_mpi_lib, comm_split_type, MPI_Comm_split_type),
	GT_DLSYM(rt_mpi_lib, comm_free, MPI_Comm_free),
	GT_DLSYM(rt_mpi_lib, isend, MPI_Isend),
	GT_DLSYM(rt_mpi_lib, irecv, MPI_Irecv),
	GT_DLSYM(rt_mpi_lib, iallgather, MPI_Iallgather),
	GT_DLSYM(rt_mpi_lib, bcast, MPI_Bcast),
	GT_DLSYM(rt_mpi_lib, test, MPI_Test),
	GT_DLSYM(rt_mpi_lib, processor_name, MPI_Get_processor_name),
	/* objects whose addresses mpi.h uses for MPI_COMM_WORLD and similar constants */
	GT_DLSYM(rt_mpi_lib, world, ompi_mpi_comm_world),
	GT_DLSYM(rt_mpi_lib, byte, ompi_mpi_byte),
	GT_DLSYM(rt_mpi_lib, real, ompi_mpi_double),
	GT_DLSYM(rt_mpi_lib, no_info, ompi_mpi_info_null),
};

int rt_mpi_lib_open(const struct rt_mpi_lib **ret, struct gt_err *err)
{
	static const char *const names[] = { "libmpi.so.40", NULL };
	static struct rt_mpi_lib lib;
	static void *handle;
	int r = handle ? 0 : gt_dl_open(names, symbols, GT_ARRAY_SIZE(symbols), &lib, &handle, err);

	if (r == -ENOENT)
		return gt_fail_prefix(err, "OpenMPI cannot be opened (Debian: openmpi-bin)");
	if (!r)
		*ret = &lib;
	return r;
}
