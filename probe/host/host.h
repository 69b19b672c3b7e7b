/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_HOST_H
#define PR_HOST_H
/*
 * The host model. pr_host_discover() fills it once, then it is read-only. Every reading has a state. The states absent,
 * unreadable, broken and unknown are distinct, and none of them means zero.
 */
#include "lib/err.h"
#include "lib/fsroot.h"
#include "lib/json.h"
#include "lib/parse.h"
#include "probe/compat/log_lines.h"
#include "probe/host/amd.h"
#include "probe/host/cuda.h"
#include "probe/host/driver.h"
#include "probe/host/error_counters.h"
#include "probe/host/fabric.h"
#include "probe/host/firmware.h"
#include "probe/host/holders.h"
#include "probe/host/libs.h"
#include "probe/host/nodes.h"
#include "probe/host/nvml.h"
#include "probe/host/platform.h"
#include "probe/host/rdma.h"
#include "probe/host/secure_boot.h"

struct pr_cpu {
	int id, core, package, node; /* -1: unknown */
	struct gt_set siblings;	     /* hardware threads of the same core, including this one */
};

struct pr_node {
	int id;
	struct gt_set cpus;
	struct pr_num mem_bytes;
	int *distance; /* one per node, in the order of pr_host.node; NULL if unknown */
};

struct pr_pci {
	const char *address; /* "0000:3b:00.0" */
	unsigned vendor, device, class_code; /* class_code: 24 bits, 0x030200 is a 3D controller */
	struct pr_str driver;
	struct pr_num numa_node; /* absent if the kernel reports -1 */
	struct pr_str local_cpulist, link_speed, max_link_speed, parent_max_speed;
	struct pr_num link_width, max_link_width, parent_max_width;
	struct pr_num bar1_bytes; /* size of the second memory window (BAR1), which maps the GPU's memory */
	struct pr_num device_control; /* PCI Express device control word of a fast network card; unreadable: needs root */
	struct pr_num iommu_group; /* the IOMMU cannot distinguish the devices of one group */
	bool virtual_function; /* SR-IOV virtual function, whose physical function is also on this host */
	const char *path; /* path in /sys/devices, which determines the path between two devices */
	bool other_gpu;	  /* a discrete GPU or accelerator of another maker */
};

/* Returns true for Ethernet devices, and for ConnectX-3. Its class is "other network controller" (0280), as it serves
 * both kinds of port. */
bool pr_is_network(const struct pr_pci *d);
/* Returns true for a device that sends packets to other devices directly: a GPU of NVIDIA or AMD, or a network card with
 * RDMA. */
bool pr_is_peer(const struct pr_pci *d);

struct pr_gpu {
	const struct pr_pci *pci;
	bool inaccessible; /* not usable in this container or job: its device node cannot be opened, but that of another GPU can */
	/* values from NVML, if it responded */
	struct pr_str name;
	struct pr_num memory_bytes, persistence, arch; /* arch: compute capability x 10 */
	struct pr_num mig, mig_pending, mig_instances; /* 1: partitioned into instances, now and after a reset; number of
						        * instances */
	struct pr_num ecc, ecc_pending;			/* 1: ECC of the memory is on, now and after a reset */
	struct pr_num compute_mode;			/* 0 default, 1 and 3 exclusive, 2 prohibited */
	struct pr_num bar1_bytes, clock_reasons;	/* clock_reasons: NVML's mask of the reasons that limit the clocks */
	struct pr_num remap_pending, remap_failure, retired_pending;
	struct pr_num fabric_state;			/* NVML's value: 0 none, 1 not started, 2 in progress, 3 done */
	struct pr_num nvlinks, nvlinks_down;
	struct pr_num c2c_links, c2c_links_down, c2c_mb_per_s; /* NVLink-C2C to a Grace processor; bandwidth of all links */
	struct pr_num addressing_mode;			/* NVML's value: 0 none, 1 HMM, 2 ATS */
	struct pr_num memory_node;			/* node of the GPU's memory, if that is a node of the host */
	struct pr_num index;				/* NVML's index, which programs use */
	struct pr_str cpu_affinity, memory_affinity;	/* lists of the CPUs and nodes that NVML reports as near */
	struct pr_nvlink {
		const char *to, *kind; /* address of the other end; "gpu", "switch", "npu" or "unknown" */
		int links;	       /* number of links that are up */
	} *nvlink;
	size_t n_nvlink;
	struct pr_ancestor {
		const char *to; /* address of another GPU */
		int level;	/* NVML's value: 0 same board, 10 PIX, 20 PXB, 30 PHB, 40 NODE, 50 SYS */
	} *ancestor;
	size_t n_ancestor;
};

