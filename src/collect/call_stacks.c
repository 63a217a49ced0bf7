/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps stacks on their way from the ring buffer to the table. Kernel stacks have their names at
 * once; for user stacks the names (stacks/names.h) take over the rest.
 */
#include "collect/call_stacks.h"

#include <bpf/bpf.h>
#include <sys/epoll.h>

#include "bpftruss/call_abi.h"
#include "truss.skel.h"

#include "base/clock.h"
#include "base/process.h"
#include "base/text.h"
#include "collect/code_files.h"

/* Tables have this long before counting begins. */
#define START_NS (10 * NS_PER_SEC)

/* A file is learned from one process that has it mapped: if that ends, then from another one. */
#define START_PASSES 3

struct kernel_symbol {
	uint64_t address;
	char *name;
	char *module; /* NULL: the kernel itself */
};

/* The kernel's functions, as /proc/kallsyms has them; without privileges there are none. */
struct kernel_code {
	struct kernel_symbol *symbols; /* by address */
	size_t count;
	bool tried; /* read when it is first asked for */
};

struct call_stacks {
	struct errands *errands;
	struct unwind_tables *tables;
	struct code_files *files;
	struct names *names;
	struct kernel_code kernel;
	struct stack_table *table;
	/* The last events; one for which there is no memory is lost: its stack has no frames. */
	struct stack_event *stacks;
	struct pending_event *mappings;
	size_t nr_stacks, nr_mappings;
	/* Files that no target has mapped, one of which is learned when nothing else is to be. */
	struct pending_event *backlog;
	size_t nr_backlog;
};

/* --- events ----------------------------------------------------------------------------------- */

static int pending_event_add(struct call_stacks *stacks, const struct pending_event *event)
{
	if (!array_grow(&stacks->mappings, stacks->nr_mappings, sizeof(*event)))
		return -ENOMEM;
	stacks->mappings[stacks->nr_mappings++] = *event;
	return 0;
}

/* The first word tells the two kinds apart. A stack's event has no more frames than the stack. */
static int take_event(void *closure, void *data, size_t size)
{
	struct call_stacks *stacks = closure;
	const uint64_t *id = data;
	struct stack_event *event;

	if (!*id) {
		pending_event_add(stacks, data);
		return 0;
	}
	if (!array_grow(&stacks->stacks, stacks->nr_stacks, sizeof(*event)))
		return 0;
	event = &stacks->stacks[stacks->nr_stacks++];
	*event = (struct stack_event){ 0 };
	memcpy(event, data, size < sizeof(*event) ? size : sizeof(*event));
	return 0;
}

/* --- the kernel's functions ------------------------------------------------------------------- */

/* "ffffffff81000000 t name\t[module]": functions, of which those of modules come last. */
static bool symbol_read(struct kernel_code *code, const char *line)
{
	char type, name[256], module[64] = "";
	struct kernel_symbol *symbol;
	unsigned long address;

	if (sscanf(line, "%lx %c %255s [%63[^]]", &address, &type, name, module) < 3 ||
	    !strchr("tTwW", type) || !address)
		return true;
	if (!array_grow(&code->symbols, code->count, sizeof(*symbol)))
		return false;
	symbol = &code->symbols[code->count++];
	symbol->address = address;
	symbol->name = strdup(name);
	symbol->module = *module ? strdup(module) : NULL;
	return symbol->name;
}

static void symbols_read(struct kernel_code *code)
{
	FILE *file __cleanup(fclosep) = fopen("/proc/kallsyms", "re");
	char line[512];

	while (file && fgets(line, sizeof(line), file) && symbol_read(code, line))
		;
	if (code->count)
		qsort(code->symbols, code->count, sizeof(*code->symbols), compare_first_u64);
	code->tried = true;
}

/* The function in front of a return address; NULL when the kernel does not say. */
static const struct kernel_symbol *kernel_code_find(struct kernel_code *code, uint64_t address)
{
	size_t at;

	if (!code->tried)
		symbols_read(code);
	at = place_u64(code->symbols, code->count, sizeof(*code->symbols), address);
	return at ? &code->symbols[at - 1] : NULL;
}

/* --- life ------------------------------------------------------------------------------------- */

/* Opens what frames get their names from. */
static int open_names(struct call_stacks *stacks, const struct truss_bpf *skel,
		      const struct collector_options *options)
{
	const struct names_options how = {
		.inlines = options->inlines,
		.debuginfod = options->debuginfod,
		.at_once = options->lasting,
	};
	struct code_identity identity;
	struct code_source source;
	int err;

	code_identity_init(&identity, skel);
	err = code_files_new(stacks->tables, &identity, stacks->errands, options->lasting,
			     &stacks->files);
	if (err)
		return err;
	source = code_files_source(stacks->files);
	return names_new(&source, &how, stacks->errands, stacks->table, &stacks->names);
}

