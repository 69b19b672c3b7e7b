/* SPDX-License-Identifier: Apache-2.0 */
/* Fibers for the threads of one block, and the registry of kernels: the sources of runtime/cuda/kernel compiled as C++. */
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <sys/mman.h>
#include <tuple>
#include <utility>
#include <vector>
#define RT_EMULATE 1
#include "runtime/cuda/kernel/kernels.cu"
#include "runtime/cuda/kernel/kernels.h"
#include "runtime/example/user_gelu.cu"
#include "tests/graphs/user.cu"
#include "bench/train/user_ops.cu"
using namespace of_f32;
using namespace of_bf16;
using namespace of_f16;
#ifdef EMU_CHECKED
#include "planted.cuh"
#endif

emu_dim threadIdx, blockIdx, blockDim, gridDim;
char *emu_shared;

#define STACK	   (128u << 10)
#define COLOUR	   320u /* keeps the ends of two stacks out of the same cache lines */
#define SHARED_MAX EMU_SHARED_MAX

#ifdef __x86_64__
typedef void *context;
extern "C" void emu_switch(context *from, context *to);
__asm__(".text\n.globl emu_switch\n.type emu_switch,@function\nemu_switch:\n"
	"push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
	"mov %rsp,(%rdi)\nmov (%rsi),%rsp\n"
	"pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");
static void context_make(context *c, char *stack, void (*entry)(void))
{
	void **sp = reinterpret_cast<void **>(stack + STACK);

	*--sp = nullptr; /* keeps the stack aligned as after a call */
	*--sp = reinterpret_cast<void *>(entry);
	for (int i = 0; i < 6; i++)
		*--sp = nullptr;
	*c = sp;
}
#else
#include <ucontext.h>
typedef ucontext_t context;
static void emu_switch(context *from, context *to)
{
	swapcontext(from, to);
}
static void context_make(context *c, char *stack, void (*entry)(void))
{
	getcontext(c);
	c->uc_stack.ss_sp = stack;
	c->uc_stack.ss_size = STACK;
	c->uc_link = nullptr;
	makecontext(c, entry, 0);
}
#endif

struct emu_copy {
	void *to;
	const void *from;
};
struct barrier {
	unsigned arrived, round;
};
struct fiber {
	context ctx;
	emu_dim tid;
	bool done;
	const unsigned *round; /* waits until this differs from seen */
	unsigned seen, parity;
	std::deque<std::vector<emu_copy>> copies; /* groups, the last one open */
};
static struct {
	std::vector<fiber> fibers;
	std::vector<char *> stacks;
	std::vector<barrier> warps;
	std::vector<emu_words> slots; /* [parity][thread] */
	barrier block;
	unsigned live, current;
	context scheduler;
	const emu_kernel *kernel;
	void **args;
} e;

static void emu_fault(const char *what)
{
	fprintf(stderr, "%s, block (%u,%u), thread %u: %s\n", e.kernel->name, blockIdx.x, blockIdx.y, e.current, what);
	abort();
}

static void wait_for(barrier *b, unsigned expected)
{
	fiber *f = &e.fibers[e.current];

	if (++b->arrived >= expected) {
		b->arrived = 0;
		b->round++;
		return;
	}
	f->round = &b->round;
	f->seen = b->round;
	emu_switch(&f->ctx, &e.scheduler);
}

void emu_look(emu_state *ret)
{
	*ret = { e.kernel->name,
		 e.current,
		 e.block.round,
		 e.warps[e.current / 32].round,
		 (uintptr_t)e.stacks[e.current],
		 (uintptr_t)e.stacks[e.current] + STACK };
}

void emu_misaligned(const void *p, size_t n)
{
	emu_watch(false);
	fprintf(stderr, "%p, wanted %zu bytes at once: ", p, n);
	emu_fault("an access whose address is no multiple of its size");
}

void emu_block_barrier(void)
{
	emu_watch(false);
	wait_for(&e.block, e.live);
	emu_watch(true);
}

const emu_words *emu_share(unsigned mask, const emu_words &mine)
{
	unsigned i = e.current, n = (unsigned)e.slots.size() / 2;
	unsigned p = e.fibers[i].parity ^= 1;

	e.slots[p * n + i] = mine;
	wait_for(&e.warps[i / 32], (unsigned)__builtin_popcount(mask));
	return &e.slots[p * n + i / 32 * 32];
}

/* ---- tensor cores ---- */
template <class T> static float half_of(uint32_t both, unsigned which)
{
	return as_float(T{ (uint16_t)(both >> 16 * which) });
}