/* A relevant package of the distribution. */
struct pr_package {
	const char *name, *version;
	const char *candidate; /* newer version in apt's lists; NULL: none, or not a driver package */
	bool held;
};

#define PR_LOG_MOST 256 /* maximum number of kernel log lines of interest */

/* An installed kernel, and whether the GPUs work with it. */
struct pr_kernel {
	const char *release;
	struct pr_num module;  /* 1: its module directory contains an nvidia module */
	struct pr_num headers; /* 1: its headers are installed */
	struct pr_num dkms;    /* 1: DKMS has built the module for it; absent: there is no DKMS source */
	const char *build_log; /* path of the log of DKMS's last build, if that produced no module; NULL: none */
};

struct pr_block {
	const char *name, *pci; /* pci: address of its controller, NULL if there is none */
	struct pr_num rotational, read_ahead_kb, size_bytes, numa_node;
	struct pr_str model, scheduler; /* scheduler: the complete choice line */
	const char *holder;  /* volume that uses the whole device ("dm-0", "md127") and is read instead of it; NULL: none */
	struct pr_str uuid; /* UUID of a device mapper volume: "LVM-…" */
};

struct pr_net {
	const char *name, *pci; /* pci: address of the device, NULL if it is on another bus */
	const char *shown;	/* name for documents, without a MAC address */
	struct pr_num speed_mbit, numa_node, mtu, missed; /* missed: frames dropped for lack of a buffer since the link came up */
	struct pr_str driver;
	struct pr_num flags; /* the kernel's interface flags; bit 0: switched on */
	struct pr_num rx_ring, rx_ring_max, channels, channels_max; /* values that ethtool -g and -l report */
	struct pr_num adaptive_rx, rx_usecs; /* values that ethtool -c reports; adaptive_rx: 1 on, 0 off or not supported */
	struct pr_num pfc; /* mask of the priorities with priority flow control; unknown: the driver does not report it */
	struct gt_strv irqs; /* interrupt numbers */
};

/* A copy of OpenBLAS that programs load, and its own report (openblas.h). */
struct pr_openblas {
	const char *path;	    /* path with all links resolved */
	const char *core, *version; /* "Prescott", "0.3.21"; NULL: unknown */
	bool one_target;	    /* built for one processor: it has no choice of cores */
	const char *better_core; /* if core is outdated: a better core that OPENBLAS_CORETYPE can select; NULL: none */
	const char *why;	    /* reason why the core is unknown: one sentence */
};

/* A word of the kernel command line, and the file and line that set it. */
struct pr_param {
	char *word, *file;
	unsigned line;
};
struct pr_params {
	struct pr_param *p;
	size_t n;
};

