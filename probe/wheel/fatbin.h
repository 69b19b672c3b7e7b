/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_FATBIN_H
#define PR_FATBIN_H
/*
 * For which compute capabilities a library holds GPU code, from the headers of its fat binaries (section .nv_fatbin):
 * containers, each a head of 16 bytes and a row of images, each image with a head of its own that says whether it is
 * machine code or PTX and for which capability. The layout is nvcc's since CUDA 4; `cuobjdump --list-elf` says the
 * same.
 *
 * The walker is fed with bytes in order, so that it works on a stream (a library within a wheel) as on a file. What it
 * does not understand it passes over; nothing of an image is looked at.
 */
#include "lib/util.h"

#define PR_FATBIN_KINDS 64

struct pr_fatbin {
	struct pr_fatbin_code {
		unsigned arch; /* capability x 10 */
		bool ptx;      /* PTX, which newer cards can compile; else machine code */
		size_t n;      /* images */
	} code[PR_FATBIN_KINDS];
	size_t n_code;
	size_t containers;
};

struct pr_fatbin_walk {
	struct pr_fatbin *to;
	unsigned char head[32]; /* of the container or image that is being read */
	size_t have;
	uint64_t skip; /* bytes that may be passed over unseen */
	uint64_t left; /* of the current container; 0: between containers */
};

/* Take n bytes. Afterwards walk->skip is how many of the following bytes the caller may leave out, by taking what it
 * left out off that number. Offsets are counted from the first byte ever fed, which must be aligned to 8 in its file.
 */
void pr_fatbin_feed(struct pr_fatbin_walk *walk, const void *data, size_t n);
/* Add what `from` holds to `to`. */
void pr_fatbin_add(struct pr_fatbin *to, const struct pr_fatbin *from);
/* "75,80,86,90": machine code that at least half of the containers hold, PTX as "90+PTX"; sorted. The caller frees it.
 * "" if there is none. */
char *pr_fatbin_list(const struct pr_fatbin *f);
/* Does a card of that capability run it: machine code of its major with a minor not above, or PTX not above it. */
bool pr_fatbin_runs(const struct pr_fatbin *f, unsigned arch);
/* The section .nv_fatbin of the ELF file at fd. -ENOENT: it has none; -ENOEXEC, -EINVAL as pr_elf_read. */
int pr_fatbin_read_fd(int fd, struct pr_fatbin *ret);
#endif