template <class T> void tensor_mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
	unsigned lane, group, quad;
	const emu_words *all;

	emu_watch(false);
	lane = e.current % 32, group = lane / 4, quad = lane % 4;
	all = emu_share(FULL, { { a[0] | (uint64_t)a[1] << 32, a[2] | (uint64_t)a[3] << 32,
						   b0 | (uint64_t)b1 << 32 } });

	for (unsigned i = 0; i < 4; i++)
		for (unsigned k = 0; k < 16; k++) {
			unsigned col = 2 * quad + i % 2, at = k % 8 / 2;
			uint32_t left = (uint32_t)(all[4 * group + at].w[k / 8] >> 32 * (i / 2));
			uint32_t right = (uint32_t)(all[4 * col + at].w[2] >> 32 * (k / 8));

			c[i] += half_of<T>(left, k % 2) * half_of<T>(right, k % 2);
		}
	emu_watch(true);
}
template void tensor_mma<bf16>(float (&)[4], const uint32_t (&)[4], uint32_t, uint32_t);
template void tensor_mma<f16>(float (&)[4], const uint32_t (&)[4], uint32_t, uint32_t);

static void load_matrices(uint32_t (&r)[4], const void *row, bool turned)
{
	unsigned lane, group, quad;
	const emu_words *all;

	emu_watch(false);
	emu_touch(row, 16, false);
	lane = e.current % 32, group = lane / 4, quad = lane % 4;
	all = emu_share(FULL, { { (uint64_t)(uintptr_t)row, 0, 0 } });
	if ((uintptr_t)row % 16)
		emu_fault("ldmatrix from an address that is no multiple of 16");
	for (unsigned i = 0; i < 4; i++) {
		r[i] = 0;
		for (unsigned j = 0; j < 2; j++) {
			unsigned from = turned ? 2 * quad + j : group, col = turned ? group : 2 * quad + j;
			const uint16_t *x = (const uint16_t *)(uintptr_t)all[8 * i + from].w[0];

			r[i] |= (uint32_t)x[col] << 16 * j;
		}
	}
	emu_watch(true);
}

void tensor_load(uint32_t (&r)[4], const void *row)
{
	load_matrices(r, row, false);
}

void tensor_load_turned(uint32_t (&r)[4], const void *row)
{
	load_matrices(r, row, true);
}

void copy_start(void *shared, const void *global, bool there)
{
	emu_watch(false);
	if ((uintptr_t)shared % 16 || (uintptr_t)global % 16)
		emu_fault("cp.async with an address that is no multiple of 16");
	if (there)
		emu_touch(global, 16, false);
	emu_touch(shared, 16, true); /* from now on, until the wait for it */
	e.fibers[e.current].copies.back().push_back({ shared, there ? global : nullptr });
	emu_watch(true);
}

void copy_commit(void)
{
	emu_watch(false);
	e.fibers[e.current].copies.emplace_back();
	emu_watch(true);
}

void emu_copy_wait(size_t late)
{
	emu_watch(false);
	for (std::deque<std::vector<emu_copy>> &groups = e.fibers[e.current].copies; groups.size() > late + 1; groups.pop_front())
		for (const emu_copy &c : groups.front()) {
			emu_touch(c.to, 16, true);
			if (c.from)
				memcpy(c.to, c.from, 16);
			else
				memset(c.to, 0, 16);
		}
	emu_watch(true);
}

static void fiber_main(void)
{
	fiber *f = &e.fibers[e.current];

	e.kernel->call(e.args);
	f->done = true;
	e.live--;
	if (e.block.arrived && e.block.arrived >= e.live) { /* threads that have ended count as arrived */
		e.block.arrived = 0;
		e.block.round++;
	}
	emu_switch(&f->ctx, &e.scheduler);
	abort();
}

static int run_block(bool descending)
{
	unsigned n = (unsigned)e.fibers.size();
	bool moved = true;

	e.block = {};
	e.live = n;
	for (barrier &w : e.warps)
		w = {};
	for (unsigned i = 0; i < n; i++) {
		fiber *f = &e.fibers[i];

		f->done = false;
		f->round = nullptr;
		f->parity = 0;
		if (f->copies.size() != 1 || !f->copies[0].empty())
			f->copies.assign(1, {});
		context_make(&f->ctx, e.stacks[i] - i % 64 * COLOUR, fiber_main);
	}
	while (moved && e.live) {
		moved = false;
		for (unsigned k = 0; k < n; k++) {
			fiber *f = &e.fibers[descending ? n - 1 - k : k];

			if (f->done || (f->round && *f->round == f->seen))
				continue;
			f->round = nullptr;
			e.current = descending ? n - 1 - k : k;
			threadIdx = f->tid;
			emu_switch(&e.scheduler, &f->ctx);
			moved = true;
		}
	}
	return e.live != 0;
}

