/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes values as text between parentheses: fd, "path", {member=value, ...}, [element, ...].
 *
 * The style of truss says why an address stands where something else is expected: (not in memory), or
 * (not read) when the record had no room left; and "?" behind a value that the program passed but that
 * could be read only when the call had ended: another thread may have changed it.
 */
#pragma once

#include "calls/line.h"
#include "calls/value_writer.h"

/* The depth of nested groups; deeper ones are written without separators. */
#define TEXT_DEPTH 8

struct text_writer {
	struct value_writer base;
	struct line *out; /* borrowed */
	bool has_argument, was_read_late;
	size_t depth;
	struct {
		enum group_kind kind;
		bool has_before;
	} levels[TEXT_DEPTH];
};

/* STYLE_TRUSS or STYLE_STRACE. */
void text_writer_init(struct text_writer *writer, enum call_style style, struct line *out);

/* 3</path>, 5<socket:[1]>, 7</gone>(deleted); in the style of truss with "?" if it was found out late. */
void text_put_fd(struct line *out, int fd, const char *word, struct fd_text known,
		 enum call_style style);
