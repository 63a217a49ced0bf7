/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells how rows, processes and frames are called in every report, and stacks as reports see them:
 * every call has one.
 */
#pragma once

#include "base/text.h"
#include "model/snapshot.h"

/* The ABI of this machine, whose calls reports do not mark. */
#if defined(__aarch64__)
#define LABEL_NATIVE_ABI ABI_ARM64
#else
#define LABEL_NATIVE_ABI ABI_X86_64
#endif

#define ROW_LABEL_MAX 48

/* The call of a row: read, read/i386 when not of the machine's own ABI, [other]. */
void row_label(const struct row *row, char *buf, size_t size);

/* The same without the ABI. */
void row_call_name(const struct row *row, char *buf, size_t size);

/* Writes the name of a process, escaped; a group of processes of ours has its name in brackets. */
#define PROCESS_LABEL_MAX TEXT_ESCAPED_MAX(PROCESS_COMM_SIZE)
void process_label(const struct process *process, char buf[PROCESS_LABEL_MAX]);

/* The name of the process whose row it is, escaped for screens; never empty. */
void row_comm(const struct snapshot *snapshot, const struct row *row, char buf[PROCESS_LABEL_MAX]);

/* Fits a path or file with each byte escaped, and what stands in its place. */
#define ARGUMENT_LABEL_MAX TEXT_ESCAPED_MAX(ARGUMENT_BYTES_MAX)

/* Writes a path or file, escaped; an empty one as [empty]. */
void argument_label(const char *text, size_t length, char buf[ARGUMENT_LABEL_MAX]);

/* What stands where it is not known, by enum argument_key; "": it has none. */
const char *argument_unknown(enum call_split split, enum argument_key why);

/* --- stacks ------------------------------------------------------------------------------------- */

/* Extends enum stack_end: calls whose stack found no room. */
#define VIEW_OTHERS NR_STACK_END

#define NR_VIEW_END (NR_STACK_END + 1)

/* Tells by what stacks are ordered, and how wide their boxes are. */
enum stack_weight {
	STACK_WEIGHT_CALLS,
	STACK_WEIGHT_TIME, /* wall time in the calls, asleep or not */
	STACK_WEIGHT_CPU,
	STACK_WEIGHT_ERRORS,
	NR_STACK_WEIGHT,
};

/* Describes one stack of one row or group. */
struct stack_sample {
	struct stack view; /* its frames belong to the snapshot's table */
	struct stack_count count;

	/* Only elements of a list have it. */
	const struct row *row;
	const struct process *process; /* NULL: nobody's */
	uint64_t weight;
};

struct sample_list {
	struct stack_sample *samples; /* owned */
	size_t count;
};

/*
 * The stack at an index, false after the last. Calls that the row has in no stack are in a last
 * one of VIEW_OTHERS, so that the sum is always that of the row.
 */
bool stack_sample_at(const struct snapshot *snapshot, const struct row *row, size_t index,
		     struct stack_sample *ret);

/* All samples of some rows. Returns 0 or -ENOMEM. */
int samples_list(const struct snapshot *snapshot, struct row *const *rows, size_t nr_rows,
		 enum stack_weight weight, struct sample_list *ret);

/* Makes one of those of the same call that look alike, and orders them by weight, the heaviest first. */
void samples_merge(struct sample_list *list);

void samples_done(struct sample_list *list);

/* Orders by frames from the inside out, then by end; equal ones are printed alike. */
int stack_compare(const struct stack *a, const struct stack *b);

/* [truncated]; NULL for STACK_COMPLETE. */
const char *view_end_name(unsigned int end);

/* The same in one word, for files: truncated, complete. */
#define VIEW_END_WORD_MAX 32
void view_end_word(unsigned int end, char buf[VIEW_END_WORD_MAX]);

enum frame_form {
	FRAME_EXACT,    /* libc.so.6`read+0x1d, and [inlined] behind it */
	FRAME_FUNCTION, /* libc.so.6`read */
	FRAME_NAME,     /* read */
	NR_FRAME_FORM,
};

/*
 * A frame as DTrace spells it, what is not known of it left out; without a name, all forms have
 * module and address. For screens: through text_escape_visible(). To be freed; NULL: no memory.
 */
char *frame_label(const struct stack_frame *frame, enum frame_form form);

/* The module, kernel for the kernel's own code, "" for none. Untrusted bytes. */
const char *frame_module(const struct stack_frame *frame);

/* Orders frames by what is printed; offsets count only in FRAME_EXACT or without a name. */
int frame_compare(const struct stack_frame *a, const struct stack_frame *b, enum frame_form form);
