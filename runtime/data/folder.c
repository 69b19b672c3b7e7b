/* SPDX-License-Identifier: Apache-2.0 */
/* One directory per class, in version order of their names. The images of each directory are in version order. */
#include <errno.h>
#include <string.h>
#include "runtime/data/files.h"
#include "runtime/data/source.h"

#define IMAGE_MAX	(UINT64_C(1) << 30)

struct folder {
	struct rt_source base;
	struct gt_strv path;
	int32_t *label;
};

static int folder_image(const struct rt_source *base, uint64_t i, struct rt_scratch *w, size_t *ret_len, int64_t *ret_label,
			struct gt_err *err)
{
	const struct folder *f = (const struct folder *)base;
	const char *path = f->path.v[i];
	gt_autoclose int fd = -1;
	uint64_t size;
	int r = rt_file_open(path, &fd, &size, err);

	if (r)
		return r == -EMFILE || r == -ENFILE ? r : -EBADMSG; /* only that file is unusable */
	if (size > IMAGE_MAX)
		return gt_fail(err, EBADMSG, "an image of more than 1 GiB");
	r = rt_scratch_bytes(w, (size_t)size, err);
	if (!r)
		r = rt_file_read_at(fd, path, 0, w->bytes, (size_t)size, err);
	*ret_len = (size_t)size;
	*ret_label = f->label[i];
	return r == -EIO ? -EBADMSG : r;
}

static char *folder_where(const struct rt_source *base, uint64_t i)
{
	return gt_xstrdup(((const struct folder *)base)->path.v[i]);
}

static void folder_free(struct rt_source *base)
{
	struct folder *f = (struct folder *)base;

	gt_strv_clear(&f->path);
	free(f->label);
	free(f);
}

static const struct rt_source_ops folder_ops = {
	.name = "folder", .image = folder_image, .where = folder_where, .free = folder_free,
};

static int add_class(struct folder *f, const char *directory, int32_t label, struct gt_err *err)
{
	static const char *const images[] = { ".jpg", ".jpeg", ".png", ".JPG", ".JPEG", ".PNG", NULL };
	size_t before = f->path.n;
	int r = rt_files_list_into(directory, images, &f->path, err);

	if (r)
		return r;
	f->label = gt_xrealloc(f->label, (f->path.n + 1) * sizeof(*f->label));
	for (size_t i = before; i < f->path.n; i++) {
		uint64_t size = 0;

		f->label[i] = label;
		if (!rt_file_size(f->path.v[i], &size, NULL))
			f->base.bytes += size;
	}
	return 0;
}

int rt_source_folder(const struct rt_loader_options *o, const char *path, struct rt_source **ret, struct gt_err *err)
{
	struct folder *f = gt_xcalloc(1, sizeof(*f));
	gt_auto(rt_source) *s = &f->base;
	gt_auto_strv classes = { 0 };
	int r;

	*s = (struct rt_source){ .ops = &folder_ops, .kind = RT_DATA_FOLDER };
	r = rt_files_directories(path, &classes, err);
	for (size_t i = 0; !r && i < classes.n; i++) {
		gt_autofree char *directory = gt_xasprintf("%s/%s", path, classes.v[i]);

		r = add_class(f, directory, (int32_t)i, err);
	}
	if (r)
		return r;
	s->n = s->files = f->path.n;
	if (!s->n)
		return gt_fail(err, ENODATA, "%s: no directory in it has a .jpg, .jpeg or .png", path);
	*ret = gt_take(s);
	return 0;
}
