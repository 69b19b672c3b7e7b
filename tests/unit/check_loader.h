/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHECK_LOADER_H
#define CHECK_LOADER_H
#include <check.h>
#include "runtime/data/loader.h"

/* Creates a file below the test's directory; returns its path, valid for 32 further calls. */
const char *made(const char *name, const void *bytes, size_t len);
const char *gen_path(const char *name);
struct rt_loader *opened(const struct rt_loader_options *o);
/* Reads n consecutive batches of a loader: a copy of x and y, to be freed. */
char *batches(const struct rt_loader_options *o, int n, size_t *ret_len);
/* Fails with a message that contains `part`. */
void refused(const struct rt_loader_options *o, int code, const char *part);

TCase *case_images(void);
TCase *case_documents(void);
#endif
