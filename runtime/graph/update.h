/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_GRAPH_UPDATE_H
#define RT_GRAPH_UPDATE_H
#include <stdint.h>

#define RT_PIECE_UNIT	INT64_C(256) /* sharding unit of a parameter in elements: whole blocks of 8-bit moments */
#endif
