/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_READING_H
#define PR_READING_H
/* How a file becomes a reading. Strings belong to the host's pool. */
#include "probe/host/host.h"

enum pr_state pr_state_of(int r); /* of a negative errno */
const char *pr_own(struct pr_host *h, char *s); /* takes ownership */
const char *pr_keep(struct pr_host *h, const char *s);
struct pr_str pr_text(struct pr_host *h, const char *s); /* present; NULL: absent */
struct pr_num pr_value(int64_t v);
struct pr_str pr_read_str(struct pr_host *h, struct gt_fsroot *fs, const char *fmt, ...) GT_PRINTF(3, 4);
struct pr_num pr_read_num(struct gt_fsroot *fs, const char *fmt, ...) GT_PRINTF(2, 3);
/* The same for files in which -1 says "none". */
struct pr_num pr_read_node(struct gt_fsroot *fs, const char *fmt, ...) GT_PRINTF(2, 3);
/* CPUs from the file `list` of a directory, or from `mask` where there is no list (before Linux 2.6.26). 0 or a negative errno. */
int pr_read_cpus(struct gt_fsroot *fs, const char *dir, const char *list, const char *mask, struct gt_set *ret);
/* The numbers N of the entries PREFIXN of a directory. 0, or -ENOENT and other negative errnos. */
int pr_list_numbered(struct gt_fsroot *fs, const char *dir, const char *prefix, struct gt_set *ret);
json_t *pr_num_json(struct pr_num n); /* the number, or null when absent, or the state's name */
json_t *pr_str_json(struct pr_str s);

/* Of the text of /proc/cpuinfo: the value of the first line of this key, NULL if there is none; what the processor is called, NULL
 * if that is not known. The caller frees both. */
char *pr_cpuinfo_value(const char *text, const char *key);
char *pr_cpu_name(const char *text);

/* The phases of discovery, in the order of host.c. */
void pr_discover_environment(struct gt_fsroot *fs, struct pr_host *h);
void pr_discover_kernel(struct gt_fsroot *fs, struct pr_host *h);
void pr_discover_cpu(struct gt_fsroot *fs, struct pr_host *h);
void pr_discover_virt(struct gt_fsroot *fs, struct pr_host *h); /* after the processors: their flags say it */
void pr_discover_memory(struct gt_fsroot *fs, struct pr_host *h);
void pr_discover_numa(struct gt_fsroot *fs, struct pr_host *h);
void pr_discover_pci(struct gt_fsroot *fs, struct pr_host *h);
void pr_discover_nvidia(struct gt_fsroot *fs, struct pr_host *h);
void pr_discover_secure_boot(struct gt_fsroot *fs, struct pr_host *h); /* after the module was found */
void pr_discover_firmware(struct gt_fsroot *fs, struct pr_host *h);    /* after PCI and the NVIDIA stack */
void pr_discover_platform(struct gt_fsroot *fs, struct pr_host *h);
void pr_discover_nodes(struct gt_fsroot *fs, struct pr_host *h); /* after the NVIDIA stack */
void pr_discover_libs(struct gt_fsroot *fs, struct pr_host *h);
void pr_discover_python(struct gt_fsroot *fs, struct pr_host *h); /* after the environment */
void pr_discover_imports(struct gt_fsroot *fs, struct pr_host *h); /* after Python */
void pr_discover_nvml(struct gt_fsroot *fs, struct pr_host *h, double timeout_s);
void pr_discover_cuda(struct gt_fsroot *fs, struct pr_host *h, double timeout_s);
void pr_discover_packages(struct gt_fsroot *fs, struct pr_host *h);
void pr_discover_data(struct gt_fsroot *fs, struct pr_host *h, const char *dir); /* after the disks */
void pr_discover_kernel_log(struct gt_fsroot *fs, struct pr_host *h);
void pr_discover_fabric(struct gt_fsroot *fs, struct pr_host *h); /* after PCI and the NVIDIA stack */
void pr_discover_iommu(struct gt_fsroot *fs, struct pr_host *h); /* after PCI and the kernel */
void pr_discover_acs(struct gt_fsroot *fs, struct pr_host *h); /* after PCI */
/* The ports' control words as the fact "acs", NULL if none was read. The caller frees it. */
char *pr_acs_fact(const struct pr_host *h);
void pr_discover_upgrades(struct gt_fsroot *fs, struct pr_host *h); /* after the packages */
void pr_add_kernel(struct gt_fsroot *fs, struct pr_host *h, const char *release, struct pr_num module);
bool pr_is_driver_package(const char *name);
/* Debian package versions, as dpkg orders them: <0, 0, >0. */
int pr_deb_version_cmp(const char *a, const char *b);
void pr_discover_devices(struct gt_fsroot *fs, struct pr_host *h);
void pr_find_contradictions(struct gt_fsroot *fs, struct pr_host *h); /* after the phases above */
/* The few that a launcher asks (struct pr_discover_opts). */
void pr_launch_cpu(struct gt_fsroot *fs, struct pr_host *h);
void pr_launch_memory(struct gt_fsroot *fs, struct pr_host *h);
void pr_launch_numa(struct gt_fsroot *fs, struct pr_host *h);
void pr_launch_pci(struct gt_fsroot *fs, struct pr_host *h);
void pr_find_kept_gpus(struct gt_fsroot *fs, struct pr_host *h); /* after PCI */
/* Calls see for the control group of this process and each one above it: "/a/b", "/a", "". controller: its name in version 1,
 * where each has a tree of its own. */
