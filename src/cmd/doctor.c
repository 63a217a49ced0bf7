/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs `bpftruss doctor`: what works on this machine, what does not, and what to do about it. */
#include <stdio.h>

#include "cmd/options.h"
#include "collect/features.h"
#include "report/doctor.h"

/* The checks, and one line for the measured cost. */
struct examination {
	struct feature features[MAX_FEATURES];
	struct finding findings[MAX_FEATURES + 1];
	size_t count;
	bool works;
	char cost[160];
};

static const enum finding_state finding_states[] = {
	[FEATURE_OK] = FINDING_OK,
	[FEATURE_ABSENT] = FINDING_NOTE,
	[FEATURE_MISSING] = FINDING_PROBLEM,
};

static void examine_features(struct examination *e)
{
	e->count = features_probe(e->features);
	e->works = true;
	for (size_t i = 0; i < e->count; i++) {
		const struct feature *f = &e->features[i];

		e->findings[i] =
			(struct finding){ f->name, finding_states[f->state], f->detail, f->remedy };
		e->works = e->works && f->state != FEATURE_MISSING;
	}
}

static void examine_cost(struct examination *e)
{
	struct slow_path_cost cost;
	struct diag d;
	struct finding *f = &e->findings[e->count];

	if (!e->works)
		return;
	*f = (struct finding){ "cost to every process", FINDING_OK, e->cost, "" };
	if (features_measure_slow_path(&cost, &d)) {
		f->state = FINDING_NOTE;
		snprintf(e->cost, sizeof(e->cost), "could not be measured: %.100s", d.text);
	} else {
		snprintf(e->cost, sizeof(e->cost),
			 "while anything is attached, each system call of each process takes %.0f "
			 "ns more (getppid: %.0f ns, then %.0f)",
			 cost.attached_ns - cost.bare_ns, cost.bare_ns, cost.attached_ns);
	}
	e->count++;
}

static int doctor_run(const struct options *o, struct diag *d)
{
	struct examination e = { .works = false };

	(void)d;
	features_silence_libbpf(!o->collector.verbose);
	examine_features(&e);
	examine_cost(&e);
	if (o->report.format == FORMAT_JSON)
		report_findings_json(e.findings, e.count, stdout);
	else
		report_findings(e.findings, e.count, stdout);
	return e.works ? STATUS_OK : STATUS_UNSUPPORTED;
}

const struct verb doctor_verb = {
	"doctor",
	VERB_DOCTOR,
	doctor_run,
	"what works on this machine, what does not, and what to do about it",
	"usage: bpftruss doctor [options]",
	"Tells what this kernel and your privileges allow, with a remedy for what is missing,\n"
	"and measures what attaching costs every process here.",
	"  sudo bpftruss doctor                all checks, and the cost\n"
	"  sudo bpftruss doctor --json         for bug reports",
};
