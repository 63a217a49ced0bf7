/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads such files. Invariant: what is secret is overwritten before its memory is given back. */
#include "ipc/key_file.h"

#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <sys/stat.h>

#include "base/text.h"

/* A larger file is none of these. */
#define FILE_BYTES_MAX   ((size_t)1 << 20)
#define SECRET_BYTES_MAX 512

void key_file_forget(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

int key_file_read(const char *option, const char *path, bool is_secret, char **ret, struct diag *d)
{
	int fd __cleanup(closep) = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char *text __cleanup(freep) = NULL;
	struct stat st;
	ssize_t size;

	if (fd < 0 || fstat(fd, &st))
		return diag_set(d, DIAG_FAILED, errno, "%s: cannot read %s: %s", option, path,
				strerror(errno));
	if (!S_ISREG(st.st_mode) || (size_t)st.st_size > FILE_BYTES_MAX)
		return diag_set(d, DIAG_FAILED, EINVAL, "%s: %s is not a file of at most 1 MiB",
				option, path);
	if (is_secret && st.st_mode & (S_IRWXO | S_IWGRP))
		return diag_set(d, DIAG_FAILED, EPERM,
				"%s: others may read or change %s: chmod 600 or 640 it", option,
				path);
	text = calloc(1, FILE_BYTES_MAX + 1);
	if (!text)
		return diag_oom(d);
	size = read(fd, text, FILE_BYTES_MAX);
	if (size < 0)
		return diag_set(d, DIAG_FAILED, errno, "%s: cannot read %s: %s", option, path,
				strerror(errno));
	*ret = strdup(text);
	explicit_bzero(text, (size_t)size);
	return *ret ? 0 : diag_oom(d);
}

char *key_file_header(const char *secret)
{
	const gnutls_datum_t plain = { (unsigned char *)secret, (unsigned int)strlen(secret) };
	gnutls_datum_t encoded = { NULL, 0 };
	char *header = NULL;

	if (!strchr(secret, ':'))
		return asprintf(&header, "Bearer %s", secret) < 0 ? NULL : header;
	if (gnutls_base64_encode2(&plain, &encoded))
		return NULL;
	if (asprintf(&header, "Basic %.*s", (int)encoded.size, (char *)encoded.data) < 0)
		header = NULL;
	gnutls_free(encoded.data);
	return header;
}

static int take_lines(const char *option, const char *path, char *at,
		      int (*take)(void *closure, const char *secret), void *closure,
		      size_t *ret_count, struct diag *d)
{
	unsigned int number = 0;
	char *line;
	int err = 0;

	while (!err && (line = strsep(&at, "\n"))) {
		number++;
		line[strcspn(line, "\r")] = '\0';
		if (!*line || *line == '#')
			continue;
		if (strlen(line) > SECRET_BYTES_MAX || (!strchr(line, ':') && strchr(line, ' ')))
			return diag_set(d, DIAG_FAILED, EINVAL,
					"%s: line %u of %s is neither a token nor USER:PASSWORD",
					option, number, path);
		err = take(closure, line);
		(*ret_count)++;
	}
	return err;
}

int key_file_secrets(const char *option, const char *path, const char *text,
		     int (*take)(void *closure, const char *secret), void *closure, struct diag *d)
{
	char *copy = strdup(text);
	const size_t size = strlen(text);
	size_t count = 0;
	int err;

	if (!copy)
		return diag_oom(d);
	err = take_lines(option, path, copy, take, closure, &count, d);
	explicit_bzero(copy, size);
	free(copy);
	if (err == -ENOMEM)
		return diag_oom(d);
	if (err || count)
		return err;
	return diag_set(d, DIAG_FAILED, EINVAL,
			"%s: %s has no secret: write a token or USER:PASSWORD into it", option,
			path);
}
