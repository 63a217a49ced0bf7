/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the encoding of targets: RFC 3986, every byte that is not unreserved. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ipc/client.h"

#define UNRESERVED "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

/* Appends bytes, encoded but for those of keep; the end of what it has written. */
static char *encode(char *out, const char *text, const char *keep)
{
	static const char digits[] = "0123456789ABCDEF";

	for (; *text; text++) {
		const unsigned char c = (unsigned char)*text;

		if (strchr(UNRESERVED, c) || strchr(keep, c)) {
			*out++ = *text;
			continue;
		}
		*out++ = '%';
		*out++ = digits[c / 16];
		*out++ = digits[c % 16];
	}
	*out = '\0';
	return out;
}

/* Makes room for so many bytes to encode, and a few plain ones; where to write them, or NULL. */
static char *target_extend(struct ipc_target *target, size_t bytes)
{
	const size_t length = target->text ? strlen(target->text) : 0;
	char *text = target->failed ? NULL : realloc(target->text, length + bytes * 3 + 3);

	if (!text) {
		ipc_target_done(target);
		target->failed = true;
		return NULL;
	}
	target->text = text;
	return text + length;
}

void ipc_target_init(struct ipc_target *target, const char *path)
{
	char *out;

	*target = (struct ipc_target){ 0 };
	out = target_extend(target, strlen(path));
	if (out)
		encode(out, path, "/");
}

void ipc_target_add(struct ipc_target *target, const char *name, const char *value)
{
	char *out = target_extend(target, strlen(name) + strlen(value));

	if (!out)
		return;
	*out = '\0';
	*out = strchr(target->text, '?') ? '&' : '?';
	out = encode(out + 1, name, "");
	*out++ = '=';
	encode(out, value, "");
}

void ipc_target_done(struct ipc_target *target)
{
	free(target->text);
	target->text = NULL;
}
