/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns what is answered but not written. */
#include "store/tail.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"

/* The run that an append would write it to: the one that is counted, or one that begins with it. */
static int take_run(const struct history *history, const struct snapshot *snapshot, struct run *ret)
{
	const struct run *run = &history->run;
	int64_t start_ns = snapshot->start_ns;
	int64_t start_mono_ns = (int64_t)(snapshot->end_mono_ns - snapshot->elapsed_ns);
	bool goes_on = append_goes_on(history, snapshot);

	if (goes_on) {
		start_ns = run->start_ns;
		start_mono_ns = run->start_mono_ns;
	}
	if (run_init(ret, snapshot, start_ns, start_mono_ns))
		return -ENOMEM;
	if (goes_on && run->id) {
		ret->id = run->id;
		ret->after_run = run->after_run;
		ret->after_mono_ns = run->after_mono_ns;
		ret->after_ns = run->after_ns;
	} else {
		append_place_run(history, ret);
	}
	return 0;
}

int tail_open(struct history *history, const struct snapshot *snapshot, struct tail *ret)
{
	struct kinds *kinds = &history->db->kinds;
	const struct kind_source source = { .kinds = kinds, .bounded = true };
	int err;

	*ret = (struct tail){
		.kinds = kinds,
		.nr_kinds = kinds->count,
		.last_kind = kinds->last_id,
		.rows = calloc(1, sizeof(*ret->rows)),
	};
	if (!ret->rows)
		return -ENOMEM;
	err = take_run(history, snapshot, &ret->run);
	if (err)
		return err;
	ret->interval = append_interval(history, &ret->run, snapshot);
	ret->interval.id = TAIL_ID;
	err = sum_add_snapshot(&ret->sum, &source, snapshot);
	if (!err && ret->sum.builder)
		err = builder_finish(ret->sum.builder, ret->rows);
	return err;
}

void tail_done(struct tail *tail)
{
	if (tail->kinds)
		kinds_rewind(tail->kinds, tail->nr_kinds, tail->last_kind);
	run_done(&tail->run);
	sum_done(&tail->sum);
	snapshot_free(tail->rows);
	*tail = (struct tail){ 0 };
}

int tail_add(const struct tail *tail, const bool *wanted, struct sum *sum)
{
	int err = 0;

	for (size_t i = 0; i < tail->rows->nr_rows && !err; i++) {
		const struct row *row = tail->rows->rows[i];
		int64_t kind = (int64_t)(row->boot_ns - KIND_FIRST);

		if (kinds_want(tail->kinds, wanted, kind))
			err = sum_add_row(sum, kind, row);
	}
	for (size_t i = 0; i < tail->sum.nr_shares && !err; i++) {
		const struct share *share = &tail->sum.shares[i];

		if (kinds_want(tail->kinds, wanted, share->kind))
			err = sum_add_share(sum, share);
	}
	losses_merge(&sum->losses, &tail->sum.losses);
	return err;
}
