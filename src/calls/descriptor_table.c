/* SPDX-License-Identifier: BSD-2-Clause */
/* Two hash tables over arrays of a fixed size, and lists through them, all by index. */
#include "calls/descriptor_table.h"

#include <fcntl.h>

#define PROCESS_BUCKETS (2 * MAX_PROCESSES)
#define ENTRY_BUCKETS   MAX_ENTRIES

static uint32_t hash_of(uint64_t key, uint32_t buckets)
{
	return (uint32_t)(key * 0x9e3779b97f4a7c15ULL >> 32) & (buckets - 1);
}

static uint32_t *process_bucket(const struct fd_table *table, uint32_t pid)
{
	return &table->process_buckets[hash_of(pid, PROCESS_BUCKETS)];
}

static uint32_t *entry_bucket(const struct fd_table *table, uint32_t process, int fd)
{
	return &table->entry_buckets[hash_of((uint64_t)process << 32 | (uint32_t)fd,
					     ENTRY_BUCKETS)];
}

static uint32_t process_index(const struct fd_table *table, const struct fd_process *process)
{
	return (uint32_t)(process - table->processes);
}

int fd_table_init(struct fd_table *table)
{
	*table = (struct fd_table){ 0 };
	table->processes = calloc(MAX_PROCESSES + 1, sizeof(*table->processes));
	table->entries = calloc(MAX_ENTRIES + 1, sizeof(*table->entries));
	table->process_buckets = calloc(PROCESS_BUCKETS, sizeof(*table->process_buckets));
	table->entry_buckets = calloc(ENTRY_BUCKETS, sizeof(*table->entry_buckets));
	if (!table->processes || !table->entries || !table->process_buckets ||
	    !table->entry_buckets)
		return -ENOMEM;
	return 0;
}

void fd_table_done(struct fd_table *table)
{
	while (table->newest)
		fd_process_drop(table, &table->processes[table->newest]);
	free(table->processes);
	free(table->entries);
	free(table->process_buckets);
	free(table->entry_buckets);
}

size_t fd_table_bytes(const struct fd_table *table)
{
	return (MAX_PROCESSES + 1) * sizeof(*table->processes) +
	       (MAX_ENTRIES + 1) * sizeof(*table->entries) +
	       (PROCESS_BUCKETS + ENTRY_BUCKETS) * sizeof(uint32_t) + table->name_bytes;
}

/* --- names -------------------------------------------------------------------------------------- */

/* The overhead of malloc() is counted, too. */
static size_t name_size(size_t length)
{
	return sizeof(struct fd_name) + length + 1 + 16;
}

struct fd_name *fd_name_ref(struct fd_name *name)
{
	if (name)
		name->refs++;
	return name;
}

void fd_name_drop(struct fd_table *table, struct fd_name *name)
{
	if (!name || --name->refs)
		return;
	table->name_bytes -= name_size(name->length);
	free(name);
}

/* Forgets the oldest entry of a process that has any, and its working directory last: other names begin there. */
static void entry_forget(struct fd_table *table, struct fd_process *process)
{
	struct fd_entry *entry = &table->entries[process->oldest];

	if (entry->fd == AT_FDCWD && entry->newer)
		entry = &table->entries[entry->newer];
	table->evicted++;
	fd_entry_drop(table, entry);
}

/* Forgets another process, or else the oldest entry of this one. False: there is nothing. */
static bool table_make_room(struct fd_table *table, struct fd_process *process)
{
	struct fd_process *other = &table->processes[table->oldest];

	if (table->oldest && other != process) {
		table->evicted += other->count;
		fd_process_drop(table, other);
		return true;
	}
	if (!process->oldest)
		return false;
	entry_forget(table, process);
	return true;
}

struct fd_name *fd_name_new(struct fd_table *table, struct fd_process *process, const char *text,
			    size_t length)
{
	size_t size = name_size(length);
	struct fd_name *name;

	if (length > MAX_NAME)
		return NULL;
	while (process->oldest && process->name_bytes + size > MAX_NAME_BYTES / 2)
		entry_forget(table, process);
	while (table->name_bytes + size > MAX_NAME_BYTES) {
		if (!table_make_room(table, process))
			return NULL;
	}
	name = malloc(sizeof(*name) + length + 1);
	if (!name)
		return NULL;
	*name = (struct fd_name){ .refs = 1, .length = (uint16_t)length };
	memcpy(name->text, text, length);
	name->text[length] = 0;
	table->name_bytes += size;
	return name;
}

/* --- processes ---------------------------------------------------------------------------------- */

struct fd_process *fd_process_find(const struct fd_table *table, uint32_t pid)
{
	uint32_t index = *process_bucket(table, pid);

	while (index && table->processes[index].pid != pid)
		index = table->processes[index].next;
	return index ? &table->processes[index] : NULL;
}

static void process_unlink(struct fd_table *table, struct fd_process *process)
{
	*(process->newer ? &table->processes[process->newer].older : &table->newest) =
		process->older;
	*(process->older ? &table->processes[process->older].newer : &table->oldest) =
		process->newer;
}

