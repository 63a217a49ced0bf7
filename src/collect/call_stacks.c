/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps stacks on their way from the ring buffer to the table. Those of the kernel have their names at
 * once; of those of users the names (stacks/names.h) take over the rest.
 */
#include "collect/call_stacks.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "bpftruss/abi.h"
#include "truss.skel.h"

#include "base/clock.h"
#include "base/mem.h"
#include "collect/code_files.h"
#include "collect/kernel_code.h"

/* For tables before counting begins. */
#define START_NS (10 * NS_PER_SEC)

/* A file is learned from one process that has it mapped: if that ends, then from another one. */
#define START_PASSES 3

/* Grows as events come. */
struct event_list {
	struct stack_event **stacks; /* each as long as its frames */
	size_t nr_stacks;
	struct pending_event *mappings;
	size_t nr_mappings;
};

struct call_stacks {
	struct errands *errands;
	struct unwind_tables *tables;
	struct code_files *files;
	struct names *names;
	struct kernel_code kernel;
	struct stack_table *table;
	struct event_list fresh;
	bool failed; /* no memory for an event: its stack has no frames */
};

/* --- events ----------------------------------------------------------------------------------- */

static int stack_event_add(struct event_list *list, const void *data, size_t size)
{
	struct stack_event **grown =
		reallocarray(list->stacks, list->nr_stacks + 1, sizeof(*grown));
	void *copy = malloc(sizeof(struct stack_event));

	if (grown)
		list->stacks = grown;
	if (!grown || !copy) {
		free(copy);
		return -ENOMEM;
	}
	memset(copy, 0, sizeof(struct stack_event));
	memcpy(copy, data, size < sizeof(struct stack_event) ? size : sizeof(struct stack_event));
	list->stacks[list->nr_stacks++] = copy;
	return 0;
}

static int pending_event_add(struct event_list *list, const struct pending_event *event)
{
	struct pending_event *grown =
		reallocarray(list->mappings, list->nr_mappings + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	list->mappings = grown;
	list->mappings[list->nr_mappings++] = *event;
	return 0;
}

/* The first word tells the two kinds apart. */
static int take_event(void *closure, void *data, size_t size)
{
	struct call_stacks *stacks = closure;
	const uint64_t *id = data;
	int err;

	if (*id)
		err = stack_event_add(&stacks->fresh, data, size);
	else
		err = pending_event_add(&stacks->fresh, data);
	stacks->failed |= err != 0;
	return 0;
}

static void event_list_clear(struct event_list *list)
{
	for (size_t i = 0; i < list->nr_stacks; i++)
		free(list->stacks[i]);
	list->nr_stacks = 0;
	list->nr_mappings = 0;
}

/* --- life ------------------------------------------------------------------------------------- */

/* Where frames get their names. */
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

/* Waiting for the rings is waiting for errands, too. */
static int watch_errands(struct call_stacks *stacks, struct ring_buffer *events)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(ring_buffer__epoll_fd(events), EPOLL_CTL_ADD, errands_fd(stacks->errands),
			 &event)
		       ? -errno
		       : 0;
}

int call_stacks_new(const struct truss_bpf *skel, const struct collector_options *options,
		    struct ring_buffer *events, struct call_stacks **ret)
{
	struct call_stacks *stacks = calloc(1, sizeof(*stacks));
	int err = stacks ? stack_table_new(&stacks->table) : -ENOMEM;

	if (!err)
		err = errands_new(&stacks->errands);
	if (!err)
		err = unwind_tables_new(skel, &stacks->tables);
	if (!err)
		err = open_names(stacks, skel, options);
	if (!err)
		err = ring_buffer__add(events, bpf_map__fd(skel->maps.stack_events), take_event,
				       stacks);
	if (!err)
		err = watch_errands(stacks, events);
	if (err) {
		call_stacks_free(stacks);
		return err;
	}
	*ret = stacks;
	return 0;
}

