/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_CACHE_H
#define GT_CACHE_H
/*
 * The private cache directory of this user: $XDG_CACHE_HOME/gputune or $HOME/.cache/gputune. Its files hold only
 * results that can be computed again. After any failure the caller works without a cache.
 *
 * The functions check that the directory and the files belong to the caller and are not symbolic links. No other user may have
 * write permission for them. For root they check each directory from / on too.
 */
#include <stddef.h>

/* Opens the directory. Creates missing directories below the user's own directory (mode 0700). xdg, home: the values of
 * XDG_CACHE_HOME and HOME, NULL if unset. Returns a descriptor for the functions below, or a negative errno. */
int gt_cache_open(const char *xdg, const char *home);
/* Reads at most max bytes of a file in the directory, NUL-terminated. Returns 0 or a negative errno. */
int gt_cache_read(int cache, const char *name, size_t max, char **ret);
/* Replaces a file in the directory, mode 0600. Returns 0 or a negative errno. */
int gt_cache_write(int cache, const char *name, const char *data, size_t len);
#endif
