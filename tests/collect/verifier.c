// SPDX-License-Identifier: BSD-2-Clause
/*
 * Prints what the verifier of this kernel looks at, for each program in one way to configure them.
 *
 * usage: verifier [names] [stacks] [kernel-stacks] [arg0 | path | file] [calls [conditions] | slowest]. Loads and
 * attaches as bpftruss does, the plain programs if there are no words, and prints a line for each program: its name,
 * instructions and states. The build wraps libbpf's function that opens a skeleton, so that the kernel is asked for
 * these numbers.
 */
#include <bpf/libbpf.h>

#include "base/mem.h"
#include "collect/collector.h"

/* BPF_LOG_STATS: one line of numbers a program. */
#define LOG_STATS 4

int __real_bpf_object__open_skeleton(struct bpf_object_skeleton *skeleton,
				     const struct bpf_object_open_opts *options);
int __wrap_bpf_object__open_skeleton(struct bpf_object_skeleton *skeleton,
				     const struct bpf_object_open_opts *options);

/* prog 'NAME': -- BEGIN PROG LOAD LOG -- … processed N insns (…) … total_states N … */
static int print_numbers(enum libbpf_print_level level, const char *format, va_list args)
{
	char text[4096], name[64];
	unsigned int insns, states;
	const char *at;

	(void)level;
	vsnprintf(text, sizeof(text), format, args);
	if (sscanf(text, "libbpf: prog '%63[^']': -- BEGIN", name) != 1)
		return 0;
	at = strstr(text, "\nprocessed ");
	if (!at || sscanf(at, "\nprocessed %u insns", &insns) != 1)
		return 0;
	at = strstr(at, " total_states ");
	if (at && sscanf(at, " total_states %u", &states) == 1)
		printf("%s %u %u\n", name, insns, states);
	return 0;
}

int __wrap_bpf_object__open_skeleton(struct bpf_object_skeleton *skeleton,
				     const struct bpf_object_open_opts *options)
{
	LIBBPF_OPTS(bpf_object_open_opts, asking, .kernel_log_level = LOG_STATS);

	(void)options;
	libbpf_set_print(print_numbers);
	return __real_bpf_object__open_skeleton(skeleton, &asking);
}

static bool is_among(int argc, char **argv, const char *word)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], word))
			return true;
	}
	return false;
}

/* The single calls that are sent, with as much of their memory as there is room for. */
static struct call_view view_of(int argc, char **argv)
{
	struct call_view view = {
		.plan = { .path_bytes = MAX_FETCH, .data_bytes = MAX_FETCH, .structs = true },
		.only_slowest = is_among(argc, argv, "slowest"),
	};

	if (is_among(argc, argv, "conditions")) {
		view.conditions = (struct call_conditions){
			.only_failed = true, .only_fd = true, .path = "/", .path_size = 1
		};
		view.whole_fds = 1;
	}
	return view;
}

int main(int argc, char **argv)
{
	const struct target_selector nobody = { SELECT_COMM, "nobody-is-so" };
	struct call_view view = view_of(argc, argv);
	__cleanup(collector_freep) struct collector *collector = NULL;
	__cleanup(syscall_set_freep) struct syscall_set *all = NULL;
	struct collector_options options = {
		.selectors = &nobody,
		.nr_selectors = is_among(argc, argv, "names"),
		.wait = true,
		.stacks = is_among(argc, argv, "stacks"),
		.kernel_stacks = is_among(argc, argv, "kernel-stacks"),
		.split_by = is_among(argc, argv, "arg0")   ? SPLIT_ARG0
			    : is_among(argc, argv, "path") ? SPLIT_PATH
			    : is_among(argc, argv, "file") ? SPLIT_FILE
							   : SPLIT_NONE,
		.view = view.only_slowest || is_among(argc, argv, "calls") ? &view : NULL,
	};
	struct diag d;

	if (syscall_set_parse("all", &all, &d) == 0) {
		options.calls = argc > 1 ? all : NULL;
		view.calls = is_among(argc, argv, "conditions") ? all : NULL;
		if (errands_new(&options.errands))
			return 1;
		if (!collector_open(&options, &collector, &d))
			return 0;
	}
	fprintf(stderr, "verifier: %s\n", d.text);
	return 1;
}
