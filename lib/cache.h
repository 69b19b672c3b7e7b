/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_CACHE_H
#define GT_CACHE_H
/*
 * The private cache directory of this user: $XDG_CACHE_HOME/gputune or $HOME/.cache/gputune. Its files hold only what can be
 * found again, so that after any failure the caller works without a cache.
 *
 * The opened directory and file are judged: both belong to the caller, no other user can write to them, and neither is a symbolic
 * link. For root this holds for each directory from / on too.
 */
#include <stddef.h>

/* Opens the directory, and makes what is missing below the user's own directory (mode 0700). xdg, home: of the environment, NULL if
 * unset. Returns a descriptor for the functions below, or a negative errno. */
int gt_cache_open(const char *xdg, const char *home);
/* Text of a file in it, NUL-terminated, at most max bytes of it. 0 or a negative errno. */
int gt_cache_read(int cache, const char *name, size_t max, char **ret);
/* Replaces a file in it, mode 0600. 0 or a negative errno. */
int gt_cache_write(int cache, const char *name, const char *data, size_t len);
#endif