int call_stacks_new(const struct truss_bpf *skel, const struct collector_options *options,
		    struct ring_buffer *events, struct call_stacks **ret)
{
	struct call_stacks *stacks __cleanup(call_stacks_freep) = calloc(1, sizeof(*stacks));
	struct epoll_event event = { .events = EPOLLIN };
	int err = stacks ? stack_table_new(&stacks->table) : -ENOMEM;

	if (stacks)
		stacks->errands = options->errands;
	err = err ?: unwind_tables_new(skel, &stacks->tables);
	err = err ?: open_names(stacks, skel, options);
	err = err
		      ?: ring_buffer__add(events, bpf_map__fd(skel->maps.stack_events), take_event,
					  stacks);
	/* Waiting for the rings is waiting for errands, too. */
	if (!err && epoll_ctl(ring_buffer__epoll_fd(events), EPOLL_CTL_ADD,
			      errands_fd(stacks->errands), &event))
		err = -errno;
	if (!err)
		*ret = steal_ptr(&stacks);
	return err;
}

void call_stacks_free(struct call_stacks *stacks)
{
	if (!stacks)
		return;
	free(stacks->stacks);
	free(stacks->mappings);
	free(stacks->backlog);
	names_free(stacks->names);
	for (size_t i = 0; i < stacks->kernel.count; i++) {
		free(stacks->kernel.symbols[i].name);
		free(stacks->kernel.symbols[i].module);
	}
	free(stacks->kernel.symbols);
	code_files_free(stacks->files);
	unwind_tables_free(stacks->tables);
	stack_table_free(stacks->table);
	free(stacks);
}

void call_stacks_tables(const struct call_stacks *stacks, size_t *files, size_t *bytes)
{
	*files = code_files_count(stacks->files);
	*bytes = unwind_tables_bytes(stacks->tables);
}

struct names *call_stacks_names(const struct call_stacks *stacks)
{
	return stacks->names;
}

const struct stack_table *call_stacks_table(const struct call_stacks *stacks)
{
	return stacks->table;
}

/* --- names ------------------------------------------------------------------------------------ */

/* The functions that take the stack stand on it: the switch, and the tracepoint's own. */
static bool frame_is_of_switch(const struct stack_frame *frame)
{
	static const char *const begins[] = { "bpf_", "__bpf_", "__traceiter_", "trace_" };

	if (!frame->symbol)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(begins); i++) {
		if (!strncmp(frame->symbol, begins[i], strlen(begins[i])))
			return true;
	}
	return !strcmp(frame->symbol, "__schedule") || !strcmp(frame->symbol, "schedule");
}

/* A kernel stack goes into the table, too: user stacks begin with its frames. */
static int kernel_stack_name(struct call_stacks *stacks, const struct stack_event *event)
{
	struct stack_frame frames[MAX_FRAMES];
	struct stack stack = { .id = event->id, .frames = frames };

	for (size_t i = 0; i < min_u64(event->nr_frames, MAX_FRAMES); i++) {
		uint64_t address = event->frames[i];
		const struct kernel_symbol *symbol = kernel_code_find(&stacks->kernel, address);
		struct stack_frame *frame = &frames[stack.nr_frames];

		*frame = (struct stack_frame){
			.offset = symbol ? address - symbol->address : address,
			.kernel = true,
		};
		if (stack_table_intern(stacks->table,
				       symbol && symbol->module ? symbol->module : "kernel",
				       &frame->module) ||
		    stack_table_intern(stacks->table, symbol ? symbol->name : NULL, &frame->symbol))
			return -ENOMEM;
		if (stack.nr_frames || !frame_is_of_switch(frame))
			stack.nr_frames++;
	}
	return stack_table_put(stacks->table, &stack);
}

/*
 * Learns them in the order in which they came: those of the kernel before those that they stand on.
 */
static int learn_fresh(struct call_stacks *stacks)
{
	int err = 0;

	for (size_t i = 0; i < stacks->nr_mappings; i++)
		code_files_learn(stacks->files, &stacks->mappings[i]);
	stacks->nr_mappings = 0;
	for (size_t i = 0; i < stacks->nr_stacks; i++) {
		const struct stack_event *event = &stacks->stacks[i];

		if (event->kernel == event->id)
			err = kernel_stack_name(stacks, event) ?: err;
		else
			err = names_add_stack(stacks->names, event) ?: err;
	}
	/* A crowd of them may have come. */
	free(steal_ptr(&stacks->stacks));
	stacks->nr_stacks = 0;
	return err;
}

