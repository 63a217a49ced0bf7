/* SPDX-License-Identifier: BSD-2-Clause */
/* From the path of a cgroup to the systemd unit it belongs to. */
#ifndef BPFTRUSS_UNIT_H
#define BPFTRUSS_UNIT_H

#include <stddef.h>

/*
 * The unit of a cgroup path, as systemd finds it: the first component that is no slice; "-" when
 * there is none. Returns its length; *ret points into path, or at "-".
 */
size_t cgroup_unit(const char *path, const char **ret);

#endif
