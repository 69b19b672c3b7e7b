/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHECK_LIB_H
#define CHECK_LIB_H
#include <check.h>

TCase *lib_cache_case(void);
TCase *lib_documents_case(void);
TCase *lib_fsroot_case(void);
TCase *lib_replace_case(void);
TCase *lib_visible_case(void);
#endif
