/* SPDX-License-Identifier: BSD-2-Clause */
/* Names rows and processes. */
#include "report/label.h"

#include <stdio.h>
#include <string.h>

#include "syscalls/names.h"

void row_call_name(const struct row *row, char *buf, size_t size)
{
	if (row->nr == ROW_NR_OTHER)
		snprintf(buf, size, "[other]");
	else
		syscall_name(row->abi, (int)row->nr, buf, size);
}

void row_label(const struct row *row, char *buf, size_t size)
{
	char name[SYSCALL_NAME_MAX];

	row_call_name(row, name, sizeof(name));
	if (row->abi == LABEL_NATIVE_ABI)
		snprintf(buf, size, "%s", name);
	else
		snprintf(buf, size, "%s/%s", name, abi_name(row->abi));
}

void process_label(const struct process *process, char buf[PROCESS_LABEL_MAX])
{
	/* Only groups of all further ones have no user. */
	if (process->uid == UID_NONE)
		text_escape_visible(process->comm, PROCESS_COMM_SIZE, buf);
	else
		text_escape_name(process->comm, PROCESS_COMM_SIZE, buf);
}

void row_comm(const struct snapshot *snapshot, const struct row *row, char buf[PROCESS_LABEL_MAX])
{
	const struct process *process = snapshot_find_process(snapshot, row->pid, row->boot_ns);

	if (!process)
		strcpy(buf, "[overflow]");
	else if (*process->comm)
		process_label(process, buf);
	else
		strcpy(buf, "[unnamed]");
}
