/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An NVML for tests on hosts without a GPU. STANDIN_NVML=N makes nvmlInit return N (18: version mismatch …), "hang" makes it
 * never return, "crash" makes it die; otherwise there is one card.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	return how ? atoi(how) : 0;
}

const char *nvmlErrorString(int code)
{
	return code == 9 ? "Driver Not Loaded" : code == 18 ? "Driver/library version mismatch" : "Unknown Error";
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

int nvmlDeviceGetCount_v2(unsigned *n)
{
	*n = 1;
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **dev)
{
	static char card;

	*dev = &card;
	return i ? 2 : 0;
}

int nvmlDeviceGetName(void *dev, char *to, unsigned n)
{
	(void)dev;
	snprintf(to, n, "Stand-in card");
	return 0;
}

int nvmlDeviceGetPciInfo_v3(void *dev, struct pci_info *info)
{
	(void)dev;
	snprintf(info->address, sizeof(info->address), "00000000:17:00.0");
	return 0;
}

int nvmlDeviceGetMemoryInfo(void *dev, struct memory *m)
{
	(void)dev;
	m->total = 85520809984ull;
	return 0;
}

int nvmlDeviceGetPersistenceMode(void *dev, int *on)
{
	(void)dev;
	*on = 1;
	return 0;
}

int nvmlDeviceGetCudaComputeCapability(void *dev, int *major, int *minor)
{
	(void)dev;
	*major = 9;
	*minor = 0;
	return 0;
}
