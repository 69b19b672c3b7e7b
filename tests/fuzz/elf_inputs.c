/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source of the libraries in corpus/elf. fuzz_elf depends on their bytes, so they are committed as gcc 12 made them:
 *
 *     cc -shared -fPIC -nostdlib -s -Wl,-soname,libf.so.1 -Wl,-rpath,'$ORIGIN/../lib' -o shared.so elf_inputs.c
 *     cc -shared -fPIC -nostdlib -s -DCOMPAT -Wl,-soname,libcuda.so.1 -o compat.so elf_inputs.c
 *     cc -m32 -shared -nostdlib -s -o small32.so elf_inputs.c
 */
#ifdef COMPAT
/* note in NVIDIA's forward compatibility libraries */
__attribute__((section(".note.cuda.fwd_compatibility"), aligned(4))) const struct {
	int name_size, text_size, type;
	char name[20], text[68];
} compat = { 19, 66, 1, "NVIDIA Corporation", "{\"Format\":1,\"CUDA Version\":\"12.9\",\"Driver\":[535,550],\"Device\":[1]}" };
#endif
int f(void);
int f(void)
{
	return 0;
}
