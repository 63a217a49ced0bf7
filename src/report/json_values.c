/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns how single values are written as JSON, and what every report begins with. */
#include "report/json_values.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "report/label.h"

json_t *json_number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

json_t *json_number_if(bool known, uint64_t value)
{
	return known ? json_number(value) : json_null();
}

json_t *json_untrusted(const char *bytes, size_t size)
{
	size_t length = strnlen(bytes, size);
	char *text __cleanup(freep) = malloc(TEXT_ESCAPED_MAX(length));

	if (!text)
		return NULL;
	text_escape(bytes, length, text);
	return json_string(text);
}

json_t *json_untrusted_text(const char *text)
{
	return json_untrusted(text ?: "", text ? strlen(text) : 0);
}

json_t *json_unless(int err, json_t *json)
{
	if (!err)
		return json;
	json_decref(json);
	return NULL;
}

json_t *json_time(int64_t real_ns)
{
	char text[CLOCK_RFC3339_SIZE];

	clock_rfc3339(real_ns, text, sizeof(text));
	return json_string(text);
}

json_t *json_losses(const struct losses *losses)
{
	json_t *to = json_object();
	int err = 0;

	for (int i = 0; i < NR_MODEL_LOSS; i++)
		err |= json_object_set_new(to, loss_texts[i].name, json_number(losses->count[i]));
	return json_unless(err, to);
}

int json_add_head(json_t *to, const struct snapshot *snapshot)
{
	int err = 0;

	err |= json_object_set_new(to, "schema", json_integer(JSON_SCHEMA));
	err |= json_object_set_new(to, "version", json_string(BPFTRUSS_VERSION));
	err |= json_object_set_new(to, "host", json_untrusted_text(snapshot->host));
	err |= json_object_set_new(to, "boot_id", json_untrusted_text(snapshot->boot_id));
	err |= json_object_set_new(to, "kernel", json_untrusted_text(snapshot->kernel));
	err |= json_object_set_new(to, "start", json_time(snapshot->start_ns));
	err |= json_object_set_new(to, "end", json_time(snapshot->end_ns));
	err |= json_object_set_new(to, "elapsed_ns", json_number(snapshot->elapsed_ns));
	return err;
}

int json_write_line(const json_t *json, FILE *out)
{
	/* ASCII only: a terminal acts on some characters beyond it, such as U+009B. */
	const size_t flags = JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(6);

	if (json_dumpf(json, out, flags) || fputc('\n', out) == EOF)
		return -EIO;
	return 0;
}
