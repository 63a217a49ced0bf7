/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads certificates, keys and secrets, whose owner is told in a sentence what is wrong with the file. */
#pragma once

#include "base/diag.h"

/*
 * The contents of a file of at most 1 MiB, for an option; nobody but its owner and group may read one that is
 * secret. The text is the caller's, who frees it with key_file_forget(). Returns 0 or -errno with d filled.
 */
int key_file_read(const char *option, const char *path, bool is_secret, char **ret, struct diag *d);

/* Overwrites a text, and frees it; NULL is fine. */
void key_file_forget(char *text);

/*
 * Calls take for each secret: a line that is neither empty nor begins with #, without its end. Stops at the first
 * error of take, which it returns, and refuses what is neither a token nor USER:PASSWORD, or a file without any.
 */
int key_file_secrets(const char *option, const char *path, const char *text,
		     int (*take)(void *closure, const char *secret), void *closure, struct diag *d);

/* Returns the Authorization header of a secret: Bearer TOKEN, or Basic and it in base64. To be freed; NULL: no memory. */
char *key_file_header(const char *secret);

/* A header is no longer than this. */
#define KEY_FILE_HEADER_MAX 800
