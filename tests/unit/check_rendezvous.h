/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHECK_RENDEZVOUS_H
#define CHECK_RENDEZVOUS_H
#include <check.h>

TCase *case_places(void);
#endif
