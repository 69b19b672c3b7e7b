/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_HOST_H
#define PR_HOST_H
/*
 * What this host is. Filled once by pr_host_discover, read-only afterwards. Every reading says how it came about:
 * absent, unreadable, broken and unknown are different answers, and none of them is zero.
 */
#include "lib/err.h"
#include "lib/fsroot.h"
#include "lib/json.h"
#include "lib/parse.h"
#include "probe/compat/xid.h"
#include "probe/host/cuda.h"
#include "probe/host/driver.h"
#include "probe/host/fabric.h"
#include "probe/host/firmware.h"
#include "probe/host/libs.h"
#include "probe/host/nodes.h"
#include "probe/host/nvml.h"
#include "probe/host/platform.h"
#include "probe/host/secure_boot.h"

struct pr_cpu {
	int id, core, package, node; /* -1: not known */
	struct gt_set siblings;	     /* hardware threads of the same core, itself included */
};

struct pr_node {
	int id;
	struct gt_set cpus;
	struct pr_num mem_bytes;
	int *distance; /* one per node, in the order of the list; NULL if not known */
};

struct pr_pci {
	const char *address; /* "0000:3b:00.0" */
	unsigned vendor, device, class_code; /* class_code: 24 bits, 0x030200 is a 3D controller */
	struct pr_str driver;
	struct pr_num numa_node; /* absent when the kernel says -1 */
	struct pr_str local_cpulist, link_speed, max_link_speed, parent_max_speed;
	struct pr_num link_width, max_link_width, parent_max_width;
	struct pr_num bar1_bytes; /* of the second memory window, the one for the GPU's memory */
	struct pr_num iommu_group; /* devices of one group cannot be told apart by the IOMMU */
	bool virtual_function; /* a part of another function that is here, too (SR-IOV) */
	const char *path; /* in /sys/devices, for the way between two devices */
	bool other_gpu;	  /* a discrete GPU or accelerator that is not NVIDIA's */
};

/* Ethernet, and ConnectX-3, whose class is "other network controller" (0280) because it serves both kinds of port. */
bool pr_is_network(const struct pr_pci *d);
/* A device that sends packets to other devices directly: an NVIDIA GPU, or a card with RDMA. */
bool pr_is_peer(const struct pr_pci *d);

struct pr_gpu {
	const struct pr_pci *pci;
	bool kept; /* from this container or job: another's device node may be opened, this one's not */
	/* from NVML, where it answered */
	struct pr_str name;
	struct pr_num memory_bytes, persistence, arch; /* arch: compute capability x 10 */
	struct pr_num mig, mig_pending, mig_instances; /* 1: cut into instances, now and after a reset; how many */
	struct pr_num compute_mode;			/* 0 default, 1 and 3 exclusive, 2 prohibited */
	struct pr_num bar1_bytes, clock_reasons;	/* NVML's mask of what holds the clocks down */
	struct pr_num remap_pending, remap_failure, retired_pending;
	struct pr_num fabric_state;			/* NVML: 0 none, 1 not started, 2 in progress, 3 done */
	struct pr_num nvlinks, nvlinks_down;
	struct pr_num index;				/* NVML's, by which programs name it */
	struct pr_str cpu_affinity, memory_affinity;	/* lists of CPUs and nodes that NVML calls near */
	struct pr_nvlink {
		const char *to, *kind; /* address of the other end; "gpu", "switch", "npu" or "unknown" */
		int links;	       /* that are up */
	} *nvlink;
	size_t n_nvlink;
	struct pr_ancestor {
		const char *to; /* another GPU */
		int level;	/* NVML: 0 same board, 10 PIX, 20 PXB, 30 PHB, 40 NODE, 50 SYS */
	} *ancestor;
	size_t n_ancestor;
};

/* A package of the distribution that matters here. */
struct pr_package {
	const char *name, *version;
	const char *candidate; /* newer in apt's lists; NULL: none, or it is no driver's */
	bool held;
};

/* An installed kernel, and whether the GPUs work under it. */
struct pr_kernel {
	const char *release;
	struct pr_num module;  /* 1: an nvidia module lies in its directory */
	struct pr_num headers; /* 1: its headers are there */
	struct pr_num dkms;    /* 1: DKMS has built the module for it; absent: there is no DKMS source */
	const char *build_log; /* of DKMS' last build, where that brought no module; NULL: none */
};

