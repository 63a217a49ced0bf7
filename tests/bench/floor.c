// SPDX-License-Identifier: BSD-2-Clause
/* Attaches the programs of floor.bpf.c, says so, and stays until its stdin ends. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "floor.skel.h"

struct mode {
	const char *name;
	bool empty_enter, empty_exit, empty_switch, timestamps, counting, stackid;
};

static const struct mode modes[] = {
	{ "empty", .empty_enter = true, .empty_exit = true },
	{ "switch", .empty_enter = true, .empty_exit = true, .empty_switch = true },
	{ "timestamps", .timestamps = true },
	{ "counting", .counting = true },
	{ "stackid", .empty_enter = true, .stackid = true },
};

static const struct mode *mode_find(const char *name)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (!strcmp(modes[i].name, name))
			return &modes[i];
	}
	return NULL;
}

static void programs_choose(struct floor_bpf *skel, const struct mode *mode)
{
	bpf_program__set_autoload(skel->progs.empty_enter, mode->empty_enter);
	bpf_program__set_autoload(skel->progs.empty_exit, mode->empty_exit);
	bpf_program__set_autoload(skel->progs.empty_switch, mode->empty_switch);
	bpf_program__set_autoload(skel->progs.timestamp_enter, mode->timestamps);
	bpf_program__set_autoload(skel->progs.timestamp_exit, mode->timestamps);
	bpf_program__set_autoload(skel->progs.counting_enter, mode->counting);
	bpf_program__set_autoload(skel->progs.counting_exit, mode->counting);
	bpf_program__set_autoload(skel->progs.stackid_exit, mode->stackid);
}

int main(int argc, char **argv)
{
	const struct mode *mode = argc == 2 ? mode_find(argv[1]) : NULL;
	struct floor_bpf *skel;
	int err;

	if (!mode) {
		fprintf(stderr, "usage: floor empty | switch | timestamps | counting | stackid\n");
		return 2;
	}
	skel = floor_bpf__open();
	if (!skel)
		return 1;
	programs_choose(skel, mode);
	err = floor_bpf__load(skel);
	if (!err)
		err = floor_bpf__attach(skel);
	if (!err) {
		puts("attached");
		fflush(stdout);
		while (getchar() != EOF)
			;
	}
	floor_bpf__destroy(skel);
	return err ? 1 : 0;
}
