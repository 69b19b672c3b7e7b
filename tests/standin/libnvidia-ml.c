/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An NVML for tests without a GPU. These environment variables control it:
 * STANDIN_NVML=N: nvmlInit returns N (18: version mismatch …). "hang": nvmlInit hangs. "crash": nvmlInit crashes.
 * "hang-later", "crash-later" and "lost-later": the third query of a GPU's load hangs, crashes, or returns error 15
 * (GPU is lost).
 * STANDIN_GPUS: number of GPUs (1). STANDIN_COMPUTE: their load in percent (97).
 * STANDIN_LINKS=N: each GPU has N NVLinks to an NVSwitch. STANDIN_LINKS=-N: each GPU has N links to the next GPU.
 * STANDIN_C2C=N: each GPU has N NVLink-C2C links of 44712 MB/s, of which the last is down. Its memory is node 8 + its number.
 * STANDIN_EPISODE=FILE: the GPUs are healthy until FILE contains a word. "heat", "brake" (power brake) and "cap" (power
 * limit) reduce their clocks, and "idle" makes them idle. With "mute", queries of clocks, power and temperature return
 * error 3 (not supported). With "lost", these queries return error 15.
 * STANDIN_HOLDERS=PID=MIB,PID=MIB: the processes that compute on the first GPU; "none": no process. Without this variable
 * the library lists none (error 3). STANDIN_HOLDERS_LATER: the same from the second query on; "error": error 15 (GPU is lost).
 * nvml_settings.c has the settings of the GPUs.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "nvml_settings.h"

struct pci_info {
	char legacy[16];
	unsigned domain, bus, device, id, subsystem;
	char address[32];
};
struct memory {
	unsigned long long total, free, used;
};

int nvmlInit_v2(void)
{
	const char *how = getenv("STANDIN_NVML");

	if (how && !strcmp(how, "hang"))
		for (;;)
			pause();
	if (how && !strcmp(how, "crash"))
		kill(getpid(), SIGKILL);
	standin_forget_settings();
	return how ? atoi(how) : 0;
}

const char *nvmlErrorString(int code)
{
	return code == 9    ? "Driver Not Loaded"
	       : code == 15 ? "GPU is lost"
	       : code == 18 ? "Driver/library version mismatch"
			    : "Unknown Error";
}

int nvmlSystemGetDriverVersion(char *to, unsigned n)
{
	snprintf(to, n, "550.163.01");
	return 0;
}

int nvmlSystemGetCudaDriverVersion_v2(int *v)
{
	*v = 12040;
	return 0;
}

static int setting(const char *name, int otherwise)
{
	const char *v = getenv(name);

	return v ? atoi(v) : otherwise;
}

/* Returns the word in STANDIN_EPISODE's file: "" none; NULL without the variable. */
static const char *episode(void)
{
	static char word[16];
	const char *path = getenv("STANDIN_EPISODE");
	FILE *f = path ? fopen(path, "r") : NULL;

	word[0] = '\0';
	if (f && fscanf(f, "%15s", word) != 1)
		word[0] = '\0';
	if (f)
		fclose(f);
	return path ? word : NULL;
}

/* Returns 0, or the error of a query of clocks, power and temperature. */
static int refused(void)
{
	const char *word = episode();

	return !word ? 0 : !strcmp(word, "mute") ? 3 : !strcmp(word, "lost") ? 15 : 0;
}

static char card[64];

static int number(void *dev)
{
	return (int)((char *)dev - card);
}

int standin_gpu(void *dev)
{
	return number(dev);
}

int nvmlDeviceGetCount_v2(unsigned *n)
{
	*n = (unsigned)setting("STANDIN_GPUS", 1);
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **dev)
{
	*dev = &card[i % sizeof(card)];
	return i >= (unsigned)setting("STANDIN_GPUS", 1) ? 2 : 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **dev)
{
	for (unsigned i = 0; i < (unsigned)setting("STANDIN_GPUS", 1); i++) {
		unsigned domain, bus;

		if (sscanf(address, "%x:%x:", &domain, &bus) == 2 && bus == 0x17 + 8 * i)
			return nvmlDeviceGetHandleByIndex_v2(i, dev);
	}
	return 6;
}