/* One line of the kernel log. */
enum pr_log_kind {
	PR_LOG_NOTE,	/* no error */
	PR_LOG_READ,	/* an error that a check judges */
	PR_LOG_PROGRAM, /* the error of a program that ran on a GPU */
	PR_LOG_UNREAD	/* an error that no check judges */
};
#define PR_LOG_MOST 256 /* lines of interest that are kept */
struct pr_log_line {
	const char *text;
	int level; /* the kernel's, 0 to 7; -1: not known */
	enum pr_log_kind kind;
	const char *check; /* the check that judges or lists it; NULL: none */
	struct pr_xid xid;
};
/* Does the line of an NVSwitch call its error fatal? */
bool pr_log_says_fatal(const char *text);

struct pr_block {
	const char *name, *pci; /* pci: address of its controller, NULL if it has none */
	struct pr_num rotational, read_ahead_kb, size_bytes, numa_node;
	struct pr_str model, scheduler; /* scheduler: the whole choice line */
	const char *holder;  /* all of it lies under this volume ("dm-0", "md127"), in whose place it is read; NULL: under none */
	struct pr_str uuid; /* of a volume of the device mapper: "LVM-…" */
};

struct pr_net {
	const char *name, *pci; /* pci: its address, NULL if it is on another bus */
	const char *shown;	/* the name in documents: without the MAC address that it may be made of */
	struct pr_num speed_mbit, numa_node, mtu, missed; /* missed: frames that found no buffer since the link came up */
	struct pr_str driver;
	struct pr_num rx_ring, rx_ring_max, channels, channels_max; /* as ethtool -g and -l show them */
	struct pr_num read_request; /* bytes that a fast port may read from memory at once; unreadable: for root only */
	struct gt_strv irqs; /* numbers of its interrupts */
};

/* A copy of OpenBLAS that programs load, and what it says (openblas.h). */
struct pr_openblas {
	const char *path;	    /* links resolved */
	const char *core, *version; /* "Prescott", "0.3.21"; NULL: not known */
	bool one_target;	    /* built for one processor: there is no choice */
	const char *takes;	    /* where core is old: a better one, which it takes when told; NULL: none */
	const char *why;	    /* the core is not known: one sentence */
};

/* A word of the kernel's command line, and the line of a file that gives it. */
struct pr_param {
	char *word, *file;
	unsigned line;
};
struct pr_params {
	struct pr_param *p;
	size_t n;
};

/* A kernel setting, and what sysctl.d makes of it at the next boot. */
struct pr_setting {
	const char *name;    /* "vm.overcommit_memory" */
	struct pr_str now;   /* broken: the text is no value that the kernel takes */
	struct pr_str boot;  /* absent: no file sets it */
	const char *boot_by; /* "FILE:LINE"; NULL unless boot is present */
};

struct pr_cpufreq {
	const char *policy; /* "policy0" */
	struct pr_str governor, available, driver;
};

