/* SPDX-License-Identifier: BSD-2-Clause */
/* The verbs. Only this layer prints errors, reads the command line and decides exit statuses. */
#ifndef BPFTRUSS_CMD_H
#define BPFTRUSS_CMD_H

#include "base/diag.h"

enum exit_status {
	STATUS_OK = 0,
	STATUS_FAILED = DIAG_FAILED,
	STATUS_USAGE = DIAG_USAGE,
	STATUS_REGRESSION = 3, /* compare --fail-over found one */
	STATUS_UNSUPPORTED = DIAG_UNSUPPORTED,
};

/* Each takes its own name as argv[0] and returns the exit status. */
int baseline_main(int argc, char **argv);
int compare_main(int argc, char **argv);
int count_main(int argc, char **argv);
int daemon_main(int argc, char **argv);
int doctor_main(int argc, char **argv);
int history_main(int argc, char **argv);
int snapshot_main(int argc, char **argv);
int status_main(int argc, char **argv);
int top_main(int argc, char **argv);

/* Prints "bpftruss: …" on stderr, control bytes escaped; returns the exit status of its kind. */
int cmd_fail(const struct diag *d);

#endif