/* A kernel setting, and its value at the next boot by sysctl.d. */
struct pr_setting {
	const char *name;    /* "vm.overcommit_memory" */
	struct pr_str now;   /* broken: the text is not a value that the kernel accepts */
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
		struct pr_str id, id_like, version_id, variant, codename, pretty;
		bool image_based; /* ostree: packages come with the image */
	} distro;
	struct {
		struct pr_str vendor, model_name, codename, microcode;
		int family, model, stepping; /* -1: unknown */
		const char *flags; /* " fpu vme … ", with a blank at both ends; "" if unknown */
		struct gt_set online, allowed, isolated, efficiency; /* efficiency: the small cores of a hybrid CPU */
		struct gt_set cpuset; /* cpuset of the control group; `allowed` may be a subset; empty: unknown */
		bool unknown; /* no source lists the CPUs: `online` contains only CPU 0 */
		struct pr_cpu *cpu;
		size_t n_cpu;
		int n_cores, n_packages;	/* online */
		struct pr_num l1d_bytes;
		struct pr_num quota_millicpu;	/* cgroup CPU quota; absent: none */
		struct pr_num l2_bytes, l3_bytes; /* size of one cache */
	} cpu;
	struct {
		struct pr_num total_bytes, available_bytes, swap_total_bytes, shm_bytes, shm_free_bytes, hugepages, hugepage_bytes;
		struct pr_num memlock_bytes; /* soft limit of this process; INT64_MAX: unlimited */
		bool shm_huge; /* /dev/shm is mounted with huge=always */
		struct pr_num limit_bytes; /* tightest limit of this process's control group and its ancestors; absent: none */
		struct pr_str thp_enabled, thp_defrag;
		struct pr_num thp_bytes; /* size of a transparent huge page; 512 MiB if pages have 64 KiB */
	} mem;
	struct pr_node *node;
	size_t n_node;
	struct gt_strv contradictions; /* contradictions between two sources about the topology, one sentence each */
	struct pr_num numa_balancing;
	struct pr_pci *pci;
	size_t n_pci;
	size_t pci_unreadable; /* number of devices that cannot be read; 1 if the whole bus cannot */
	struct pr_gpu *gpu; /* NVIDIA display and 3D controllers on PCI */
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
	struct pr_error_counters errors;
	struct pr_holders holders;
	struct pr_tegra tegra;
	struct pr_amd amd;
	struct pr_platform platform;
	struct gt_strv tuners; /* services that change kernel settings: "tuned (running)", "irqbalance (enabled)" */
	struct pr_num open_files_soft, open_files_hard; /* limits of this process; INT64_MAX: unlimited */
	struct pr_str nccl_conf;      /* text of /etc/nccl.conf */
	struct pr_num nvme_timeout_s; /* timeout of a request to an NVMe disk */
	struct pr_str sys_vendor;     /* vendor from the firmware: "Amazon EC2" */
	struct pr_setting *setting; /* settings of host/settings.c; none for a launcher */
	size_t n_setting;
	struct pr_params grub; /* kernel words from GRUB's files, in order */
	struct pr_block *block;
	size_t n_block;
	struct pr_block *volume; /* volumes of device mapper and md that no other volume uses */
	size_t n_volume;
	struct pr_net *net;
	size_t n_net;
	struct gt_strv rdma;	 /* InfiniBand and RoCE devices: "mlx5_0" */
	struct gt_strv rdma_pci; /* PCI addresses in the same order; "" if unknown */
	struct pr_rdma rdma_ports;
	struct pr_cpufreq *cpufreq;
	size_t n_cpufreq;
	struct pr_kernel *kernels; /* installed kernels, the oldest first */
	size_t n_kernels;
	struct pr_package *package; /* relevant packages of dpkg */
	size_t n_package;
	enum pr_state packages;	 /* state of dpkg's status file */
	struct pr_str glibc;	 /* "2.36" */
	const char *python;	 /* version of /usr/bin/python3, "3.11"; NULL: not installed or not examined */
	struct pr_str gcc;	 /* major version of the compiler that gcc links to: "12" */
	enum pr_state kernel_log; /* unreadable for most users */
	struct {
		const char *name;  /* "kernel buffer" or "journal"; NULL: unknown */
		double now_s;	   /* time of reading in seconds after boot; NAN: unknown */
		bool start_lost;   /* the first lines since boot are missing */
		struct pr_num crashes; /* number of crash records of earlier boots in pstore */
	} log_source;
	struct pr_log_line *log; /* lines of interest, in log order */
	size_t n_log;
	struct {
		struct pr_num on, passthrough; /* iommu 1: an IOMMU translates; passthrough 1: but not for the host's own devices */
		struct pr_num acs_ports; /* number of switch ports above GPUs and NICs whose control word was read; else the
					  * state */
		struct gt_strv acs_words;	/* "0000:18:00.0 001d" */
		struct gt_strv acs_redirect; /* ports that redirect packets between devices to the root complex */
		size_t split;		/* GPUs and NICs below one switch but in separate groups, which indicates ACS */
	} iommu;
	struct {
		struct pr_num docker, toolkit, configured; /* 1: dockerd exists; nvidia-ctk exists; docker or CDI is configured
							    * for the GPUs */
	} container_runtime;
	struct {
		const char *path;     /* argument of --data; NULL: none */
		enum pr_state state;
		const char *mount, *fstype, *source; /* NULL: unknown */
		const struct pr_block *disk; /* the underlying disk, NULL if unknown */
		struct pr_num free_bytes;
	} data;
	size_t stale_shm;	 /* number of files that NCCL left in /dev/shm */
	struct pr_str virt;	 /* "kvm", "qemu (tcg)", "wsl", "virtual machine" …; absent: no sign of virtualisation */
	struct pr_str hypervisor; /* signature in CPUID: "KVMKVMKVM"; absent: none, or not queried */
	struct pr_str container; /* "docker", "systemd-nspawn" …; absent: none detected */
	struct pr_str blas;	 /* library that libblas.so.3 links to: "openblas-pthread" … */
	enum pr_state openblas_state; /* unknown: not queried, or absent from the capture */
	struct pr_openblas *openblas; /* the host's own copy, and those that Python modules load */
	size_t n_openblas;
	struct gt_strv environment; /* "NAME=value" of the relevant variables */
	struct pr_pyenv *pyenv;	 /* Python environments with relevant distributions (host/python.h) */
	size_t n_pyenv;
	struct pr_elf_cache *elf_cache;	 /* ELF files that were read (loader/loader.h) */
	struct pr_imported {
		const struct pr_import *import;
		size_t env; /* index in pyenv */
		struct pr_loader *loaded;
	} *imported; /* objects loaded by importing each framework */
	size_t n_imported;
	const char *identity;	 /* 16 hex digits, constant for a machine and different for others */
	json_t *identity_parts;	 /* the inputs of the identity, by name */
	struct gt_strv pool;	 /* owner of the strings above */
};

