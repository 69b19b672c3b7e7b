/* SPDX-License-Identifier: Apache-2.0 */
/* What programs say, and people paste, that no check is about: the answer is that nothing is wrong with the host. */
#include "probe/check/check.h"

static const struct pr_check gpu_memory = {
	.id = "program.gpu-memory",
	.title = "the card has memory enough for the program",
	.story = "The card's memory is full, or free in pieces that are too small: the program's matter and not the host's, so "
		 "that no check tells of it. Who else holds memory there: nvidia-smi, or gpuprobe watch. What helps, the "
		 "cheapest first: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True where much is \"reserved but unallocated\", "
		 "bf16, a smaller batch with gradients accumulated, checkpointed activations, a sharded optimizer. What each "
		 "brings on this host: gpubench ladder techniques.",
	.messages = "CUDA out of memory. Tried to allocate\nRuntimeError: CUDA error: out of memory\n"
		    "torch.OutOfMemoryError\ntorch.cuda.OutOfMemoryError\nCUBLAS_STATUS_ALLOC_FAILED\n"
		    "CUDNN_STATUS_ALLOC_FAILED\nRESOURCE_EXHAUSTED: Out of memory while trying to allocate",
};

static const struct pr_check pip_managed = {
	.id = "program.pip",
	.title = "pip installs into an environment of its own",
	.story = "Since Debian 12 pip keeps out of the system's Python, which apt looks after (PEP 668): python3 -m venv venv "
		 "&& . venv/bin/activate, then pip. gpuprobe recommend gives the lines for this host's driver and card; "
		 "--break-system-packages does what its name says.",
	.messages = "error: externally-managed-environment\nThis environment is externally managed",
};

const struct pr_check *const pr_stories[] = {&gpu_memory, &pip_managed, NULL};
