// SPDX-License-Identifier: BSD-2-Clause
/* Attaches the programs of floor.bpf.c, says so, and stays until its stdin ends. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "floor.skel.h"

static void programs_choose(struct floor_bpf *skel, bool empty)
{
	bpf_program__set_autoload(skel->progs.empty_enter, empty);
	bpf_program__set_autoload(skel->progs.empty_exit, empty);
	bpf_program__set_autoload(skel->progs.timestamp_enter, !empty);
	bpf_program__set_autoload(skel->progs.timestamp_exit, !empty);
}

int main(int argc, char **argv)
{
	bool empty = argc == 2 && !strcmp(argv[1], "empty");
	struct floor_bpf *skel;
	int err;

	if (!empty && (argc != 2 || strcmp(argv[1], "timestamps"))) {
		fprintf(stderr, "usage: floor empty | timestamps\n");
		return 2;
	}
	skel = floor_bpf__open();
	if (!skel)
		return 1;
	programs_choose(skel, empty);
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
