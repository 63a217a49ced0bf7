/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `bpftruss daemon` is told: by /etc/bpftruss/bpftruss.conf, the files in conf.d beside it, and
 * flags, which win. Each key of a file is the long name of a flag.
 */
#ifndef BPFTRUSS_DAEMON_OPTIONS_H
#define BPFTRUSS_DAEMON_OPTIONS_H

#include "cmd/options.h"
#include "daemon/config.h"

#define DEFAULT_CONFIG "/etc/bpftruss/bpftruss.conf"

struct daemon_options {
	struct options
		count; /* first: targets and tables, as the parts that are shared write them */
	bool help;
	bool check_config;
	const char *config_file; /* NULL: the default and its conf.d, which need not be there */
	struct daemon_config config;
	char **texts; /* owned: values from files, which others borrow */
	size_t nr_texts;
};

/*
 * Reads files and flags. Errors in files are printed on stderr, each with its line, and are all
 * one error here. Returns 0 or -errno with d filled; daemon_options_done() is due in both cases.
 */
int daemon_options_parse(int argc, char **argv, struct daemon_options *ret, struct diag *d);

void daemon_options_done(struct daemon_options *options);

/* The text of daemon --help. */
void daemon_options_print_help(void);

#endif
