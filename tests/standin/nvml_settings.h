/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STANDIN_NVML_SETTINGS_H
#define STANDIN_NVML_SETTINGS_H
int standin_gpu(void *dev); /* number of the GPU */
void standin_forget_settings(void); /* of GPUs without persistence mode: no client was left */
#endif
