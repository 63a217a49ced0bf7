/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the BPF object, marks processes in it, and runs its iterators. */
#include <bpf/bpf.h>
#include <errno.h>

#include "base/mem.h"
#include "collect/collector_private.h"
#include "collect/features.h"

int object_open(struct collector *c)
{
	c->skel = truss_bpf__open();
	if (!c->skel)
		return -errno;
	c->skel->rodata->no_task_pt_regs = features_hide_task_regs();
	c->skel->rodata->lookups_can_fail = features_lookups_can_fail();
	return 0;
}

int object_mark(struct collector *c, int pidfd, const struct task_ref *ref)
{
	return bpf_map__update_elem(c->skel->maps.tasks, &pidfd, sizeof(pidfd), ref, sizeof(*ref),
				    BPF_ANY);
}

int object_run(const struct bpf_program *program)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);

	return bpf_prog_test_run_opts(bpf_program__fd(program), &run);
}

int object_pass(const struct bpf_link *link)
{
	int fd __cleanup(closep) = bpf_iter_create(bpf_link__fd(link));
	char buf[64];
	ssize_t got;

	if (fd < 0)
		return -errno;
	do {
		got = read(fd, buf, sizeof(buf));
	} while (got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN)));
	return got < 0 ? -errno : 0;
}
