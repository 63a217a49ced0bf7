/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs `bpftruss recorder`: fetches what a daemon has recorded, piece by piece, and prints it as --last does.
 * Nothing that comes is trusted to be what a daemon would send.
 */
#include "base/clock.h"
#include "cmd/asking.h"
#include "cmd/call_printer.h"

#define RECORDER_PATH "/v1/recorder"

/* The part of the recording that was fetched. */
struct recording {
	struct recorder *calls; /* owned; NULL: nothing has come */
	struct recording_head first, last;
};

static void recording_done(struct recording *recording)
{
	recorder_free(recording->calls);
}

static int refuse_piece(struct diag *d)
{
	return diag_set(d, DIAG_FAILED, EPROTO,
			"the daemon's recording has another form than this program knows: both "
			"must be of one version");
}

/* Takes a piece, which begins at a position or, if what was there is gone, behind it. */
static int piece_take(struct recording *to, uint64_t position, const struct ipc_reply *reply,
		      struct diag *d)
{
	struct recording_head *head = &to->last;
	size_t size = reply->size - sizeof(*head);

	if (reply->size < sizeof(*head))
		return refuse_piece(d);
	memcpy(head, reply->body, sizeof(*head));
	if (strncmp(head->version, BPFTRUSS_VERSION, sizeof(head->version)) != 0 ||
	    head->record_bytes != sizeof(struct call_record) || head->next < position ||
	    head->next > head->end)
		return refuse_piece(d);
	if (!to->calls) {
		uint64_t begin = head->next - min_u64(head->next, size);

		to->first = *head;
		/* No entry is to fall out for the rest at the end of the memory. */
		if (recorder_new(head->end - begin + 2 * RECORDER_RECORD_MAX, &to->calls))
			return diag_oom(d);
	}
	/* An entry begins at a multiple of 8 there, as the head has whole words. */
	_Static_assert(sizeof(*head) % 8 == 0, "what follows is aligned");
	if (recorder_add_copy(to->calls, reply->body + sizeof(*head), size))
		return refuse_piece(d);
	return 0;
}

/* Fetches all that had been recorded when the first piece was made. */
static int recording_fetch(const struct options *o, struct recording *ret, struct diag *d)
{
	uint64_t position = 0, before;
	int err;

	do {
		struct ipc_reply reply __cleanup(ipc_reply_done) = { 0 };
		struct ipc_url url;

		ipc_url_init(&url, RECORDER_PATH);
		ask_add_number(&url, "from", (int64_t)position);
		err = ask(o, "GET", &url, &reply, d) ?: piece_take(ret, position, &reply, d);
		before = position;
		position = ret->last.next;
	} while (!err && position < ret->first.end && position > before);
	if (err)
		return err;
	return position < ret->first.end ? refuse_piece(d) : 0;
}

static int recording_print(const struct options *o, struct recording *recording,
			   struct output *output, struct diag *d)
{
	const struct recording_head *head = &recording->first;
	struct call_printer *printer __cleanup(call_printer_freep) = NULL;
	uint64_t now_ns = head->now_ns, span_ns = o->calls.record.last_ns;
	const struct recorded_part part = {
		.from_ns = span_ns ? above(now_ns, span_ns) : 0,
		.count = UINT64_MAX,
		.moment_ns = UINT64_MAX,
		.is_partial = head->is_partial,
	};
	const struct call_totals totals = { .left_out = head->left_out, .lost = head->lost };
	int err = call_printer_new(o, NULL, output, &printer, d);

	if (err)
		return err;
	call_printer_begin(printer, max_u64(part.from_ns, recorder_start(recording->calls)), 0);
	err = call_printer_replay(printer, recording->calls, &part);
	if (err)
		return diag_oom(d);
	err = call_printer_flush(printer, d);
	if (err)
		return err;
	call_printer_conclude(printer, "", NULL, &totals);
	if (head->is_paused)
		fputs("bpftruss: the daemon records no calls now, to stay in its budget\n", stderr);
	return 0;
}

static int dump(const struct options *o, struct diag *d)
{
	struct recording recording __cleanup(recording_done) = { 0 };
	struct output output __cleanup(output_done) = { 0 };
	int err = output_open(&output, o, d) ?: recording_fetch(o, &recording, d);
	uint64_t here;

	if (err)
		return err;
	/* The others were overwritten, at the latest while these were fetched. */
	here = recorder_counts(recording.calls)->recorded;
	recorder_note_gone(recording.calls, above(recording.first.counts.recorded, here),
			   recording.last.counts.gone_ns);
	return recording_print(o, &recording, &output, d);
}

static int recorder_run(const struct options *o, struct diag *d)
{
	if (o->nr_words == 1 && !strcmp(o->words[0], "dump"))
		return dump(o, d);
	return diag_set(
		d, DIAG_USAGE, EINVAL,
		"recorder: dump prints what the daemon has recorded; see 'bpftruss recorder "
		"--help'");
}

const struct verb recorder_verb = {
	"recorder",
	VERB_RECORDER,
	recorder_run,
	"print the newest single calls that the daemon has recorded",
	"usage: bpftruss recorder dump [options]",
	"Prints the calls that a daemon with 'record = yes' in [recorder] of its configuration "
	"has\n"
	"in memory: those of all processes that it counts, or of some. Only root and the daemon's\n"
	"user may ask. The last line tells what became of the calls that are not shown.",
	"  bpftruss recorder dump --since 5s -p 1234      what a process did just now\n"
	"  bpftruss recorder dump --failed=EIO,ENOSPC     calls that failed so\n"
	"  bpftruss recorder dump --format strace -o FILE in the form of strace -f",
};
