/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reaches a daemon of another host, over TCP and with TLS. The host's certificate must be vouched for and have its
 * name; nothing is sent before that is known.
 */
#pragma once

#include "base/diag.h"

/* Options of the user; each NULL if it was not given. */
struct remote_options {
	const char *url; /* https://HOST[:PORT] */
	const char *ca;  /* PEM: who vouches for the host; NULL: whom this system trusts */
	const char *certificate, *key; /* PEM: ours */
	const char *secret; /* a file with a token or USER:PASSWORD, of which the first is sent */
	bool is_insecure;   /* without TLS, also to other hosts */
};

struct remote;

/* Reads and checks all that is given. Returns 0 or -errno with d filled. */
int remote_new(const struct remote_options *options, struct remote **ret, struct diag *d);
void remote_free(struct remote *remote);
CLEANUP_OF(remote, remote_free)

/* HOST:PORT, as messages have it. */
const char *remote_name(const struct remote *remote);

/* Lines of the head of a request, each with its end: Host, and Authorization if there is a secret. */
const char *remote_head(const struct remote *remote);

/* A connection, and its TLS. */
struct remote_line;

/*
 * Connects, and shakes hands; neither takes longer than the silence for each step. Returns 0 or -errno with d
 * filled: -ETIMEDOUT after the silence.
 */
int remote_connect(const struct remote *remote, unsigned int silence_ms, struct remote_line **ret,
		   struct diag *d);
void remote_line_free(struct remote_line *line);
CLEANUP_OF(remote_line, remote_line_free)

/* Like write() of everything, and read(); -1 with EAGAIN after the silence. */
int remote_send(struct remote_line *line, const char *bytes, size_t size);
ssize_t remote_receive(struct remote_line *line, char *buf, size_t size);
