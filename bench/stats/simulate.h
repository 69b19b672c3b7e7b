/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_SIMULATE_H
#define BN_SIMULATE_H
/*
 * Simulated sessions on simulated hosts, judged by the same statistics as real sessions. Measures how often noise is called a
 * change, and how often the interval contains the true effect. Also measures how often a change of the promised size is found.
 * Seeded.
 */
#include "lib/json.h"

struct bn_sim_host {
	const char *name, *what;
	double launch_sd; /* deviation between launches, log */
	double drift;	  /* linear drift over the session, log */
	double walk_sd;	  /* random walk, deviation per launch, log */
	double burst_p;	  /* probability that another program disturbs a launch */
	double burst;	  /* mean slowdown of a disturbed launch, log (exponential) */
	bool margins;     /* only the tests that depend on the margin are run; all other rates grow with the noise */
};
extern const struct bn_sim_host bn_sim_hosts[];
extern const size_t bn_n_sim_hosts;

/* One property that the statistics must have on one host. bound NaN: shown for comparison, no requirement. */
enum bn_sim_sense { BN_AT_MOST, BN_AT_LEAST };
struct bn_sim_result {
	const char *host;
	char promise[112];
	double rate, bound;
	enum bn_sim_sense sense;
	size_t trials;
};
#define BN_SIM_RESULTS_MAX 64
/*
 * Tests all properties on all hosts. Fills out[0 … BN_SIM_RESULTS_MAX-1] and returns the number of results. broken:
 * treats steps as independent, to show that the test can fail.
 */
size_t bn_simulate(uint64_t seed, size_t trials, bool broken, struct bn_sim_result *out);
bool bn_sim_holds(const struct bn_sim_result *r);
#endif