struct pr_host {
	bool live;
	struct {
		struct pr_str release, version, cmdline, arch, boot_id, lockdown;
		bool preempt_rt;
	} kernel;
	struct {
		struct pr_str id, version_id, codename, pretty;
	} distro;
	struct {
		struct pr_str vendor, model_name, codename, microcode;
		int family, model, stepping; /* -1: not known */
		const char *flags; /* " fpu vme … ", with a blank at both ends; "" if not known */
		struct gt_set online, allowed, isolated, efficiency; /* efficiency: the small cores of a hybrid CPU */
		struct gt_set cpuset; /* of the control group, of which `allowed` may be a part; empty: not known */
		bool unknown; /* no source has the CPUs: `online` is CPU 0 only */
		struct pr_cpu *cpu;
		size_t n_cpu;
		int n_cores, n_packages;	/* online */
		struct pr_num l1d_bytes;
		struct pr_num quota_millicpu;	/* cgroup CPU quota; absent: none */
		struct pr_num l2_bytes, l3_bytes; /* of one cache */
	} cpu;
	struct {
		struct pr_num total_bytes, available_bytes, swap_total_bytes, shm_bytes, shm_free_bytes, hugepages, hugepage_bytes;
		struct pr_num memlock_bytes; /* soft limit of this process; INT64_MAX: unlimited */
		bool shm_huge; /* /dev/shm is mounted with huge=always */
		struct pr_num limit_bytes; /* of this process's control group, the tightest above it; absent: none */
		struct pr_str thp_enabled, thp_defrag;
	} mem;
	struct pr_node *node;
	size_t n_node;
	struct gt_strv contradictions; /* where two sources disagree about the topology: one sentence each */
	struct pr_num numa_balancing;
	struct pr_pci *pci;
	size_t n_pci;
	size_t pci_unreadable; /* devices that may not be looked at; the whole bus counts one */
	struct pr_gpu *gpu; /* NVIDIA display and 3D controllers, by PCI */
	size_t n_gpu;
	/* NVIDIA's driver and libraries */
	struct pr_driver driver;
	struct pr_device_nodes device_nodes;
	struct pr_gsp gsp;
	struct pr_secure_boot secure_boot;
	struct pr_libs libs;
	struct pr_nvml nvml;
	struct pr_cuda cuda;
	struct pr_fabric fabric;
	struct pr_tegra tegra;
	struct pr_platform platform;
	struct gt_strv tuners; /* services that change kernel settings: "tuned (running)", "irqbalance (enabled)" */
	struct pr_num open_files_soft, open_files_hard; /* limits of this process; INT64_MAX: unlimited */
	struct pr_str nccl_conf;      /* the text of /etc/nccl.conf */
	struct pr_num nvme_timeout_s; /* of a request to an NVMe disk */
	struct pr_str sys_vendor;     /* of the firmware: "Amazon EC2" */
	struct pr_setting *setting; /* those of host/settings.c; none in a launcher's discovery */
	size_t n_setting;
	struct pr_params grub; /* the words that GRUB's files give to the kernel, in their order */
	struct pr_block *block;
	size_t n_block;
	struct pr_block *volume; /* of the device mapper and of md, those that lie under no other */
	size_t n_volume;
	struct pr_net *net;
	size_t n_net;
	struct gt_strv rdma;	 /* InfiniBand and RoCE devices: "mlx5_0" */
	struct gt_strv rdma_pci; /* their addresses, in the same order; "" if not known */
	struct pr_cpufreq *cpufreq;
	size_t n_cpufreq;
	struct pr_kernel *kernels; /* installed, the oldest first */
	size_t n_kernels;
	struct pr_package *package; /* of dpkg, those that matter here */
	size_t n_package;
	enum pr_state packages;	 /* of dpkg's own list */
	struct pr_str glibc;	 /* "2.36" */
	const char *python;	 /* "3.11", of /usr/bin/python3; NULL: there is none, or it was not looked at */
	struct pr_str gcc;	 /* major version of what gcc leads to: "12" */
	enum pr_state kernel_log; /* unreadable for most users */
	struct pr_log_line *log; /* the lines of interest, in the order of the log */
	size_t n_log;
	struct {
		struct pr_num on, passthrough; /* 1: an IOMMU translates; 1: not for the host's own devices */
		struct pr_num acs_ports; /* switch ports above GPUs and NICs whose control word was read; else why not */
		struct gt_strv acs_words;	/* "0000:18:00.0 001d" */
		struct gt_strv acs_redirect; /* those that send packets between devices to the root complex */
		size_t split;		/* GPUs, NICs below one switch that lie in groups of their own: the mark of ACS */
	} iommu;
	struct {
		struct pr_num docker, toolkit, configured; /* dockerd; nvidia-ctk; docker or CDI knows the GPUs */
	} container_runtime;
	struct {
		const char *path;     /* as asked for with --data; NULL: not asked */
		enum pr_state state;
		const char *mount, *fstype, *source; /* NULL: not known */
		const struct pr_block *disk; /* behind it, NULL if there is none to be seen */
		struct pr_num free_bytes;
	} data;
	size_t stale_shm;	 /* files that NCCL left in /dev/shm */
	struct pr_str virt;	 /* "kvm", "qemu (tcg)", "wsl", "virtual machine" …; absent: bare metal, as far as is seen */
	struct pr_str hypervisor; /* its signature in CPUID: "KVMKVMKVM"; absent: none, or it was not asked */
	struct pr_str container; /* "docker", "systemd-nspawn" …; absent: none seen */
	struct pr_str blas;	 /* what libblas.so.3 leads to: "openblas-pthread" … */
	enum pr_state openblas_state; /* unknown: not asked, or of a capture without it */
	struct pr_openblas *openblas; /* the host's, and what Python's modules load */
	size_t n_openblas;
	struct gt_strv environment; /* "NAME=value" of the variables that matter here */
	struct pr_pyenv *pyenv;	 /* Python environments with something of interest in them (host/python.h) */
	size_t n_pyenv;
	struct pr_elf_cache *elf_cache;	 /* ELF files that were looked into (loader/loader.h) */
	struct pr_imported {
		const struct pr_import *import;
		size_t env; /* of pyenv */
		struct pr_loader *loaded;
	} *imported; /* what importing the frameworks loads */
	size_t n_imported;
	const char *identity;	 /* 16 hex digits that stay the same on the same machine and differ on another */
	json_t *identity_parts;	 /* what went into it, by name */
	struct gt_strv pool;	 /* owner of the strings above */
};

