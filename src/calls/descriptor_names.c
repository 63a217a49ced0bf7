/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names descriptors. The changes of a call are staged until the next one comes, so that both the
 * descriptors that it used and those that it made can be named while its line is written.
 */
#include "base/clock.h"
#include "base/text.h"
#include "calls/descriptors_private.h"

/* No link is longer: /proc cuts them to a page. */
#define MAX_LINK 4096

int descriptors_new(const struct descriptor_source *source, struct descriptors **ret)
{
	struct descriptors *d __cleanup(descriptors_freep) = calloc(1, sizeof(*d));

	if (!d || fd_table_init(&d->table))
		return -ENOMEM;
	d->source = *source;
	lessons_find(d->lesson_of);
	*ret = steal_ptr(&d);
	return 0;
}

static void staged_clear(struct descriptors *d)
{
	for (size_t i = 0; i < d->staged.nr_changes; i++)
		fd_name_drop(&d->table, d->staged.changes[i].name);
	d->staged = (struct staged){ 0 };
}

void descriptors_free(struct descriptors *d)
{
	if (!d)
		return;
	staged_clear(d);
	fd_table_done(&d->table);
	free(d);
}

uint64_t descriptors_evicted(const struct descriptors *d)
{
	return d->table.evicted;
}

uint64_t descriptors_asked(const struct descriptors *d)
{
	return d->asked;
}

size_t descriptors_bytes(const struct descriptors *d)
{
	return sizeof(*d) + fd_table_bytes(&d->table);
}

/* --- asking ------------------------------------------------------------------------------------- */

/* Describes what a link of /proc points at. */
static struct fd_name *link_name(struct descriptors *d, struct fd_process *process, int fd,
				 const char *link, size_t length)
{
	char text[MAX_NAME + 1];
	struct fd_name *name;
	uint64_t inode = 0;
	ssize_t got = -1;

	if (sscanf(link, "socket:[%" SCNu64 "]", &inode) == 1 && d->source.read_socket)
		got = d->source.read_socket(d->source.context, process->pid, fd, inode, text,
					    sizeof(text));
	if (got > 0)
		name = fd_name_new(&d->table, process, text, (size_t)got);
	else
		name = fd_name_new(&d->table, process, link, length);
	if (name) {
		name->is_socket = got > 0;
		name->inode = inode;
	}
	return name;
}

/* Whether a link is that of a name. */
static bool name_is_link(const struct fd_name *name, const char *link, size_t length)
{
	uint64_t inode;

	if (name->inode)
		return sscanf(link, "socket:[%" SCNu64 "]", &inode) == 1 && inode == name->inode;
	return name->length == length && !memcmp(name->text, link, length);
}

/*
 * Asks /proc for a descriptor whose name and flags were known, takes the name over, and returns the
 * present one.
 */
static struct fd_name *name_ask(struct descriptors *d, struct fd_process *process, int fd,
				struct fd_name *known, uint32_t *flags)
{
	bool is_incomplete = known && *flags & ENTRY_INCOMPLETE;
	ssize_t length = -ENOSYS;
	struct fd_name *name = NULL;
	char link[MAX_LINK];

	*flags &= ~ENTRY_INCOMPLETE;
	if (d->source.read_link) {
		length = d->source.read_link(d->source.context, process->pid, fd, link,
					     sizeof(link) - 1);
		d->asked++;
	}
	link[length > 0 ? length : 0] = 0;
	/* If /proc does not say "pipe:[77]" for a "pipe", it is about another file by now. */
	if (is_incomplete &&
	    (strncmp(link, known->text, known->length) || link[known->length] != ':'))
		return known;
	if (known && (length > 0 ? name_is_link(known, link, (size_t)length)
				 : length != -ENOENT && length)) {
		*flags |= length > 0 ? 0 : ENTRY_LATE;
		return known;
	}
	*flags = ENTRY_LATE | (is_incomplete ? *flags : 0);
	fd_name_drop(&d->table, known);
	if (length > 0)
		name = link_name(d, process, fd, link, (size_t)length);
	return name;
}

static bool entry_is_stale(const struct fd_process *process, const struct fd_entry *entry)
{
	return process->shares || (process->shares_folder && entry->fd == DESCRIPTOR_CWD) ||
	       entry->generation != process->generation;
}

