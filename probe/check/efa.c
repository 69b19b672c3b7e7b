/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Amazon's Elastic Fabric Adapter (EFA). NCCL uses it through the plug-in aws-ofi-nccl only. Sources: aws-ofi-nccl, src/Makefile.am
 * (libnccl-net-ofi.so, with the link libnccl-net.so) and the option --enable-ngc (libnccl-net-aws-ofi.so); NCCL, src/plugin
 * (NCCL_NET_PLUGIN); EC2 User Guide, "Get started with EFA and NCCL".
 */
#include <stdio.h>
#include <string.h>
#include "lib/text.h"
#include "probe/check/check.h"
#include "probe/check/list.h"
#include "probe/host/python.h"

static const char *const names[] = { "libnccl-net.so", "libnccl-net-ofi.so", "libnccl-net-aws-ofi.so" };

bool pr_has_efa(const struct pr_host *h)
{
	for (size_t i = 0; i < h->n_pci; i++)
		if (gt_streq(h->pci[i].driver.v, "efa"))
			return true;
	return false;
}

/* Returns the library that NCCL opens; NULL: none of the plug-in's names. */
static const char *name_for(const char *setting)
{
	char name[64];

	if (!setting || !*setting)
		return names[0];
	snprintf(name, sizeof(name), "libnccl-net-%.40s.so", setting);
	for (size_t i = 0; i < GT_ARRAY_SIZE(names); i++)
		if (!strcmp(setting, names[i]) || !strcmp(name, names[i]))
			return names[i];
	return NULL;
}

/* Older versions have "ofi" in the name of their directory only. */
static bool is_plugin(const struct pr_lib *l)
{
	return strstr(l->real, "ofi");
}

static const struct pr_lib *find_plugin(const struct pr_host *h)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(names); i++)
		for (size_t k = 0; pr_find_lib(h, names[i], k); k++)
			if (is_plugin(pr_find_lib(h, names[i], k)))
				return pr_find_lib(h, names[i], k);
	return NULL;
}

static bool has_nccl(const struct pr_host *h)
{
	bool found = pr_find_lib(h, "libnccl.so.2", 0);

	for (size_t i = 0; i < h->n_pyenv && !found; i++)
		found = pr_pyenv_dist(&h->pyenv[i], "torch");
	return found;
}

static void not_loaded(const struct pr_host *h, const char *name, struct pr_finding *f)
{
	const struct pr_lib *disk = find_plugin(h);
	gt_autofree char *dir = disk ? gt_dirname(disk->path) : NULL;

	if (!disk && (h->libs.ldcache == PR_UNREADABLE || h->libs.ldcache == PR_BROKEN)) {
		pr_set(f, PR_NOT_KNOWN, "%s was not found, but the cache of the loader is %s", name,
		       pr_state_name(h->libs.ldcache));
		return;
	}
	pr_set(f, PR_WARN, "NCCL finds no plug-in for EFA (%s) and uses TCP between hosts%s%s", name,
	       disk ? ". The plug-in is " : "", disk ? disk->path : "");
	if (disk && disk->rule)
		pr_remedy(f, "Its name differs from the one that NCCL opens:\n  export NCCL_NET_PLUGIN=%s",
			  gt_basename(disk->path));
	else if (disk)
		pr_remedy(f, "Add its directory to those of the loader:\n"
			     "  echo %s > /etc/ld.so.conf.d/aws-ofi-nccl.conf; ldconfig", dir);
	else
		pr_remedy(f, "Amazon's installer has the plug-in and libfabric:\n"
			     "  curl -O https://efa-installer.amazonaws.com/aws-efa-installer-latest.tar.gz\n"
			     "  tar -xf aws-efa-installer-latest.tar.gz\n  cd aws-efa-installer && ./efa_installer.sh -y");
}

static void efa_plugin(const struct pr_context *c, struct pr_finding *f)
{
	const char *from, *name;
	gt_autofree char *setting = pr_nccl_setting(c->host, "NCCL_NET_PLUGIN", &from);
	const struct pr_lib *loaded;

	name = name_for(setting);
	loaded = name ? pr_loaded_lib(c->host, name) : NULL;
	if (!pr_has_efa(c->host))
		pr_set(f, PR_SKIP, "no EFA device");
	else if (pr_without_gpu(c, f))
		return;
	else if (!has_nccl(c->host))
		pr_set(f, PR_SKIP, "no NCCL and no PyTorch here; an image of a container needs the plug-in for EFA itself");
	else if (!name && !strcmp(setting, "none"))
		pr_set(f, PR_WARN, "NCCL_NET_PLUGIN=none %s disables the plug-in for EFA: NCCL uses TCP between hosts", from);
	else if (!name)
		pr_set(f, PR_NOT_KNOWN, "NCCL_NET_PLUGIN=%.60s %s is no name of the plug-in for EFA", setting, from);
	else if (!loaded)
		not_loaded(c->host, name, f);
	else if (is_plugin(loaded))
		pr_set(f, PR_PASS, "NCCL loads the plug-in for EFA, %s", loaded->path);
	else
		pr_set(f, PR_NOT_KNOWN, "NCCL loads %s, and it is unknown whether that is the plug-in for EFA", loaded->path);
}
const struct pr_check pr_check_efa_plugin = {
	.id = "rdma.efa-plugin",
	.title = "NCCL cannot use EFA",
	.story = "EFA is not an InfiniBand device for NCCL: it needs libfabric and the plug-in aws-ofi-nccl. Without the "
		 "plug-in NCCL continues over TCP without an error, at a fraction of the bandwidth. With it, NCCL_DEBUG=INFO "
		 "prints NET/OFI instead of NET/Socket, and all_reduce_perf of nccl-tests on two hosts shows the bandwidth. "
		 "Version 1.15 renamed the library, so an old copy in an image can hide a new one. NCCL_NET_PLUGIN=ofi "
		 "selects libnccl-net-ofi.so.",
	.run = efa_plugin,
};
