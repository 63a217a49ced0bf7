/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes values of sets, and numbers that work like one. */
#include "calls/sets.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "base/text.h"

#define BIT(name) { #name, (uint32_t)(name), (uint32_t)(name) }
#define OWN(list) { .name = #list, .names = (list), .count = ARRAY_SIZE(list) }

/* Not all headers of user space have these. */
#define SA_RESTORER 0x04000000u

/* Flags are in the order in which strace writes them. */
static const struct flag_name sigaction_flags[] = {
	BIT(SA_RESTORER),  BIT(SA_ONSTACK), BIT(SA_RESTART),   BIT(SA_NODEFER),
	BIT(SA_RESETHAND), BIT(SA_SIGINFO), BIT(SA_NOCLDSTOP), BIT(SA_NOCLDWAIT),
};

const struct flag_set *own_set_find(enum own_set set)
{
	static const struct flag_set sigaction_set = OWN(sigaction_flags);
	static const char *const names[NR_OWN_SET] = {
		[OWN_POLL] = "poll_events",
		[OWN_EPOLL] = "epoll_events",
		[OWN_FAMILY] = "socket_family",
		[OWN_FD_FLAGS] = "fd_flags",
		[OWN_LOCK] = "lock_type",
		[OWN_OPEN] = "open",
		[OWN_CLONE] = "clone3",
		[OWN_RESOLVE] = "resolve",
		[OWN_STATX] = "statx_mask",
		[OWN_SEEK] = "seek",
		[OWN_MSG] = "msg",
		[OWN_PROTOCOL] = "socket_protocol",
		[OWN_SOL_SOCKET] = "socket_option",
		[OWN_SOL_TCP] = "tcp_option",
		[OWN_LEVEL] = "socket_level",
		[OWN_SOL_IP] = "ip_option",
		[OWN_SOL_IPV6] = "ipv6_option",
		[OWN_STACK] = "sigaltstack",
		[OWN_CAPABILITY] = "capability",
	};

	if (set == OWN_SIGACTION)
		return &sigaction_set;
	return names[set] ? flag_set_find(names[set]) : NULL;
}

/* --- flags -------------------------------------------------------------------------------------- */

/* The text is cut at a whole name, since the rest follows as a number. */
static bool text_add(struct set_text *text, const char *word)
{
	size_t length = strlen(word);

	if (text->length + length + 1 > sizeof(text->text))
		return false;
	if (text->length)
		text->text[text->length++] = '|';
	memcpy(text->text + text->length, word, length);
	text->length += length;
	return true;
}

static void text_add_number(struct set_text *text, const char *format, uint64_t value)
{
	char number[24];

	snprintf(number, sizeof(number), format, value);
	text_add(text, number);
}

/* Whether a name is part of another one that applies: O_SYNC includes O_DSYNC. */
static bool is_part(const struct flag_set *set, const struct flag_name *name, uint64_t value)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct flag_name *other = &set->names[i];

		if ((other->mask & name->mask) == name->mask && other->mask != name->mask &&
		    (value & other->mask) == other->value)
			return true;
	}
	return false;
}

/* The bits that have got a name. */
static uint64_t text_add_flags(struct set_text *text, const struct flag_set *set, uint64_t value)
{
	uint64_t done = 0;

	for (size_t i = 0; set && i < set->count; i++) {
		const struct flag_name *name = &set->names[i];

		if ((value & name->mask) == name->value && !(done & name->mask) &&
		    !is_part(set, name, value) && text_add(text, name->name))
			done |= name->mask;
	}
	return done;
}

void set_put_flags(struct value_writer *to, const struct flag_set *set, uint64_t value)
{
	struct set_text text;
	uint64_t left;

	text.length = 0;
	if (set && !set->is_wide)
		value = (uint32_t)value;
	left = value & ~text_add_flags(&text, set, value);
	if (text.length) {
		if (left)
			text_add_number(&text, "0x%" PRIx64, left);
		to->ops->symbol(to, text.text, text.length, value);
	} else if (value) {
		to->ops->hex(to, value);
	} else {
		to->ops->natural(to, 0);
	}
}

/* The name of one value; NULL: it has none. */
const char *set_find_name(const struct flag_set *set, uint64_t value)
{
	for (size_t i = 0; set && i < set->count; i++) {
		if (set->names[i].value == value)
			return set->names[i].name;
	}
	return NULL;
}

void set_put_enum(struct value_writer *to, const struct flag_set *set, uint64_t value)
{
	const char *name;

	if (set && !set->is_wide)
		value = (uint32_t)value;
	name = set_find_name(set, value);
	if (name)
		to->ops->symbol(to, name, strlen(name), value);
	else if (value < 10)
		to->ops->natural(to, value);
	else
		to->ops->hex(to, value);
}

/* --- modes and devices -------------------------------------------------------------------------- */