static void prepare(const unsigned block[3])
{
	unsigned n = block[0] * block[1] * block[2];

	e.fibers.resize(n);
	e.warps.resize((n + 31) / 32);
	e.slots.resize(2 * ((n + 31) / 32 * 32));
	while (e.stacks.size() < n)
		e.stacks.push_back((char *)mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	for (unsigned i = 0; i < n; i++)
		e.fibers[i].tid = { i % block[0], i / block[0] % block[1], i / block[0] / block[1] };
	if (!emu_shared)
		emu_shared = (char *)aligned_alloc(1024, SHARED_MAX);
}

int emu_run(const emu_kernel *k, const unsigned grid[3], const unsigned block[3], size_t shared, void **args)
{
	if (shared > SHARED_MAX)
		return 1;
	prepare(block);
	e.kernel = k;
	e.args = args;
	blockDim = { block[0], block[1], block[2] };
	gridDim = { grid[0], grid[1], grid[2] };
	for (unsigned z = 0; z < grid[2]; z++)
		for (unsigned y = 0; y < grid[1]; y++)
			for (unsigned x = 0; x < grid[0]; x++) {
				blockIdx = { x, y, z };
				memset(emu_shared, 0xff, shared);
#ifdef EMU_CHECKED
				emu_block_begins(k->name, shared);
#endif
				if (run_block((x + y) % 2)) {
					fprintf(stderr, "%s: block (%u,%u): a barrier that not every thread reaches\n", k->name, x,
						y);
					return 1;
				}
			}
	return 0;
}

/* Prepares the thread's stack, which holds the kernel's arguments. All later accesses are those of the kernel. */
template <class... A, size_t... I> static void apply(void (*fn)(A...), void **args, std::index_sequence<I...>)
{
	std::tuple<std::remove_const_t<A>...> own(*static_cast<std::remove_const_t<A> *>(args[I])...);

	emu_watch(true);
	fn(std::get<I>(own)...);
	emu_watch(false);
}

template <class F, F fn> struct kernel_of;
template <class... A, void (*fn)(A...)> struct kernel_of<void (*)(A...), fn> {
	static constexpr size_t sizes[] = { sizeof(A)... };
	static void call(void **args)
	{
		apply(fn, args, std::index_sequence_for<A...>());
	}
	static constexpr emu_kernel entry(const char *name)
	{
		return { name, call, sizeof...(A), sizes };
	}
};
#define ENTRY(n)   kernel_of<decltype(&rt_##n), &rt_##n>::entry("rt_" #n),
#define TYPED(n)   ENTRY(n##_f32) ENTRY(n##_bf16) ENTRY(n##_f16)
#define DEPTHS(n)  \
	ENTRY(n##_f32_16) ENTRY(n##_bf16_16) ENTRY(n##_f16_16) ENTRY(n##_f32_64) ENTRY(n##_bf16_64) ENTRY(n##_f16_64) \
	ENTRY(n##_f32_128) ENTRY(n##_bf16_128) ENTRY(n##_f16_128)
#define TENSOR_DEPTHS(n) ENTRY(n##_bf16_64) ENTRY(n##_bf16_128) ENTRY(n##_f16_64) ENTRY(n##_f16_128)

static const emu_kernel kernels[] = { RT_KERNELS_PLAIN(ENTRY) RT_KERNELS_TYPED(TYPED) RT_KERNELS_ATTENTION(DEPTHS) RT_KERNELS_TENSOR(TENSOR_DEPTHS) };

#define NAMED(n) kernel_of<decltype(&n), &n>::entry(#n),
#ifdef EMU_CHECKED
static const emu_kernel planted[] = { PLANTED(NAMED) };
#endif

/* Of programs with user ops. */
static const emu_kernel brought[] = {
	NAMED(my_gelu) NAMED(my_gelu_backward)
	NAMED(user_bump) NAMED(user_bump_back) NAMED(user_times) NAMED(user_times_back_a) NAMED(user_times_back_b) NAMED(user_fold)
	NAMED(user_fma) NAMED(user_fma_back)
	NAMED(bn_gelu) NAMED(bn_gelu_back) NAMED(bn_softmax) NAMED(bn_softmax_back)
};

const emu_kernel *emu_find(const char *name)
{
#ifdef EMU_CHECKED
	for (const emu_kernel &k : planted)
		if (!strcmp(k.name, name))
			return &k;
#endif
	for (const emu_kernel &k : kernels)
		if (!strcmp(k.name, name))
			return &k;
	for (const emu_kernel &k : brought)
		if (!strcmp(k.name, name))
			return &k;
	return nullptr;
}
