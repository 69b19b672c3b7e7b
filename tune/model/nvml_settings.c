/* SPDX-License-Identifier: Apache-2.0 */
/* Reads all settings of all GPUs in one child process. The result is kept for a second, for the other settings of a plan. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/json.h"
#include "lib/util.h"
#include "tune/model/nvml_settings.h"

#define ANSWER_VALID_S 1.0

static struct {
	json_t *doc; /* NULL: no valid answer */
	int r;	     /* 0 or a negative errno */
	double at_s; /* 0: never queried */
} answer;

void tn_nvml_forget(void)
{
	json_decref(answer.doc);
	answer.doc = NULL;
	answer.at_s = 0;
}

int tn_nvml_errno(int code)
{
	static const struct {
		int code, r;
	} known[] = { { 0, 0 },
		      { TN_NVML_INVALID_ARGUMENT, -EINVAL },
		      { TN_NVML_NOT_SUPPORTED, -EOPNOTSUPP },
		      { TN_NVML_NO_PERMISSION, -EPERM },
		      { TN_NVML_NOT_FOUND, -ENOENT },
		      { TN_NVML_DRIVER_NOT_LOADED, -ENOENT },
		      { TN_NVML_LIBRARY_NOT_FOUND, -ENOENT },
		      { TN_NVML_GPU_IS_LOST, -ENODEV } };

	for (size_t i = 0; i < GT_ARRAY_SIZE(known); i++)
		if (known[i].code == code)
			return known[i].r;
	return -EIO;
}

static int query_in_child(json_t **ret)
{
	gt_auto_json *doc = NULL;
	int r = pr_nvml_settings(TN_NVML_TIMEOUT_S, &doc);

	if (r < 0)
		return r;
	r = tn_nvml_errno((int)gt_json_get_int(doc, "code", -1));
	if (r >= 0)
		*ret = gt_take(doc);
	return r;
}

static int query(void)
{
	if (answer.at_s > 0 && gt_now_s() - answer.at_s < ANSWER_VALID_S)
		return answer.r;
	tn_nvml_forget();
	answer.r = query_in_child(&answer.doc);
	answer.at_s = gt_now_s();
	return answer.r;
}

static int read_record(struct gt_fsroot *fs, const char *path, char **ret)
{
	gt_autofree char *record = gt_xasprintf("%s%s", PR_NVML_RECORDS, path);
	int r = gt_fs_read_line(fs, record, ret);

	if (r == -ENOENT)
		*ret = gt_xstrdup(PR_NVML_UNLOCKED);
	return r == -ENOENT ? 0 : r;
}

static int read_live(struct gt_fsroot *fs, const char *path, char **ret)
{
	const char *name = strrchr(path, '/') + 1;
	gt_autofree char *address = NULL;
	const json_t *gpu;
	const char *text;
	int r = query();

	if (r < 0)
		return r;
	address = gt_xstrndup(path + strlen("/nvml/"), (size_t)GT_MAX(name - 1 - path - (ptrdiff_t)strlen("/nvml/"), 0));
	gpu = json_object_get(json_object_get(answer.doc, "gpus"), address);
	text = gt_json_get_str(gpu, name, NULL);
	if (!text)
		return -ENOENT;
	if (tn_nvml_is_clocks(path))
		return read_record(fs, path, ret);
	*ret = gt_xstrdup(text);
	return 0;
}

bool tn_is_nvml_path(const char *path)
{
	return path && gt_starts_with(path, "/nvml/");
}

bool tn_nvml_is_clocks(const char *path)
{
	return tn_is_nvml_path(path) && (gt_ends_with(path, "/clocks") || gt_ends_with(path, "/memory_clocks"));
}

int tn_setting_read(struct gt_fsroot *fs, const char *path, char **ret)
{
	return tn_is_nvml_path(path) && gt_fs_is_live(fs) ? read_live(fs, path, ret) : gt_fs_read_line(fs, path, ret);
}

const char *tn_setting_error(const char *path, int r)
{
	static char text[64];

	if (!tn_is_nvml_path(path) || r != -ETIMEDOUT)
		return strerror(-r);
	snprintf(text, sizeof(text), "NVML did not respond within %d s", TN_NVML_TIMEOUT_S);
	return text;
}

int tn_nvml_parse_watts(const char *text, unsigned *ret_mw)
{
	unsigned watts, thousandths = 0;
	int end = 0;

	if (sscanf(text, "%5u%n", &watts, &end) != 1 || *text < '0' || *text > '9')
		return -EINVAL;
	if (text[end] == '.') {
		if (strspn(text + end + 1, "0123456789") != 3 || sscanf(text + end + 1, "%3u", &thousandths) != 1)
			return -EINVAL;
		end += 4;
	}
	if (text[end])
		return -EINVAL;
	*ret_mw = watts * 1000 + thousandths;
	return 0;
}

int tn_nvml_parse_two(const char *text, char separator, unsigned *ret_a, unsigned *ret_b)
{
	size_t a = strspn(text, "0123456789"), b = text[a] ? strspn(text + a + 1, "0123456789") : 0;

	if (!a || a > 5 || !b || b > 5 || text[a] != separator || text[a + 1 + b])
		return -EINVAL;
	return sscanf(text, "%5u", ret_a) == 1 && sscanf(text + a + 1, "%5u", ret_b) == 1 ? 0 : -EINVAL;
}
