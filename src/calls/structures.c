/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walks through structures by the tables of members.c. Memory may end anywhere: what is not there is
 * not shown, and the writer says that there is more.
 */
#include "calls/structures.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/text.h"
#include "calls/members.h"
#include "calls/odd_structures.h"
#include "calls/sets.h"

/* --- where things are --------------------------------------------------------------------------- */

static bool is_arm(const struct call *call)
{
	return call->abi == ABI_ARM64 || call->abi == ABI_ARM;
}

static size_t type_size(const struct call *call, enum member_type type)
{
	static const uint8_t sizes[NR_MEMBER_TYPE] = {
		[TYPE_U8] = 1,  [TYPE_S16] = 2, [TYPE_U16] = 2, [TYPE_S32] = 4,
		[TYPE_U32] = 4, [TYPE_S64] = 8, [TYPE_U64] = 8, [TYPE_EVENT] = 8,
	};

	if (sizes[type])
		return sizes[type];
	if (type == TYPE_ADDRESS)
		return layout_pointer(call->layout);
	return call->layout == LAYOUT_64 || call->layout == LAYOUT_X32 ? 8 : 4;
}

static size_t layout_align(const struct call *call, const struct structure *structure);

static size_t member_align(const struct call *call, const struct member *member)
{
	size_t size;

	if (member->inner)
		return layout_align(call, member->inner);
	if (member->type == TYPE_EVENT && !is_arm(call))
		return 4;
	size = type_size(call, member->type);
	return size == 8 && call->layout == LAYOUT_I386 ? 4 : size;
}

static size_t layout_align(const struct call *call, const struct structure *structure)
{
	size_t align = 1;

	for (size_t i = 0; i < structure->count; i++)
		align = max_u64(align, member_align(call, &structure->members[i]));
	return align;
}

static size_t round_up(size_t size, size_t align)
{
	return (size + align - 1) / align * align;
}

static size_t layout_size(const struct call *call, const struct structure *structure);

static size_t member_size(const struct call *call, const struct member *member)
{
	size_t size =
		member->inner ? layout_size(call, member->inner) : type_size(call, member->type);

	return member->count ? size * member->count : size;
}

static size_t layout_size(const struct call *call, const struct structure *structure)
{
	size_t size = 0;

	for (size_t i = 0; i < structure->count; i++) {
		const struct member *member = &structure->members[i];

		size = round_up(size, member_align(call, member)) + member_size(call, member);
	}
	return round_up(size, layout_align(call, structure));
}

/* --- members ------------------------------------------------------------------------------------ */

/* A structure while it is written. */
struct walk {
	const struct call *call;
	struct value_writer *to;
	uint64_t mode;   /* of the file that it is about; of clone3() its flags */
	bool has_events; /* of a pollfd: there is a descriptor */
	bool has_more;   /* something is not shown */
	bool is_whole;   /* it is as long as the program says */
};

static bool is_device(uint64_t mode)
{
	return S_ISCHR(mode) || S_ISBLK(mode);
}

/* Whether a member says something here. */
static bool member_is_shown(struct walk *walk, const struct member *member, uint64_t value)
{
	bool is_verbose = walk->call->shape->is_verbose;

	if (member->is_extra && !is_verbose) {
		walk->has_more = true;
		return false;
	}
	switch (member->form) {
	case FORM_RDEVICE:
		return is_verbose || is_device(walk->mode);
	case FORM_SIZE:
		return is_verbose || !is_device(walk->mode);
	case FORM_PIDFD:
		return walk->mode & CLONE_PIDFD;
	case FORM_ADDRESS_IF:
	case FORM_MODE_IF:
		return value != 0;
	case FORM_READY:
		return walk->to->style != STYLE_STRACE && walk->has_events &&
		       (value || walk->to->style == STYLE_JSON);
	case FORM_FLAGS:
		return member->set != OWN_POLL || walk->has_events;
	case FORM_NONE:
		return member->inner != NULL;
	default:
		return true;
	}
}

static void put_limit(struct value_writer *to, uint64_t value, uint64_t infinite, const char *name)
{
	char text[32];

	if (value == infinite) {
		to->ops->symbol(to, name, strlen(name), value);
	} else if (value > 1024 && value % 1024 == 0 && to->style != STYLE_JSON) {
		snprintf(text, sizeof(text), "%" PRIu64 "*1024", value / 1024);
		to->ops->symbol(to, text, strlen(text), value);
	} else {
		to->ops->natural(to, value);
	}
}

