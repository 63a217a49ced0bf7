/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the two forms of doctor's findings. */
#include "report/doctor.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>

#include "report/label.h"

static const struct {
	const char *word; /* on the screen */
	const char *key;  /* in JSON */
} states[] = {
	[FINDING_OK] = { "ok", "ok" },
	[FINDING_NOTE] = { "note", "absent" },
	[FINDING_PROBLEM] = { "MISSING", "missing" },
};

void report_findings(const struct finding *findings, size_t count, FILE *out)
{
	for (size_t i = 0; i < count; i++) {
		const struct finding *f = &findings[i];

		fprintf(out, "%-8s %-26s %s\n", states[f->state].word, f->name, f->detail);
		if (*f->remedy)
			fprintf(out, "%-8s %-26s -> %s\n", "", "", f->remedy);
	}
}

static json_t *finding_json(const struct finding *f)
{
	return json_pack("{s:s, s:s, s:s, s:s}", "name", f->name, "state", states[f->state].key,
			 "detail", f->detail, "remedy", f->remedy);
}

int report_findings_json(const struct finding *findings, size_t count, FILE *out)
{
	json_t *json = json_object(), *list = json_array();
	bool works = true;
	int err = 0;

	for (size_t i = 0; i < count; i++) {
		err |= json_array_append_new(list, finding_json(&findings[i]));
		works = works && findings[i].state != FINDING_PROBLEM;
	}
	err |= json_object_set_new(json, "schema", json_integer(1));
	err |= json_object_set_new(json, "version", json_string(BPFTRUSS_VERSION));
	err |= json_object_set_new(json, "works", json_boolean(works));
	err |= json_object_set_new(json, "findings", list);
	if (err)
		err = -ENOMEM;
	else if (json_dumpf(json, out, JSON_COMPACT | JSON_ENSURE_ASCII) || fputc('\n', out) == EOF)
		err = -EIO;
	json_decref(json);
	return err;
}
