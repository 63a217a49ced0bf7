/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes doctor's findings in two forms. */
#include "report/doctor.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>

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

int report_findings_json(const struct finding *findings, size_t count, FILE *out)
{
	json_t *list = json_array(), *json;
	bool works = true;
	int err = 0;

	for (size_t i = 0; i < count; i++) {
		const struct finding *f = &findings[i];

		err |= json_array_append_new(list,
					     json_pack("{s:s, s:s, s:s, s:s}", "name", f->name,
						       "state", states[f->state].key, "detail",
						       f->detail, "remedy", f->remedy));
		works = works && f->state != FINDING_PROBLEM;
	}
	json = json_pack("{s:i, s:s, s:b, s:o}", "schema", 1, "version", BPFTRUSS_VERSION, "works",
			 works, "findings", list);
	if (err || !json)
		err = -ENOMEM;
	else if (json_dumpf(json, out, JSON_COMPACT | JSON_ENSURE_ASCII) || fputc('\n', out) == EOF)
		err = -EIO;
	json_decref(json);
	return err;
}
