/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format of /etc/ld.so.cache, "glibc-ld.so.cache1.1" (glibc: sysdeps/generic/dl-cache.h): a header of 48 bytes, entries
 * of 24 bytes, strings. Offsets are relative to this header, which a header of the older format may precede.
 */
#include <string.h>
#include "probe/loader/ldcache.h"

#define MAGIC	"glibc-ld.so.cache1.1"
#define HEADER	48
#define ENTRY	24

static uint32_t u32(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v)); /* the cache has the byte order of its host; a foreign one is not readable */
	return v;
}

/* Returns the string at an offset, NULL if it does not end inside the data. */
static const char *string_at(const unsigned char *base, size_t len, uint32_t offset)
{
	return offset < len && memchr(base + offset, '\0', len - offset) ? (const char *)base + offset : NULL;
}

/* Returns whether the entry is a 64-bit ELF file of this architecture. A host may also list 32-bit copies. */
static bool is_native(uint32_t flags)
{
#if defined(__x86_64__)
	return (flags & 0xffff) == 0x0303;
#elif defined(__aarch64__)
	return (flags & 0xffff) == 0x0a03;
#else
	return (flags & 0xff) == 0x03;
#endif
}

int pr_ldcache_parse(const char *data, size_t len, pr_ldcache_fn *fn, void *arg)
{
	const unsigned char *base = memmem(data, len, MAGIC, strlen(MAGIC));
	size_t left = base ? len - (size_t)(base - (const unsigned char *)data) : 0;
	uint32_t n;

	if (left < HEADER)
		return -EINVAL;
	n = u32(base + 20);
	if (n > (left - HEADER) / ENTRY)
		return -EINVAL;
	for (uint32_t i = 0; i < n; i++) {
		const unsigned char *e = base + HEADER + (size_t)i * ENTRY;
		const char *soname = string_at(base, left, u32(e + 4)), *path = string_at(base, left, u32(e + 8));

		if (!soname || !path)
			return -EINVAL;
		if (is_native(u32(e)))
			fn(arg, soname, path);
	}
	return 0;
}
