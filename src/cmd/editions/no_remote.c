/* SPDX-License-Identifier: BSD-2-Clause */
/* Stands in for the way to other hosts: names and TLS need modules and libraries that this edition leaves out. */
#include "ipc/remote.h"

int remote_new(const struct remote_options *options, struct remote **ret, struct diag *d)
{
	(void)ret;
	return diag_set(
		d, DIAG_FAILED, ENOTSUP,
		"--host: this edition of bpftruss has no TLS: use another one to ask %.200s, or "
		"run this one there",
		options->url);
}

void remote_free(struct remote *remote)
{
	(void)remote;
}

const char *remote_name(const struct remote *remote)
{
	(void)remote;
	return "";
}

const char *remote_head(const struct remote *remote)
{
	(void)remote;
	return "";
}

int remote_connect(const struct remote *remote, unsigned int silence_ms, struct remote_line **ret,
		   struct diag *d)
{
	(void)remote, (void)silence_ms, (void)ret, (void)d;
	return -ENOTSUP;
}

void remote_line_free(struct remote_line *line)
{
	(void)line;
}

int remote_send(struct remote_line *line, const char *bytes, size_t size)
{
	(void)line, (void)bytes, (void)size;
	return -1;
}

ssize_t remote_receive(struct remote_line *line, char *buf, size_t size)
{
	(void)line, (void)buf, (void)size;
	return -1;
}
