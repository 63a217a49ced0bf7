/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells who may ask over TCP: encryption, certificates of clients, tokens and passwords. Each file is read
 * and checked before anybody can connect, and each mistake in one is a sentence.
 */
#pragma once

#include "base/diag.h"

/* Paths, each NULL unless it is given. */
struct guard_files {
	const char *certificate, *key; /* PEM: ours, with those that vouch for it, and its key */
	const char *client_ca; /* PEM: who vouches for clients, which must have certificates */
	const char *secrets;   /* a token or USER:PASSWORD a line; clients must know one */
};

struct guard;

/* Reads all that is given. Returns 0 or -errno with d filled, which begins with the key of the configuration. */
int guard_new(const struct guard_files *files, struct guard **ret, struct diag *d);
void guard_free(struct guard *guard);
CLEANUP_OF(guard, guard_free)

/* The contents of the file; NULL: it was not read. */
const char *guard_certificate(const struct guard *guard);
const char *guard_key(const struct guard *guard);
const char *guard_client_ca(const struct guard *guard);

/* Whether clients have to show who they are, by a certificate or a secret. */
bool guard_asks(const struct guard *guard);

/* Whether an Authorization header, NULL for none, has one of the secrets, if there are any. */
bool guard_has_secret(const struct guard *guard, const char *authorization);

/* Whether the client of a TLS session of GnuTLS, NULL for none, has a certificate, if it needs one. */
bool guard_has_certificate(const struct guard *guard, void *session);
