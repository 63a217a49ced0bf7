/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes what is made of records of calls. The first byte of an input chooses the ABI, the next two are
 * the number of the call, one the flags, one how long the record is against its memory; then come the
 * result and arguments, a byte each, and the pieces as they are. Whatever there is, lines are printable
 * ASCII and end once.
 */
#include "calls/pieces.h"
#include "calls/strace.h"
#include "calls/truss.h"
#include "json/call.h"
#include "fuzz.h"

struct head {
	uint8_t abi, nr_low, nr_high, flags, wall;
	int8_t result;
	uint8_t arguments[CALL_ARGUMENTS];
};

static struct fd_text name_of(void *context, const struct call_record *record, int fd, bool is_made)
{
	(void)context, (void)record;
	return (struct fd_text){ fd % 2 ? "a\n<b> (deleted)" : NULL, is_made };
}

static void line_check(const struct line *line)
{
	require(!line->failed && line->used && line->bytes[line->used - 1] == '\n');
	for (size_t i = 0; i + 1 < line->used; i++)
		require((line->bytes[i] >= ' ' && line->bytes[i] <= '~') || line->bytes[i] == '\t');
}

static void call_check_json(struct call_decoder *decoder, const struct call_record *record)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	require(out && !report_call_json(decoder, record, 0, NULL, out) && !fclose(out));
	require(size > 1 && text[size - 1] == '\n');
	for (size_t i = 0; i + 1 < size; i++)
		require(text[i] >= ' ' && text[i] <= '~');
	free(text);
}

static void record_check(const struct call_record *record, const struct syscall_set *verbose)
{
	__cleanup(call_decoder_freep) struct call_decoder *decoder = NULL;
	const struct decode_options options = { .fd_name = name_of, .verbose = verbose };
	const struct truss_options truss = { .shows_thread = true,
					     .shows_time = true,
					     .shows_cpu = true };
	struct line line __cleanup(line_done) = { 0 };

	require(!call_decoder_new(&options, &decoder));
	truss_put_call(decoder, record, &truss, 0, &line);
	line_check(&line);
	line_clear(&line);
	strace_put_call(decoder, record, 1732459000123456789, &line);
	line_check(&line);
	truss_put_buffers(decoder, record, NULL, &line);
	call_check_json(decoder, record);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct syscall_set *all;
	const struct head *head = (const struct head *)data;
	struct call_record *record;
	size_t pieces, bytes;
	struct diag d;

	if (size < sizeof(*head))
		return 0;
	require(all || !syscall_set_parse("all", &all, &d));
	pieces = size - sizeof(*head);
	bytes = sizeof(*record) + pieces;
	/* Of its own size, so that a read beyond it is seen. */
	record = calloc(1, bytes);
	require(record);
	*record = (struct call_record){ .size = (uint32_t)bytes,
					.abi = head->abi % (NR_SYSCALL_ABI + 1),
					.flags = head->flags,
					.nr = (int16_t)(head->nr_low | head->nr_high << 8),
					.result = head->result,
					.end_ns = 5,
					.wall_ns = head->wall };
	for (size_t i = 0; i < CALL_ARGUMENTS; i++)
		record->arguments[i] = (uint64_t)(int8_t)head->arguments[i];
	memcpy(record + 1, data + sizeof(*head), pieces);
	record_check(record, head->flags & 0x80 ? all : NULL);
	free(record);
	return 0;
}
