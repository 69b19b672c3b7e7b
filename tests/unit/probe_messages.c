/* SPDX-License-Identifier: Apache-2.0 */
/* The catalogues of messages and of Xid numbers. */
#include <regex.h>
#include <string.h>
#include "lib/util.h"
#include "probe/check/check.h"
#include "probe/compat/messages.h"
#include "probe/compat/xid.h"
#include "tests/unit/check_probe.h"

static bool exists(const char *id)
{
	for (size_t i = 0; pr_stories[i]; i++)
		if (!strcmp(pr_stories[i]->id, id))
			return true;
	return pr_check_find(id) != NULL;
}

START_TEST(messages_are_sound)
{
	ck_assert_uint_ge(pr_n_messages, 200);
	for (size_t i = 0; i < pr_n_messages; i++) {
		const struct pr_message *m = &pr_messages[i];
		regex_t re;

		ck_assert_msg(!regcomp(&re, m->pattern, REG_EXTENDED | REG_NOSUB), "%s: %s", m->id, m->pattern);
		ck_assert_msg(regexec(&re, "", 0, NULL, 0), "%s matches the empty line", m->id);
		regfree(&re);
		ck_assert_msg(!m->check || exists(m->check), "%s: no check %s", m->id, m->check);
		ck_assert_msg(pr_message_fault(m) != m->fault, "%s: no fault %s", m->id, m->fault);
		ck_assert_msg(*m->cause && *m->remedy && *m->source, "%s", m->id);
		for (size_t k = 0; k < i; k++)
			ck_assert_msg(strcmp(pr_messages[k].id, m->id), "%s is there twice", m->id);
	}
}
END_TEST