int nvmlDeviceGetName(void *dev, char *to, unsigned n)
{
	(void)dev;
	snprintf(to, n, "Stand-in card");
	return 0;
}

int nvmlDeviceGetPciInfo_v3(void *dev, struct pci_info *info)
{
	snprintf(info->address, sizeof(info->address), "00000000:%02X:00.0", 0x17 + 8 * number(dev));
	return 0;
}

int nvmlDeviceGetMemoryInfo(void *dev, struct memory *m)
{
	(void)dev;
	m->total = 85520809984ull;
	m->used = 64ull << 30;
	m->free = m->total - m->used;
	return 0;
}

/* nvmlProcessInfo_t */
struct process {
	unsigned pid;
	unsigned long long used;
	unsigned gpu_instance, compute_instance;
};
int nvmlDeviceGetComputeRunningProcesses_v3(void *dev, unsigned *n, struct process *list)
{
	const char *at = getenv("STANDIN_HOLDERS"), *later = getenv("STANDIN_HOLDERS_LATER");
	unsigned found = 0, pid, mib;
	static int asked;

	if (!at || !later)
		asked = 0;
	else if (asked++)
		at = later;
	if (at && !strcmp(at, "error"))
		return 15;

	for (const char *p = at; p && !number(dev) && sscanf(p, "%u=%u", &pid, &mib) == 2;) {
		if (found < *n)
			list[found] = (struct process){pid, (unsigned long long)mib << 20, ~0u, ~0u};
		found++;
		p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL;
	}
	int r = !at ? 3 : found > *n ? 7 : 0;

	*n = found;
	return r;
}

int nvmlDeviceGetCudaComputeCapability(void *dev, int *major, int *minor)
{
	(void)dev;
	*major = 9;
	*minor = 0;
	return 0;
}

/* ---- load ---- */

struct utilization {
	unsigned gpu, memory;
};
int nvmlDeviceGetUtilizationRates(void *dev, struct utilization *use)
{
	const char *how = getenv("STANDIN_NVML") ? getenv("STANDIN_NVML") : "";
	static int asked;

	(void)dev;
	if (refused() == 15)
		return 15;
	if (++asked >= 3 && !strcmp(how, "hang-later"))
		for (;;)
			pause();
	if (asked >= 3 && !strcmp(how, "crash-later"))
		kill(getpid(), SIGKILL);
	if (asked >= 3 && !strcmp(how, "lost-later"))
		return 15;
	use->gpu = (unsigned)setting("STANDIN_COMPUTE", 97);
	use->memory = use->gpu / 2;
	return 0;
}

/* nvmlFieldValue_t */
struct field {
	unsigned id, scope;
	long long timestamp, latency;
	int type, code;
	union {
		unsigned u;
		unsigned long long ull;
	} value;
};
/* Returns an answer about NVLink-C2C, or error 3 (not supported). */
static int c2c_field(unsigned id, unsigned link, unsigned *ret)
{
	unsigned links = (unsigned)setting("STANDIN_C2C", 0);

	*ret = id == 170 ? links : id == 171 ? link + 1 < links : 44712;
	return !links || (id != 170 && link >= links) || (id == 172 && link + 1 == links) ? 3 : 0;
}

/* 50 GB/s from the host, 2 GB/s to it, since the machine started. */
int nvmlDeviceGetFieldValues(void *dev, int n, struct field *f)
{
	struct timespec now;

	(void)dev;
	clock_gettime(CLOCK_MONOTONIC, &now);
	for (int i = 0; i < n; i++) {
		unsigned long long per_us = f[i].id == 197 ? 2000 : f[i].id == 198 ? 50000 : 0;

		f[i].code = per_us ? 0 : 3;
		f[i].type = 3;
		f[i].timestamp = now.tv_sec * 1000000ll + now.tv_nsec / 1000;
		f[i].value.ull = per_us * (unsigned long long)f[i].timestamp;
		if (f[i].id >= 170 && f[i].id <= 172) {
			f[i].type = 1;
			f[i].code = c2c_field(f[i].id, f[i].scope, &f[i].value.u);
		}
	}
	return 0;
}

int nvmlDeviceGetNumaNodeId(void *dev, unsigned *node)
{
	*node = 8 + (unsigned)number(dev);
	return setting("STANDIN_C2C", 0) ? 0 : 3;
}

