/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_COSTLY_OPTIONS_H
#define PR_COSTLY_OPTIONS_H
/* Options of the NVIDIA module and environment variables with a known cost in speed or correctness. */
#include <stdbool.h>
#include <stddef.h>

#define PR_NVIDIA_PARAMS "/proc/driver/nvidia/params"
/* Returns the value in "Name: value" lines (Name without the NVreg_ prefix), NULL if absent. The caller frees it. */
char *pr_driver_param(const char *text, const char *name);
/* Returns the known options of the module by index; NULL after the last. */
const char *pr_driver_option(size_t i);
const char *pr_driver_option_reason(size_t i);
/* Returns the cost of an option with this value, NULL if none is known. */
const char *pr_driver_option_cost(const char *name, const char *value);

/* Returns the known variables by index; NULL after the last. A name is listed once per costly value. */
const char *pr_leftover_name(size_t i);
bool pr_leftover_is(size_t i, const char *value); /* whether value matches entry i */
/* Returns the cost of a variable with this value, NULL if none is known. */
const char *pr_leftover(const char *name, const char *value);
#endif