START_TEST(the_specific_message_comes_first)
{
	static const struct {
		const char *text, *id;
	} t[] = {
		{"RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error. It is possible", "loader-bus"},
		{"Bus error (core dumped)", "sigbus"},
		{"ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "pip-disk"},
		{"OSError: [Errno 28] No space left on device: '/data/x'", "no-space"},
		{"x.so: undefined symbol: _ZN3c1017RegisterOperatorsD1Ev", "undef-torch"},
		{"x.so: undefined symbol: foo", "undef-other"},
		{"CUDA out of memory", "torch-cuda-oom"},
		{"docker: could not select device driver \"cdi\" with capabilities: []", "docker-cdi-off"},
		{"nvidia-container-cli: mount error: file creation failed: libcuda.so.1: file exists", "container-file-exists"},
		{"Could not load library libcudnn_cnn.so.8. Error: libnvrtc.so: cannot open shared object file", "cudnn-needs-lib"},
		{"CUDA error: operation not permitted when stream is capturing", "graph-capture"},
		{"\"triu_cuda_template\" not implemented for 'BFloat16'", "no-cuda-type"},
		{"node1: NCCL WARN Cuda failure 2 'out of memory'", "nccl-oom"},
		{"/usr/bin/ld: cannot find -lcudart: No such file or directory", "ld-cuda-libs"},
		{"OSError: [Errno 28] No space left on device: '/dev/shm/torch_1'", "torch-shm"},
		{"nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown",
		 "nvml-mismatch"},
		{"modprobe: ERROR: could not insert 'nvidia': Operation not permitted", "module-perm"},
		{"Accelerator.unwrap_model() got an unexpected keyword argument 'keep_torch_compile'", "unexpected-argument"},
		{"ImportError: libnuma.so.1: cannot open shared object file: No such file or directory", "system-lib"},
		{"ImportError: libfoo.so.3: cannot open shared object file", "cannot-open-so"},
		{"enroot-nsenter: failed to create user namespace: Permission denied", "userns"},
		{"ERROR  : Failed to create user namespace: No space left on device", "userns"},
		{"ERROR  : Could not write info to setgroups: Permission denied", "userns"},
		{"bwrap: setting up uid map: Permission denied", "userns"},
		{"unshare: write failed /proc/self/uid_map: Operation not permitted", "userns"},
		{"audit: apparmor=\"AUDIT\" operation=\"userns_create\" class=\"namespace\"", "userns-apparmor"},
		{"enroot-mksquashovlfs: failed to set capabilities: Operation not permitted", "enroot-caps"},
		{"TypeError: expected np.ndarray (got numpy.ndarray)", "numpy-c-api"},
		{"Failed to initialize NumPy: _ARRAY_API not found (Triggered internally at tensor_numpy.cpp:84.)", "numpy-c-api"},
		{"INVALID_ARGUMENT: Mismatched PJRT plugin PJRT API version (0.58) and framework PJRT API version (0.54)",
		 "jax-plugin-version"},
		{"RuntimeError: cuDNN error: CUDNN_STATUS_INTERNAL_ERROR", "cudnn-internal"},
		{"RuntimeError: Timed out initializing process group in store based barrier on rank: 0", "store-barrier"},
		{"NCCL WARN NET/IB : Got completion from peer 10.0.0.1<4> with error 11, opcode 2, len 0", "nccl-wc-prot"},
		{"n1:7:8 [0] NCCL WARN NET/IB : Got completion from peer 10.0.0.1<4> with status=12 opcode=0", "nccl-retry-exc"},
		{"n1:7:8 [0] NCCL WARN Net : Call to recv from 10.0.0.2<43211> failed : Connection timed out", "nccl-recv-failed"},
		{"XlaRuntimeError: INTERNAL: NCCL operation ncclCommInitRank(&comm, n, id, rank) failed: x", "xla-custom-call"},
		{"RuntimeError: cuda runtime error (8) : invalid device function at THCGeneral.cpp:405", "invalid-function"},
		{"ModuleNotFoundError: No module named 'packaging'", "bdist-wheel"},
		{"FileNotFoundError: [Errno 2] No such file or directory: '/usr/local/cuda/bin/nvcc'", "nvcc-missing-path"},
		{"libcublas.so.11: symbol free_gemm_select version libcublasLt.so.11 not defined in file libcublasLt.so.11",
		 "nvjitlink"},
		{"NVRM: nvAssertOkFailedNoLog: Assertion failed: Reset required [NV_ERR_RESET_REQUIRED]", "nvrm-reset-required"},
		{"slurmd: error: Waiting for gres.conf file /dev/nvidia0", "slurm-node-config"},
		{"rocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: x for GPU arch : gfx1032",
		 "rocblas-tensile"},
		{"E: Unable to locate package nvidia-driver-535", "apt-locate"},
		{"OSError: [Errno 18] Invalid cross-device link: '/tmp/a' -> '/home/b'", "cross-device"},
		{"RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED", "cudnn-exec"},
		{"curl: (60) SSL: no alternative certificate subject name matches target host name 'x.org'", "ssl-hostname"},
		{"SSLCertVerificationError: certificate verify failed: unable to get local issuer certificate", "ssl"},
		{"Unable to open /dev/kfd read-write: No such file or directory", "hip-no-device"},
		{"make[1]: *** [nvidia/nv.o] Error 1", "module-build"},
		{"NVRM: GPU 0000:01:00.0 is already bound to nouveau.", "nouveau"},
	};
	const struct pr_message *m[4];

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		ck_assert_uint_ge(pr_message_find(t[i].text, m, GT_ARRAY_SIZE(m)), 1);
		ck_assert_str_eq(m[0]->id, t[i].id);
	}
}
END_TEST