static void put_event(struct value_writer *to, uint64_t value)
{
	if (to->style != STYLE_STRACE) {
		to->ops->hex(to, value);
		return;
	}
	to->ops->group(to, GROUP_STRUCT);
	to->ops->field(to, "u32");
	to->ops->natural(to, (uint32_t)value);
	to->ops->field(to, "u64");
	to->ops->natural(to, value);
	to->ops->group_end(to);
}

static void put_errno(struct value_writer *to, int err)
{
	const char *name = err ? errno_name(err) : NULL;

	if (name)
		to->ops->symbol(to, name, strlen(name), (uint64_t)err);
	else
		to->ops->number(to, err);
}

/* The forms that are more than one call. */
static void put_special(struct walk *walk, const struct member *member, uint64_t value, size_t size)
{
	struct value_writer *to = walk->to;

	switch (member->form) {
	case FORM_FD:
		walk->has_events = (int)value >= 0;
		call_put_fd(walk->call, (int)value, FD_USED);
		break;
	case FORM_MADE_FD:
		call_put_fd(walk->call, (int)value, FD_MADE);
		break;
	case FORM_MODE:
		walk->mode = value;
		set_put_mode(to, value, true);
		break;
	case FORM_LIMIT:
		put_limit(to, value, size == 4 ? UINT32_MAX : UINT64_MAX, "RLIM_INFINITY");
		break;
	case FORM_LIMIT64:
		put_limit(to, value, UINT64_MAX, "RLIM64_INFINITY");
		break;
	case FORM_SIGNAL:
		value ? set_put_signal(to, value) : to->ops->natural(to, 0);
		break;
	case FORM_ERRNO:
		put_errno(to, (int)value);
		break;
	case FORM_HEX:
		value ? to->ops->hex(to, value) : to->ops->natural(to, 0);
		break;
	default:
		to->ops->address(to, value, ADDRESS_PLAIN);
	}
}

static void put_word(struct walk *walk, const struct member *member, uint64_t value, size_t size)
{
	struct value_writer *to = walk->to;

	switch (member->form) {
	case FORM_NUMBER:
		to->ops->number(to, (int64_t)value);
		break;
	case FORM_NATURAL:
	case FORM_SIZE:
		to->ops->natural(to, value);
		break;
	case FORM_FLAGS:
	case FORM_READY:
		walk->mode = member->set == OWN_CLONE ? value : walk->mode;
		set_put_flags(to, own_set(to, member->set), value);
		break;
	case FORM_ENUM:
		set_put_enum(to, own_set(to, member->set), value);
		break;
	case FORM_MODE_IF:
		set_put_mode(to, value, false);
		break;
	case FORM_DEVICE:
	case FORM_RDEVICE:
		set_put_device(to, value);
		break;
	case FORM_EVENT:
		put_event(to, value);
		break;
	case FORM_WAIT:
		set_put_wait_status(to, (uint32_t)value);
		break;
	default:
		put_special(walk, member, value, size);
	}
}

static void put_members(struct walk *walk, const struct structure *structure,
			const unsigned char *bytes, size_t size);

static void put_member(struct walk *walk, const struct member *member, const unsigned char *bytes)
{
	size_t size = type_size(walk->call, member->type);
	bool is_signed = member->type == TYPE_S16 || member->type == TYPE_S32 ||
			 member->type == TYPE_S64 || member->type == TYPE_LONG;

	if (member->inner) {
		put_members(walk, member->inner, bytes, layout_size(walk->call, member->inner));
		return;
	}
	if (member->form == FORM_TEXT) {
		const char *text = (const char *)bytes;

		walk->to->ops->string(walk->to, text, strnlen(text, member->count), false);
		return;
	}
	if (!member->count) {
		put_word(walk, member, memory_word(bytes, size, is_signed), size);
		return;
	}
	walk->to->ops->group(walk->to, GROUP_LIST);
	for (size_t i = 0; i < member->count; i++)
		put_word(walk, member, memory_word(bytes + i * size, size, is_signed), size);
	walk->to->ops->group_end(walk->to);
}

