/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Globs as automata, which a BPF program can run, too (see struct selector), and the way from the path of
 * a cgroup to the systemd unit it belongs to.
 */
#pragma once

#include "base/diag.h"
#include "bpftruss/abi.h"

/*
 * Compiles a glob (* ? [a-z] [!a-z] \x) into the automaton of a selector. A process name has at
 * most 15 bytes, so a pattern without a star is cut there, as the kernel cuts names. Returns 0, or
 * fills d: an empty pattern, an open bracket, or more than 31 tokens.
 */
int glob_compile(const char *glob, struct selector *selector, struct diag *d);

/* Whether a name, up to a NUL or size, matches: the answer is that of the BPF program. */
bool glob_matches(const struct selector *selector, const char *name, size_t size);

/*
 * The unit of a cgroup path, as systemd finds it: the first component that is no slice; "-" when
 * there is none. Returns its length; *ret points into path, or at "-".
 */
size_t cgroup_unit(const char *path, const char **ret);

/* Orders such units, which are not NUL-terminated. */
int unit_compare(const char *a, size_t a_length, const char *b, size_t b_length);

/*
 * The name of a unit as a user may write it, padded with zeros: as for systemctl, one without a type
 * is a service. Returns 0, or -EINVAL for what can be no name.
 */
int unit_complete_name(const char *text, char *buf, size_t size);

/* Whether a cgroup path is that of a unit, given by its complete name, or is below it. */
bool cgroup_is_in_unit(const char *path, const char *unit);

/* Whether a cgroup path is another one or is below it; slashes at their ends do not matter. */
bool cgroup_is_in(const char *path, const char *other);
