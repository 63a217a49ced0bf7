/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits for descriptors, and calls who is responsible for each that is readable. */
#ifndef BPFTRUSS_LOOP_H
#define BPFTRUSS_LOOP_H

#define LOOP_MAX_SOURCES 16

struct loop_source {
	int fd; /* borrowed */
	void (*ready)(void *closure);
	void *closure;
};

struct loop {
	int fd; /* -1: not open */
	struct loop_source sources[LOOP_MAX_SOURCES];
	int nr_sources;
};

#define LOOP_CLOSED { .fd = -1 }

/* Returns 0 or -errno. */
int loop_open(struct loop *loop);

void loop_done(struct loop *loop);

/* Sources stay until the loop is done. Returns 0 or -errno. */
int loop_add(struct loop *loop, int fd, void (*ready)(void *closure), void *closure);

/* Puts another descriptor in the place of a source's, which may be closed by now. 0 or -errno. */
int loop_replace(struct loop *loop, int old_fd, int new_fd);

/* Waits once, at most so many milliseconds (-1: for ever). Returns 0 or -errno. */
int loop_wait(struct loop *loop, int patience_ms);

#endif