/* One word that says whether a member is shown. */
static uint64_t member_peek(const struct call *call, const struct member *member,
			    const unsigned char *bytes)
{
	return member->inner || member->count
		       ? 0
		       : memory_word(bytes, type_size(call, member->type), false);
}

static void put_members(struct walk *walk, const struct structure *structure,
			const unsigned char *bytes, size_t size)
{
	size_t at = 0;

	walk->to->ops->group(walk->to, GROUP_STRUCT);
	for (size_t i = 0; i < structure->count; i++) {
		const struct member *member = &structure->members[i];
		size_t length = member_size(walk->call, member);

		at = round_up(at, member_align(walk->call, member));
		if (at > size || size - at < length) {
			walk->has_more = !walk->is_whole;
			break;
		}
		if (member_is_shown(walk, member, member_peek(walk->call, member, bytes + at))) {
			walk->to->ops->field(walk->to, member->name);
			put_member(walk, member, bytes + at);
		}
		at += length;
	}
	if (walk->has_more)
		walk->to->ops->more(walk->to);
	walk->has_more = false;
	walk->to->ops->group_end(walk->to);
}

/* --- elements ----------------------------------------------------------------------------------- */

/* Special values in place of nanoseconds; they are out of the range of times. */
static bool put_time_word(const struct call *call, const struct structure *structure,
			  const unsigned char *bytes)
{
	const struct member *last = &structure->members[structure->count - 1];
	const char *name;
	size_t size;
	uint64_t ns;

	if (strcmp(last->name ?: "", "tv_nsec") != 0)
		return false;
	size = type_size(call, last->type);
	ns = memory_word(bytes + size, size, false);
	if (ns != UTIME_NOW && ns != UTIME_OMIT)
		return false;
	name = ns == UTIME_NOW ? "UTIME_NOW" : "UTIME_OMIT";
	call->to->ops->symbol(call->to, name, strlen(name), ns);
	return true;
}

static void put_element(const struct call *call, const struct structure *structure,
			const unsigned char *bytes, size_t size, bool is_whole)
{
	struct walk walk = { .call = call, .to = call->to, .is_whole = is_whole };

	if (size >= layout_size(call, structure) && put_time_word(call, structure, bytes))
		return;
	if (structure->is_scalar)
		put_member(&walk, structure->members, bytes);
	else
		put_members(&walk, structure, bytes, size);
}

/* strace shows a number that an address points at as a list. */
static void put_elements(const struct call *call, const struct argument *argument,
			 const struct structure *structure, const struct call_memory *memory)
{
	/* No structure is empty, which the analyzer cannot know. */
	size_t size = max_u64(layout_size(call, structure), 1), in_memory = memory->size / size;
	bool is_one = argument->length_kind == LENGTH_ONE || structure->is_single;
	size_t count = is_one ? 1 : call_length(call, argument);
	bool is_list = !is_one || (structure->is_scalar && call->to->style != STYLE_JSON);

	/* Only the part of a fixed-size array that was read is known. */
	if (count == SIZE_MAX)
		count = in_memory;
	if (!is_list) {
		put_element(call, structure, memory->bytes, memory->size,
			    structure->is_single && memory->size >= call_length(call, argument));
		return;
	}
	call->to->ops->group(call->to, GROUP_LIST);
	for (size_t n = 0; n < count && n < in_memory; n++)
		put_element(call, structure, memory->bytes + n * size, size, false);
	if (count > in_memory)
		call->to->ops->more(call->to);
	call->to->ops->group_end(call->to);
}

/* A mask of numbers from 0 on, 64 in a word. */
static void put_bits(const struct call *call, const struct call_memory *memory, size_t limit,
		     bool is_fd)
{
	struct value_writer *to = call->to;

	to->ops->group(to, GROUP_SET);
	for (size_t i = 0; i < memory->size * 8 && i < limit; i++) {
		if (!(memory->bytes[i / 8] >> i % 8 & 1))
			continue;
		if (is_fd)
			call_put_fd(call, (int)i, FD_USED);
		else
			to->ops->natural(to, i);
	}
	to->ops->group_end(to);
}

static void put_fd_set(const struct call *call, const struct argument *argument,
		       const struct call_memory *memory)
{
	(void)argument;
	/* Their number is the first argument of select(). */
	put_bits(call, memory, (uint32_t)call_argument(call, 0), true);
}

