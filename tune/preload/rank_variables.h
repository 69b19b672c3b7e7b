/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_RANK_VARIABLES_H
#define TN_RANK_VARIABLES_H
/* Variables of launchers: rank of a process on its host, number of ranks on the host, number of all ranks.
 * libgputune-rank.so includes this header and no other of the project. */
/* clang-format off */
#define TN_RANK_VARIABLES(X)                                                                                           \
	/* torchrun, accelerate, gputune run --ranks */                                                                \
	X("LOCAL_RANK", "LOCAL_WORLD_SIZE", "WORLD_SIZE")                                                              \
	/* deepspeed */                                                                                                \
	X("LOCAL_RANK", "LOCAL_SIZE", "WORLD_SIZE")                                                                    \
	X("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE")                          \
	/* MPICH and Intel MPI */                                                                                      \
	X("MPI_LOCALRANKID", "MPI_LOCALNRANKS", "PMI_SIZE")                                                            \
	X("MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_SIZE")                             \
	X("HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE", "HOROVOD_SIZE")                                                  \
	/* not SLURM_NTASKS_PER_NODE: it is the requested number, and also set in the batch script, which is one process */ \
	X("SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE", "SLURM_STEP_NUM_TASKS")
/* clang-format on */

/*
 * Variables that `gputune run` hands to descendants. They have the program that computes the settings of a rank,
 * options and changed variables as JSON, and the rank whose settings are in force ("LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 ").
 */
#define TN_RANK_PROGRAM "GPUTUNE_RUN_PROGRAM"
#define TN_RANK_PLAN	"GPUTUNE_RUN_PLAN"
#define TN_RANK_DONE	"GPUTUNE_RUN_RANK"

/* First record of the answer of `gputune rank`. Records end with a null byte; the last one is ".". "C0-3": CPUs.
 * "M1 0": memory policy and nodes. "F4096": soft limit of open files. "SNAME=VALUE", "UNAME": set and unset a variable. */
#define TN_RANK_ANSWER "gputune-rank 1"
#endif
