/* SPDX-License-Identifier: Apache-2.0 */
/* The NVIDIA stack as files tell it: kernel module, device nodes, libraries, toolkits. No vendor code runs here. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include "probe/reading.h"

static const char *const sonames[] = { "libcuda.so.1", "libnvidia-ml.so.1", "libcudart.so.12", "libcudart.so.13",
				       "libcudnn.so.8", "libcudnn.so.9",     "libnccl.so.2",	"libcublas.so.12",
				       "libcublas.so.13" };

/* Directories that the loader looks into on Debian and in the usual containers, in its order where that is known. */
static const char *const lib_dirs[] = { "/usr/local/nvidia/lib64",	"/usr/local/cuda/compat",
					"/usr/local/cuda/lib64",	"/usr/lib/x86_64-linux-gnu",
					"/usr/lib/aarch64-linux-gnu",	"/usr/lib/x86_64-linux-gnu/nvidia/current",
					"/usr/lib64",			"/usr/lib/wsl/lib",
					"/usr/local/lib" };

static void add_lib(struct gt_fsroot *fs, struct pr_host *h, const char *dir, const char *soname)
{
	gt_autofree char *path = gt_xasprintf("%s/%s", dir, soname), *real = NULL;
	const char *base, *version = NULL, *so;
	struct pr_lib *l;

	if (gt_fs_realpath(fs, path, &real) < 0 || !gt_fs_exists(fs, path))
		return;
	for (size_t i = 0; i < h->nvidia.n_lib; i++)
		if (gt_streq(h->nvidia.lib[i].soname, soname)) {
			gt_autofree char *other = NULL;

			if (gt_fs_realpath(fs, h->nvidia.lib[i].path, &other) >= 0 && !strcmp(other, real))
				return; /* the same file by another way */
		}
	base = strrchr(real, '/');
	so = base ? strstr(base, ".so.") : NULL;
	if (so && strchr(so + 4, '.'))
		version = so + 4;
	h->nvidia.lib = gt_xrealloc(h->nvidia.lib, (h->nvidia.n_lib + 1) * sizeof(*l));
	l = &h->nvidia.lib[h->nvidia.n_lib++];
	l->soname = soname;
	l->path = pr_keep(h, path);
	l->version = pr_keep(h, version);
}

static void find_toolkits(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_auto_strv names = { 0 };

	if (gt_fs_list(fs, "/usr/local", &names) < 0)
		return;
	for (size_t i = 0; i < names.n; i++)
		if (gt_starts_with(names.v[i], "cuda-"))
			gt_strv_take(&h->nvidia.toolkits, gt_xasprintf("/usr/local/%s", names.v[i]));
}

/* Is a nvidia module built for the kernel that runs? Debian, DKMS and NVIDIA's installer put it in different places. */
static struct pr_num find_module_file(struct gt_fsroot *fs, const char *release)
{
	static const char *const places[] = { "updates/dkms/nvidia-current.ko",	   "updates/dkms/nvidia.ko",
					      "updates/dkms/nvidia-current.ko.xz", "updates/dkms/nvidia.ko.xz",
					      "updates/dkms/nvidia-current-open.ko.xz", "nvidia/nvidia-current.ko",
					      "kernel/drivers/video/nvidia.ko",	   "updates/dkms/nvidia.ko.zst",
					      "extra/nvidia.ko" };
	gt_autofree char *dir = gt_xasprintf("/lib/modules/%s", release);

	if (!gt_fs_exists(fs, dir))
		return (struct pr_num){ PR_UNKNOWN, 0 }; /* a container, or a kernel without modules */
	for (size_t i = 0; i < GT_ARRAY_SIZE(places); i++) {
		gt_autofree char *path = gt_xasprintf("%s/%s", dir, places[i]);

		if (gt_fs_exists(fs, path))
			return pr_value(1);
	}
	return pr_value(0);
}

static struct pr_num find_dkms(struct gt_fsroot *fs)
{
	gt_auto_strv names = { 0 };

	if (gt_fs_list(fs, "/var/lib/dkms", &names) < 0)
		return pr_value(0);
	for (size_t i = 0; i < names.n; i++)
		if (gt_starts_with(names.v[i], "nvidia"))
			return pr_value(1);
	return pr_value(0);
}

/* The variable's last byte says it; without efivarfs it is not known. */
static struct pr_num read_secure_boot(struct gt_fsroot *fs)
{
	gt_autofree char *data = NULL;
	size_t len;
	int r = gt_fs_read(fs, "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", &data, &len);

	if (r < 0)
		return (struct pr_num){ pr_state_of(r), 0 };
	return len ? pr_value(data[len - 1] == 1) : (struct pr_num){ PR_BROKEN, 0 };
}

void pr_discover_nvidia(struct gt_fsroot *fs, struct pr_host *h)
{
	const char *release = h->kernel.release.v ? h->kernel.release.v : "";
	gt_autofree char *build = gt_xasprintf("/lib/modules/%s/build", release), *blas = NULL;
	int r;

	h->nvidia.module_version = pr_read_str(h, fs, "/sys/module/nvidia/version");
	h->nvidia.module_text = pr_read_str(h, fs, "/proc/driver/nvidia/version");
	h->nvidia.module_file = find_module_file(fs, release);
	h->nvidia.headers = pr_value(gt_fs_exists(fs, build));
	h->nvidia.dkms = find_dkms(fs);
	h->nvidia.secure_boot = read_secure_boot(fs);
	r = gt_fs_access(fs, "/dev/nvidiactl", R_OK | W_OK);
	if (r == -EROFS) /* a captured host: what it noted about reading stands */
		r = gt_fs_access(fs, "/dev/nvidiactl", R_OK);
	h->nvidia.device_node = r < 0 ? (struct pr_num){ pr_state_of(r), 0 } : pr_value(1);
	for (size_t i = 0; i < GT_ARRAY_SIZE(sonames); i++)
		for (size_t k = 0; k < GT_ARRAY_SIZE(lib_dirs); k++)
			add_lib(fs, h, lib_dirs[k], sonames[i]);
	find_toolkits(fs, h);
	r = gt_fs_readlink(fs, "/etc/alternatives/libblas.so.3-x86_64-linux-gnu", &blas);
	if (r >= 0) { /* /usr/lib/x86_64-linux-gnu/openblas-pthread/libblas.so.3 */
		char *slash = strrchr(blas, '/');

		if (slash)
			*slash = '\0';
		slash = strrchr(blas, '/');
		h->blas = pr_text(h, slash ? slash + 1 : blas);
	} else {
		h->blas.state = pr_state_of(r);
	}
}
