// SPDX-License-Identifier: BSD-2-Clause
/* Attaches the programs of floor.bpf.c, says so, and stays until its stdin ends. */
#include <stdio.h>
#include <string.h>
#include "floor.skel.h"

static const struct mode {
	const char *name, *programs;
} modes[] = {
	{ "empty", "empty_enter empty_exit" },
	{ "switch", "empty_enter empty_exit empty_switch" },
	{ "timestamps", "timestamp_enter timestamp_exit" },
	{ "counting", "counting_enter counting_exit" },
	{ "stackid", "empty_enter stackid_exit" },
};

static void programs_choose(struct bpf_object *object, const struct mode *mode)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
	{
		const char *name = bpf_program__name(program);

		bpf_program__set_autoload(program, strstr(mode->programs, name) != NULL);
	}
}

int main(int argc, char **argv)
{
	const struct mode *mode = NULL;
	struct floor_bpf *skel;
	int err;

	for (size_t i = 0; argc == 2 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (!strcmp(modes[i].name, argv[1]))
			mode = &modes[i];
	}
	if (!mode) {
		fprintf(stderr, "usage: floor empty | switch | timestamps | counting | stackid\n");
		return 2;
	}
	skel = floor_bpf__open();
	if (!skel)
		return 1;
	programs_choose(skel->obj, mode);
	err = floor_bpf__load(skel) ?: floor_bpf__attach(skel);
	if (!err) {
		puts("attached");
		fflush(stdout);
		while (getchar() != EOF)
			;
	}
	floor_bpf__destroy(skel);
	return err ? 1 : 0;
}
