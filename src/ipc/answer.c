/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns what handlers are helped with: parameters by name, errors as JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/server.h"

#define PREFIX "{\"error\": \""
#define SUFFIX "\"}\n"

/* The longest that one byte of a sentence becomes. */
#define MAX_ESCAPE_BYTES 6

const char *ipc_parameter(const struct ipc_request *request, const char *name)
{
	for (size_t i = 0; i < request->nr_parameters; i++)
		if (!strcmp(request->parameters[i].name, name))
			return request->parameters[i].value;
	return NULL;
}

/* ASCII, whatever the bytes are: a name in a sentence need not be valid UTF-8. */
static char *byte_escape(char *out, unsigned char c)
{
	if (c == '"' || c == '\\')
		return out + sprintf(out, "\\%c", c);
	if (c < ' ' || c == 0x7f)
		return out + sprintf(out, "\\u%04x", c);
	if (c > 0x7f)
		return out + sprintf(out, "\\\\x%02x", c);
	*out = (char)c;
	return out + 1;
}

void ipc_answer_error(struct ipc_answer *answer, unsigned int status, const char *sentence)
{
	char *out = malloc(sizeof(PREFIX) + sizeof(SUFFIX) + strlen(sentence) * MAX_ESCAPE_BYTES);

	*answer = (struct ipc_answer){ .status = status, .content_type = "application/json" };
	if (!out)
		return;
	answer->body = out;
	out = stpcpy(out, PREFIX);
	while (*sentence)
		out = byte_escape(out, (unsigned char)*sentence++);
	out = stpcpy(out, SUFFIX);
	answer->size = (size_t)(out - answer->body);
}
