/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_ELF_H
#define PR_ELF_H
/*
 * The parts of an ELF file that the loader simulation needs: class and machine, and the dynamic section. For a cuda-compat
 * libcuda also the note that lists its drivers. The file is read, never mapped, and every offset in it is checked.
 */
#include "lib/err.h"
#include "lib/util.h"

struct pr_elf {
	unsigned bits, machine, type;            /* bits: 32 or 64; machine: e_machine; type: e_type */
	bool dynamic;                            /* has a dynamic section */
	bool nodeflib;                           /* DF_1_NODEFLIB: neither the cache nor the default directories are searched */
	char *interp, *soname, *rpath, *runpath; /* NULL: none */
	struct gt_strv needed;
	char *fwd_compat; /* text of the note .note.cuda.fwd_compatibility, NULL if there is none */
};

/* Reads n bytes at offset into buf. Returns 0 or a negative errno (-ENODATA past the end). */
typedef int pr_elf_source(void *arg, uint64_t offset, void *buf, size_t n);

/* Reads an ELF file through source. name: for error messages. Returns -ENOEXEC if it is not an ELF file and -EINVAL if
 * it is malformed. */
int pr_elf_read(pr_elf_source *source, void *arg, const char *name, struct pr_elf *ret, struct gt_err *err);
int pr_elf_read_fd(int fd, const char *name, struct pr_elf *ret, struct gt_err *err);
/* Finds a section by name and returns its offset and size in the file. Returns -ENOENT if there is none; -ENOEXEC,
 * -EINVAL as above. */
int pr_elf_section_fd(int fd, const char *section, uint64_t *ret_offset, uint64_t *ret_size, struct gt_err *err);
/* Formats the fields as text for a captured host, one "key value" per line. pr_elf_parse_text() reads it (-EINVAL for
 * other text). */
char *pr_elf_text(const struct pr_elf *e);
int pr_elf_parse_text(const char *text, struct pr_elf *ret);
void pr_elf_clear(struct pr_elf *e);
/* Returns whether b has the class and machine of a, so that a program like a can load it. */
static inline bool pr_elf_fits(const struct pr_elf *a, const struct pr_elf *b)
{
	return a->bits == b->bits && a->machine == b->machine;
}
#endif
