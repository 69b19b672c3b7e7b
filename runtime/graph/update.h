/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_GRAPH_UPDATE_H
#define RT_GRAPH_UPDATE_H

#define RT_MAP8_BLOCK	256 /* elements of an 8-bit moment that share an absolute maximum */
#endif
