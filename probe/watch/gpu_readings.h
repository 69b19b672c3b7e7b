/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_GPU_READINGS_H
#define PR_GPU_READINGS_H
/*
 * What a card does at this moment, by NVML: for gpuprobe watch and for gpubench's gauge. To be called in a child process,
 * since with a hung driver these calls never return.
 */
#include "lib/json.h"

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
	unsigned gpu, memory; /* percent of the time since the last time NVML itself looked */
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

/* NVML's functions; those after text may be missing in an old library. */
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
};
enum { PR_NVML_LOST = 15, PR_NVML_RESET_REQUIRED = 16 };

struct pr_gpu_readings {
	bool opened, started;
	struct pr_nvml_load n;
	char why[256]; /* the library did not open */
};
/* Open the library and start NVML, once, and count the cards. Into doc: "code", and on trouble "error" with its sentence;
 * "no_library" where there is none. 0 cards: doc says why. */
unsigned pr_gpu_readings_count(struct pr_gpu_readings *s, json_t *doc);

/* What holds its clocks. What a card does not tell is NaN, and told false. */
struct pr_gpu_clocks {
	double sm_mhz, memory_mhz, power_w, temperature_c;
	unsigned long long reasons; /* NVML's mask: throttle, or event, reasons */
	bool told;		    /* the reasons */
};
void pr_gpu_clocks(const struct pr_gpu_readings *s, pr_gpu_handle dev, struct pr_gpu_clocks *ret);
double pr_gpu_max_sm_mhz(const struct pr_gpu_readings *s, pr_gpu_handle dev);
double pr_gpu_power_limit_w(const struct pr_gpu_readings *s, pr_gpu_handle dev);
/* "index", and where told "pci" as sysfs writes it, and "name". */
void pr_gpu_names(const struct pr_gpu_readings *s, unsigned index, pr_gpu_handle dev, json_t *d);

#define PR_GPU_REASONS	9
extern const char *const pr_gpu_reason[PR_GPU_REASONS]; /* by bit of the mask */
enum {
	PR_GPU_IDLE = 0x1,
	PR_GPU_POWER_CAP = 0x4,
	PR_GPU_SLOWDOWN = 0x8, /* by the hardware: heat, power brake, or the supply */
	PR_GPU_HEAT = 0x20 | 0x40,
	PR_GPU_BRAKE = 0x80,
};
#endif
