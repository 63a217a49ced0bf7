/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs `bpftruss report`: writes a snapshot that was saved as JSON in any other form. */
#include "cmd/asking.h"
#include "cmd/reporting.h"

static int report_run(const struct options *o, struct diag *d)
{
	struct asked_snapshot saved __cleanup(asked_snapshot_done) = { 0 };
	struct snapshot *chosen __cleanup(snapshot_freep) = NULL;
	struct output output __cleanup(output_done) = { 0 };
	int err;

	if (o->nr_words != 1)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"report: give one file that --json has written; see 'bpftruss "
				"report --help'");
	err = output_open(&output, o, d)
		      ?: asked_snapshot_load(o->words[0], &saved, d)
		      ?: options_fit_snapshot(o, saved.snapshot, d);
	if (err)
		return err;
	if (targets_filter(&o->targets, saved.snapshot, &chosen))
		return diag_oom(d);
	return output_report(&output, o, chosen, d);
}

const struct verb report_verb = {
	"report",
	VERB_REPORT,
	report_run,
	"write a saved snapshot as a table, CSV or a picture",
	"usage: bpftruss report FILE [options]",
	"Writes what -c --json or snapshot --json has saved in any form that they have. FILE may\n"
	"be - for stdin.",
	"  bpftruss report saved.json -w --by comm,syscall --sort errors\n"
	"  bpftruss report saved.json --errors --csv > errors.csv\n"
	"  bpftruss report saved.json --format flame > flame.svg",
};
