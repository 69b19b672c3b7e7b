/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_SIMULATE_H
#define BN_SIMULATE_H
/*
 * Simulated sessions on simulated hosts, judged by the statistics that judge real ones: how often is noise called a
 * change, how often does the interval hold the truth, how often is a change of the promised size found. Seeded.
 */
#include "lib/json.h"

struct bn_sim_host {
	const char *name, *what;
	double launch_sd; /* between launches, log */
	double drift;	  /* linear over the session, log */
	double walk_sd;	  /* random walk, per launch, log */
	double burst_p;	  /* share of launches during which something else runs on the host … */
	double burst;	  /* … and how much longer they take on average, log (exponential) */
	bool margins;     /* only what depends on the margin is asked of it: all else grows with the noise */
};
extern const struct bn_sim_host bn_sim_hosts[];
extern const size_t bn_n_sim_hosts;

/* One promise on one host. bound NaN: shown for comparison, not promised. */
enum bn_sim_sense { BN_AT_MOST, BN_AT_LEAST };
struct bn_sim_result {
	const char *host;
	char promise[112];
	double rate, bound;
	enum bn_sim_sense sense;
	size_t trials;
};
#define BN_SIM_RESULTS_MAX 64
/* All promises on all hosts. Fills out[0 … BN_SIM_RESULTS_MAX-1], returns how many. broken: pretend that steps were
 * independent, as a check of the checker. */
size_t bn_simulate(uint64_t seed, size_t trials, bool broken, struct bn_sim_result *out);
bool bn_sim_holds(const struct bn_sim_result *r);
#endif
