/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/parse.h"
#include "lib/text.h"
#include "probe/loader/elf.h"

#define MOST_HEADERS   4096  /* limit for program and section headers; real files have a few dozen */
#define MOST_DYNAMIC   65536 /* limit in entries */
#define MOST_NEEDED    4096
#define LONGEST_STRING 65536
#define LONGEST_NOTE   65536

struct reader {
	pr_elf_source *source;
	void *arg;
	const char *name;
	struct gt_err *err;
	bool wide, swap;
	Elf64_Phdr *ph; /* converted to 64 bits */
	size_t n_ph;
	uint64_t shoff;
	unsigned shentsize, shnum, shstrndx;
};

static int broken(struct reader *r, const char *what)
{
	return gt_fail(r->err, EINVAL, "%s is a malformed ELF file: %s", r->name, what);
}

static uint64_t number(const struct reader *r, const unsigned char *p, size_t size)
{
	uint64_t v = 0;

	for (size_t i = 0; i < size; i++)
		v |= (uint64_t)p[r->swap ? size - 1 - i : i] << 8 * i;
	return v;
}
/* Reads a field of a structure that has a 32-bit and a 64-bit layout. */
#define FIELD(r, buf, type, member)                                                                                    \
	((r)->wide ? number(r, (buf) + offsetof(Elf64_##type, member), sizeof(((Elf64_##type *)0)->member))            \
		   : number(r, (buf) + offsetof(Elf32_##type, member), sizeof(((Elf32_##type *)0)->member)))
#define SIZE(r, type) ((r)->wide ? sizeof(Elf64_##type) : sizeof(Elf32_##type))

/* ---- headers -------------------------------------------------------------------------------------------------- */

static int read_segments(struct reader *r, uint64_t offset)
{
	size_t size = SIZE(r, Phdr);
	gt_autofree unsigned char *all = gt_xcalloc(GT_MAX(r->n_ph, 1), size);

	if (r->source(r->arg, offset, all, r->n_ph * size) < 0)
		return broken(r, "its program headers are past the end of the file");
	r->ph = gt_xcalloc(GT_MAX(r->n_ph, 1), sizeof(*r->ph));
	for (size_t i = 0; i < r->n_ph; i++) {
		const unsigned char *p = all + i * size;

		r->ph[i].p_type = (uint32_t)FIELD(r, p, Phdr, p_type);
		r->ph[i].p_offset = FIELD(r, p, Phdr, p_offset);
		r->ph[i].p_vaddr = FIELD(r, p, Phdr, p_vaddr);
		r->ph[i].p_filesz = FIELD(r, p, Phdr, p_filesz);
	}
	return 0;
}

static int read_header(struct reader *r, struct pr_elf *e)
{
	unsigned char h[sizeof(Elf64_Ehdr)] = {0};
	uint64_t phoff, phentsize;

	if (r->source(r->arg, 0, h, EI_NIDENT) < 0 || memcmp(h, ELFMAG, SELFMAG))
		return gt_fail(r->err, ENOEXEC, "%s is not an ELF file", r->name);
	if ((h[EI_CLASS] != ELFCLASS64 && h[EI_CLASS] != ELFCLASS32) ||
	    (h[EI_DATA] != ELFDATA2LSB && h[EI_DATA] != ELFDATA2MSB))
		return broken(r, "it has neither 32 nor 64 bits");
	r->wide = h[EI_CLASS] == ELFCLASS64;
	r->swap = h[EI_DATA] == ELFDATA2MSB; /* number() reads from the low byte */
	if (r->source(r->arg, 0, h, SIZE(r, Ehdr)) < 0)
		return broken(r, "its header is truncated");
	e->bits = r->wide ? 64 : 32;
	e->machine = (unsigned)FIELD(r, h, Ehdr, e_machine);
	e->type = (unsigned)FIELD(r, h, Ehdr, e_type);
	phoff = FIELD(r, h, Ehdr, e_phoff);
	phentsize = FIELD(r, h, Ehdr, e_phentsize);
	r->n_ph = (size_t)FIELD(r, h, Ehdr, e_phnum);
	r->shoff = FIELD(r, h, Ehdr, e_shoff);
	r->shentsize = (unsigned)FIELD(r, h, Ehdr, e_shentsize);
	r->shnum = (unsigned)FIELD(r, h, Ehdr, e_shnum);
	r->shstrndx = (unsigned)FIELD(r, h, Ehdr, e_shstrndx);
	if (r->n_ph > MOST_HEADERS || (r->n_ph && phentsize != SIZE(r, Phdr)))
		return broken(r, "its program headers have an impossible size");
	return read_segments(r, phoff);
}

static const Elf64_Phdr *segment(const struct reader *r, uint32_t type)
{
	for (size_t i = 0; i < r->n_ph; i++)
		if (r->ph[i].p_type == type)
			return &r->ph[i];
	return NULL;
}

/* Returns the file offset of an address, UINT64_MAX if it is not in the file. */
static uint64_t file_offset(const struct reader *r, uint64_t vaddr)
{
	for (size_t i = 0; i < r->n_ph; i++) {
		const Elf64_Phdr *p = &r->ph[i];

		if (p->p_type == PT_LOAD && vaddr >= p->p_vaddr && vaddr - p->p_vaddr < p->p_filesz)
			return p->p_offset + (vaddr - p->p_vaddr);
	}
	return UINT64_MAX;
}

/* Returns the string at an offset of the file; NULL if it has no end in the file or is longer than LONGEST_STRING. */
static char *string_at(struct reader *r, uint64_t offset)
{
	gt_auto_buf b = {0};
	char c[1024]; /* read in small steps: names are short, but a hostile file may have a thousand of 64 KiB */
	size_t step = sizeof(c);

	while (b.len < LONGEST_STRING && step) {
		size_t n;

		if (r->source(r->arg, offset + b.len, c, step) < 0) { /* smaller steps near the end of the file */
			step /= 2;
			continue;
		}
		n = strnlen(c, step);
		gt_buf_add(&b, c, n);
		if (n < step)
			return gt_buf_take(&b);
	}
	return NULL;
}

/* ---- the dynamic section -------------------------------------------------------------------------------------- */

static int take_string(struct reader *r, struct pr_elf *e, uint64_t tag, uint64_t strtab, uint64_t strsz,
		       uint64_t value)
{
	char **to = tag == DT_SONAME    ? &e->soname
		    : tag == DT_RPATH   ? &e->rpath
		    : tag == DT_RUNPATH ? &e->runpath
					: NULL;
	char *s;

	if (value >= strsz)
		return broken(r, "a name is past the end of its string table");
	if (to ? *to != NULL : e->needed.n >= MOST_NEEDED) /* uses the first one only; a hostile file may have 65,000 */
		return 0;
	s = string_at(r, strtab + value);
	if (!s)
		return broken(r, "a name is not terminated");
	if (to)
		*to = s;
	else
		gt_strv_take(&e->needed, s);
	return 0;
}

struct entry {
	uint64_t tag, value;
};

static int read_entries(struct reader *r, const Elf64_Phdr *p, struct entry **ret, size_t *ret_n)
{
	size_t size = SIZE(r, Dyn), most = p->p_filesz / size, n = 0;
	gt_autofree unsigned char *all = NULL;
	struct entry *list;

	if (most > MOST_DYNAMIC)
		return broken(r, "its dynamic section is too long");
	all = gt_xcalloc(GT_MAX(most, 1), size);
	if (r->source(r->arg, p->p_offset, all, most * size) < 0)
		return broken(r, "its dynamic section is past the end of the file");
	list = gt_xcalloc(GT_MAX(most, 1), sizeof(*list));
	for (; n < most; n++) {
		list[n] = (struct entry){FIELD(r, all + n * size, Dyn, d_tag), FIELD(r, all + n * size, Dyn, d_un)};
		if (list[n].tag == DT_NULL)
			break;
	}
	*ret = list;
	*ret_n = n;
	return 0;
}

static int read_dynamic(struct reader *r, struct pr_elf *e)
{
	const Elf64_Phdr *p = segment(r, PT_DYNAMIC);
	gt_autofree struct entry *list = NULL;
	uint64_t strtab = UINT64_MAX, strsz = 0;
	size_t n = 0;
	int res = p ? read_entries(r, p, &list, &n) : 0;

	e->dynamic = p != NULL;
	for (size_t i = 0; i < n; i++) {
		if (list[i].tag == DT_STRTAB)
			strtab = file_offset(r, list[i].value);
		else if (list[i].tag == DT_STRSZ)
			strsz = list[i].value;
		else if (list[i].tag == DT_FLAGS_1)
			e->nodeflib = list[i].value & DF_1_NODEFLIB;
	}
	for (size_t i = 0; i < n && !res; i++) {
		uint64_t tag = list[i].tag;

		if (tag != DT_NEEDED && tag != DT_SONAME && tag != DT_RPATH && tag != DT_RUNPATH)
			continue;
		if (strtab == UINT64_MAX)
			return broken(r, "its string table is not in the file");
		res = take_string(r, e, tag, strtab, strsz, list[i].value);
	}
	if (e->runpath) { /* the loader ignores RPATH if there is a RUNPATH */
		free(e->rpath);
		e->rpath = NULL;
	}
	return res;
}

/* ---- the note ------------------------------------------------------------------------------------------------- */

/* Returns the JSON object in the section. The section is one note by NVIDIA with a JSON description; its header and
 * name contain no brace. */
static char *object_in(const char *data, size_t n)
{
	const char *open = memchr(data, '{', n), *close = open ? memrchr(open, '}', n - (size_t)(open - data)) : NULL;

	return close ? gt_xstrndup(open, (size_t)(close - open) + 1) : NULL;
}

/* Finds a section by name. Returns 0 or -ENOENT. A stripped section table is not an error. */
static int find_section(struct reader *r, const char *want, uint64_t *ret_offset, uint64_t *ret_size)
{
	unsigned char s[sizeof(Elf64_Shdr)];
	uint64_t names;

	if (!r->shnum || r->shnum > MOST_HEADERS || r->shentsize != SIZE(r, Shdr) || r->shstrndx >= r->shnum ||
	    r->source(r->arg, r->shoff + (uint64_t)r->shstrndx * r->shentsize, s, SIZE(r, Shdr)) < 0)
		return -ENOENT;
	names = FIELD(r, s, Shdr, sh_offset);
	for (unsigned i = 0; i < r->shnum; i++) {
		gt_autofree char *name = NULL;

		if (r->source(r->arg, r->shoff + (uint64_t)i * r->shentsize, s, SIZE(r, Shdr)) < 0)
			return -ENOENT;
		name = string_at(r, names + FIELD(r, s, Shdr, sh_name));
		if (!gt_streq(name, want))
			continue;
		*ret_offset = FIELD(r, s, Shdr, sh_offset);
		*ret_size = FIELD(r, s, Shdr, sh_size);
		return 0;
	}
	return -ENOENT;
}

static void read_note(struct reader *r, struct pr_elf *e)
{
	gt_autofree char *data = NULL;
	uint64_t offset, size;

	if (find_section(r, ".note.cuda.fwd_compatibility", &offset, &size) < 0 || size > LONGEST_NOTE)
		return;
	data = gt_xcalloc(size + 1, 1);
	if (r->source(r->arg, offset, data, size) >= 0)
		e->fwd_compat = object_in(data, size);
}

/* ---- the complete file --------------------------------------------------------------------------------------- */

int pr_elf_read(pr_elf_source *source, void *arg, const char *name, struct pr_elf *ret, struct gt_err *err)
{
	struct reader r = {.source = source, .arg = arg, .name = name, .err = err};
	struct pr_elf e = {0};
	const Elf64_Phdr *p;
	int res = read_header(&r, &e);

	if (!res && (p = segment(&r, PT_INTERP))) {
		e.interp = string_at(&r, p->p_offset);
		if (!e.interp)
			res = broken(&r, "its interpreter has no name");
	}
	if (!res)
		res = read_dynamic(&r, &e);
	if (!res && gt_streq(e.soname, "libcuda.so.1"))
		read_note(&r, &e);
	free(r.ph);
	if (res) {
		pr_elf_clear(&e);
		return res;
	}
	*ret = e;
	return 0;
}

static int from_fd(void *arg, uint64_t offset, void *buf, size_t n)
{
	size_t got = 0;

	while (got < n) {
		ssize_t k = offset + got > INT64_MAX
				    ? 0
				    : pread(*(int *)arg, (char *)buf + got, n - got, (off_t)(offset + got));

		if (k < 0 && errno != EINTR)
			return -errno;
		if (!k)
			return -ENODATA;
		got += k > 0 ? (size_t)k : 0;
	}
	return 0;
}

int pr_elf_read_fd(int fd, const char *name, struct pr_elf *ret, struct gt_err *err)
{
	return pr_elf_read(from_fd, &fd, name, ret, err);
}

int pr_elf_section_fd(int fd, const char *section, uint64_t *ret_offset, uint64_t *ret_size, struct gt_err *err)
{
	struct reader r = {.source = from_fd, .arg = &fd, .name = section, .err = err};
	struct pr_elf e = {0};
	int res = read_header(&r, &e);

	if (!res)
		res = find_section(&r, section, ret_offset, ret_size);
	free(r.ph);
	return res;
}

void pr_elf_clear(struct pr_elf *e)
{
	free(e->interp);
	free(e->soname);
	free(e->rpath);
	free(e->runpath);
	free(e->fwd_compat);
	gt_strv_clear(&e->needed);
	*e = (struct pr_elf){0};
}

/* ---- as text -------------------------------------------------------------------------------------------------- */

static void put(struct gt_buf *b, const char *key, const char *value)
{
	if (!value)
		return;
	gt_buf_printf(b, "%s ", key);
	for (; *value; value++) /* control characters become '?', so that the value stays on one line */
		gt_buf_add(b, (unsigned char)*value < ' ' || *value == 0x7f ? "?" : value, 1);
	gt_buf_puts(b, "\n");
}

char *pr_elf_text(const struct pr_elf *e)
{
	struct gt_buf b = {0};

	gt_buf_printf(&b, "elf%u machine %u type %u%s%s\n", e->bits, e->machine, e->type, e->dynamic ? " dynamic" : "",
		      e->nodeflib ? " nodeflib" : "");
	put(&b, "interp", e->interp);
	put(&b, "soname", e->soname);
	put(&b, "rpath", e->rpath);
	put(&b, "runpath", e->runpath);
	for (size_t i = 0; i < e->needed.n; i++)
		put(&b, "needed", e->needed.v[i]);
	put(&b, "fwd_compat", e->fwd_compat);
	return gt_buf_take(&b);
}

static int take_first(char *line, struct pr_elf *e)
{
	char *rest = line, *word = gt_cut(&rest, " ");
	unsigned *number = NULL;
	uint64_t v;

	if (!gt_streq(word, "elf64") && !gt_streq(word, "elf32"))
		return -EINVAL;
	e->bits = word[3] == '6' ? 64 : 32;
	while ((word = gt_cut(&rest, " "))) {
		if (number) {
			if (gt_parse_u64(word, &v) < 0 || v > 65535)
				return -EINVAL;
			*number = (unsigned)v;
			number = NULL;
		} else if (!strcmp(word, "machine")) {
			number = &e->machine;
		} else if (!strcmp(word, "type")) {
			number = &e->type;
		} else if (!strcmp(word, "dynamic")) {
			e->dynamic = true;
		} else if (!strcmp(word, "nodeflib")) {
			e->nodeflib = true;
		} else {
			return -EINVAL;
		}
	}
	return number ? -EINVAL : 0;
}

static int take_line(char *line, struct pr_elf *e)
{
	struct {
		const char *key;
		char **to;
	} keys[] = {{"interp", &e->interp},
		    {"soname", &e->soname},
		    {"rpath", &e->rpath},
		    {"runpath", &e->runpath},
		    {"fwd_compat", &e->fwd_compat}};
	char *value = strchr(line, ' ');

	if (!value)
		return -EINVAL;
	*value++ = '\0';
	if (!strcmp(line, "needed") && e->needed.n < MOST_NEEDED) {
		gt_strv_add(&e->needed, value);
		return 0;
	}
	for (size_t i = 0; i < GT_ARRAY_SIZE(keys); i++)
		if (!strcmp(line, keys[i].key) && !*keys[i].to) {
			*keys[i].to = gt_xstrdup(value);
			return 0;
		}
	return -EINVAL;
}

int pr_elf_parse_text(const char *text, struct pr_elf *ret)
{
	gt_autofree char *copy = gt_xstrdup(text);
	struct pr_elf e = {0};
	char *rest = copy, *line = gt_cut(&rest, "\n");
	int r = line ? take_first(line, &e) : -EINVAL;

	while (!r && (line = gt_cut(&rest, "\n")))
		r = take_line(line, &e);
	if (r < 0) {
		pr_elf_clear(&e);
		return r;
	}
	*ret = e;
	return 0;
}
