/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_ELF_H
#define PR_ELF_H
/*
 * What the loader and we need of an ELF file: its class and machine, the dynamic section, and the note in which a
 * cuda-compat libcuda says which drivers it lifts. Nothing is mapped and nothing is believed: every offset of the file
 * is checked.
 */
#include "lib/err.h"
#include "lib/util.h"

struct pr_elf {
	unsigned bits, machine, type;            /* 32 or 64; e_machine; e_type */
	bool dynamic;                            /* has a dynamic section */
	bool nodeflib;                           /* DF_1_NODEFLIB: neither cache nor default directories */
	char *interp, *soname, *rpath, *runpath; /* NULL: none */
	struct gt_strv needed;
	char *fwd_compat; /* text of the note .note.cuda.fwd_compatibility, NULL if there is none */
};

/* n bytes at offset into buf: 0, or a negative errno (-ENODATA behind the end). */
typedef int pr_elf_source(void *arg, uint64_t offset, void *buf, size_t n);

/* Read it through source; name is for sentences. -ENOEXEC: not an ELF file; -EINVAL: a broken one. */
int pr_elf_read(pr_elf_source *source, void *arg, const char *name, struct pr_elf *ret, struct gt_err *err);
int pr_elf_read_fd(int fd, const char *name, struct pr_elf *ret, struct gt_err *err);
/* Where the section of that name lies in the file. -ENOENT: it has none; -ENOEXEC, -EINVAL as above. */
int pr_elf_section_fd(int fd, const char *section, uint64_t *ret_offset, uint64_t *ret_size, struct gt_err *err);
/* As text, one "key value" a line, for a captured host; and back (-EINVAL on anything else). */
char *pr_elf_text(const struct pr_elf *e);
int pr_elf_parse_text(const char *text, struct pr_elf *ret);
void pr_elf_clear(struct pr_elf *e);
/* Could a program of a's kind load b? */
static inline bool pr_elf_fits(const struct pr_elf *a, const struct pr_elf *b)
{
	return a->bits == b->bits && a->machine == b->machine;
}
#endif
