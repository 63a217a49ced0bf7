// SPDX-License-Identifier: BSD-2-Clause
/*
 * busy: keeps the kernel busy with task storage on each CPU, at the lowest priority, until stdin ends.
 *
 * Up to 6.1 a look-up on a CPU finds nothing while somebody who was preempted there changes some; up to 6.19
 * none can be made meanwhile. Prints "busy" once it has begun.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static int map_make(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_NO_PREALLOC);
	struct btf *btf = btf__new_empty();
	int key = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);

	if (key < 0 || btf__load_into_kernel(btf))
		return -1;
	options.btf_fd = (unsigned int)btf__fd(btf);
	options.btf_key_type_id = options.btf_value_type_id = (unsigned int)key;
	return bpf_map_create(BPF_MAP_TYPE_TASK_STORAGE, "busy", 4, 4, 0, &options);
}

static void change_for_ever(int map, int cpu)
{
	cpu_set_t set;
	int self, value = 0;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (sched_setaffinity(0, sizeof(set), &set) || setpriority(PRIO_PROCESS, 0, 19))
		_exit(1);
	for (;;) {
		bpf_map_update_elem(map, &self, &value, BPF_ANY);
		bpf_map_delete_elem(map, &self);
	}
}

int main(void)
{
	int map = map_make(), cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);

	if (map < 0)
		return 1;
	for (int cpu = 0; cpu < cpus; cpu++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (!pid)
			change_for_ever(map, cpu);
	}
	puts("busy");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