/* The answer is the error that another message encloses. */
START_TEST(the_enclosed_error_comes_first)
{
	static const struct {
		const char *text, *id;
	} t[] = {
		{"ChildFailedError\n[rank0]: torch.OutOfMemoryError: CUDA out of memory", "torch-cuda-oom"},
		{"Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized", "fabric-not-ready"},
		{"Unexpected error from cudaGetDeviceCount(). Error 42: something new", "unexpected-count"},
		{"failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected", "no-device"},
		{"failed call to cuInit: UNKNOWN ERROR (34)", "tf-cuinit"},
		{"CUDA backend failed to initialize: FAILED_PRECONDITION: CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "compat-804"},
		{"Unable to initialize backend 'cuda': FAILED_PRECONDITION: No visible GPU devices.", "jax-init"},
		{"ncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\nCuda failure 700 "
		 "'an illegal memory access was encountered'", "illegal-address"},
		{"ncclSystemError: System call (e.g. socket, malloc) failed.\nLast error:\nCall to ibv_modify_qp failed with 19 "
		 "No such device, on dev mlx5_0:1", "nccl-qp-unreach"},
		{"Failed to import from vllm._C with ImportError('libcudart.so.13: cannot open shared object file')", "cudart-so"},
		{"OCI runtime create failed: failed to inject CDI devices: unresolvable CDI devices nvidia.com/gpu=0",
		 "cdi-unresolvable"},
		{"(EngineCore_0) ValueError: No available memory for the cache blocks.\nEngine core initialization failed",
		 "vllm-kv"},
		{"WARNING: Sending process 4711 closing signal SIGTERM\nfailed (exitcode: 1) local_rank: 0", "elastic-child"},
		{"InductorError: CalledProcessError: Command '['gcc', '/tmp/x/main.c', '-lcuda']' returned non-zero exit status 1.",
		 "triton-gcc"},
		{"torch._inductor.exc.InductorError: CalledProcessError: Command '['gcc', '/tmp/x/main.c', '-lcuda']' returned "
		 "non-zero exit status 1.\n/usr/bin/ld: cannot find -lcuda: No such file or directory", "libcuda-name"},
	};
	const struct pr_message *m[4];

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		ck_assert_uint_ge(pr_message_find(t[i].text, m, GT_ARRAY_SIZE(m)), 1);
		ck_assert_str_eq(m[0]->id, t[i].id);
	}
}
END_TEST

/* More notices than the result has room for do not displace the error after them. */
START_TEST(an_error_comes_before_notices)
{
	static const char text[] =
		"cuMem host allocations do not appear to be working; falling back to a /dev/shm/ based implementation.\n"
		"NCCL INFO Failed to open libibverbs.so[.1]\n"
		"Warning: destroy_process_group() was not called before program exit\n"
		"Segmentation fault (core dumped)\n";
	const struct pr_message *m[2];

	ck_assert_uint_eq(pr_message_find(text, m, GT_ARRAY_SIZE(m)), 2);
	ck_assert_str_eq(m[0]->id, "segv");
	ck_assert_str_eq(m[1]->fault, "notice");
}
END_TEST

/* Each launcher, container engine and service manager reports a killed process in its own words. */
START_TEST(a_killed_process_is_recognised)
{
	static const char *const killed[] = {
		"[launch.py:321:sigkill_handler] ['python3', '-u', 'train.py'] exits with return code = -9",
		"failed (exitcode: -9) local_rank: 0 (pid: 3908423) of binary: /usr/bin/python3",
		"subprocess.CalledProcessError: Command '['python', 'train.py']' died with <Signals.SIGKILL: 9>.",
		"mpirun noticed that process rank 3 with PID 0 on node gpu4 exited on signal 9 (Killed).",
		"=   KILLED BY SIGNAL: 9 (Killed)",
		"srun: error: gpu4: task 2: Killed",
		"srun: error: gpu4: tasks 0-7: Exited with exit code 137",
		"trainer_1 exited with code 137",
		"Exited (137) 3 minutes ago",
		"      Exit Code:    137",
		"train.service: Main process exited, code=killed, status=9/KILL",
	};
	const struct pr_message *m[1];

	for (size_t i = 0; i < GT_ARRAY_SIZE(killed); i++) {
		ck_assert_msg(pr_message_find(killed[i], m, 1) == 1, "%s", killed[i]);
		ck_assert_str_eq(m[0]->id, "sigkill");
	}
}
END_TEST