struct pr_discover_opts {
	bool no_nvml;		/* do not query the driver */
	bool launch;		/* only the data for a launcher, in at most 2 ms: usable CPUs and their siblings, quota,
				 * memory and its limit, nodes, NVIDIA GPUs by PCI and by device node, BLAS. The rest stays
				 * unknown or empty. */
	bool hardware;		/* skip installed software: libraries, packages, Python and the kernel's log stay unknown */
	bool cuda; /* call cuInit, too */
	const char *data;	/* a directory to examine, NULL for none */
	double nvml_timeout_s;	/* 0: 10 s */
};

/* Discovers the host. Fails only if the host cannot be read at all. Missing data appears in the state of a reading. */
int pr_host_discover(struct gt_fsroot *fs, const struct pr_discover_opts *opts, struct pr_host **ret, struct gt_err *err);
void pr_host_free(struct pr_host *h);
GT_DEFINE_AUTO(pr_host, pr_host_free);

/*
 * Returns the memory that this process can use before the host swaps or the OOM killer runs: the kernel's MemAvailable,
 * or less if a control group has a lower limit. 0: unknown.
 */
uint64_t pr_available_bytes(struct gt_fsroot *fs);
/* Finds the services that change kernel settings. pr_find_tuner() returns the list entry of one service, NULL if it is
 * not active. */
void pr_find_tuners(struct gt_fsroot *fs, struct gt_strv *ret);
const char *pr_find_tuner(const struct gt_strv *list, const char *name);
/* Returns whether an Ethernet port has 25 Gbit/s or more. pr_node_of_port() returns its node, NULL if unknown. */
bool pr_is_fast(const struct pr_net *n);
const struct pr_node *pr_node_of_port(const struct pr_host *h, const struct pr_net *n);
/* Returns the setting with this name, NULL if it was not read. */
const struct pr_setting *pr_find_setting(const struct pr_host *h, const char *name);
/* Returns the package with this name, NULL if it is not installed or dpkg is not the package manager. */
const struct pr_package *pr_find_package(const struct pr_host *h, const char *name);
/* Return the nth GPU or accelerator of another maker, NULL after the last, and the name of its maker. Those of AMD are
 * examined further (host/amd.h). */
const struct pr_pci *pr_other_gpu(const struct pr_host *h, size_t nth);
const char *pr_gpu_maker(const struct pr_pci *d);
/* Returns a variable of the environment at discovery; NULL: not set. */
const char *pr_getenv(const struct pr_host *h, const char *name);
/* Returns whether a hypervisor emulates this block device ("vda", "dm-0"), so that its properties do not describe the
 * physical disk. True for all disks of a virtual machine except NVMe, which may be a passed-through device. */
bool pr_is_virtual_disk(const struct pr_host *h, const char *name);
/* Returns the memory that this process may use: the host's memory, or its control group's limit. 0: unknown. */
int64_t pr_memory_bytes(const struct pr_host *h);
/*
 * Returns the recommended size of /dev/shm in whole GiB: half of the memory. The memory limit covers the content of
 * /dev/shm too.
 */
int64_t pr_shm_gib(const struct pr_host *h);
/* Returns the number of GPUs that CUDA can use here: not reserved for virtual machines, and accessible to this
 * container or job. */
size_t pr_usable_gpus(const struct pr_host *h);
/* Returns true on WSL, where the Windows driver provides the GPUs and none is on a PCI bus. */
bool pr_windows_gpus(const struct pr_host *h);
/*
 * Returns whether programs can train on a GPU here, at least after a repair of the driver. True for a usable GPU, one
 * of WSL, or a Tegra GPU.
 */
bool pr_trains_on_gpu(const struct pr_host *h);
size_t pr_bus_gpus(const struct pr_host *h); /* number of GPUs that are not reserved for virtual machines, accessible or not */
/* Returns whether pr_bus_gpus() counts this GPU. On a vGPU host the GPU itself counts; its virtual functions do not. */
bool pr_on_bus(const struct pr_gpu *g);
bool pr_cpu_flag(const struct pr_host *h, const char *flag);
/* Returns the first online thread of each physical core among `cpus`. */
void pr_first_threads(const struct pr_host *h, const struct gt_set *cpus, struct gt_set *ret);
/* Returns the host as JSON, member "host" of gpuprobe/1. */
json_t *pr_host_to_json(const struct pr_host *h);
#endif
