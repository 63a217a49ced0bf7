/* SPDX-License-Identifier: BSD-2-Clause */
/* Holds what differs between architectures: the ABI of a call, its number and arguments in the
 * registers, the few numbers whose pairing is special, and in which order other CPUs see what is
 * stored. */
#pragma once

#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include "bpftruss/abi.h"
#include "task_fields.bpf.h"

/*
 * A function that is not static the verifier looks at once, and not once for each place that it is
 * called from.
 */
#define LOOKED_AT_ONCE __noinline

#define NR_NOT_KNOWN (-0x7fffffff - 1)

/* Numbers with rules of their own, for one ABI. */
struct special_calls {
	s32 execve, execveat, restart, clone, clone3, fork, vfork;
	s32 exit, exit_group, sigreturn;
	s32 set_user[6]; /* setuid, setreuid, setresuid, and what i386 had before; 0 = no more */
};

/* The registers that a walk up the stack begins with. */
struct user_regs {
	u64 ip, sp, bp;
	u64 di; /* only x86, of the innermost frame */
};

#if defined(__TARGET_ARCH_x86)

/* A fork passes sys_exit in its child, too. */
#define ARCH_CHILD_RETURNS true

/* Stacks are unwound by tables; elsewhere as the kernel does, by frame pointers. */
#define ARCH_HAS_TABLES true
#define NATIVE_ABI      ABI_X86_64
#define TS_COMPAT       0x0002
/* Above the x32 bit and 1024 it is no x32 call but an unknown 64-bit number, -1 for instance. */
#define X32_CALLS       1024

/* Calls that change what is mapped. */
enum mapping_call {
	NR_MMAP = 9,
	NR_MPROTECT = 10,
	NR_MUNMAP = 11,
	NR_MREMAP = 25,
	NR_SHMAT = 30,
	NR_SHMDT = 67,
	NR_REMAP_FILE_PAGES = 216,
	NR_PKEY_MPROTECT = 329,
};

static const struct special_calls native_calls = {
	59, 322, 219, 56, 435, 57, 58, 60, 231, 15, { 105, 113, 117 }
};
static const struct special_calls compat_calls = {
	11, 358, 0, 120, 435, 2, 190, 1, 252, 173, { 23, 70, 164, 203, 208, 213 }
};

static __always_inline u16 task_abi(struct task_struct *task, s32 *nr)
{
	if (task->thread_info.status & TS_COMPAT)
		return ABI_I386;
	if ((u32)*nr - X32_CALL_BIT < X32_CALLS) {
		*nr -= X32_CALL_BIT;
		return ABI_X32;
	}
	return ABI_X86_64;
}

static __always_inline s32 regs_nr(struct pt_regs *regs)
{
	return (s32)regs->orig_ax;
}

static __always_inline s32 regs_forgotten_nr(struct pt_regs *regs)
{
	return -1;
}

/* Whether the kernel has put back what was in the register of the result before the call. */
static __always_inline bool regs_are_rolled_back(struct pt_regs *regs, s64 result)
{
	return (s32)result == (s32)regs->orig_ax;
}

/* An argument, from 0 on, at the start of a call. */
static __always_inline u64 regs_arg(struct pt_regs *regs, u16 abi, u32 index)
{
	bool is_32 = abi == ABI_I386;
	u64 value;

	switch (index) {
	case 0:
		value = is_32 ? regs->bx : regs->di;
		break;
	case 1:
		value = is_32 ? regs->cx : regs->si;
		break;
	case 2:
		value = regs->dx;
		break;
	case 3:
		value = is_32 ? regs->si : regs->r10;
		break;
	case 4:
		value = is_32 ? regs->di : regs->r8;
		break;
	default:
		value = is_32 ? regs->bp : regs->r9;
	}
	return is_32 ? (u32)value : value;
}

static __always_inline u64 regs_arg0(struct pt_regs *regs, u16 abi)
{
	return abi == ABI_I386 ? (u32)regs->bx : regs->di;
}

/* Returns the third argument of a native call. */
static __always_inline u64 regs_arg2(struct pt_regs *regs)
{
	return regs->dx;
}

/* Copies the six arguments as the ABI of the call passes them. */
static __always_inline void regs_arguments(struct pt_regs *regs, u16 abi, u64 *to)
{
	bool compat = abi == ABI_I386;

	to[0] = compat ? (u32)regs->bx : regs->di;
	to[1] = compat ? (u32)regs->cx : regs->si;
	to[2] = compat ? (u32)regs->dx : regs->dx;
	to[3] = compat ? (u32)regs->si : regs->r10;
	to[4] = compat ? (u32)regs->di : regs->r8;
	to[5] = compat ? (u32)regs->bp : regs->r9;
}

