/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_GPU_READINGS_H
#define PR_GPU_READINGS_H
/*
 * Current readings of a GPU from NVML, for gpuprobe watch and gpubench's GPU monitor. Call these functions in a child
 * process, because with a hung driver they never return.
 */
#include "lib/json.h"
#include "probe/holder/nvml_use.h"

typedef void *pr_gpu_handle;
struct pr_nvml_pci {
	char legacy[16];
	unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
	char address[32];
};
struct pr_nvml_memory {
	unsigned long long total, free, used;
};
struct pr_nvml_utilization {
	unsigned gpu, memory; /* percent of the time since NVML's own last sample */
};
/* nvmlFieldValue_t */
struct pr_nvml_value {
	unsigned id, scope;
	long long timestamp_us, latency_us;
	int type, code;
	union {
		unsigned u;
		unsigned long long ull;
	} value;
};

/* NVML's functions; those after `text` may be missing in an old library. */
struct pr_nvml_load {
	int (*init)(void);
	int (*count)(unsigned *);
	int (*handle)(unsigned, pr_gpu_handle *);
	const char *(*text)(int);
	int (*name)(pr_gpu_handle, char *, unsigned);
	int (*pci)(pr_gpu_handle, struct pr_nvml_pci *);
	int (*memory)(pr_gpu_handle, struct pr_nvml_memory *);
	int (*utilization)(pr_gpu_handle, struct pr_nvml_utilization *);
	int (*fields)(pr_gpu_handle, int, struct pr_nvml_value *);
	int (*throughput)(pr_gpu_handle, int, unsigned *);
	int (*link_gen)(pr_gpu_handle, unsigned *);
	int (*link_width)(pr_gpu_handle, unsigned *);
	int (*max_link_gen)(pr_gpu_handle, unsigned *);
	int (*max_link_width)(pr_gpu_handle, unsigned *);
	int (*clock)(pr_gpu_handle, int, unsigned *);
	int (*max_clock)(pr_gpu_handle, int, unsigned *);
	int (*power)(pr_gpu_handle, unsigned *);
	int (*power_limit)(pr_gpu_handle, unsigned *);
	int (*temperature)(pr_gpu_handle, int, unsigned *);
	int (*reasons)(pr_gpu_handle, unsigned long long *);
	int (*energy)(pr_gpu_handle, unsigned long long *);
	struct pr_nvml_use use;
};
enum { PR_NVML_LOST = 15, PR_NVML_RESET_REQUIRED = 16 };

struct pr_gpu_readings {
	bool opened, started;
	struct pr_nvml_load n;
	char why[256]; /* reason why the library could not be opened */
};
/* Opens the library and initialises NVML, once, and returns the number of GPUs. Adds to doc "code", on failure "error"
 * with a sentence, and "no_library" if there is no library. If the result is 0, doc has the reason. */
unsigned pr_gpu_readings_count(struct pr_gpu_readings *s, json_t *doc);

/* Clocks and the reasons that limit them. Unknown values are NaN. */
struct pr_gpu_clocks {
	double sm_mhz, memory_mhz, power_w, temperature_c;
	unsigned long long reasons; /* NVML's mask of throttle reasons, now called event reasons */
	bool reasons_known;		    /* reasons is known */
};
void pr_gpu_clocks(const struct pr_gpu_readings *s, pr_gpu_handle dev, struct pr_gpu_clocks *ret);
double pr_gpu_max_sm_mhz(const struct pr_gpu_readings *s, pr_gpu_handle dev);
double pr_gpu_power_limit_w(const struct pr_gpu_readings *s, pr_gpu_handle dev);
/* Returns the energy since the driver was loaded (from Volta on), or NaN. */
double pr_gpu_energy_j(const struct pr_gpu_readings *s, pr_gpu_handle dev);
/* Adds "index" and, if known, "pci" as in sysfs, and "name". */
void pr_gpu_names(const struct pr_gpu_readings *s, unsigned index, pr_gpu_handle dev, json_t *d);

#define PR_GPU_REASONS	9
extern const char *const pr_gpu_reason[PR_GPU_REASONS]; /* names by bit of the mask */
enum {
	PR_GPU_IDLE = 0x1,
	PR_GPU_POWER_CAP = 0x4,
	PR_GPU_SLOWDOWN = 0x8, /* caused by the hardware: heat, power brake, or the power supply */
	PR_GPU_HEAT = 0x20 | 0x40,
	PR_GPU_BRAKE = 0x80,
};
#endif