void call_stacks_free(struct call_stacks *stacks)
{
	if (!stacks)
		return;
	event_list_clear(&stacks->fresh);
	free(stacks->fresh.stacks);
	free(stacks->fresh.mappings);
	names_free(stacks->names);
	kernel_code_done(&stacks->kernel);
	code_files_free(stacks->files);
	errands_free(stacks->errands);
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

static size_t frame_count(const struct stack_event *event)
{
	return event->nr_frames < MAX_FRAMES ? event->nr_frames : MAX_FRAMES;
}

/* What takes the stack stands on it: the switch, and the tracepoint's own functions. */
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

static void kernel_frame_name(struct call_stacks *stacks, uint64_t address, struct stack_frame *ret)
{
	const struct kernel_symbol *symbol = kernel_code_find(&stacks->kernel, address - 1);

	*ret = (struct stack_frame){
		.module = symbol && symbol->module ? symbol->module : "kernel",
		.symbol = symbol ? symbol->name : NULL,
		.offset = symbol ? address - symbol->address : address,
		.kernel = true,
	};
}

/* A kernel stack goes into the table, too: user stacks begin with its frames. */
static int kernel_stack_name(struct call_stacks *stacks, const struct stack_event *event)
{
	struct stack_frame frames[MAX_FRAMES];
	struct stack stack = { .id = event->id, .frames = frames };

	for (size_t i = 0; i < frame_count(event); i++) {
		struct stack_frame *frame = &frames[stack.nr_frames];

		kernel_frame_name(stacks, event->frames[i], frame);
		if (stack.nr_frames || !frame_is_of_switch(frame))
			stack.nr_frames++;
	}
	return stack_table_add(stacks->table, &stack);
}

static int stack_add(struct call_stacks *stacks, const struct stack_event *event)
{
	if (event->kernel == event->id)
		return kernel_stack_name(stacks, event);
	return names_add_stack(stacks->names, event);
}

/* In the order in which they came: those of the kernel before those that they stand on. */
static int add_fresh(struct call_stacks *stacks)
{
	int err = 0;

	for (size_t i = 0; i < stacks->fresh.nr_stacks; i++) {
		err = stack_add(stacks, stacks->fresh.stacks[i]) ?: err;
		free(stacks->fresh.stacks[i]);
	}
	stacks->fresh.nr_stacks = 0;
	return err;
}

static int learn_fresh(struct call_stacks *stacks)
{
	struct event_list *fresh = &stacks->fresh;

	code_files_learn(stacks->files, fresh->mappings, fresh->nr_mappings);
	fresh->nr_mappings = 0;
	return add_fresh(stacks);
}

int call_stacks_follow(struct call_stacks *stacks)
{
	int err = learn_fresh(stacks);

	errands_run(stacks->errands);
	code_files_tidy(stacks->files);
	return err ?: names_run(stacks->names);
}

int call_stacks_patience_ms(const struct call_stacks *stacks)
{
	return sooner_ms(names_patience_ms(stacks->names), errands_patience_ms(stacks->errands));
}

/* Lists what is mapped and not asked for. */
static int list_running(struct call_stacks *stacks, const struct bpf_link *mappings)
{
	int fd __cleanup(closep) = bpf_iter_create(bpf_link__fd(mappings));
	struct pending_event event;
	ssize_t got;
	int err = fd < 0 ? -errno : 0;

	while (!err && (got = read(fd, &event, sizeof(event))) == sizeof(event))
		err = pending_event_add(&stacks->fresh, &event);
	return err;
}

int call_stacks_learn_running(struct call_stacks *stacks, const struct bpf_link *mappings,
			      bool hurried)
{
	uint64_t until_ns = clock_mono_ns() + (hurried ? 0 : START_NS);
	int err = 0;

	for (int pass = 0; pass < START_PASSES && !err; pass++) {
		err = list_running(stacks, mappings);
		if (!stacks->fresh.nr_mappings)
			break;
		err = err ?: learn_fresh(stacks);
		if (clock_mono_ns() >= until_ns)
			break;
		code_files_wait(stacks->files, until_ns);
	}
	return err;
}