static void put_cpu_set(const struct call *call, const struct argument *argument,
			const struct call_memory *memory)
{
	(void)argument;
	put_bits(call, memory, SIZE_MAX, false);
}

static void put_sockaddr(const struct call *call, const struct argument *argument,
			 const struct call_memory *memory)
{
	struct call_memory address = *memory;
	size_t length = call_length(call, argument);

	address.size = min_u64(address.size, length);
	sockaddr_put(call->to, &address);
}

static void put_handler(struct value_writer *to, uint64_t handler)
{
	if (handler > 1)
		to->ops->address(to, handler, ADDRESS_PLAIN);
	else
		to->ops->symbol(to, handler ? "SIG_IGN" : "SIG_DFL", 7, handler);
}

/* In the kernel's layout, handler, flags and restorer are words, and the mask is last. */
static void put_sigaction(const struct call *call, const struct argument *argument,
			  const struct call_memory *memory)
{
	size_t word = layout_pointer(call->layout);
	struct value_writer *to = call->to;
	uint64_t flags;

	(void)argument;
	if (memory->size < 3 * word + sizeof(uint64_t)) {
		to->ops->string(to, memory->bytes, memory->size, true);
		return;
	}
	to->ops->group(to, GROUP_STRUCT);
	to->ops->field(to, "sa_handler");
	put_handler(to, memory_word(memory->bytes, word, false));
	to->ops->field(to, "sa_mask");
	set_put_signals(to, memory_word(memory->bytes + 3 * word, sizeof(uint64_t), false));
	to->ops->field(to, "sa_flags");
	flags = memory_word(memory->bytes + word, word, false);
	set_put_flags(to, own_set(to, OWN_SIGACTION), flags);
	if (flags & 0x04000000) {
		to->ops->field(to, "sa_restorer");
		to->ops->address(to, memory_word(memory->bytes + 2 * word, word, false),
				 ADDRESS_PLAIN);
	}
	to->ops->group_end(to);
}

/* Types that are more than their members. */
static const struct {
	const char *type;
	void (*put)(const struct call *call, const struct argument *argument,
		    const struct call_memory *memory);
} special_types[] = {
	{ "sockaddr", put_sockaddr }, { "sigaction", put_sigaction }, { "fd_set", put_fd_set },
	{ "cpu_set", put_cpu_set },   { "siginfo", siginfo_put },     { "dirent", dirents_put },
	{ "dirent64", dirents_put },
};

bool structure_is_known(const struct call *call, const char *type)
{
	return structure_find(type, call->abi) != NULL;
}

bool structure_put(const struct call *call, const struct argument *argument, size_t i,
		   const struct call_memory *memory)
{
	const struct structure *structure;

	(void)i;
	for (size_t n = 0; n < ARRAY_SIZE(special_types); n++) {
		if (!strcmp(special_types[n].type, argument->type)) {
			special_types[n].put(call, argument, memory);
			return true;
		}
	}
	structure = structure_find(argument->type, call->abi);
	/* An element of which nothing is there is no better than its address. */
	if (!structure || memory->size < member_size(call, structure->members))
		return false;
	put_elements(call, argument, structure, memory);
	return true;
}

void structure_put_ready(const struct call *call, const struct call_memory *memory)
{
	const struct structure *structure = structure_find("pollfd", call->abi);
	size_t size = layout_size(call, structure);
	struct value_writer *to = call->to;

	to->ops->group(to, GROUP_LIST);
	for (size_t at = 0; at + size <= memory->size; at += size) {
		uint64_t ready = memory_word(memory->bytes + at + 6, 2, false);

		if (!ready)
			continue;
		to->ops->group(to, GROUP_STRUCT);
		to->ops->field(to, "fd");
		to->ops->number(to, (int32_t)memory_word(memory->bytes + at, 4, true));
		to->ops->field(to, "revents");
		set_put_flags(to, own_set(to, OWN_POLL), ready);
		to->ops->group_end(to);
	}
	to->ops->group_end(to);
}

/* --- buffers in pieces -------------------------------------------------------------------------- */

