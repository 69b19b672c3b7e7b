/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_COSTLY_OPTIONS_H
#define PR_COSTLY_OPTIONS_H
/* Options of the NVIDIA module and environment variables that are known to cost speed or to give wrong results. */
#include <stdbool.h>
#include <stddef.h>

#define PR_NVIDIA_PARAMS "/proc/driver/nvidia/params"
/* The value in its "Name: value" lines (Name as after NVreg_), NULL if it is not there. The caller frees it. */
char *pr_driver_param(const char *text, const char *name);
/* The known options of the module, by index; NULL behind the last. */
const char *pr_driver_option(size_t i);
const char *pr_driver_option_reason(size_t i);
/* The cost of this value of an option, NULL if none is known. */
const char *pr_driver_option_cost(const char *name, const char *value);

/* The known variables, by index; NULL behind the last. A name is listed once for each costly value. */
const char *pr_leftover_name(size_t i);
bool pr_leftover_is(size_t i, const char *value); /* Is this the value of entry i? */
/* The cost of a variable with this value, NULL if none is known. */
const char *pr_leftover(const char *name, const char *value);
#endif