START_TEST(other_lines_match_nothing)
{
	static const char *const other[] = {
		"foo bar baz",
		"",
		"Process finished with exit code 0",
		"trainer_1 exited with code 0",
		"max locked memory           (kbytes, -l) 8192",
		"curl failed with error 5",
		"systemd[1]: backup.service: status=12",
		"usb 1-1: can't set config #1, error -71",
		"Read the answers on https://stack overflow.com",
		"The node is healthy",
		"Setting pad_token_id to eos_token_id:2 for open-end generation.",
		"Loaded: model trust_remote_code: False",
		"KeyError: 'qwen2'",
		"ata1: SATA link down (SStatus 0 SControl 300)",
		"NCCL INFO NVLS multicast support is not available on dev 0",
		"RuntimeError: Could not infer dtype of NoneType",
		"RuntimeError: Could not infer dtype of numpy.object_",
		"INFO:    Converting SIF file to temporary sandbox, user namespace is used",
		"KeyError: 'username'",
		"AttributeError: 'NoneType' object has no attribute 'split'",
		"FileNotFoundError: [Errno 2] No such file or directory: 'data.csv'",
		"PermissionError: [Errno 13] Permission denied: '/data/out.csv'",
		"sqlite3.OperationalError: no such table: users",
		"ERROR 1064 (42000): You have an error in your SQL syntax",
		"psycopg2.OperationalError: FATAL: password authentication failed for user \"x\"",
		"urllib.error.HTTPError: HTTP Error 404: Not Found",
		"requests.exceptions.HTTPError: 404 Client Error: Not Found for url: https://example.org/x",
		"nginx: [emerg] unknown directive \"servr\" in /etc/nginx/nginx.conf:3",
		"[error] 12#0: *1 connect() failed (111: Connection refused) while connecting to upstream",
		"main.c:10:5: error: expected ';' before 'return'",
		"main.c:3:10: fatal error: foo.h: No such file or directory",
		"make: *** [Makefile:10: all] Error 1",
		"error[E0382]: borrow of moved value: `x`",
		"npm ERR! code ERESOLVE",
		"bash: foo: command not found",
		"E: Unable to locate package foo",
		"systemd[1]: nginx.service: Failed with result 'exit-code'.",
	};
	const struct pr_message *m[1];

	for (size_t i = 0; i < GT_ARRAY_SIZE(other); i++)
		ck_assert_msg(!pr_message_find(other[i], m, 1), "\"%s\": %s", other[i], m[0]->id);
}
END_TEST

START_TEST(each_xid_has_a_check)
{
	size_t n = 0;

	for (int i = 1; i < 100000; i++)
		for (int nvswitch = 0; nvswitch < 2; nvswitch++) {
			const struct pr_xid_entry *e = pr_xid_find(&(struct pr_xid){i, nvswitch});

			n += e != NULL;
			ck_assert_msg(!e || exists(e->check), "%d: no check %s", i, e ? e->check : "");
			ck_assert_msg(!e || (*e->name && *e->meaning), "%d", i);
		}
	ck_assert_uint_ge(n, 260);
}
END_TEST

TCase *case_messages(void)
{
	TCase *tc = tcase_create("messages");

	tcase_add_test(tc, messages_are_sound);
	tcase_add_test(tc, the_specific_message_comes_first);
	tcase_add_test(tc, the_enclosed_error_comes_first);
	tcase_add_test(tc, an_error_comes_before_notices);
	tcase_add_test(tc, a_killed_process_is_recognised);
	tcase_add_test(tc, other_lines_match_nothing);
	tcase_add_test(tc, each_xid_has_a_check);
	tcase_set_timeout(tc, 120);
	return tc;
}
