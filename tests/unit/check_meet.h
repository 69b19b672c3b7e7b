/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHECK_MEET_H
#define CHECK_MEET_H
#include <check.h>

TCase *case_places(void);
#endif
