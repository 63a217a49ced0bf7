/* SPDX-License-Identifier: BSD-2-Clause */
/* How rows and processes are called in every report. */
#ifndef BPFTRUSS_LABEL_H
#define BPFTRUSS_LABEL_H

#include "base/text.h"
#include "model/snapshot.h"

/* The ABI of this machine, whose calls reports do not mark. */
#if defined(__aarch64__)
#define LABEL_NATIVE_ABI ABI_ARM64
#else
#define LABEL_NATIVE_ABI ABI_X86_64
#endif

#define ROW_LABEL_MAX 48

/* The call of a row: read, read/i386 when not of the machine's own ABI, [other]. */
void row_label(const struct row *row, char *buf, size_t size);

/* The same without the ABI. */
void row_call_name(const struct row *row, char *buf, size_t size);

/* Writes the name of a process, escaped; a group of processes of ours has its name in brackets. */
#define PROCESS_LABEL_MAX TEXT_ESCAPED_MAX(PROCESS_COMM_SIZE)
void process_label(const struct process *process, char buf[PROCESS_LABEL_MAX]);

/* The name of the process whose row it is, escaped for screens; never empty. */
void row_comm(const struct snapshot *snapshot, const struct row *row, char buf[PROCESS_LABEL_MAX]);

#endif
