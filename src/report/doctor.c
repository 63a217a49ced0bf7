/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes doctor's findings, as text and as JSON. */
#include "report/doctor.h"

#include "report/json.h"

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
	struct json_writer to;
	bool works = true;

	json_begin(&to, out);
	json_put_document(&to, NULL);
	for (size_t i = 0; i < count; i++)
		works = works && findings[i].state != FINDING_PROBLEM;
	json_put_bool(&to, "works", works);
	json_put_list(&to, "findings");
	for (size_t i = 0; i < count; i++) {
		json_put_object(&to, NULL);
		json_put_text(&to, "name", findings[i].name);
		json_put_word(&to, "state", states[findings[i].state].key);
		json_put_text(&to, "detail", findings[i].detail);
		json_put_text(&to, "remedy", findings[i].remedy);
		json_put_end(&to);
	}
	return json_end(&to);
}
