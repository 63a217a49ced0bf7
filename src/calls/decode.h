/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decodes calls: walks through a record by the table of arguments and passes each value to a
 * writer. A record may hold anything; a value that makes no sense is written as an address or a
 * number.
 */
#pragma once

#include "calls/pieces.h"
#include "calls/value_writer.h"
#include "syscalls/syscall_set.h"

struct decode_options {
	/*
	 * Names a descriptor of the record's process, which may be AT_FDCWD; is_made: as the call
	 * has left it.
	 */
	struct fd_text (*fd_name)(void *context, const struct call_record *record, int fd,
				  bool is_made);
	void *context;
	const struct syscall_set *raw;     /* calls whose arguments are hexadecimal; NULL: none */
	const struct syscall_set *verbose; /* calls whose structures are shown whole; NULL: none */
	size_t data_bytes;                 /* of a buffer, that are shown; 0: all that were read */
};

/* Caches each call that it has seen. It serves one thread at a time. */
struct call_decoder;

/* Borrows what the options point to. Returns 0 or -ENOMEM. */
int call_decoder_new(const struct decode_options *options, struct call_decoder **ret);
void call_decoder_free(struct call_decoder *decoder);

static inline void call_decoder_freep(struct call_decoder **decoder)
{
	call_decoder_free(*decoder);
}

/* A record must have at least the size that it says. */
void call_decode(struct call_decoder *decoder, const struct call_record *record,
		 struct value_writer *to);

/* How a call ended. */
struct call_result {
	enum result_kind kind;
	bool has_returned;
	int err;                /* positive; 0: it has not failed */
	int64_t value;          /* without the sign of an address */
	struct fd_text fd_name; /* of a result that is a descriptor */
};

/* The name of a descriptor in it is valid until the next call of fd_name(). */
struct call_result call_result(struct call_decoder *decoder, const struct call_record *record);

/* Valid as long as the decoder. */
const char *call_name(struct call_decoder *decoder, const struct call_record *record,
		      size_t *ret_length);

/* Calls fd_name() of the options. */
struct fd_text call_fd_name(const struct call_decoder *decoder, const struct call_record *record,
			    int fd, bool is_made);

/* A set of the decoder; NULL: it has no names. */
const struct flag_set *call_set(const struct call_decoder *decoder, enum own_set set);

/* Writes the descriptors that are ready after a poll(), as a list; false: nobody knows. */
bool call_put_ready(struct call_decoder *decoder, const struct call_record *record,
		    struct value_writer *to);

/* Writes what the kernel has left of what argument i points at. False: nobody knows. */
bool call_put_after(struct call_decoder *decoder, const struct call_record *record, size_t i,
		    struct value_writer *to);

/* A buffer that a call has moved: a part of one of its arguments. */
struct call_buffer {
	struct call_memory memory; /* as far as it is in the record */
	unsigned int argument, part;
	uint64_t more; /* bytes that follow; UINT64_MAX: not known */
};

/* The n-th of them; false: there is none. */
bool call_find_buffer(struct call_decoder *decoder, const struct call_record *record, size_t n,
		      struct call_buffer *ret);
