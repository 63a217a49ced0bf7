/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs `bpftruss doctor`: what works on this machine, what does not, and what to do about it. */

#include "cmd/options.h"
#include "collect/features.h"

static const enum finding_state finding_states[] = {
	[FEATURE_OK] = FINDING_OK,
	[FEATURE_ABSENT] = FINDING_NOTE,
	[FEATURE_MISSING] = FINDING_PROBLEM,
};

/* One line for the measured cost, which is written to text. */
static struct finding measure_cost(char *text, size_t size)
{
	struct finding finding = { "cost to every process", FINDING_OK, text, "" };
	struct slow_path_cost cost;
	struct diag d;

	if (features_measure_slow_path(&cost, &d)) {
		finding.state = FINDING_NOTE;
		snprintf(text, size, "could not be measured: %.100s", d.text);
		return finding;
	}
	snprintf(text, size,
		 "while anything is attached, each system call of each process takes %.0f "
		 "ns more (getppid: %.0f ns, then %.0f)",
		 cost.attached_ns - cost.bare_ns, cost.bare_ns, cost.attached_ns);
	return finding;
}

static int doctor_run(const struct options *o, struct diag *d)
{
	struct feature features[MAX_FEATURES];
	struct finding findings[MAX_FEATURES + 1];
	bool works = true;
	char cost[160];
	size_t count;

	(void)d;
	features_silence_libbpf(!o->collector.verbose);
	count = features_probe(features);
	for (size_t i = 0; i < count; i++) {
		const struct feature *f = &features[i];

		findings[i] =
			(struct finding){ f->name, finding_states[f->state], f->detail, f->remedy };
		works = works && f->state != FEATURE_MISSING;
	}
	if (works)
		findings[count++] = measure_cost(cost, sizeof(cost));
	if (o->report.format == FORMAT_JSON)
		report_findings_json(findings, count, stdout);
	else
		report_findings(findings, count, stdout);
	return works ? STATUS_OK : STATUS_UNSUPPORTED;
}

const struct verb doctor_verb = {
	"doctor",
	VERB_DOCTOR,
	doctor_run,
	"what works on this machine, what does not, and what to do about it",
	"usage: bpftruss doctor [options]",
	"Prints what this kernel and your privileges allow, with a remedy for what is missing,\n"
	"and measures what attaching costs every process on this machine.",
	"  sudo bpftruss doctor                all checks, and the cost\n"
	"  sudo bpftruss doctor --json         for bug reports",
};
