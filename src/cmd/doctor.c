/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs `bpftruss doctor`: what works on this machine, what does not, and what to do about it. */
#include "cmd/options.h"
#include "collect/features.h"
#include "collect/tracers.h"

static void measure_cost(struct finding *ret)
{
	struct slow_path_cost cost;
	struct diag d;

	*ret = (struct finding){ .name = "cost to every process" };
	if (tracers_measure_slow_path(&cost, &d)) {
		ret->state = FINDING_NOTE;
		snprintf(ret->detail, sizeof(ret->detail), "could not be measured: %.100s", d.text);
		return;
	}
	if (!cost.traced) {
		snprintf(ret->detail, sizeof(ret->detail),
			 "while anything is attached, each system call of each process takes %.0f "
			 "ns more (getppid: %.0f ns, then %.0f)",
			 cost.attached_ns - cost.bare_ns, cost.bare_ns, cost.attached_ns);
		return;
	}
	ret->state = FINDING_NOTE;
	snprintf(ret->detail, sizeof(ret->detail),
		 "beside the other tracers %.0f ns for each system call (getppid: %.0f ns with "
		 "them, then %.0f)",
		 cost.attached_ns - cost.bare_ns, cost.bare_ns, cost.attached_ns);
	snprintf(ret->remedy, sizeof(ret->remedy),
		 "they have each call take the slow path already; for what bpftruss costs without "
		 "them, end them first");
}

static int doctor_run(const struct options *o, struct diag *d)
{
	struct finding findings[MAX_FEATURES + 1];
	bool works;
	size_t count;

	(void)d;
	features_silence_libbpf(!o->collector.verbose);
	count = features_probe(findings);
	/* Nothing comes after a problem. */
	works = findings[count - 1].state != FINDING_PROBLEM;
	if (works)
		measure_cost(&findings[count++]);
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