void set_put_mode(struct value_writer *to, uint64_t mode, bool has_type)
{
	static const struct flag_name types[] = {
		{ "S_IFREG", S_IFREG, S_IFMT },   { "S_IFDIR", S_IFDIR, S_IFMT },
		{ "S_IFCHR", S_IFCHR, S_IFMT },   { "S_IFBLK", S_IFBLK, S_IFMT },
		{ "S_IFIFO", S_IFIFO, S_IFMT },   { "S_IFLNK", S_IFLNK, S_IFMT },
		{ "S_IFSOCK", S_IFSOCK, S_IFMT },
	};
	static const struct flag_name bits[] = { BIT(S_ISUID), BIT(S_ISGID), BIT(S_ISVTX) };
	static const struct flag_set type_set = OWN(types), bit_set = OWN(bits);
	struct set_text text;

	text.length = 0;
	if (has_type && mode & S_IFMT) {
		uint64_t done = text_add_flags(&text, &type_set, mode);

		done |= text_add_flags(&text, &bit_set, mode);
		text_add_number(&text, "0%03" PRIo64, mode & ~done);
	} else {
		text_add_number(&text, "0%02" PRIo64, mode & UINT32_MAX);
	}
	to->ops->symbol(to, text.text, text.length, mode & UINT32_MAX);
}

void set_put_device(struct value_writer *to, uint64_t device)
{
	char text[64];
	int length =
		snprintf(text, sizeof(text), "makedev(%#x, %#x)", major(device), minor(device));

	to->ops->symbol(to, text, (size_t)length, device);
}

/* --- signals ------------------------------------------------------------------------------------ */

/* The first real-time signal, as the kernel counts. */
#define FIRST_REALTIME 32
#define NR_SIGNALS     64

#define SIGNAL_NAME_MAX 16

/* NULL: there is none of that number. The buffer may be used. */
static const char *signal_name(uint64_t number, char buf[SIGNAL_NAME_MAX])
{
	const char *name = number && number < FIRST_REALTIME ? sigabbrev_np((int)number) : NULL;

	/* POLL is its name in System V. */
	if (number == SIGIO)
		strcpy(buf, "SIGIO");
	else if (name)
		snprintf(buf, SIGNAL_NAME_MAX, "SIG%s", name);
	else if (number == FIRST_REALTIME)
		strcpy(buf, "SIGRTMIN");
	else if (number > FIRST_REALTIME && number <= NR_SIGNALS)
		snprintf(buf, SIGNAL_NAME_MAX, "SIGRT_%d", (int)number - FIRST_REALTIME);
	else
		return NULL;
	return buf;
}

void set_put_signal(struct value_writer *to, uint64_t number)
{
	char buf[SIGNAL_NAME_MAX];
	const char *name = signal_name((uint32_t)number, buf);

	if (name)
		to->ops->symbol(to, name, strlen(name), number);
	else
		to->ops->number(to, (int32_t)number);
}

void set_put_signals(struct value_writer *to, uint64_t mask)
{
	/* If only a few signals are missing, naming those says more. */
	bool is_inverted = __builtin_popcountll(mask) > NR_SIGNALS * 2 / 3;
	uint64_t listed = is_inverted ? ~mask : mask;
	char buf[SIGNAL_NAME_MAX];

	to->ops->group(to, is_inverted ? GROUP_OTHERS : GROUP_SET);
	for (uint64_t i = 1; i <= NR_SIGNALS; i++) {
		const char *name = listed >> (i - 1) & 1 ? signal_name(i, buf) : NULL;

		/* SIG is left out: strlen("SIG"). */
		if (name)
			to->ops->symbol(to, name + 3, strlen(name) - 3, i);
	}
	to->ops->group_end(to);
}

/* Ours: "exited 1", "SIGKILL", "stopped SIGSTOP". */
static int wait_write(char *text, size_t size, uint32_t status, const char *name)
{
	if (WIFEXITED(status))
		return snprintf(text, size, "exited %u", WEXITSTATUS(status));
	if (WIFSTOPPED(status))
		return snprintf(text, size, "stopped %s", name);
	if (WIFCONTINUED(status))
		return snprintf(text, size, "continued");
	return snprintf(text, size, "%s%s", name, WCOREDUMP(status) ? " core" : "");
}

static int wait_write_strace(char *text, size_t size, uint32_t status, const char *name)
{
	if (WIFEXITED(status))
		return snprintf(text, size, "{WIFEXITED(s) && WEXITSTATUS(s) == %u}",
				WEXITSTATUS(status));
	if (WIFSTOPPED(status))
		return snprintf(text, size, "{WIFSTOPPED(s) && WSTOPSIG(s) == %s}", name);
	if (WIFCONTINUED(status))
		return snprintf(text, size, "{WIFCONTINUED(s)}");
	return snprintf(text, size, "{WIFSIGNALED(s) && WTERMSIG(s) == %s%s}", name,
			WCOREDUMP(status) ? " && WCOREDUMP(s)" : "");
}

void set_put_wait_status(struct value_writer *to, uint32_t status)
{
	char text[96], buf[SIGNAL_NAME_MAX];
	uint64_t signal = WIFSTOPPED(status) ? WSTOPSIG(status) : WTERMSIG(status);
	const char *name = signal_name(signal, buf) ?: "signal";
	int length = to->style == STYLE_STRACE ? wait_write_strace(text, sizeof(text), status, name)
					       : wait_write(text, sizeof(text), status, name);

	to->ops->symbol(to, text, (size_t)length, status);
}
