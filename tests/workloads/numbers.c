// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls beyond the native table: numbers that no kernel knows, x32 numbers, and on x86 the 32-bit
 * ABI entered from a 64-bit process.
 */
#include "table.h"

#if defined(__x86_64__)
#define X32_BIT 0x40000000

enum i386_nr {
	I386_READ = 3,
	I386_OPEN = 5,
	I386_GETPID = 20,
	I386_GETPPID = 64,
	I386_UNKNOWN = 3000,
};

static void call_x32(int times, int nr)
{
	for (int i = 0; i < times; i++)
		table_add_abi(TABLE_X32, nr, raw_call(nr | X32_BIT), END_OK);
}

static void call_other_abis(void)
{
	static const char missing[] = "/nonexistent/bpftruss"; /* below 4 GiB: a static program */

	call_x32(11, SYS_getppid);
	call_x32(3, 515);
	repeat_i386(23, I386_GETPPID, 0);
	repeat_i386(29, I386_GETPID, 0);
	repeat_i386(13, I386_OPEN, (long)missing);
	repeat_i386(7, I386_READ, -1);
	repeat_i386(5, I386_UNKNOWN, 0);
}
#else
static void call_other_abis(void)
{
}
#endif

WORKLOAD(argc, argv)
{
	repeat_call(31, SYS_getppid, 0);
	repeat_call(17, 4000, 0);
	repeat_call(19, -1, 0);
	repeat_call(7, 0x3fffffff, 0);
	repeat_call(5, 511, 0);
	repeat_call(3, 512, 0);
	repeat_call(2, -4000, 0);
	call_other_abis();
}
