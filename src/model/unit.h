/* SPDX-License-Identifier: BSD-2-Clause */
/* From the path of a cgroup to the systemd unit it belongs to. */
#ifndef BPFTRUSS_UNIT_H
#define BPFTRUSS_UNIT_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