static void learn_backlog(struct call_stacks *stacks)
{
	if (stacks->nr_backlog && code_files_are_learned(stacks->files))
		code_files_learn(stacks->files, &stacks->backlog[--stacks->nr_backlog]);
}

int call_stacks_follow(struct call_stacks *stacks)
{
	int err = learn_fresh(stacks);

	errands_run(stacks->errands);
	learn_backlog(stacks);
	errands_run(stacks->errands);
	code_files_tidy(stacks->files);
	return err ?: names_run(stacks->names);
}

int call_stacks_patience_ms(const struct call_stacks *stacks)
{
	return sooner_ms(names_patience_ms(stacks->names), errands_patience_ms(stacks->errands));
}

/* The files that some processes have mapped, by their inodes: a superset, as devices are not compared. */
struct inodes {
	uint64_t *items; /* owned; sorted */
	size_t count;
};

static void inodes_done(struct inodes *inodes)
{
	free(inodes->items);
}

static int inodes_add(struct inodes *inodes, uint32_t pid)
{
	int process __cleanup(closep) = process_open(pid);
	FILE *maps __cleanup(fclosep) = process < 0 ? NULL : process_file(process, "maps");
	struct code_mapping mapping;

	while (maps && process_maps_next(maps, &mapping, NULL)) {
		if (!mapping.exec || !mapping.ino)
			continue;
		if (!array_grow(&inodes->items, inodes->count, sizeof(*inodes->items)))
			return -ENOMEM;
		inodes->items[inodes->count++] = mapping.ino;
	}
	return 0;
}

/* Learns the files of the targets and of a command. */
static int inodes_of(const struct running_code *running, struct inodes *ret)
{
	int err = running->is_mapped_here ? inodes_add(ret, (uint32_t)getpid()) : 0;

	for (size_t i = 0; i < running->nr_targets && !err; i++)
		err = inodes_add(ret, running->targets[i].pid);
	if (ret->count)
		qsort(ret->items, ret->count, sizeof(*ret->items), compare_first_u64);
	return err;
}

static bool inodes_have(const struct inodes *inodes, uint64_t ino)
{
	size_t at = place_u64(inodes->items, inodes->count, sizeof(*inodes->items), ino);

	return at < inodes->count && inodes->items[at] == ino;
}

/* Takes the kernel's list of mapped files that are not asked for yet; it has each of them once. */
static int list_mappings(struct call_stacks *stacks, const struct bpf_link *mappings)
{
	int fd __cleanup(closep) = bpf_iter_create(bpf_link__fd(mappings));
	struct pending_event event;
	int err = fd < 0 ? -errno : 0;

	while (!err && read(fd, &event, sizeof(event)) == sizeof(event))
		err = pending_event_add(stacks, &event);
	return err;
}

/* Learns the mapped files of some inodes (NULL: all); the others stay in the list. Returns how many. */
static size_t learn_some(struct call_stacks *stacks, const struct inodes *only)
{
	size_t kept = 0, all = stacks->nr_mappings;

	for (size_t i = 0; i < all; i++) {
		const struct pending_event *event = &stacks->mappings[i];

		if (!only || inodes_have(only, event->key.ino))
			code_files_learn(stacks->files, event);
		else
			stacks->mappings[kept++] = *event;
	}
	stacks->nr_mappings = kept;
	return all - kept;
}

int call_stacks_learn_running(struct call_stacks *stacks, const struct bpf_link *mappings,
			      const struct running_code *running)
{
	uint64_t until_ns = clock_mono_ns() + (running->hurried ? 0 : START_NS);
	struct inodes inodes __cleanup(inodes_done) = { 0 };
	int err = running->targets ? inodes_of(running, &inodes) : 0;

	for (int pass = 0; pass < START_PASSES && !err; pass++) {
		err = list_mappings(stacks, mappings);
		if (err || !learn_some(stacks, running->targets ? &inodes : NULL) ||
		    clock_mono_ns() >= until_ns)
			break;
		code_files_wait(stacks->files, until_ns);
	}
	/* The tables of all other files are made while calls are counted. */
	stacks->backlog = steal_ptr(&stacks->mappings);
	stacks->nr_backlog = stacks->nr_mappings;
	stacks->nr_mappings = 0;
	learn_backlog(stacks);
	return err;
}