int nvmlDeviceGetAddressingMode(void *dev, unsigned *v)
{
	(void)dev;
	if (v[0] != 0x1000008) /* version 1 of a struct with 8 bytes */
		return 25;
	v[1] = setting("STANDIN_C2C", 0) ? 2 : 0;
	return 0;
}

int nvmlDeviceGetCurrPcieLinkGeneration(void *dev, unsigned *v)
{
	(void)dev;
	*v = 5;
	return 0;
}

int nvmlDeviceGetCurrPcieLinkWidth(void *dev, unsigned *v)
{
	(void)dev;
	*v = 16;
	return 0;
}

int nvmlDeviceGetMaxPcieLinkGeneration(void *dev, unsigned *v)
{
	return nvmlDeviceGetCurrPcieLinkGeneration(dev, v);
}

int nvmlDeviceGetMaxPcieLinkWidth(void *dev, unsigned *v)
{
	return nvmlDeviceGetCurrPcieLinkWidth(dev, v);
}

int nvmlDeviceGetClockInfo(void *dev, int type, unsigned *mhz)
{
	(void)dev;
	const char *word = episode();

	*mhz = type == 2 ? 2619 : !word ? 1755 : !*word ? 1980 : !strcmp(word, "idle") ? 345 : 1200;
	return refused();
}

int nvmlDeviceGetMaxClockInfo(void *dev, int type, unsigned *mhz)
{
	(void)dev;
	*mhz = type == 2 ? 2619 : 1980;
	return 0;
}

int nvmlDeviceGetPowerUsage(void *dev, unsigned *milliwatts)
{
	(void)dev;
	*milliwatts = episode() && !strcmp(episode(), "cap") ? 699000 : 612500;
	return refused();
}

int nvmlDeviceGetTemperature(void *dev, int sensor, unsigned *celsius)
{
	(void)dev;
	*celsius = episode() && !strcmp(episode(), "heat") ? 91 : 64;
	return sensor ? 2 : refused();
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *dev, unsigned long long *reasons)
{
	(void)dev;
	const char *word = episode();

	*reasons = !word		   ? 0x4
		   : !strcmp(word, "heat") ? 0x28
		   : !strcmp(word, "brake") ? 0x88
		   : !strcmp(word, "cap")  ? 0x4
		   : !strcmp(word, "idle") ? 0x1
					   : 0;
	return refused();
}

/* ---- paths ---- */

int nvmlDeviceGetNvLinkState(void *dev, unsigned link, int *on)
{
	(void)dev;
	*on = 1;
	return link < (unsigned)abs(setting("STANDIN_LINKS", 0)) ? 0 : 3;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(void *dev, unsigned link, int *type)
{
	int on;

	*type = setting("STANDIN_LINKS", 0) < 0 ? 0 : 2;
	return nvmlDeviceGetNvLinkState(dev, link, &on);
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *dev, unsigned link, struct pci_info *info)
{
	int on, next = (number(dev) + 1) % setting("STANDIN_GPUS", 1);

	if (setting("STANDIN_LINKS", 0) < 0)
		snprintf(info->address, sizeof(info->address), "00000000:%02X:00.0", 0x17 + 8 * next);
	else
		snprintf(info->address, sizeof(info->address), "00000000:%02X:00.0", 7 + (int)link % 4);
	return nvmlDeviceGetNvLinkState(dev, link, &on);
}

/* Four GPUs per node; NVML's 40 is NODE, 50 is SYS. */
int nvmlDeviceGetTopologyCommonAncestor(void *a, void *b, int *level)
{
	*level = number(a) / 4 == number(b) / 4 ? 40 : 50;
	return 0;
}

int nvmlDeviceGetCpuAffinity(void *dev, unsigned n, unsigned long *set)
{
	memset(set, 0, n * sizeof(*set));
	set[0] = number(dev) / 4 ? 0xffff0000ffff0000ul : 0x0000ffff0000fffful;
	return 0;
}

int nvmlDeviceGetMemoryAffinity(void *dev, unsigned n, unsigned long *set, int scope)
{
	memset(set, 0, n * sizeof(*set));
	set[0] = 1ul << number(dev) / 4;
	return scope ? 3 : 0;
}