struct fd_entry *entry_known(struct descriptors *d, const struct fd_process *process, int fd)
{
	struct fd_entry *entry = fd_entry_find(&d->table, process, fd);

	return entry && !entry_is_stale(process, entry) ? entry : NULL;
}

static struct fd_entry *entry_ask(struct descriptors *d, struct fd_process *process, int fd)
{
	struct fd_entry *entry = fd_entry_find(&d->table, process, fd);
	struct fd_name *name = entry ? fd_name_ref(entry->name) : NULL;
	uint32_t flags = entry ? entry->flags : 0;
	uint64_t known_ns = entry && !(flags & ENTRY_ASKED) ? entry->known_ns : 0;

	if (entry && entry_is_stale(process, entry))
		flags &= ~ENTRY_INCOMPLETE;
	name = name_ask(d, process, fd, name, &flags);
	/* A name that is still right is as old as it was. */
	if (flags & ENTRY_LATE || !known_ns) {
		flags |= ENTRY_ASKED;
		known_ns = clock_mono_ns();
	}
	entry = fd_entry_set(&d->table, process, fd, name, flags);
	if (entry)
		entry->known_ns = known_ns;
	return entry;
}

/* /proc's answer from before the call is certain if no call has changed the descriptor since. */
static void entry_confirm(const struct descriptors *d, struct fd_entry *entry)
{
	if (entry->flags & ENTRY_ASKED && d->begin_ns > entry->known_ns)
		entry->flags &= ~(uint32_t)ENTRY_LATE;
}

struct fd_entry *entry_get(struct descriptors *d, struct fd_process *process, int fd)
{
	return entry_known(d, process, fd) ?: entry_ask(d, process, fd);
}

/* --- names -------------------------------------------------------------------------------------- */

static bool name_return(const struct fd_name *name, uint32_t flags, struct descriptor_name *ret)
{
	if (!name)
		return false;
	*ret = (struct descriptor_name){ .text = name->text,
					 .length = name->length,
					 .flags = flags & ENTRY_LATE ? DESCRIPTOR_LATE : 0 };
	return true;
}

static struct change *change_find(struct descriptors *d, uint32_t pid, int fd)
{
	for (size_t i = 0; d->staged.pid == pid && i < d->staged.nr_changes; i++) {
		if (d->staged.changes[i].fd == fd)
			return &d->staged.changes[i];
	}
	return NULL;
}

static bool change_name(struct descriptors *d, struct change *change, struct descriptor_name *ret)
{
	struct fd_process *process = fd_process_use(&d->table, d->staged.pid);

	if ((!change->name && !(change->flags & ENTRY_LATE)) || change->flags & ENTRY_INCOMPLETE)
		change->name = name_ask(d, process, change->fd, change->name, &change->flags);
	return name_return(change->name, change->flags, ret);
}

/* Whether asking now would tell of another file: the call has closed this one, or found none. */
static bool is_too_late(const struct descriptors *d, uint32_t pid, int fd)
{
	const struct staged *staged = &d->staged;

	return staged->pid == pid && fd >= 0 &&
	       (staged->refused ||
		(staged->closes && (uint32_t)fd >= staged->first && (uint32_t)fd <= staged->last));
}

static bool name_find(struct descriptors *d, uint32_t pid, int fd, enum descriptor_moment moment,
		      struct descriptor_name *ret)
{
	struct change *change = moment == DESCRIPTOR_MADE ? change_find(d, pid, fd) : NULL;
	const struct fd_process *process;
	struct fd_entry *entry;

	if (fd < 0 && fd != DESCRIPTOR_CWD)
		return false;
	if (change)
		return change_name(d, change, ret);
	process = fd_process_find(&d->table, pid);
	entry = process ? fd_entry_find(&d->table, process, fd) : NULL;
	/* Then the number was another file's when the call began. */
	if (entry && !(entry->flags & ENTRY_ASKED) && d->begin_ns && entry->known_ns > d->begin_ns)
		return false;
	if (entry && !entry_is_stale(process, entry))
		entry_confirm(d, entry);
	if (entry && !entry_is_stale(process, entry) && !(entry->flags & ENTRY_INCOMPLETE))
		return name_return(entry->name, entry->flags, ret);
	if (is_too_late(d, pid, fd)) {
		if (!entry)
			return false;
		return name_return(entry->name,
				   entry->flags | (entry_is_stale(process, entry) ? ENTRY_LATE : 0),
				   ret);
	}
	entry = entry_ask(d, fd_process_use(&d->table, pid), fd);
	return entry && name_return(entry->name, entry->flags, ret);
}