/* CS of programs, and SS. */
#define USER_CS_32 0x23
#define USER_CS_64 0x33
#define USER_SS    0x2b

static __always_inline bool regs_are_64_bit(struct pt_regs *regs)
{
	return regs->cs == USER_CS_64;
}

static __always_inline struct user_regs regs_to_walk(struct pt_regs *regs)
{
	return (struct user_regs){ regs->ip, regs->sp, regs->bp, regs->di };
}

/* The processor keeps the order of stores, and that of loads. */
static __always_inline void stores_order(void)
{
	barrier();
}

static __always_inline bool word_is(const u64 *word, u64 value, u64 *zero)
{
	*zero = 0;
	return *word == value;
}

#define THREAD_SIZE  16384
#define FRED_PADDING 16

static __always_inline bool regs_are_users(struct pt_regs *regs)
{
	u16 cs = BPF_CORE_READ(regs, cs), ss = BPF_CORE_READ(regs, ss);

	return (cs == USER_CS_64 || cs == USER_CS_32) && ss == USER_SS;
}

/*
 * Replaces bpf_task_pt_regs() on kernels before 5.15: the registers lie at the top of a task's
 * stack, below what FRED keeps there. Registers that do not look like a program's are not believed,
 * except all zeros: a program that the kernel starts has none yet.
 */
static __always_inline s32 stack_regs_nr(struct task_struct *task)
{
	u64 top = (u64)task->stack + THREAD_SIZE;
	struct pt_regs *regs = (void *)(top - bpf_core_type_size(struct pt_regs));

	if (!regs_are_users(regs))
		regs = (void *)regs - FRED_PADDING;
	if (regs_are_users(regs))
		return (s32)BPF_CORE_READ(regs, orig_ax);
	return BPF_CORE_READ(regs, cs) || BPF_CORE_READ(regs, orig_ax) ? NR_NOT_KNOWN : 0;
}

#elif defined(__TARGET_ARCH_arm64)

#define ARCH_CHILD_RETURNS false

#define ARCH_HAS_TABLES false
#define NATIVE_ABI      ABI_ARM64
#define TIF_32BIT       22
/* pstate has this bit in a task that runs 32-bit code. */
#define PSR_MODE32      0x10

enum mapping_call {
	NR_MMAP = 222,
	NR_MPROTECT = 226,
	NR_MUNMAP = 215,
	NR_MREMAP = 216,
	NR_SHMAT = 196,
	NR_SHMDT = 197,
	NR_REMAP_FILE_PAGES = 234,
	NR_PKEY_MPROTECT = 288,
};

static const struct special_calls native_calls = {
	221, 281, 128, 220, 435, -1, -1, 93, 94, 139, { 145, 146, 147 }
};
static const struct special_calls compat_calls = {
	11, 387, 0, 120, 435, 2, 190, 1, 248, 173, { 23, 70, 164, 203, 208, 213 }
};

static __always_inline u16 task_abi(struct task_struct *task, s32 *nr)
{
	return task->thread_info.flags & (1UL << TIF_32BIT) ? ABI_ARM : ABI_ARM64;
}

static __always_inline s32 regs_nr(struct pt_regs *regs)
{
	return regs->syscallno;
}

/*
 * The kernel forgets a call's number before it looks at the signals that interrupted the call, and
 * a task may be stopped there. The register that the caller had put it in still holds it.
 */
static __always_inline s32 regs_forgotten_nr(struct pt_regs *regs)
{
	return regs->pstate & PSR_MODE32 ? regs->regs[7] : regs->regs[8];
}

static __always_inline bool regs_are_rolled_back(struct pt_regs *regs, s64 result)
{
	return (s32)result == (s32)regs->orig_x0;
}

static __always_inline u64 regs_arg(struct pt_regs *regs, u16 abi, u32 index)
{
	u64 value = index ? regs->regs[index % 6] : regs->orig_x0;

	return abi == ABI_ARM ? (u32)value : value;
}

static __always_inline u64 regs_arg0(struct pt_regs *regs, u16 abi)
{
	return abi == ABI_ARM ? (u32)regs->orig_x0 : regs->orig_x0;
}

static __always_inline u64 regs_arg2(struct pt_regs *regs)
{
	return regs->regs[2];
}

