/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs `bpftruss merge`: makes one saved snapshot of several, and says on stderr what it is of. */
#include "cmd/asking.h"
#include "cmd/reporting.h"
#include "json/documents.h"
#include "model/merge.h"

/* More hosts are not named. */
#define HOSTS_NAMED 5

struct loaded {
	struct asked_snapshot *list; /* owned */
	struct merge_input *inputs;  /* owned */
	size_t count;
};

static void loaded_done(struct loaded *loaded)
{
	for (size_t i = 0; i < loaded->count; i++)
		asked_snapshot_done(&loaded->list[i]);
	free(loaded->list);
	free(loaded->inputs);
}

static int load(const struct options *o, struct loaded *ret, struct diag *d)
{
	ret->list = calloc((size_t)o->nr_words, sizeof(*ret->list));
	ret->inputs = calloc((size_t)o->nr_words, sizeof(*ret->inputs));
	if (!ret->list || !ret->inputs)
		return diag_oom(d);
	for (int i = 0; i < o->nr_words; i++) {
		int err = asked_snapshot_load(o->words[i], &ret->list[i], d);

		if (err)
			return err;
		ret->inputs[i] = (struct merge_input){ o->words[i], ret->list[i].snapshot };
		ret->count++;
	}
	return 0;
}

/* --- what it is of ------------------------------------------------------------------------------- */

static void print_visible(const char *text)
{
	char *visible __cleanup(freep) = text_visible(text);

	fputs(visible ?: "?", stderr);
}

static bool is_other_host(const struct origins *origins, size_t i)
{
	return !i || strcmp(origins->items[i - 1].host, origins->items[i].host) != 0;
}

/* Names the hosts of which some part is not exact. */
static void tell_losses(const struct origins *origins)
{
	const struct origin *named = NULL;
	size_t count = 0;

	for (size_t i = 0; i < origins->count; i++) {
		const struct origin *origin = &origins->items[i];

		if (origin->is_exact || (named && !strcmp(named->host, origin->host)))
			continue;
		named = origin;
		if (++count > HOSTS_NAMED)
			continue;
		fprintf(stderr, "%s", count == 1 ? "bpftruss: not exact: " : ", ");
		print_visible(origin->host);
	}
	if (count > HOSTS_NAMED)
		fprintf(stderr, " and %zu more", count - HOSTS_NAMED);
	if (count)
		fputc('\n', stderr);
}

/* A host that counts at one time under two boots is two hosts. */
static void tell_namesakes(const struct origins *origins)
{
	for (size_t i = 1; i < origins->count; i++) {
		const struct origin *a = &origins->items[i - 1], *b = &origins->items[i];

		if (is_other_host(origins, i) || origin_same_boot(a, b) ||
		    a->end_ns <= b->start_ns || b->end_ns <= a->start_ns)
			continue;
		fputs("bpftruss: two hosts are called ", stderr);
		print_visible(a->host);
		fputs(": --by host adds them up\n", stderr);
		return;
	}
}

static void tell_versions(const struct origins *origins)
{
	const char *first = origins->items[0].version;

	for (size_t i = 1; i < origins->count; i++) {
		const char *other = origins->items[i].version;

		if (!strcmp(first, other))
			continue;
		fputs("bpftruss: saved by versions ", stderr);
		print_visible(first);
		fputs(" and ", stderr);
		print_visible(other);
		fputs(": what only one of them counts is 0 in the other\n", stderr);
		return;
	}
}

/* Which moments of a part with pauses were counted is not known. */
static bool has_pauses(const struct origins *origins)
{
	for (size_t i = 0; i < origins->count && origins->count > 1; i++) {
		if (origins->items[i].paused_ns)
			return true;
	}
	return false;
}

static void tell(const struct snapshot *merged)
{
	const struct origins *origins = merged->origins;
	char what[128];
	size_t hosts = 0;

	for (size_t i = 0; i < origins->count; i++)
		hosts += is_other_host(origins, i);
	snprintf(what, sizeof(what), "%zu snapshot%s of %zu host%s, ", origins->count,
		 origins->count == 1 ? "" : "s", hosts, hosts == 1 ? "" : "s");
	span_tell(what, merged->start_ns, merged->end_ns, merged->elapsed_ns,
		  has_pauses(origins) ? ", about: some parts have pauses" : "");
	tell_losses(origins);
	tell_namesakes(origins);
	tell_versions(origins);
}

/* --- the verb ------------------------------------------------------------------------------------ */

static int write_merged(const struct options *o, struct output *output,
			const struct snapshot *merged, struct diag *d)
{
	int err = output_begin(output, o) ?: report_json(merged, output->stream);

	if (!err && fflush(output->stream))
		err = -errno;
	return err ? output_failed(o, err, d) : 0;
}

static int merge_run(const struct options *o, struct diag *d)
{
	struct asked_snapshot merged __cleanup(asked_snapshot_done) = { 0 };
	struct snapshot *sum __cleanup(snapshot_freep) = NULL;
	struct loaded loaded __cleanup(loaded_done) = { 0 };
	struct output output __cleanup(output_done) = { 0 };
	int err;

	if (!o->nr_words)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"merge: give files that --json has written; see 'bpftruss merge "
				"--help'");
	err = output_open(&output, o, d)
		      ?: load(o, &loaded, d)
		      ?: snapshot_merge(loaded.inputs, loaded.count, &merged.snapshot,
					&merged.stacks, d);
	if (err)
		return err;
	if (o->has_sum && snapshot_sum_kinds(merged.snapshot, o->sum, &sum))
		return diag_oom(d);
	tell(merged.snapshot);
	return write_merged(o, &output, sum ?: merged.snapshot, d);
}

const struct verb merge_verb = {
	"merge",
	VERB_MERGE,
	merge_run,
	"make one saved snapshot of several, of a fleet of hosts",
	"usage: bpftruss merge FILE... [options]",
	"Adds up what -c --json, snapshot --json or merge has saved, of several hosts or of\n"
	"several times, and writes it as JSON. All reports take it; --by host tells hosts apart.\n"
	"Histograms are added up, so percentiles are those of all calls. FILE may be - for stdin.",
	"  bpftruss merge web-*.json -o fleet.json\n"
	"  bpftruss report fleet.json -w --by host,syscall --sort errors\n"
	"  bpftruss merge --sum rack-*.json | bpftruss report - -w --by unit\n"
	"  bpftruss compare fleet-last-week.json fleet.json --by host",
};
