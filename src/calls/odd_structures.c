/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks through what no table of members can describe. Nothing beyond the memory that was read is looked at. */
#include "calls/odd_structures.h"

#include <signal.h>
#include <sys/socket.h>

#include "base/text.h"
#include "calls/sets.h"

/* --- siginfo ------------------------------------------------------------------------------------ */

#define CODE(name) { #name, (uint32_t)(name), UINT32_MAX }
#define SET(list)  { #list, list, ARRAY_SIZE(list), false }

static const struct flag_name any_codes[] = {
	CODE(SI_USER),  CODE(SI_KERNEL),  CODE(SI_QUEUE), CODE(SI_TIMER),
	CODE(SI_MESGQ), CODE(SI_ASYNCIO), CODE(SI_SIGIO), CODE(SI_TKILL),
};
static const struct flag_name child_codes[] = {
	CODE(CLD_EXITED),  CODE(CLD_KILLED),  CODE(CLD_DUMPED),
	CODE(CLD_TRAPPED), CODE(CLD_STOPPED), CODE(CLD_CONTINUED),
};
static const struct flag_name segv_codes[] = { CODE(SEGV_MAPERR), CODE(SEGV_ACCERR) };
static const struct flag_name bus_codes[] = { CODE(BUS_ADRALN), CODE(BUS_ADRERR),
					      CODE(BUS_OBJERR) };

/* The names of codes that only one signal has. */
static const struct {
	uint32_t signal;
	struct flag_set codes;
} code_sets[] = {
	{ SIGCHLD, SET(child_codes) },
	{ SIGSEGV, SET(segv_codes) },
	{ SIGBUS, SET(bus_codes) },
};

static void put_code(struct value_writer *to, uint32_t signal, int32_t code)
{
	static const struct flag_set any = SET(any_codes);
	const char *name = set_find_name(&any, (uint32_t)code);

	for (size_t i = 0; i < ARRAY_SIZE(code_sets) && !name; i++) {
		if (code_sets[i].signal == signal)
			name = set_find_name(&code_sets[i].codes, (uint32_t)code);
	}
	if (name)
		to->ops->symbol(to, name, strlen(name), (uint32_t)code);
	else
		to->ops->number(to, code);
}

/* A member, if it was read. */
static bool member_read(const struct call_memory *memory, size_t at, size_t size, bool is_signed,
			uint64_t *ret)
{
	if (at > memory->size || memory->size - at < size)
		return false;
	*ret = memory_word(memory->bytes + at, size, is_signed);
	return true;
}

static void put_number(struct value_writer *to, const char *name, const struct call_memory *memory,
		       size_t at)
{
	uint64_t value;

	if (!member_read(memory, at, sizeof(int32_t), true, &value))
		return;
	to->ops->field(to, name);
	to->ops->number(to, (int64_t)value);
}

static void put_address(struct value_writer *to, const char *name, const struct call_memory *memory,
			size_t at, size_t word)
{
	uint64_t value;

	if (!member_read(memory, at, word, false, &value))
		return;
	to->ops->field(to, name);
	to->ops->address(to, value, ADDRESS_PLAIN);
}

static bool signal_has_address(uint32_t signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE ||
	       signal == SIGTRAP;
}

static void put_status(struct value_writer *to, const struct call_memory *memory, size_t at,
		       int32_t code)
{
	uint64_t status;

	if (!member_read(memory, at, sizeof(int32_t), true, &status))
		return;
	to->ops->field(to, "si_status");
	if (code == CLD_EXITED)
		to->ops->number(to, (int64_t)status);
	else
		set_put_signal(to, status);
}

/* The first three members determine which others follow. */
static void put_details(const struct call *call, const struct call_memory *memory, uint32_t signal,
			int32_t code)
{
	size_t word = layout_pointer(call->layout), at = word == 8 ? 16 : 12;
	struct value_writer *to = call->to;

	if (code > 0 && signal_has_address(signal)) {
		put_address(to, "si_addr", memory, at, word);
	} else if (code == SI_TIMER) {
		put_number(to, "si_timerid", memory, at);
		put_number(to, "si_overrun", memory, at + 4);
	} else if (code > 0 && signal == SIGCHLD) {
		put_number(to, "si_pid", memory, at);
		put_number(to, "si_uid", memory, at + 4);
		put_status(to, memory, at + 8, code);
	} else if (code != SI_KERNEL) {
		put_number(to, "si_pid", memory, at);
		put_number(to, "si_uid", memory, at + 4);
	}
	if (code == SI_QUEUE || code == SI_TIMER || code == SI_MESGQ)
		put_address(to, "si_value", memory, at + 8, word);
}

void siginfo_put(const struct call *call, const struct argument *argument,
		 const struct call_memory *memory)
{
	struct value_writer *to = call->to;
	uint64_t signal, code;

	(void)argument;
	if (!member_read(memory, 0, 4, false, &signal) || !member_read(memory, 8, 4, true, &code)) {
		to->ops->string(to, memory->bytes, memory->size, true);
		return;
	}
	to->ops->group(to, GROUP_STRUCT);
	to->ops->field(to, "si_signo");
	set_put_signal(to, signal);
	/* waitid() has none for want of a child. */
	if (signal) {
		to->ops->field(to, "si_code");
		put_code(to, (uint32_t)signal, (int32_t)code);
		put_details(call, memory, (uint32_t)signal, (int32_t)code);
	}
	to->ops->group_end(to);
}