static void process_link(struct fd_table *table, struct fd_process *process)
{
	uint32_t index = process_index(table, process);

	process->newer = 0;
	process->older = table->newest;
	*(table->newest ? &table->processes[table->newest].newer : &table->oldest) = index;
	table->newest = index;
}

void fd_process_drop(struct fd_table *table, struct fd_process *process)
{
	uint32_t *at = process_bucket(table, process->pid);

	while (process->oldest)
		fd_entry_drop(table, &table->entries[process->oldest]);
	while (*at != process_index(table, process))
		at = &table->processes[*at].next;
	*at = process->next;
	process_unlink(table, process);
	*process = (struct fd_process){ .next = table->free_process };
	table->free_process = process_index(table, process);
}

static struct fd_process *process_take(struct fd_table *table)
{
	struct fd_process *process;

	if (!table->free_process && table->used_processes < MAX_PROCESSES)
		return &table->processes[++table->used_processes];
	if (!table->free_process) {
		table->evicted += table->processes[table->oldest].count;
		fd_process_drop(table, &table->processes[table->oldest]);
	}
	process = &table->processes[table->free_process];
	table->free_process = process->next;
	return process;
}

struct fd_process *fd_process_use(struct fd_table *table, uint32_t pid)
{
	struct fd_process *process = fd_process_find(table, pid);
	uint32_t *bucket;

	if (!process) {
		process = process_take(table);
		bucket = process_bucket(table, pid);
		*process = (struct fd_process){ .pid = pid, .next = *bucket };
		*bucket = process_index(table, process);
		process_link(table, process);
	} else if (process->newer) {
		process_unlink(table, process);
		process_link(table, process);
	}
	return process;
}

/* --- entries ------------------------------------------------------------------------------------ */

struct fd_entry *fd_entry_find(const struct fd_table *table, const struct fd_process *process,
			       int fd)
{
	uint32_t of = process_index(table, process);
	uint32_t index = *entry_bucket(table, of, fd);

	while (index && (table->entries[index].fd != fd || table->entries[index].process != of))
		index = table->entries[index].next;
	return fd_entry_at(table, index);
}

bool fd_table_has_room(const struct fd_table *table)
{
	return table->free_entry || table->used_entries < MAX_ENTRIES;
}

static struct fd_entry *entry_take(struct fd_table *table, struct fd_process *process)
{
	struct fd_entry *entry;

	if (process->count >= MAX_ENTRIES / 2)
		entry_forget(table, process);
	if (!table->free_entry && table->used_entries < MAX_ENTRIES)
		return &table->entries[++table->used_entries];
	while (!table->free_entry) {
		if (!table_make_room(table, process))
			return NULL;
	}
	entry = &table->entries[table->free_entry];
	table->free_entry = entry->next;
	return entry;
}

/* Links a new entry into its bucket and its process. */
static void entry_link(struct fd_table *table, struct fd_process *process, struct fd_entry *entry)
{
	uint32_t index = (uint32_t)(entry - table->entries);
	uint32_t *bucket = entry_bucket(table, entry->process, entry->fd);

	entry->next = *bucket;
	*bucket = index;
	entry->older = process->newest;
	*(process->newest ? &table->entries[process->newest].newer : &process->oldest) = index;
	process->newest = index;
	process->count++;
}

/* Gives an entry another name, which is taken over. */
static void fd_entry_rename(struct fd_table *table, struct fd_entry *entry, struct fd_name *name)
{
	struct fd_process *process = &table->processes[entry->process];

	if (entry->name)
		process->name_bytes -= name_size(entry->name->length);
	if (name)
		process->name_bytes += name_size(name->length);
	fd_name_drop(table, entry->name);
	entry->name = name;
}

struct fd_entry *fd_entry_set(struct fd_table *table, struct fd_process *process, int fd,
			      struct fd_name *name, uint32_t flags)
{
	struct fd_entry *entry = fd_entry_find(table, process, fd);

	if (!entry) {
		entry = entry_take(table, process);
		if (!entry) {
			fd_name_drop(table, name);
			return NULL;
		}
		*entry = (struct fd_entry){ .process = process_index(table, process), .fd = fd };
		entry_link(table, process, entry);
	}
	fd_entry_rename(table, entry, name);
	entry->generation = process->generation;
	entry->flags = flags;
	entry->known_ns = 0;
	return entry;
}

void fd_entry_drop(struct fd_table *table, struct fd_entry *entry)
{
	struct fd_process *process = &table->processes[entry->process];
	uint32_t index = (uint32_t)(entry - table->entries);
	uint32_t *at = entry_bucket(table, entry->process, entry->fd);

	while (*at != index)
		at = &table->entries[*at].next;
	*at = entry->next;
	*(entry->newer ? &table->entries[entry->newer].older : &process->newest) = entry->older;
	*(entry->older ? &table->entries[entry->older].newer : &process->oldest) = entry->newer;
	process->count--;
	fd_entry_rename(table, entry, NULL);
	*entry = (struct fd_entry){ .next = table->free_entry };
	table->free_entry = index;
}
