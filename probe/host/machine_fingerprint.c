/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "probe/host/machine_fingerprint.h"

#define SMBIOS_MAX	(1u << 20)
#define MEMORY_DEVICE	17 /* type of the structure, SMBIOS 3.7, 7.18 */

char *pr_gpu_uuid(struct gt_fsroot *fs, const struct pr_gpu *gpu)
{
	gt_autofree char *path = gt_xasprintf("/proc/driver/nvidia/gpus/%s/information", gpu->pci->address), *text = NULL;
	const char *at = gt_fs_read_prefix(fs, path, 4096, &text, NULL) < 0 ? NULL : strstr(text, "GPU UUID:");
	size_t n;

	if (!at)
		return NULL;
	at += strlen("GPU UUID:");
	at += strspn(at, " \t");
	n = strcspn(at, " \t\r\n");
	return memchr(at, '?', n) ? NULL : gt_xstrndup(at, n); /* "GPU-????????-…": no program has used the GPU yet */
}

/* ---- memory ---- */

/* Returns the nth string after a structure, from 1; "" if there is none. */
static const char *string_of(const unsigned char *at, const unsigned char *end, unsigned nth)
{
	for (; nth > 1 && at < end && *at; nth--) {
		at = memchr(at, 0, (size_t)(end - at));
		if (!at)
			return "";
		at++;
	}
	return nth && at < end && memchr(at, 0, (size_t)(end - at)) ? (const char *)at : "";
}

static unsigned word_at(const unsigned char *s, size_t len, size_t at)
{
	return at + 2 <= len ? s[at] | (unsigned)s[at + 1] << 8 : 0;
}

static void add_module(const unsigned char *s, size_t len, const unsigned char *end, struct gt_buf *ret)
{
	unsigned size = word_at(s, len, 0x0c);

	if (!size) /* an empty slot */
		return;
	gt_buf_printf(ret, "%s: %u %u:%u MB, type %u, %u MT/s\n", string_of(s + len, end, len > 0x10 ? s[0x10] : 0), size,
		      word_at(s, len, 0x1c), word_at(s, len, 0x1e), len > 0x12 ? s[0x12] : 0, word_at(s, len, 0x20));
}

void pr_memory_modules(const unsigned char *table, size_t len, struct gt_buf *ret)
{
	const unsigned char *end = table + len;

	for (const unsigned char *s = table; end - s >= 4 && s[1] >= 4 && s[1] <= end - s;) {
		const unsigned char *next = s + s[1];

		if (s[0] == MEMORY_DEVICE)
			add_module(s, s[1], end, ret);
		while (end - next >= 2 && (next[0] || next[1])) /* skip its strings, which end with two zero bytes */
			next++;
		s = next + GT_MIN((ptrdiff_t)2, end - next);
	}
}

/* ---- the complete fingerprint ---- */

static void add_hash(json_t *to, const char *key, const char *text, uint64_t salt)
{
	if (text && *text)
		json_object_set_new(to, key, json_sprintf("%016lx", gt_hash64(text, strlen(text), salt)));
}

/* Returns whether the UUID is a placeholder of boards without a UUID. */
static bool is_filler(const char *uuid)
{
	static const char ami[] = "03000200-0400-0500-0006-000700080009";

	return !strcasecmp(uuid, ami) || !uuid[strspn(uuid, "0-")] || !uuid[strspn(uuid, "fF-")];
}

static void add_system(struct gt_fsroot *fs, uint64_t salt, json_t *marks)
{
	gt_autofree char *uuid = NULL, *table = NULL;
	gt_auto_buf modules = { 0 };
	size_t len = 0;

	if (gt_fs_read_line(fs, "/sys/class/dmi/id/product_uuid", &uuid) == 0 && !is_filler(uuid))
		add_hash(marks, "system", uuid, salt);
	if (gt_fs_read_prefix(fs, "/sys/firmware/dmi/tables/DMI", SMBIOS_MAX, &table, &len) == 0)
		pr_memory_modules((const unsigned char *)table, len, &modules);
	add_hash(marks, "memory", modules.s, salt);
}