/* --- messages of control ------------------------------------------------------------------------ */

static const struct flag_name control_types[] = {
	CODE(SCM_RIGHTS),
	CODE(SCM_CREDENTIALS),
};

static void put_descriptors(const struct call *call, const struct call_memory *memory,
			    enum fd_role role)
{
	struct value_writer *to = call->to;

	to->ops->group(to, GROUP_LIST);
	for (size_t at = 0; at + sizeof(int32_t) <= memory->size; at += sizeof(int32_t))
		call_put_fd(call, (int)memory_word(memory->bytes + at, 4, true), role);
	if (memory->flags & PIECE_CUT)
		to->ops->more(to);
	to->ops->group_end(to);
}

static void put_credentials(const struct call *call, const struct call_memory *memory)
{
	struct value_writer *to = call->to;

	to->ops->group(to, GROUP_STRUCT);
	put_number(to, "pid", memory, 0);
	put_number(to, "uid", memory, 4);
	put_number(to, "gid", memory, 8);
	if (memory->flags & PIECE_CUT)
		to->ops->more(to);
	to->ops->group_end(to);
}

static void put_control(const struct call *call, uint64_t level, uint64_t type,
			const struct call_memory *data, enum fd_role role)
{
	static const struct flag_set types = SET(control_types);
	struct value_writer *to = call->to;
	bool is_socket = level == SOL_SOCKET;

	to->ops->field(to, "cmsg_level");
	set_put_enum(to, own_set(to, OWN_LEVEL), level);
	to->ops->field(to, "cmsg_type");
	set_put_enum(to, is_socket ? &types : NULL, type);
	to->ops->field(to, "cmsg_data");
	if (is_socket && type == SCM_RIGHTS)
		put_descriptors(call, data, role);
	else if (is_socket && type == SCM_CREDENTIALS)
		put_credentials(call, data);
	else
		to->ops->string(to, data->bytes, data->size, data->flags & PIECE_CUT);
}

void control_put(const struct call *call, const struct argument *argument,
		 const struct call_memory *memory, uint64_t length)
{
	enum fd_role role = argument->is_written ? FD_MADE : FD_USED;
	size_t word = layout_pointer(call->layout), head = word + 8, at = 0;
	struct value_writer *to = call->to;
	uint64_t size, level, type, padding;

	to->ops->group(to, GROUP_LIST);
	while (at < length && member_read(memory, at, word, false, &size) && size >= head &&
	       size <= length - at && member_read(memory, at + word, 4, true, &level) &&
	       member_read(memory, at + word + 4, 4, true, &type)) {
		const size_t there = memory->size - at;
		const struct call_memory data = { .bytes = memory->bytes + at + head,
						  .size = min_u64(size, there) - head,
						  .flags = size > there ? PIECE_CUT : 0 };

		to->ops->group(to, GROUP_STRUCT);
		to->ops->field(to, "cmsg_len");
		to->ops->natural(to, size);
		put_control(call, level, type, &data, role);
		to->ops->group_end(to);
		/* Sizes are what the caller says: their sums may wrap. */
		padding = -size & (word - 1);
		at = length - at - size < padding ? length : at + size + padding;
	}
	if (at < length)
		to->ops->more(to);
	to->ops->group_end(to);
}

/* --- directories -------------------------------------------------------------------------------- */

/* Offsets of the length and the name of an entry, after its inode and offset. */
struct dirent_shape {
	size_t length_at, name_at;
};

static struct dirent_shape dirent_shape(const struct call *call, const struct argument *argument)
{
	size_t words = call->layout == LAYOUT_64 || call->layout == LAYOUT_X32 ? 16 : 8;

	if (!strcmp(argument->type, "dirent64"))
		return (struct dirent_shape){ 16, 19 };
	return (struct dirent_shape){ words, words + 2 };
}

void dirents_put(const struct call *call, const struct argument *argument,
		 const struct call_memory *memory)
{
	const struct dirent_shape shape = dirent_shape(call, argument);
	size_t written = min_u64(call_length(call, argument), UINT32_MAX), at = 0, length;
	struct value_writer *to = call->to;

	to->ops->group(to, GROUP_LIST);
	for (; memory->size - at > shape.name_at; at += length) {
		const char *name = (const char *)memory->bytes + at + shape.name_at;

		length = memory_word(memory->bytes + at + shape.length_at, 2, false);
		if (length <= shape.name_at || length > memory->size - at)
			break;
		to->ops->group(to, GROUP_STRUCT);
		to->ops->field(to, "d_name");
		to->ops->string(to, name, strnlen(name, length - shape.name_at), false);
		to->ops->group_end(to);
	}
	if (at < written)
		to->ops->more(to);
	to->ops->group_end(to);
}