bool descriptors_name(struct descriptors *d, uint32_t pid, int fd, enum descriptor_moment moment,
		      struct descriptor_name *ret)
{
	bool found = name_find(d, pid, fd, moment, ret);
	const struct fd_process *process = fd_process_find(&d->table, pid);

	/* It may be that of another thread. */
	if (found && process && process->threads_differ)
		ret->flags |= DESCRIPTOR_LATE;
	return found;
}

void descriptors_inherit(struct descriptors *d, uint32_t pid, int fd)
{
	struct fd_entry *entry = entry_ask(d, fd_process_use(&d->table, pid), fd);

	if (entry)
		entry->flags = ENTRY_STAYS_ON_EXEC;
}

/* --- what calls have done ----------------------------------------------------------------------- */

void change_stage(struct descriptors *d, int fd, struct fd_name *name, uint32_t flags)
{
	if (d->staged.nr_changes < MAX_CHANGES)
		d->staged.changes[d->staged.nr_changes++] =
			(struct change){ fd, name, flags, d->end_ns };
	else
		fd_name_drop(&d->table, name);
}

void change_keep(struct descriptors *d, uint64_t since_ns)
{
	if (d->staged.nr_changes)
		d->staged.changes[d->staged.nr_changes - 1].since_ns = since_ns;
}

/* Closes the descriptors of a range, or marks them to be closed on exec. */
static void range_settle(struct descriptors *d, struct fd_process *process)
{
	const struct staged *staged = &d->staged;
	uint32_t next;

	if (staged->first == staged->last) {
		struct fd_entry *entry = fd_entry_find(&d->table, process, (int)staged->first);

		if (entry)
			fd_entry_drop(&d->table, entry);
		return;
	}
	for (uint32_t i = process->newest; i; i = next) {
		struct fd_entry *entry = fd_entry_at(&d->table, i);

		next = entry->older;
		if (entry->fd < 0 || (uint32_t)entry->fd < staged->first ||
		    (uint32_t)entry->fd > staged->last)
			continue;
		if (staged->closes)
			fd_entry_drop(&d->table, entry);
		else
			entry->flags = (entry->flags & ~ENTRY_STAYS_ON_EXEC) | ENTRY_CLOSES_ON_EXEC;
	}
}

/* An executed program keeps the descriptors without FD_CLOEXEC. */
static void exec_settle(struct descriptors *d, struct fd_process *process)
{
	uint32_t next;

	process->shares = process->shares_folder = false;
	process->has_threads = process->threads_differ = false;
	for (uint32_t i = process->newest; i; i = next) {
		struct fd_entry *entry = fd_entry_at(&d->table, i);

		next = entry->older;
		if (entry->fd == DESCRIPTOR_CWD || entry->flags & ENTRY_STAYS_ON_EXEC)
			continue;
		if (entry->flags & ENTRY_CLOSES_ON_EXEC)
			fd_entry_drop(&d->table, entry);
		else
			entry->generation = process->generation - 1;
	}
}

/* At most this many descriptors are copied for a child; it asks for the others. */
#define MAX_COPIES 256

static bool pids_are_ours(struct descriptors *d, struct fd_process *process)
{
	if (process->pids == PIDS_NOT_ASKED)
		process->pids = d->source.sees_our_pids && d->source.sees_our_pids(
								   d->source.context, process->pid)
					? PIDS_OURS
					: PIDS_FOREIGN;
	return process->pids == PIDS_OURS;
}