struct pr_discover_opts {
	bool no_nvml;		/* do not ask the driver */
	bool launch;		/* only what a launcher asks, within a millisecond or two: the usable CPUs and their siblings,
				 * quota, memory and its limit, nodes, NVIDIA's GPUs by PCI and by device node, BLAS. The rest
				 * stays unknown or empty. */
	bool hardware;		/* not what is installed: libraries, packages, Python and the kernel's log stay unknown */
	bool cuda;		/* ask libcuda to start, too */
	const char *data;	/* a directory to look at, NULL for none */
	double nvml_timeout_s;	/* 0: 10 s */
};

/* Look at everything. Fails only when the host cannot be read at all; what is missing is a reading's state. */
int pr_host_discover(struct gt_fsroot *fs, const struct pr_discover_opts *opts, struct pr_host **ret, struct gt_err *err);
void pr_host_free(struct pr_host *h);
GT_DEFINE_AUTO(pr_host, pr_host_free);

/* Memory that this process can have without swapping and without being killed for it: what the kernel says is available, or
 * less where a control group of ours has a limit. 0: the kernel does not say. */
uint64_t pr_available_bytes(struct gt_fsroot *fs);
/* Finds the services that change kernel settings. The entry of the list for one of them, NULL if it is not at work. */
void pr_find_tuners(struct gt_fsroot *fs, struct gt_strv *ret);
const char *pr_find_tuner(const struct gt_strv *list, const char *name);
/* An Ethernet port of 25 Gbit/s or more. Its node, NULL if that is not known. */
bool pr_is_fast(const struct pr_net *n);
const struct pr_node *pr_node_of_port(const struct pr_host *h, const struct pr_net *n);
/* The setting of that name, NULL if it was not read. */
const struct pr_setting *pr_find_setting(const struct pr_host *h, const char *name);
/* The package of that name, NULL if it is not installed or dpkg is not the package manager. */
const struct pr_package *pr_find_package(const struct pr_host *h, const char *name);
/* A variable of the environment as it was when the host was discovered; NULL: not set. */
/* The nth GPU or accelerator of another maker, NULL beyond the last; and that maker's name. They are found and not examined. */
const struct pr_pci *pr_other_gpu(const struct pr_host *h, size_t nth);
const char *pr_gpu_maker(const struct pr_pci *d);
const char *pr_getenv(const struct pr_host *h, const char *name);
/* Is this block device ("vda", "dm-0") what a hypervisor shows, so that nothing it says of itself is known of the disk beneath? In
 * a virtual machine all are but NVMe, which may be a real one that was handed through. */
bool pr_is_virtual_disk(const struct pr_host *h, const char *name);
/* What this process may fill: the host's memory, or its control group's limit. 0: not known. */
int64_t pr_memory_bytes(const struct pr_host *h);
/* What /dev/shm should be made, in whole GiB: half of that. What lies there counts against the same limit. */
int64_t pr_shm_gib(const struct pr_host *h);
/* GPUs that CUDA can use here: not set aside for virtual machines, and not kept from this container or job. */
size_t pr_usable_gpus(const struct pr_host *h);
/* WSL: Windows' driver answers for its GPUs, of which none is on a PCI bus here. */
bool pr_windows_gpus(const struct pr_host *h);
/* Programs can train on a GPU here, at least after a repair of the driver: on one of the above, or on that of a Tegra processor. */
bool pr_trains_on_gpu(const struct pr_host *h);
size_t pr_bus_gpus(const struct pr_host *h); /* kept or not: those that are not set aside for virtual machines */
/* Such a one. A vGPU host cuts its cards into virtual functions, which NVML does not count: the card itself is here. */
bool pr_on_bus(const struct pr_gpu *g);
bool pr_cpu_flag(const struct pr_host *h, const char *flag);
/* Physical cores among `cpus`: the first online thread of each. */
void pr_first_threads(const struct pr_host *h, const struct gt_set *cpus, struct gt_set *ret);
/* The host in a document, member "host" of gpuprobe/1. */
json_t *pr_host_to_json(const struct pr_host *h);
#endif