json_t *pr_fingerprint(struct gt_fsroot *fs, const struct pr_host *h)
{
	const char *id = gt_json_get_str(h->identity_parts, "machine_id_hash", NULL);
	/* the machine id itself is never stored; without it an address cannot be guessed from its hash */
	gt_autofree char *secret = NULL;
	uint64_t salt = gt_fs_read_line(fs, "/etc/machine-id", &secret) < 0 ? 1 : gt_hash64(secret, strlen(secret), 1);
	json_t *marks = json_object(), *gpus = json_object(), *ports = json_object();

	if (id)
		json_object_set_new(marks, "machine_id", gt_json_str(id));
	add_system(fs, salt, marks);
	for (size_t i = 0; i < h->n_gpu; i++) {
		gt_autofree char *uuid = pr_gpu_uuid(fs, &h->gpu[i]);

		add_hash(gpus, h->gpu[i].pci->address, uuid, salt);
	}
	for (size_t i = 0; i < h->n_net; i++) {
		gt_autofree char *path = gt_xasprintf("/sys/class/net/%s/address", h->net[i].name), *mac = NULL;

		if (h->net[i].pci && gt_fs_read_line(fs, path, &mac) == 0 && mac[strspn(mac, "0:")])
			add_hash(ports, h->net[i].pci, mac, salt);
	}
	json_object_set_new(marks, "gpus", gpus);
	json_object_set_new(marks, "ports", ports);
	return marks;
}

/* ---- comparison ---- */

struct tally {
	size_t equal, different;
	const char *which; /* PCI address of a differing device */
};

static struct tally compare_devices(const json_t *a, const json_t *b, const char *key)
{
	json_t *of_a = json_object_get(a, key), *of_b = json_object_get(b, key), *v;
	struct tally t = { 0, 0, NULL };
	const char *address;

	json_object_foreach(of_a, address, v) {
		const json_t *other = json_object_get(of_b, address);

		if (!json_is_string(v) || !json_is_string(other))
			continue;
		if (json_equal(v, other)) {
			t.equal++;
		} else {
			t.different++;
			t.which = address;
		}
	}
	return t;
}

/* Returns 1 if equal, -1 if different, 0 if one side lacks the mark. */
static int compare_one(const json_t *a, const json_t *b, const char *key)
{
	const char *x = gt_json_get_str(a, key, NULL), *y = gt_json_get_str(b, key, NULL);

	return !x || !y ? 0 : !strcmp(x, y) ? 1 : -1;
}

void pr_fingerprint_difference(const json_t *a, const json_t *b, struct gt_buf *what)
{
	static const struct {
		const char *key, *name;
	} one[] = { { "machine_id", "machine id" }, { "system", "UUID of the system" }, { "memory", "memory modules" } };
	struct tally gpus = compare_devices(a, b, "gpus"), ports = compare_devices(a, b, "ports");

	for (size_t i = 0; i < GT_ARRAY_SIZE(one); i++)
		if (compare_one(a, b, one[i].key) < 0)
			gt_buf_printf(what, "%s%s", what->len ? ", " : "", one[i].name);
	if (gpus.different)
		gt_buf_printf(what, "%sUUID of GPU %.32s", what->len ? ", " : "", gpus.which);
	if (ports.different && !ports.equal) /* a bond gives its ports one address, so one equal address is enough */
		gt_buf_printf(what, "%saddress of network port %.32s", what->len ? ", " : "", ports.which);
}

bool pr_fingerprint_shared(const json_t *a, const json_t *b)
{
	return compare_one(a, b, "machine_id") > 0 || compare_one(a, b, "system") > 0 || compare_devices(a, b, "gpus").equal ||
	       compare_devices(a, b, "ports").equal;
}