/* Gives a child copies of what its maker has by now. */
static void child_fill(struct descriptors *d, struct fd_process *child,
		       const struct fd_process *parent)
{
	uint32_t left = MAX_COPIES;

	for (uint32_t i = parent->oldest; i && left && fd_table_has_room(&d->table); left--) {
		const struct fd_entry *entry = fd_entry_at(&d->table, i);

		if (!entry_is_stale(parent, entry))
			fd_entry_set(&d->table, child, entry->fd, fd_name_ref(entry->name),
				     entry->flags & ~(uint32_t)ENTRY_ASKED);
		i = entry->newer;
	}
}

/* A child begins with copies, unless its own calls came first, as after vfork(). */
static void child_settle(struct descriptors *d, struct fd_process *parent)
{
	struct fd_process *child;

	if (!pids_are_ours(d, parent) || d->staged.child == parent->pid)
		return;
	child = fd_process_find(&d->table, d->staged.child);
	if (child && child->seen_ns > d->staged.child_ns) {
		child->shares |= d->staged.child_shares;
		child->shares_folder |= d->staged.child_shares_folder;
		return;
	}
	if (child)
		fd_process_drop(&d->table, child);
	child = fd_process_use(&d->table, d->staged.child);
	child->shares = d->staged.child_shares;
	child->shares_folder = d->staged.child_shares_folder;
	child_fill(d, child, parent);
}

/* Applies the staged changes of the last call. */
static void staged_settle(struct descriptors *d)
{
	struct staged *staged = &d->staged;
	struct fd_process *process;

	if (!staged->nr_changes && !staged->closes && !staged->marks && !staged->execs &&
	    !staged->ends && !staged->child) {
		*staged = (struct staged){ 0 };
		return;
	}
	process = fd_process_use(&d->table, staged->pid);
	if (staged->closes || staged->marks)
		range_settle(d, process);
	for (size_t i = 0; i < staged->nr_changes; i++) {
		struct change *change = &staged->changes[i];
		struct fd_entry *entry = fd_entry_find(&d->table, process, change->fd);

		if (change->name || change->flags & ENTRY_LATE)
			entry = fd_entry_set(&d->table, process, change->fd,
					     steal_ptr(&change->name), change->flags);
		else if (entry)
			fd_entry_drop(&d->table, steal_ptr(&entry));
		if (entry)
			entry->known_ns = change->since_ns;
	}
	if (staged->execs)
		exec_settle(d, process);
	if (staged->child)
		child_settle(d, process);
	if (staged->ends)
		fd_process_drop(&d->table, process);
	staged_clear(d);
}

/* Finds a record's process. If the numbers of its first thread begin again, it is another one. */
static struct fd_process *process_of(struct descriptors *d, const struct call_record *record)
{
	bool is_new = !fd_process_find(&d->table, record->pid);
	struct fd_process *process = fd_process_use(&d->table, record->pid);
	const struct fd_process *parent;

	if (record->tid != record->pid) {
		process->has_threads = true;
		return process;
	}
	if (record->number < process->number) {
		fd_process_drop(&d->table, process);
		process = fd_process_use(&d->table, record->pid);
		is_new = true;
	}
	/* The fork need not have returned yet: one by vfork() has not. */
	if (is_new && record->number == 1) {
		parent = fd_process_find(&d->table, (uint32_t)CALL_PARENT(record->left_out));
		if (parent)
			child_fill(d, process, parent);
	}
	process->number = record->number;
	return process;
}

void descriptors_follow(struct descriptors *d, const struct call_record *record, bool unseen)
{
	struct fd_process *process;

	staged_settle(d);
	process = process_of(d, record);
	process->seen_ns = record->end_ns;
	d->begin_ns = record->flags & CALL_TIMED ? above(record->end_ns, record->wall_ns) : 0;
	d->end_ns = record->end_ns;
	process->generation += unseen;
	d->staged.pid = record->pid;
	d->staged.refused = record->flags & CALL_RETURNED && record->result == -EBADF;
	lesson_learn(d, process, record);
}

void descriptors_begin(struct descriptors *d, uint64_t begin_ns)
{
	d->begin_ns = begin_ns;
}

void descriptors_forget(struct descriptors *d, uint32_t pid)
{
	struct fd_process *process;

	staged_settle(d);
	process = fd_process_find(&d->table, pid);
	if (process)
		fd_process_drop(&d->table, process);
}
