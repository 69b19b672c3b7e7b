/* SPDX-License-Identifier: Apache-2.0 */
/* Sets one setting of one GPU in a child process with a time limit. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/dl.h"
#include "lib/parse.h"
#include "lib/spawn.h"
#include "lib/util.h"
#include "tune/model/nvml_settings.h"
#include "tune/txn/nvml_write.h"

typedef void *nvml_device;
struct nvml {
	int (*init)(void);
	int (*handle)(const char *, nvml_device *);
	int (*set_persistence)(nvml_device, int);
	int (*set_limit)(nvml_device, unsigned);
	int (*lock_graphics)(nvml_device, unsigned, unsigned);
	int (*unlock_graphics)(nvml_device);
	int (*lock_memory)(nvml_device, unsigned, unsigned);
	int (*unlock_memory)(nvml_device);
	int (*set_application_clocks)(nvml_device, unsigned, unsigned);
};
static const struct gt_dlsym syms[] = {
	GT_DLSYM(nvml, init, nvmlInit_v2),
	GT_DLSYM(nvml, handle, nvmlDeviceGetHandleByPciBusId_v2),
	GT_DLSYM_OPT(nvml, set_persistence, nvmlDeviceSetPersistenceMode),
	GT_DLSYM_OPT(nvml, set_limit, nvmlDeviceSetPowerManagementLimit),
	GT_DLSYM_OPT(nvml, lock_graphics, nvmlDeviceSetGpuLockedClocks),
	GT_DLSYM_OPT(nvml, unlock_graphics, nvmlDeviceResetGpuLockedClocks),
	GT_DLSYM_OPT(nvml, lock_memory, nvmlDeviceSetMemoryLockedClocks),
	GT_DLSYM_OPT(nvml, unlock_memory, nvmlDeviceResetMemoryLockedClocks),
	GT_DLSYM_OPT(nvml, set_application_clocks, nvmlDeviceSetApplicationsClocks),
};

struct request {
	char address[32];
	const char *name, *value;
};

/* ---- in the child: all functions return NVML's code --------------------------------------------------------------- */

static int set_persistence(const struct nvml *n, nvml_device dev, const char *value)
{
	return n->set_persistence ? n->set_persistence(dev, !strcmp(value, "1")) : TN_NVML_NOT_SUPPORTED;
}

static int set_limit(const struct nvml *n, nvml_device dev, const char *value)
{
	unsigned mw;

	if (tn_nvml_parse_watts(value, &mw) < 0)
		return TN_NVML_INVALID_ARGUMENT;
	return n->set_limit ? n->set_limit(dev, mw) : TN_NVML_NOT_SUPPORTED;
}

static int lock(int (*set)(nvml_device, unsigned, unsigned), int (*reset)(nvml_device), nvml_device dev, const char *value)
{
	unsigned least, most;

	if (!set || !reset)
		return TN_NVML_NOT_SUPPORTED;
	if (!strcmp(value, PR_NVML_UNLOCKED))
		return reset(dev);
	return tn_nvml_parse_two(value, '-', &least, &most) < 0 ? TN_NVML_INVALID_ARGUMENT : set(dev, least, most);
}

static int lock_graphics(const struct nvml *n, nvml_device dev, const char *value)
{
	return lock(n->lock_graphics, n->unlock_graphics, dev, value);
}

static int lock_memory(const struct nvml *n, nvml_device dev, const char *value)
{
	return lock(n->lock_memory, n->unlock_memory, dev, value);
}

static int set_application_clocks(const struct nvml *n, nvml_device dev, const char *value)
{
	unsigned memory, graphics;

	if (tn_nvml_parse_two(value, '/', &memory, &graphics) < 0)
		return TN_NVML_INVALID_ARGUMENT;
	return n->set_application_clocks ? n->set_application_clocks(dev, memory, graphics) : TN_NVML_NOT_SUPPORTED;
}

static int set(const struct nvml *n, const struct request *q)
{
	static const struct {
		const char *name;
		int (*set)(const struct nvml *n, nvml_device dev, const char *value);
	} setters[] = { { "persistence_mode", set_persistence },
			{ "power_limit", set_limit },
			{ "clocks", lock_graphics },
			{ "memory_clocks", lock_memory },
			{ "application_clocks", set_application_clocks } };
	nvml_device dev;
	int code = n->init();

	if (!code)
		code = n->handle(q->address, &dev);
	if (code)
		return code;
	for (size_t i = 0; i < GT_ARRAY_SIZE(setters); i++)
		if (!strcmp(setters[i].name, q->name))
			return setters[i].set(n, dev, q->value);
	return TN_NVML_INVALID_ARGUMENT;
}

static int child(void *arg, struct gt_err *err)
{
	static const char *const names[] = { "libnvidia-ml.so.1", NULL };
	struct nvml n = { 0 };
	void *handle;

	if (gt_dl_open(names, syms, GT_ARRAY_SIZE(syms), &n, &handle, NULL) < 0)
		printf("%d\n", TN_NVML_LIBRARY_NOT_FOUND);
	else
		printf("%d\n", set(&n, arg));
	fflush(stdout);
	return 0;
}

/* ---- in the parent ------------------------------------------------------------------------------------------------ */

static int set_in_child(struct request *q)
{
	gt_auto_spawn s = { .in_child = child, .arg = q, .timeout_s = TN_NVML_TIMEOUT_S };
	int code, r = gt_spawn(&s, NULL);

	tn_nvml_forget();
	if (r < 0)
		return r;
	return s.out && sscanf(s.out, "%d", &code) == 1 ? tn_nvml_errno(code) : -EIO;
}

static int record(struct gt_fsroot *fs, const char *path, const char *value)
{
	gt_autofree char *file = gt_xasprintf("%s%s", PR_NVML_RECORDS, path);
	gt_autofree char *dir = gt_xstrndup(file, (size_t)(strrchr(file, '/') - file));
	int r;

	if (!strcmp(value, PR_NVML_UNLOCKED)) {
		r = gt_fs_unlink(fs, file);
		return r == -ENOENT ? 0 : r;
	}
	r = gt_fs_mkdirs(fs, dir, 0755);
	return r < 0 ? r : gt_fs_write_atomic(fs, file, value, strlen(value), 0644);
}

/* The record of a lock precedes the lock, and the reset precedes the removal of the record. If this process dies in between, the
 * record shows a lock, and recover resets it. */
static int write_clocks(struct gt_fsroot *fs, const char *path, const char *value, struct request *q)
{
	bool locks = strcmp(value, PR_NVML_UNLOCKED) != 0;
	gt_autofree char *before = NULL;
	int r = tn_setting_read(fs, path, &before);

	if (r >= 0 && locks)
		r = record(fs, path, value);
	if (r < 0)
		return r;
	r = set_in_child(q);
	if (r >= 0 && !locks)
		r = record(fs, path, value);
	else if (r < 0 && r != -ETIMEDOUT && locks)
		record(fs, path, before);
	return r;
}

int tn_nvml_write(struct gt_fsroot *fs, const char *path, const char *value)
{
	struct request q = { .name = strrchr(path, '/') + 1, .value = value };
	int n = (int)(q.name - 1 - path) - (int)strlen("/nvml/");

	if (n <= 0 || n >= (int)sizeof(q.address))
		return -ENOENT;
	snprintf(q.address, sizeof(q.address), "%.*s", n, path + strlen("/nvml/"));
	return tn_nvml_is_clocks(path) ? write_clocks(fs, path, value, &q) : set_in_child(&q);
}
