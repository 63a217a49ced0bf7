/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends files to a collector by HTTP, in a child: names, TLS and a network that may be slow are never waited
 * for here, and libcurl is not loaded into this process.
 *
 *	post_start(&options, folder, names, nr, &child);
 *	poll(child.pidfd, child_timeout_ms(&child));
 *	post_finish(&child, results);
 */
#pragma once

#include "base/child.h"
#include "base/diag.h"

/* The first argument by which the program knows that it is such a child. */
#define POST_ARGUMENT "--otlp-post"

/* A child sends so many files at most, of so many bytes each. */
#define POST_MAX_FILES 16
#define POST_MAX_BYTES ((size_t)64 << 20)

/* The end of a file's name says where it goes: to v1/metrics or v1/logs below the endpoint. */
#define POST_METRICS_SUFFIX ".metrics.json"
#define POST_LOGS_SUFFIX    ".logs.json"

struct post_options {
	const char *endpoint; /* http://HOST:PORT or https://…, a path may follow */
	const char *headers;  /* a file with a NAME: VALUE a line; NULL: none */
	const char *ca;       /* a file in PEM; NULL: that of the system */
};

/* Whether they make sense, and the files can be read. 0 or -errno with d filled. */
int post_check(const struct post_options *options, struct diag *d);

/* Tells what became of a file. */
struct post_result {
	uint32_t status;        /* HTTP; 0: there was no answer */
	uint32_t retry_after_s; /* 0: the answer does not say */
	bool is_lost;           /* the file is gone or too large: it can never be sent */
	char text[2039];        /* the beginning of the answer, or why there was none */
};

/* Whether the collector has taken it. */
bool post_is_taken(const struct post_result *result);

/*
 * Starts a child that sends files of a folder, one after the other, up to the first that is neither taken nor
 * lost. It is to be watched, and stopped when it is overdue. 0 or -errno.
 */
int post_start(const struct post_options *options, int folder, const char *const *names, size_t nr,
	       struct child *ret);

/*
 * Takes the results, and waits for the end of the child if it has to; the child is done then. Returns the number
 * of results, which are those of the first files that were named, or a negative errno.
 */
int post_finish(struct child *child, struct post_result results[POST_MAX_FILES]);

/* main() of the child; does not return. */
_Noreturn void post_main(int argc, char **argv);