typedef void (*pr_cgroup_fn)(struct gt_fsroot *fs, void *arg, const char *group, bool v2);
void pr_each_cgroup(struct gt_fsroot *fs, const char *controller, pr_cgroup_fn see, void *arg);
void pr_discover_blas(struct gt_fsroot *fs, struct pr_host *h);
void pr_discover_openblas(struct gt_fsroot *fs, struct pr_host *h); /* after Python */
/* What its copies said, for documents (the state's name where nobody asked), and as the fact "openblas" (else NULL). The caller
 * frees both. */
json_t *pr_openblas_json(const struct pr_host *h);
char *pr_openblas_fact(const struct pr_host *h);
void pr_discover_identity(struct gt_fsroot *fs, struct pr_host *h);
/* The numbers of a GPU that NVML tells: its key in the fact and in documents, its place in struct pr_gpu. */
struct pr_gpu_field {
	const char *key;
	size_t offset;
};
extern const struct pr_gpu_field pr_gpu_numbers[];
extern const size_t pr_n_gpu_numbers;
struct pr_num *pr_gpu_number(const struct pr_gpu *g, size_t i);
/* NVML's answer to everything that discovery asks, from the library itself: only for a child that may hang or die. */
json_t *pr_nvml_ask(void);
/* NVML's "00000000:3B:00.0" as sysfs writes it, in place: "0000:3b:00.0". size: of the buffer. */
void pr_sysfs_address(char *address, size_t size);
/* What NVML said, as text of the fact "nvml", for captures; NULL if it was not asked. The caller frees it. */
char *pr_nvml_fact(const struct pr_host *h);
/* What the loader's cache says of our libraries, as the fact "ldcache"; NULL if it was not read. The caller frees it. */
char *pr_ldcache_fact(const struct pr_host *h);
/* The variables that matter, as the fact "environment"; NULL if none is set. The caller frees it. */
char *pr_environment_fact(const struct pr_host *h);
/* The keys that the firmware trusts, as the fact "keys"; who signed the module, as a fact whose name is *ret_name. NULL where
 * there is nothing to keep. The caller frees both. */
char *pr_keys_fact(const struct pr_host *h);
char *pr_signature_fact(const struct pr_host *h, char **ret_name);
#define PR_DPKG_STATUS	"/var/lib/dpkg/status"
/* The packages that matter, the log lines that matter and CUDA's answer, as the facts "packages", "kernel_log" and "cuda";
 * NULL where there is nothing to keep. The caller frees them. */
char *pr_packages_fact(const struct pr_host *h);
char *pr_kernel_log_fact(const struct pr_host *h);
char *pr_cuda_fact(const struct pr_host *h);
/* Rings and queues of a network card; and of all of them, as the fact "ethtool". */
void pr_read_ethtool(struct gt_fsroot *fs, struct pr_net *n);
char *pr_ethtool_fact(const struct pr_host *h);
/* The NUMA nodes by hwloc, ordered by number: of the live host, or of the fact "hwloc.xml". A node without CPUs has those of its
 * neighbours there. 0 or a negative errno: there is no such reading. The caller frees them with pr_free_nodes. */
int pr_hwloc_nodes(struct gt_fsroot *fs, struct pr_node **ret, size_t *ret_n);
void pr_free_nodes(struct pr_node *node, size_t n);
/* hwloc's own export of the host, for captures; NULL if it finds nothing. The caller frees it. */
char *pr_hwloc_xml(struct gt_fsroot *fs);
#endif
