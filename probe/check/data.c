/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include "probe/check/check.h"
#include "probe/check/list.h"

/* File systems by prefix of their type, and the problem for a data set on them; NULL: none. */
static const struct {
	const char *type, *trouble, *remedy;
} kinds[] = {
	{"nfs", "a network file system: every epoch reads it over the network",
	 "Copy it to a local disk, or read large shards"},
	{"cifs", "a network file system: every epoch reads it over the network",
	 "Copy it to a local disk, or read large shards"},
	{"fuse", "a file system in user space: each read goes through another process", "Copy it to a local disk"},
	{"9p", "shared from the host of this virtual machine, slowly",
	 "Give the VM a disk of its own (virtio-blk or NVMe)"},
	{"overlay", "the container's own layer: slow, and deleted with the container",
	 "Mount the data set from the host: add -v /data:/data to docker run"},
	{"tmpfs", NULL, NULL},
};

static void data(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const struct pr_block *b = h->data.disk;
	char space[32] = "an unknown amount";

	if (!h->data.path) {
		pr_set(f, PR_SKIP, "not checked; gpuprobe --data DIR examines the disk of a data set");
		return;
	}
	if (!h->data.mount) {
		pr_set(f, PR_NOT_KNOWN, "the storage of %s is %s", h->data.path,
		       pr_state_name(h->data.state));
		return;
	}
	for (size_t i = 0; i < GT_ARRAY_SIZE(kinds); i++)
		if (gt_starts_with(h->data.fstype, kinds[i].type) && kinds[i].trouble) {
			pr_set(f, PR_WARN, "%s is on %s (%s), %s", h->data.path, h->data.mount, h->data.fstype,
			       kinds[i].trouble);
			pr_remedy(f, "%s", kinds[i].remedy);
			return;
		}
	if (pr_has(h->data.free_bytes))
		gt_format_bytes(space, sizeof(space), (uint64_t)h->data.free_bytes.v);
	/* a virtual disk reports rotational regardless of the hardware */
	if (b && pr_or(b->rotational, 0) && !pr_is_virtual_disk(h, b->name)) {
		pr_set(f, PR_WARN, "%s is on the spinning disk %s (%s): shuffled reads wait for seeks",
		       h->data.path, b->name, h->data.fstype);
		pr_remedy(f,
			  "Copy it to an SSD, or read it in large shards with read-ahead:  gputune plan --only block.");
	} else if (pr_has(h->data.free_bytes) && h->data.free_bytes.v < 1 << 30) {
		pr_set(f, PR_WARN, "%s has %s left on %s", h->data.path, space, h->data.mount);
		pr_remedy(f, "Make room before a job writes its checkpoints there");
	} else if (b) {
		pr_set(f, PR_PASS, "%s is on %s (%s, %s), %s free, read-ahead %d KiB", h->data.path, b->name,
		       gt_starts_with(b->name, "nvme")  ? "NVMe"
		       : pr_is_virtual_disk(h, b->name) ? "virtual disk"
							: "SSD",
		       h->data.fstype, space, (int)pr_or(b->read_ahead_kb, 0));
	} else {
		pr_set(f, PR_PASS, "%s is on %s (%s), %s free", h->data.path, h->data.source, h->data.fstype, space);
	}
}
const struct pr_check pr_check_data = {
	.id = "host.data",
	.title = "the data set is on slow storage",
	.story = "With --data DIR, gpuprobe examines the mount and the disk of a data set. Training reads it in "
		 "random order once per epoch. A spinning disk, a network file system or a container's layer can make the "
		 "GPUs wait.",
	.messages = "DataLoader is slow; GPU utilisation drops to zero between batches",
	.run = data,
};
