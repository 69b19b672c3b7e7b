/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_FATBIN_H
#define PR_FATBIN_H
/*
 * Finds the compute capabilities for which a library contains GPU code, from the headers of its fat binaries (section
 * .nv_fatbin). A container has a header of 16 bytes and a sequence of images. The header of an image gives its
 * capability and whether it is machine code or PTX. nvcc has used this layout since CUDA 4. `cuobjdump --list-elf`
 * gives the same result.
 *
 * The parser takes bytes in order, so it works on a stream (a library inside a wheel) and on a file. It skips unknown
 * data and never reads the body of an image.
 */
#include "lib/util.h"

#define PR_FATBIN_KINDS 64

struct pr_fatbin {
	struct pr_fatbin_code {
		unsigned arch; /* capability x 10 */
		bool ptx;      /* PTX, which newer GPUs can compile; else machine code */
		size_t n;      /* number of images */
	} code[PR_FATBIN_KINDS];
	size_t n_code;
	size_t containers;
};

struct pr_fatbin_walk {
	struct pr_fatbin *to;
	unsigned char head[32]; /* header of the container or image that is being read */
	size_t have;
	uint64_t skip; /* bytes that the caller may skip */
	uint64_t left; /* bytes left in the current container; 0: between containers */
};

/* Parses n bytes. Afterwards the caller may skip up to walk->skip of the following bytes, and subtracts the skipped
 * count from walk->skip. Offsets count from the first byte ever passed in, which must be 8-byte aligned in its file. */
void pr_fatbin_feed(struct pr_fatbin_walk *walk, const void *data, size_t n);
/* Adds the counts of `from` to `to`. */
void pr_fatbin_add(struct pr_fatbin *to, const struct pr_fatbin *from);
/* Formats the capabilities, sorted: "75,80,86,90" for machine code in at least half of the containers, "90+PTX" for
 * PTX. "" if there is none. The caller frees it. */
char *pr_fatbin_list(const struct pr_fatbin *f);
/* Returns whether a GPU of capability arch runs the code: machine code of its major with a minor not above, or PTX not
 * above arch. */
bool pr_fatbin_runs(const struct pr_fatbin *f, unsigned arch);
/* Reads the section .nv_fatbin of the ELF file at fd. Returns -ENOENT if there is none; -ENOEXEC, -EINVAL as pr_elf_read(). */
int pr_fatbin_read_fd(int fd, struct pr_fatbin *ret);
#endif
