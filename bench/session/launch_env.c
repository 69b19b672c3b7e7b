/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/session/launch_env.h"
#include "lib/util.h"

bool bn_changes_launch(const char *name)
{
	/* Variables that a launcher or shell sets to a new value each time, such as SLURM_JOB_ID or
	 * CONDA_PROMPT_MODIFIER, are not listed. */
	static const char *const stems[] = {
		"OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "BLIS_", "DNNL_", "ONEDNN_", "GLIBC_TUNABLES", "LD_PRELOAD",
		"LD_LIBRARY_PATH", "MALLOC_", "TCMALLOC_", "MIMALLOC_", "JEMALLOC_", "CUDA_", "CUBLAS_", "CUBLASLT_", "CUDNN_",
		"NVIDIA_TF32_OVERRIDE", "NCCL_", "NVSHMEM_", "UCX_", "FI_", "OMPI_MCA_", "PMIX_MCA_", "MPICH_", "I_MPI_",
		"PYTORCH_", "TORCH_", "TORCHINDUCTOR_", "TORCHDYNAMO_", "TRITON_", "XLA_", "JAX_", "TF_", "TOKENIZERS_PARALLELISM",
		"PYTHONPATH", "PYTHONMALLOC", "PYTHONHASHSEED", "PYTHONOPTIMIZE", "VIRTUAL_ENV", "CONDA_PREFIX",
		"CONDA_DEFAULT_ENV", "GPUBENCH_SIM"};

	for (size_t i = 0; i < GT_ARRAY_SIZE(stems); i++)
		if (gt_starts_with(name, stems[i]))
			return true;
	return false;
}