static void put_buffer(const struct call *call, const struct argument *argument, size_t i, size_t n,
		       uint64_t base, uint64_t length)
{
	struct call_memory memory;

	if (!length) {
		call->to->ops->string(call->to, "", 0, false);
		return;
	}
	if (call_take_memory(call, argument, i, PART_BUFFERS + (unsigned int)n, base, &memory))
		call_put_data(call, &memory, length);
}

void structure_put_iovec(const struct call *call, const struct argument *argument, size_t i,
			 const struct call_memory *memory, size_t count, uint64_t bytes)
{
	size_t word = layout_pointer(call->layout), in_memory = memory->size / (2 * word);
	struct value_writer *to = call->to;

	to->ops->group(to, GROUP_LIST);
	for (size_t n = 0; n < count && n < in_memory; n++) {
		const unsigned char *at = memory->bytes + n * 2 * word;
		uint64_t base = memory_word(at, word, false);
		uint64_t length = memory_word(at + word, word, false);
		uint64_t valid = min_u64(length, bytes);

		to->ops->group(to, GROUP_STRUCT);
		to->ops->field(to, "iov_base");
		put_buffer(call, argument, i, n, base, valid);
		to->ops->field(to, "iov_len");
		to->ops->natural(to, length);
		to->ops->group_end(to);
		bytes -= valid;
	}
	if (count > in_memory)
		to->ops->more(to);
	to->ops->group_end(to);
}

/* The words of a struct msghdr. */
struct message {
	uint64_t name, iovec, iovec_count, control, control_length;
	uint32_t name_length, flags;
};

static bool message_read(const struct call *call, const struct call_memory *memory,
			 struct message *ret)
{
	size_t word = layout_pointer(call->layout);
	const unsigned char *at = memory->bytes;

	if (memory->size < 6 * word + sizeof(uint32_t))
		return false;
	ret->name = memory_word(at, word, false);
	ret->name_length = (uint32_t)memory_word(at + word, 4, false);
	ret->iovec = memory_word(at + 2 * word, word, false);
	ret->iovec_count = memory_word(at + 3 * word, word, false);
	ret->control = memory_word(at + 4 * word, word, false);
	ret->control_length = memory_word(at + 5 * word, word, false);
	ret->flags = (uint32_t)memory_word(at + 6 * word, 4, false);
	return true;
}

static void put_message_name(const struct call *call, const struct argument *argument, size_t i,
			     const struct message *message)
{
	struct call_memory name;

	call->to->ops->field(call->to, "msg_name");
	if (!message->name || !message->name_length)
		call_put_address(call, message->name, NULL);
	else if (call_take_memory(call, argument, i, PART_NAME, message->name, &name)) {
		name.size = min_u64(name.size, message->name_length);
		sockaddr_put(call->to, &name);
	}
	call->to->ops->field(call->to, "msg_namelen");
	call->to->ops->natural(call->to, message->name_length);
}

void structure_put_msghdr(const struct call *call, const struct argument *argument, size_t i,
			  const struct call_memory *memory)
{
	/* Buffers of a message that was received are full as far as the result says. */
	uint64_t bytes = argument->is_written ? (uint64_t)call->record->result : UINT64_MAX;
	struct value_writer *to = call->to;
	struct message message;
	struct call_memory iovec, control;

	if (!message_read(call, memory, &message)) {
		to->ops->string(to, memory->bytes, memory->size, true);
		return;
	}
	to->ops->group(to, GROUP_STRUCT);
	put_message_name(call, argument, i, &message);
	to->ops->field(to, "msg_iov");
	if (call_take_memory(call, argument, i, PART_IOVEC, message.iovec, &iovec))
		structure_put_iovec(call, argument, i, &iovec, message.iovec_count, bytes);
	to->ops->field(to, "msg_iovlen");
	to->ops->natural(to, message.iovec_count);
	if (message.control_length) {
		to->ops->field(to, "msg_control");
		if (call_find_memory(call, i, PART_CONTROL, &control) &&
		    !(control.flags & PIECE_UNREADABLE))
			control_put(call, argument, &control, message.control_length);
		else
			call_put_address(call, message.control, NULL);
	}
	to->ops->field(to, "msg_controllen");
	to->ops->natural(to, message.control_length);
	to->ops->field(to, "msg_flags");
	set_put_flags(to, own_set(to, OWN_MSG), message.flags);
	to->ops->group_end(to);
}
