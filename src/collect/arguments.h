/* SPDX-License-Identifier: BSD-2-Clause */
/* Names the paths and files that rows are split by: reads the kernel's table of them, and looks into /proc. */
#pragma once

#include "collect/options.h"

struct arguments;
struct truss_bpf;

/* Call it before the object is loaded. */
void arguments_configure(struct truss_bpf *skel, const struct collector_options *options);

/* Call it when the object is loaded and not yet attached. Returns 0 or -errno. */
int arguments_new(const struct truss_bpf *skel, struct arguments **ret);

void arguments_free(struct arguments *arguments);

/* Returns the names of all keys so far, which the caller shares. 0 or -errno. */
int arguments_read(struct arguments *arguments, const struct truss_bpf *skel,
		   struct argument_texts **ret);
