/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include "lib/parse.h"
#include "probe/compat/compat.h"

static int parse_row(char *line, size_t line_no, const char *name, uint64_t *ret_major, char **ret_driver,
		     struct gt_err *err)
{
	char *tab = strchr(line, '\t');

	if (!tab)
		return gt_fail(err, EINVAL, "%s:%zu: expected a CUDA major release, a TAB and a driver version", name, line_no);
	*tab = '\0';
	if (gt_parse_u64(line, ret_major) < 0 || !tab[1] || tab[1 + strspn(tab + 1, "0123456789.")])
		return gt_fail(err, EINVAL, "%s:%zu: '%s' and '%s' are not a CUDA major release and a driver version", name,
			       line_no, line, tab + 1);
	*ret_driver = tab + 1;
	return 0;
}

int pr_compat_lookup(const char *text, const char *name, int cuda_major, char **ret_driver, struct gt_err *err)
{
	gt_autofree char *copy = gt_xstrdup(text), *found = NULL;
	size_t line_no = 0;

	for (char *line = copy, *next; line && *line; line = next) {
		uint64_t major = 0;
		char *driver = NULL;
		int r;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		line_no++;
		if (*line == '#' || !*line)
			continue;
		r = parse_row(line, line_no, name, &major, &driver, err);
		if (r < 0)
			return r;
		if (major == (uint64_t)cuda_major && !found)
			found = gt_xstrdup(driver);
	}
	if (!found)
		return 0;
	*ret_driver = gt_take(found);
	return 1;
}

int pr_compat_min_driver(struct gt_fsroot *fs, int cuda_major, char **ret_driver, struct gt_err *err)
{
	static const char path[] = PR_COMPAT_DIR "/cuda_driver.tsv";
	gt_autofree char *text = NULL;

	if (gt_fs_read(fs, path, &text, NULL) >= 0)
		return pr_compat_lookup(text, path, cuda_major, ret_driver, err);
	return pr_compat_lookup(pr_compat_cuda_driver, "cuda_driver.tsv", cuda_major, ret_driver, err);
}
