/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings of the stand-in NVML's GPUs. STANDIN_STATE=FILE keeps them between processes, one line per GPU. Without it they have
 * their defaults, and setters succeed without effect. Without persistence mode each nvmlInit resets them, because the last client
 * has exited. STANDIN_SET=WHAT:N concerns the Nth call of a setter, counted in the file: a number is the returned code, "hang"
 * hangs, "kill-before" and "kill-after" kill the parent process before or after the change. STANDIN_NO=NAME,... makes power,
 * application or memory settings unsupported.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "nvml_settings.h"

#define GPUS 64
enum { OK = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };
enum { LEAST_MW = 200000, MOST_MW = 700000, USUAL_MW = 700000, USE_MW = 612500 };

struct gpu {
	unsigned persistence, limit_mw, least, most, memory_least, memory_most, application_memory, application_graphics;
	unsigned long long energy_mj, since_ms;
};
struct state {
	unsigned calls; /* number of calls of setters */
	struct gpu gpu[GPUS];
};

static const struct gpu usual = { 1, USUAL_MW, 0, 0, 0, 0, 2619, 1980, 0, 0 };

static unsigned long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000 + (unsigned long long)t.tv_nsec / 1000000;
}

static void load(struct state *s)
{
	const char *path = getenv("STANDIN_STATE");
	FILE *f = path ? fopen(path, "r") : NULL;

	*s = (struct state){ 0 };
	for (int i = 0; i < GPUS; i++)
		s->gpu[i] = usual;
	if (f && fscanf(f, "%u", &s->calls) == 1)
		for (int i = 0; i < GPUS; i++) {
			struct gpu *g = &s->gpu[i];

			if (fscanf(f, "%u %u %u %u %u %u %u %u %llu %llu", &g->persistence, &g->limit_mw, &g->least, &g->most,
				   &g->memory_least, &g->memory_most, &g->application_memory, &g->application_graphics,
				   &g->energy_mj, &g->since_ms) != 10)
				break;
		}
	if (f)
		fclose(f);
}

/* Replaces the file as a whole, because other processes read it at any time. */
static void save(const struct state *s)
{
	const char *path = getenv("STANDIN_STATE");
	char fresh[4096];
	FILE *f;

	snprintf(fresh, sizeof(fresh), "%s.%d", path ? path : "", (int)getpid());
	f = path ? fopen(fresh, "w") : NULL;
	if (!f)
		return;
	fprintf(f, "%u\n", s->calls);
	for (int i = 0; i < GPUS; i++) {
		const struct gpu *g = &s->gpu[i];

		fprintf(f, "%u %u %u %u %u %u %u %u %llu %llu\n", g->persistence, g->limit_mw, g->least, g->most, g->memory_least,
			g->memory_most, g->application_memory, g->application_graphics, g->energy_mj, g->since_ms);
	}
	if (fclose(f) == 0)
		rename(fresh, path);
}

static unsigned power_mw(const struct gpu *g)
{
	return g->limit_mw < USE_MW ? g->limit_mw : USE_MW;
}

static void count_energy(struct gpu *g)
{
	unsigned long long now = now_ms();

	g->energy_mj += (now - g->since_ms) * power_mw(g) / 1000;
	g->since_ms = now;
}

void standin_forget_settings(void)
{
	struct state s;

	load(&s);
	for (int i = 0; i < GPUS; i++) {
		struct gpu *g = &s.gpu[i];

		if (g->persistence)
			continue;
		count_energy(g);
		*g = (struct gpu){ 0, usual.limit_mw, 0, 0, 0, 0, usual.application_memory, usual.application_graphics,
				   g->energy_mj, g->since_ms };
	}
	save(&s);
}

static int without(const char *name)
{
	const char *no = getenv("STANDIN_NO");

	return no && strstr(no, name);
}

/* Returns the planned result of this call of a setter. *after: kill the parent after the change. */
static int planned(struct state *s, int *after)
{
	const char *how = getenv("STANDIN_SET"), *nth = how ? strchr(how, ':') : NULL;
	int hit = how && ++s->calls == (unsigned)(nth ? atoi(nth + 1) : 1);

	*after = 0;
	if (how)
		save(s);
	if (!hit)
		return OK;
	if (!strncmp(how, "hang", 4))
		for (;;)
			pause();
	if (!strncmp(how, "kill-before", 11)) {
		kill(getppid(), SIGKILL);
		_exit(0);
	}
	*after = !strncmp(how, "kill-after", 10);
	return *after ? OK : atoi(how);
}

static int changed(struct state *s, int after)
{
	save(s);
	if (!after)
		return OK;
	kill(getppid(), SIGKILL);
	_exit(0);
}

static struct gpu *gpu_of(struct state *s, void *dev)
{
	load(s);
	return &s->gpu[standin_gpu(dev)];
}

/* ---- ECC, persistence, power ---- */

