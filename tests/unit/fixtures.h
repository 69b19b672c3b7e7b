/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdlib.h>

/* The directory of the .host files: the synthetic hosts, made at build time, and the captures beside them. */
static inline const char *fixture_dir(void)
{
	const char *dir = getenv("FIXTURES");

	return dir ? dir : "tests/fixtures";
}
