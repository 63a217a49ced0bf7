/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns what user space sets while the programs run; they only read it. */
#pragma once

#include "kernel_types.h"
#include <bpf/bpf_helpers.h>

/*
 * counting: set by user space from its start to its last read; outside of that nothing changes.
 * starting: processes that exist already are being asked about.
 * calls_off, stacks_off, errnos_off: these cost too much now. Calls that are not sent, or have no stack or
 * errno, are counted as such.
 * follows: the children of some target are counted, too.
 */
struct {
	__u32 counting;
	__u32 starting;
	__u32 stacks_off;
	__u32 errnos_off;
	__u32 calls_off;
	__u32 follows;
} control __attribute__((aligned(64))) SEC(".data.control");

static __always_inline bool counting(void)
{
	return *(volatile u32 *)&control.counting;
}

static __always_inline bool stacks_are_off(void)
{
	return *(volatile u32 *)&control.stacks_off;
}

static __always_inline bool errnos_are_off(void)
{
	return *(volatile u32 *)&control.errnos_off;
}

static __always_inline bool calls_are_off(void)
{
	return *(volatile u32 *)&control.calls_off;
}