/* STANDIN_ECC=10: on, and off after the next reset */
int nvmlDeviceGetEccMode(void *dev, int *on, int *pending)
{
	const char *ecc = getenv("STANDIN_ECC");

	*on = !ecc || ecc[0] == '1';
	*pending = !ecc || ecc[1] == '1';
	return OK;
}

int nvmlDeviceGetPersistenceMode(void *dev, int *on)
{
	struct state s;

	*on = (int)gpu_of(&s, dev)->persistence;
	return OK;
}

int nvmlDeviceSetPersistenceMode(void *dev, int on)
{
	struct state s;
	struct gpu *g = gpu_of(&s, dev);
	int after, r = planned(&s, &after);

	if (r)
		return r;
	g->persistence = on != 0;
	return changed(&s, after);
}

int nvmlDeviceGetPowerManagementLimit(void *dev, unsigned *mw)
{
	struct state s;

	*mw = gpu_of(&s, dev)->limit_mw;
	return without("power") ? NOT_SUPPORTED : OK;
}

int nvmlDeviceGetEnforcedPowerLimit(void *dev, unsigned *mw)
{
	return nvmlDeviceGetPowerManagementLimit(dev, mw);
}

int nvmlDeviceGetPowerManagementDefaultLimit(void *dev, unsigned *mw)
{
	(void)dev;
	*mw = USUAL_MW;
	return without("power") ? NOT_SUPPORTED : OK;
}

int nvmlDeviceGetPowerManagementLimitConstraints(void *dev, unsigned *least, unsigned *most)
{
	(void)dev;
	*least = LEAST_MW;
	*most = MOST_MW;
	return without("power") ? NOT_SUPPORTED : OK;
}

int nvmlDeviceSetPowerManagementLimit(void *dev, unsigned mw)
{
	struct state s;
	struct gpu *g = gpu_of(&s, dev);
	int after, r = planned(&s, &after);

	if (r)
		return r;
	if (without("power"))
		return NOT_SUPPORTED;
	if (mw < LEAST_MW || mw > MOST_MW)
		return INVALID_ARGUMENT;
	count_energy(g);
	g->limit_mw = mw;
	return changed(&s, after);
}

int nvmlDeviceGetTotalEnergyConsumption(void *dev, unsigned long long *mj)
{
	struct state s;
	struct gpu *g = gpu_of(&s, dev);

	count_energy(g);
	*mj = g->energy_mj;
	return without("energy") || !getenv("STANDIN_STATE") ? NOT_SUPPORTED : OK;
}

/* ---- clocks ---- */

static int list(const unsigned *from, unsigned n, unsigned *count, unsigned *to)
{
	unsigned room = *count;

	*count = n;
	if (room < n)
		return INSUFFICIENT_SIZE;
	memcpy(to, from, n * sizeof(*from));
	return OK;
}

int nvmlDeviceGetSupportedMemoryClocks(void *dev, unsigned *count, unsigned *mhz)
{
	static const unsigned clocks[] = { 2619, 1593 };

	(void)dev;
	return list(clocks, 2, count, mhz);
}

int nvmlDeviceGetSupportedGraphicsClocks(void *dev, unsigned memory_mhz, unsigned *count, unsigned *mhz)
{
	static const unsigned clocks[] = { 1980, 1755, 1410, 345 };

	(void)dev;
	return memory_mhz == 2619 || memory_mhz == 1593 ? list(clocks, 4, count, mhz) : NOT_FOUND;
}

static int lock(void *dev, int memory, unsigned least, unsigned most)
{
	struct state s;
	struct gpu *g = gpu_of(&s, dev);
	int after, r = planned(&s, &after);

	if (r)
		return r;
	if (memory && without("memory"))
		return NOT_SUPPORTED;
	*(memory ? &g->memory_least : &g->least) = least;
	*(memory ? &g->memory_most : &g->most) = most;
	return changed(&s, after);
}

int nvmlDeviceSetGpuLockedClocks(void *dev, unsigned least, unsigned most)
{
	return lock(dev, 0, least, most);
}

int nvmlDeviceResetGpuLockedClocks(void *dev)
{
	return lock(dev, 0, 0, 0);
}

int nvmlDeviceSetMemoryLockedClocks(void *dev, unsigned least, unsigned most)
{
	return lock(dev, 1, least, most);
}

int nvmlDeviceResetMemoryLockedClocks(void *dev)
{
	return lock(dev, 1, 0, 0);
}

int nvmlDeviceGetApplicationsClock(void *dev, int type, unsigned *mhz)
{
	struct state s;
	struct gpu *g = gpu_of(&s, dev);

	*mhz = type == 2 ? g->application_memory : g->application_graphics;
	return without("application") ? NOT_SUPPORTED : OK;
}

int nvmlDeviceSetApplicationsClocks(void *dev, unsigned memory, unsigned graphics)
{
	struct state s;
	struct gpu *g = gpu_of(&s, dev);
	int after, r = planned(&s, &after);

	if (r)
		return r;
	if (without("application"))
		return NOT_SUPPORTED;
	g->application_memory = memory;
	g->application_graphics = graphics;
	return changed(&s, after);
}
