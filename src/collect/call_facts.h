/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds out what a call waits for; each file here asks another source. Private to in_flight.c. */
#pragma once

#include "base/process.h"
#include "collect/flight_memory.h"
#include "model/in_flight.h"

/* A file whose other end somebody has open. */
struct wanted_end {
	struct flight *flight; /* borrowed */
	size_t fact;           /* the place of what is found among its facts */
	char link[128];        /* as /proc/PID/fd shows that end */
	int mode;              /* O_RDONLY or O_WRONLY: only those that can do that; -1: all */
	uint32_t pid;          /* whose end we know: not to be told, if all are wanted */
	unsigned int found;
	char text[128]; /* who has it */
};

#define MAX_WANTED_ENDS 256

struct wanted_ends {
	struct wanted_end items[MAX_WANTED_ENDS]; /* no others are looked for */
	size_t count;
};

/* Wants the paths, timeouts and addresses that the arguments of a call point at. */
void argument_memory_want(struct thread_memory *memory);

/* Keeps them, if the thread slept until they were taken. 0 or -ENOMEM. */
int argument_memory_keep(const struct thread_memory *memory, struct flight *flight);

/* Adds what the arguments of a call say. process: /proc/PID, a descriptor. */
void call_facts_add(struct flight *flight, int process, struct wanted_ends *ends);

/* Adds the addresses of a socket, by its inode. */
void socket_facts_add(struct flight *flight, int process, int fd, uint64_t inode,
		      struct wanted_ends *ends);

/* The name of a unix socket, or else that of its peer; owned by the caller, NULL: neither is known. */
char *unix_socket_text(uint32_t pid, uint64_t inode);

/* Spells a struct sockaddr of so many bytes; owned by the caller, NULL: it makes no sense. */
char *socket_address_text(const void *address, size_t size);

/* Writes "1234 (name)"; the name is untrusted bytes. */
void process_describe(uint32_t pid, char *buf, size_t size);

/* Keeps the end behind the last one, which was filled in. */
void wanted_ends_keep(struct wanted_ends *ends);

/* Looks through the open files of all processes once, for a second at most, and adds who was found. */
void wanted_ends_find(struct wanted_ends *ends);
