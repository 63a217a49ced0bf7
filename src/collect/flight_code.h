/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the files of code that stacks of sleeping threads have met, and their unwind tables, in user space:
 * nothing is counted, so the kernel needs none of them. Files are numbered from FILE_VDSO + 1 on.
 */
#pragma once

#include "stacks/code_source.h"

/* Threads that are shown never run code of more files. */
#define MAX_FLIGHT_FILES 1024

struct flight_code;

/* 0 or -ENOMEM. */
int flight_code_new(struct flight_code **ret);
void flight_code_free(struct flight_code *code);
CLEANUP_OF(flight_code, flight_code_free)

/* A mapping of a file in a process, and the address of code at work there. */
struct flight_place {
	uint32_t pid;
	struct code_mapping mapping;
	const char *name; /* of the file, without folders; empty: unknown */
	uint64_t pc;
};

/* The number of a file; FILE_NONE: there is no room for more, or no memory. */
uint32_t flight_code_find(struct flight_code *code, const struct flight_place *place);

/* Whether nothing more can be found out about a file. */
bool flight_code_is_known(const struct flight_code *code, uint32_t number);

/*
 * Opens a file and has its table made, by children, until some moment at most. If identity or code
 * show that it is not the mapped file, it stays without table and names.
 */
void flight_code_learn(struct flight_code *code, uint32_t number, const struct flight_place *place,
		       uint64_t until_ns);

/* The rule for an offset in a file that is known: by frame pointers if nothing better is. */
struct unwind_rule flight_code_rule(const struct flight_code *code, uint32_t number,
				    uint64_t offset);

/* Returns the source by which its files are named; the source lives as long. */
struct code_source flight_code_source(struct flight_code *code);
