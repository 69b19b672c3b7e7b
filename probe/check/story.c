/* SPDX-License-Identifier: Apache-2.0 */
/* Explanations of error messages that come from programs. They are not problems of the host, so no check covers them. */
#include "probe/check/check.h"

static const struct pr_check gpu_memory = {
	.id = "program.gpu-memory",
	.title = "the GPU has enough memory for the program",
	.story = "The GPU's memory is full, or free only in pieces that are too small. The cause is the program and not the "
		 "host, so no check reports it. nvidia-smi and gpuprobe watch list the other programs that use the memory. "
		 "Remedies, the cheapest first: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True where much is \"reserved but "
		 "unallocated\", bf16, a smaller batch with gradients accumulated, checkpointed activations, a sharded "
		 "optimizer. gpubench ladder techniques measures what each gains on this host.",
	.messages = "CUDA out of memory. Tried to allocate\nRuntimeError: CUDA error: out of memory\n"
		    "torch.OutOfMemoryError\ntorch.cuda.OutOfMemoryError\nCUBLAS_STATUS_ALLOC_FAILED\n"
		    "CUDNN_STATUS_ALLOC_FAILED\nRESOURCE_EXHAUSTED: Out of memory while trying to allocate",
};

static const struct pr_check gpu_fault = {
	.id = "program.gpu-fault",
	.title = "programs use the GPU without errors",
	.story = "Xid 11, 13, 25, 31, 43 and 69 are errors of a program that ran on the GPU. Examples are an access "
		"outside its memory, an illegal instruction, and a kernel that was stopped. Xid 45 is the clean-up after "
		"a program or another Xid. The driver ends that program; the GPU and other programs go on. The process "
		"ID and name are in the line. To find the place in the program: compute-sanitizer python3 train.py, or "
		"CUDA_LAUNCH_BLOCKING=1. If the same GPU logs these numbers under different programs that run without "
		"errors on other GPUs, test the GPU (dcgmi diag -r 3).",
	.messages = "RuntimeError: CUDA error: an illegal memory access was encountered\n"
		    "cudaErrorIllegalAddress\nRuntimeError: CUDA error: device-side assert triggered\n"
		    "NVRM: Xid (PCI:0000:17:00): 13, Graphics SM Warp Exception\nNVRM: Xid (PCI:0000:17:00): 31, MMU Fault",
};

static const struct pr_check pip_managed = {
	.id = "program.pip",
	.title = "pip installs into an environment of its own",
	.story = "Since Debian 12 pip keeps out of the system's Python, which the distribution's packages own (PEP 668): "
		 "python3 -m venv venv && . venv/bin/activate, then pip. gpuprobe can gives the lines for this "
		 "host's driver and GPU; --break-system-packages does what its name says.",
	.messages = "error: externally-managed-environment\nThis environment is externally managed",
};

const struct pr_check *const pr_stories[] = {&gpu_memory, &gpu_fault, &pip_managed, NULL};
