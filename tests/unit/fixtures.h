/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdlib.h>

/* Directory of the .host files: generated synthetic hosts, and captures. */
static inline const char *fixture_dir(void)
{
	const char *dir = getenv("FIXTURES");

	return dir ? dir : "tests/fixtures";
}
