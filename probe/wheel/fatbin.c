/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include "lib/buf.h"
#include "probe/loader/elf.h"
#include "probe/wheel/fatbin.h"

#define MAGIC          0xba55ed50u
#define CONTAINER_HEAD 16
#define IMAGE_HEAD     32 /* the part of a header that is parsed */
#define LONGEST_HEAD   65536
#define MOST_ARCH      999 /* upper limit; real capabilities x 10 are far below */
enum { KIND_PTX = 1, KIND_ELF = 2 };

static uint64_t number(const unsigned char *p, size_t size)
{
	uint64_t v = 0;

	for (size_t i = 0; i < size; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

static void count(struct pr_fatbin *f, unsigned arch, bool ptx, size_t n)
{
	size_t i = 0;

	while (i < f->n_code && (f->code[i].arch != arch || f->code[i].ptx != ptx))
		i++;
	if (i == PR_FATBIN_KINDS || arch > MOST_ARCH)
		return;
	if (i == f->n_code)
		f->code[f->n_code++] = (struct pr_fatbin_code){arch, ptx, 0};
	f->code[i].n += n;
}

/*
 * Returns whether the 8 bytes at p begin a container. Between containers a section has zeros, while a whole file may
 * have any data.
 */
static bool begins_container(const unsigned char *p)
{
	return number(p, 4) == MAGIC && number(p + 4, 2) == 1 && number(p + 6, 2) == CONTAINER_HEAD;
}

static void take_image(struct pr_fatbin_walk *w)
{
	unsigned kind = (unsigned)number(w->head, 2), arch = (unsigned)number(w->head + 28, 4);
	uint64_t head = number(w->head + 4, 4), size = number(w->head + 8, 8);

	if (head < IMAGE_HEAD || head > LONGEST_HEAD || head > w->left || size > w->left - head) {
		w->left = 0; /* these bytes looked like a fat binary and are none */
		return;
	}
	if (kind == KIND_PTX || kind == KIND_ELF)
		count(w->to, arch, kind == KIND_PTX, 1);
	w->left -= head + size;
	w->skip = head + size - IMAGE_HEAD;
}

/* Returns how many bytes of head the next step needs. */
static size_t wanted(const struct pr_fatbin_walk *w)
{
	if (w->left)
		return IMAGE_HEAD;
	return w->have >= 8 && begins_container(w->head) ? CONTAINER_HEAD : 8;
}

static void step(struct pr_fatbin_walk *w)
{
	if (w->left) {
		take_image(w);
	} else if (begins_container(w->head)) {
		if (w->have < CONTAINER_HEAD)
			return;
		w->left = number(w->head + 8, 8);
		if (w->left < IMAGE_HEAD || w->left > INT64_MAX)
			w->left = 0;
		else
			w->to->containers++;
	}
	w->have = 0;
}

void pr_fatbin_feed(struct pr_fatbin_walk *w, const void *data, size_t n)
{
	const unsigned char *p = data, *end = p + n;

	while (p < end) {
		size_t k;

		if (w->skip) {
			k = GT_MIN(w->skip, (size_t)(end - p));
			w->skip -= k;
			p += k;
			continue;
		}
		/* skips data outside containers quickly */
		while (!w->left && !w->have && end - p >= 8 && !begins_container(p))
			p += 8;
		k = GT_MIN(wanted(w) - w->have, (size_t)(end - p));
		memcpy(w->head + w->have, p, k);
		w->have += k;
		p += k;
		if (w->have >= wanted(w))
			step(w);
		if (w->left && w->left < IMAGE_HEAD) { /* padding after the last image */
			w->skip += w->left;
			w->left = 0;
		}
	}
}

void pr_fatbin_add(struct pr_fatbin *to, const struct pr_fatbin *from)
{
	for (size_t i = 0; i < from->n_code; i++)
		count(to, from->code[i].arch, from->code[i].ptx, from->code[i].n);
	to->containers += from->containers;
}

/* Most containers must contain the code: a few special kernels for one newer GPU do not make the library run on it. */
static bool is_main(const struct pr_fatbin *f, size_t i)
{
	return f->code[i].n * 2 >= f->containers;
}

static int by_arch(const void *a, const void *b)
{
	const struct pr_fatbin_code *x = a, *y = b;

	return x->arch != y->arch ? (x->arch > y->arch) - (x->arch < y->arch) : x->ptx - y->ptx;
}

char *pr_fatbin_list(const struct pr_fatbin *f)
{
	struct pr_fatbin sorted = *f;
	struct gt_buf b = {0};

	qsort(sorted.code, sorted.n_code, sizeof(*sorted.code), by_arch);
	for (size_t i = 0; i < sorted.n_code; i++)
		if (is_main(&sorted, i))
			gt_buf_printf(&b, "%s%u%s", b.len ? "," : "", sorted.code[i].arch,
				      sorted.code[i].ptx ? "+PTX" : "");
	return b.len ? gt_buf_take(&b) : gt_xstrdup("");
}

bool pr_fatbin_runs(const struct pr_fatbin *f, unsigned arch)
{
	for (size_t i = 0; i < f->n_code; i++)
		if (is_main(f, i) && f->code[i].arch <= arch && (f->code[i].ptx || f->code[i].arch / 10 == arch / 10))
			return true;
	return false;
}

int pr_fatbin_read_fd(int fd, struct pr_fatbin *ret)
{
	gt_autofree unsigned char *buf = gt_xcalloc(1, 4096);
	struct pr_fatbin f = {0};
	struct pr_fatbin_walk w = {.to = &f};
	uint64_t offset = 0, size = 0, jump;
	int r = pr_elf_section_fd(fd, ".nv_fatbin", &offset, &size, NULL);

	while (r >= 0 && size) {
		size_t part = w.left || w.have ? 64 : 4096; /* images are long: read only their headers */
		ssize_t k = pread(fd, buf, GT_MIN(part, size), (off_t)offset);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return k ? -errno : -EINVAL;
		pr_fatbin_feed(&w, buf, (size_t)k);
		offset += (uint64_t)k;
		size -= (uint64_t)k;
		jump = GT_MIN(w.skip, size);
		offset += jump;
		size -= jump;
		w.skip -= jump;
	}
	if (r >= 0)
		*ret = f;
	return r;
}