static __always_inline void regs_arguments(struct pt_regs *regs, u16 abi, u64 *to)
{
	to[0] = regs_arg0(regs, abi);
	for (int i = 1; i < CALL_ARGUMENTS; i++)
		to[i] = abi == ABI_ARM ? (u32)regs->regs[i] : regs->regs[i];
}

static __always_inline bool regs_are_64_bit(struct pt_regs *regs)
{
	return !(regs->pstate & PSR_MODE32);
}

static __always_inline struct user_regs regs_to_walk(struct pt_regs *regs)
{
	return (struct user_regs){ regs->pc, regs->sp, regs->regs[29], 0 };
}

/* Other CPUs see what was stored before this before what is stored after it. */
static __always_inline void stores_order(void)
{
	u64 word = 0;

	barrier();
	/* Only an atomic operation that fetches is a barrier to the processor. */
	__asm__ volatile("" : : "r"(&word) : "memory");
	__sync_lock_test_and_set(&word, 1);
	barrier();
}

/*
 * Whether a word has this value. If so, the processor knows the 0 that it is told only once it has
 * loaded the word: what is loaded through a pointer that this was added to is as new as that.
 */
static __always_inline bool word_is(const u64 *word, u64 value, u64 *zero)
{
	u64 found = *word, none = 0;

	/* Neither may the compiler see that none is 0, nor that the value will do as well. */
	barrier_var(none);
	none &= found;
	barrier_var(none);
	*zero = none;
	return found == value;
}

static __always_inline s32 stack_regs_nr(struct task_struct *task)
{
	return NR_NOT_KNOWN;
}

#endif

/* Makes a kernel look as if it were older than 5.15. */
const volatile bool no_task_pt_regs = false;

/* The number in the registers that a task's last entry into the kernel saved, or NR_NOT_KNOWN. */
static __always_inline s32 task_regs_nr(struct task_struct *task)
{
	if (!no_task_pt_regs && bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return regs_nr((struct pt_regs *)bpf_task_pt_regs(task));
	return stack_regs_nr(task);
}

/* The number of the call that a task outside of any may be about to go on with, or -1. */
static __always_inline s32 task_forgotten_nr(struct task_struct *task)
{
	s32 nr = -1;

	if (!no_task_pt_regs && bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		nr = regs_forgotten_nr((struct pt_regs *)bpf_task_pt_regs(task));
	return (u32)nr < CALLS_INDEXED ? nr : -1;
}

static __always_inline bool abi_is_compat(u16 abi)
{
	return abi == ABI_I386 || abi == ABI_ARM;
}

static __always_inline const struct special_calls *special_calls(u16 abi)
{
	return abi_is_compat(abi) ? &compat_calls : &native_calls;
}

/* The callers name the set of numbers, so that the compiler compares with constants. */
static __always_inline bool special_is_exec(const struct special_calls *c, s32 nr)
{
	return nr == c->execve || nr == c->execveat;
}

static __always_inline bool special_leaves(const struct special_calls *c, s32 nr)
{
	return nr == c->exit || nr == c->exit_group || nr == c->sigreturn;
}

static __always_inline bool call_is_exec(u16 abi, s32 nr)
{
	/* x32 has numbers of its own for the two. */
	if (abi == ABI_X32)
		return nr == 520 || nr == 545;
	return abi_is_compat(abi) ? special_is_exec(&compat_calls, nr)
				  : special_is_exec(&native_calls, nr);
}

static __always_inline bool call_makes_child(u16 abi, s32 nr)
{
	const struct special_calls *c = special_calls(abi);

	return nr >= 0 && (nr == c->clone || nr == c->clone3 || nr == c->fork || nr == c->vfork);
}

/* True for a call that ends with other registers than its caller's, or never ends. */
static __always_inline bool call_hides_caller(u16 abi, s32 nr)
{
	return call_is_exec(abi, nr) || (abi_is_compat(abi) ? special_leaves(&compat_calls, nr)
							    : special_leaves(&native_calls, nr));
}

/*
 * Whether it may change the user of whoever makes it. Not static: the verifier then looks at it once,
 * instead of following each answer through all that comes after each call of it.
 */
__noinline u32 call_sets_user(u32 abi, s32 nr)
{
	const struct special_calls *c = special_calls(abi);

	for (int i = 0; i < 6; i++) {
		if (c->set_user[i] && nr == c->set_user[i])
			return 1;
	}
	return 0;
}
