/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_READING_H
#define PR_READING_H
/* Functions that turn files into readings. Strings belong to the host's pool. */
#include "probe/host/host.h"

enum pr_state pr_state_of(int r); /* state for a negative errno */
const char *pr_own(struct pr_host *h, char *s); /* takes ownership */
const char *pr_keep(struct pr_host *h, const char *s);
struct pr_str pr_text(struct pr_host *h, const char *s); /* present; NULL: absent */
struct pr_num pr_value(int64_t v);
struct pr_str pr_read_str(struct pr_host *h, struct gt_fsroot *fs, const char *fmt, ...) GT_PRINTF(3, 4);
struct pr_str pr_read_text(struct pr_host *h, struct gt_fsroot *fs, const char *path); /* all lines, at most 64 KiB */
/* Returns the word in brackets of a choice line ("always [madvise] never"), or the whole line. */
struct pr_str pr_chosen(struct pr_host *h, struct pr_str line);
struct pr_num pr_read_num(struct gt_fsroot *fs, const char *fmt, ...) GT_PRINTF(2, 3);
/* Does the same for files in which -1 means "none". */
struct pr_num pr_read_node(struct gt_fsroot *fs, const char *fmt, ...) GT_PRINTF(2, 3);
/* Reads a CPU set from the file `list` of a directory, or from `mask` if there is no list (before Linux 2.6.26).
 * Returns 0 or a negative errno. */
int pr_read_cpus(struct gt_fsroot *fs, const char *dir, const char *list, const char *mask, struct gt_set *ret);
/* Returns the numbers N of the entries PREFIXN of a directory. Returns 0, or a negative errno such as -ENOENT. */
int pr_list_numbered(struct gt_fsroot *fs, const char *dir, const char *prefix, struct gt_set *ret);
json_t *pr_num_json(struct pr_num n); /* the number, null if absent, or the name of the state */
json_t *pr_str_json(struct pr_str s);

/* Return the value of the first line with this key in the text of /proc/cpuinfo, or the name of the processor. NULL if
 * there is none. The caller frees it. */
char *pr_cpuinfo_value(const char *text, const char *key);
char *pr_cpu_name(const char *text);

/* The phases of discovery, in the order of discover.c. Phases with a struct of their own are declared in its header. */
void pr_discover_environment(struct gt_fsroot *fs, struct pr_host *h);
void pr_discover_distro(struct gt_fsroot *fs, struct pr_host *h); /* os-release */
void pr_discover_kernel(struct gt_fsroot *fs, struct pr_host *h);
void pr_discover_grub(struct gt_fsroot *fs, struct pr_host *h);
void pr_discover_settings(struct gt_fsroot *fs, struct pr_host *h);
void pr_discover_cpu(struct gt_fsroot *fs, struct pr_host *h);
void pr_discover_virt(struct gt_fsroot *fs, struct pr_host *h); /* runs after the processors, because it uses their flags */
void pr_discover_memory(struct gt_fsroot *fs, struct pr_host *h);
void pr_discover_numa(struct gt_fsroot *fs, struct pr_host *h);
void pr_discover_pci(struct gt_fsroot *fs, struct pr_host *h);
void pr_discover_python(struct gt_fsroot *fs, struct pr_host *h); /* runs after the environment */
void pr_discover_imports(struct gt_fsroot *fs, struct pr_host *h); /* runs after Python */
void pr_discover_packages(struct gt_fsroot *fs, struct pr_host *h);
void pr_discover_data(struct gt_fsroot *fs, struct pr_host *h, const char *dir); /* runs after the disks */
void pr_discover_kernel_log(struct gt_fsroot *fs, struct pr_host *h);
void pr_discover_acs(struct gt_fsroot *fs, struct pr_host *h); /* runs after PCI */
/* Returns the ports' control words as the fact "acs", NULL if none was read. The caller frees it. */
char *pr_acs_fact(const struct pr_host *h);
void pr_discover_upgrades(struct gt_fsroot *fs, struct pr_host *h); /* runs after the packages */
void pr_add_kernel(struct gt_fsroot *fs, struct pr_host *h, const char *release, struct pr_num module);
bool pr_is_driver_package(const char *name);
/* Compares Debian package versions in dpkg's order: <0, 0, >0. */
int pr_deb_version_cmp(const char *a, const char *b);
void pr_discover_devices(struct gt_fsroot *fs, struct pr_host *h);
/* Returns the device control words of network cards as the fact "device_control"; NULL if none was read. The caller frees it. */
char *pr_device_control_fact(const struct pr_host *h);
void pr_find_contradictions(struct gt_fsroot *fs, struct pr_host *h); /* runs after the phases above */
/* The reduced phases for a launcher (struct pr_discover_opts). */
void pr_launch_cpu(struct gt_fsroot *fs, struct pr_host *h);
void pr_launch_memory(struct gt_fsroot *fs, struct pr_host *h);
void pr_launch_numa(struct gt_fsroot *fs, struct pr_host *h);
void pr_launch_pci(struct gt_fsroot *fs, struct pr_host *h);
/*
 * Calls see() for the control group of this process and for each ancestor: "/a/b", "/a", "". controller: a name in
 * version 1, where each controller has a tree of its own.
 */
typedef void (*pr_cgroup_fn)(struct gt_fsroot *fs, void *arg, const char *group, bool v2);
void pr_each_cgroup(struct gt_fsroot *fs, const char *controller, pr_cgroup_fn see, void *arg);
void pr_discover_openblas(struct gt_fsroot *fs, struct pr_host *h); /* runs after Python */
/* Return the OpenBLAS copies for documents (the state's name if not queried), and as the fact "openblas" (NULL if not
 * queried). The caller frees both. */
json_t *pr_openblas_json(const struct pr_host *h);
char *pr_openblas_fact(const struct pr_host *h);
void pr_discover_identity(struct gt_fsroot *fs, struct pr_host *h);
/* Returns the relevant variables as the fact "environment"; NULL if none is set. The caller frees it. */
char *pr_environment_fact(const struct pr_host *h);
#define PR_DPKG_STATUS	"/var/lib/dpkg/status"
/* Return the relevant packages and log lines as the facts "packages", "kernel_log" and "kernel_log_source"; NULL if there
 * are none. The caller frees them. */
char *pr_packages_fact(const struct pr_host *h);
char *pr_kernel_log_fact(const struct pr_host *h);
char *pr_log_source_fact(const struct pr_host *h);
/* Reads the rings and queues of a network card. pr_ethtool_fact() returns those of all cards as the fact "ethtool". */
void pr_read_ethtool(struct gt_fsroot *fs, struct pr_net *n);
char *pr_ethtool_fact(const struct pr_host *h);
/* Parses the kernel's answer about priority flow control, which is aligned like struct nlmsghdr. Returns whether it has a mask. */
bool pr_parse_pfc(const char *answer, size_t len, struct pr_num *ret);
/*
 * Returns the NUMA nodes from hwloc, ordered by number: of the live host, or from the fact "hwloc.xml". hwloc gives a
 * node without CPUs those of a neighbour. Returns 0, or a negative errno if hwloc has no data. The caller frees them
 * with pr_free_nodes().
 */
int pr_hwloc_nodes(struct gt_fsroot *fs, struct pr_node **ret, size_t *ret_n);
void pr_free_nodes(struct pr_node *node, size_t n);
/* Returns hwloc's XML export of the host, for captures; NULL if it finds nothing. The caller frees it. */
char *pr_hwloc_xml(struct gt_fsroot *fs);
#endif
