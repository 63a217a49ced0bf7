/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells from the path of a cgroup which container and which pod its processes are in. Invariant: nothing is
 * asked but the path, so that a report says the same on another machine; what it does not tell is unknown.
 */
#pragma once

#include "base/mem.h"

/* Who made a container, as far as its cgroup tells. */
enum container_runtime {
	RUNTIME_UNKNOWN,
	RUNTIME_DOCKER,
	RUNTIME_PODMAN,
	RUNTIME_CONTAINERD,
	RUNTIME_CRIO,
	RUNTIME_LXC,
	RUNTIME_NSPAWN,
	NR_RUNTIME,
};

/* Quality of service of a pod of Kubernetes. */
enum pod_qos {
	QOS_NONE,
	QOS_GUARANTEED,
	QOS_BURSTABLE,
	QOS_BEST_EFFORT,
	NR_POD_QOS,
};

/* Words for both; NULL: unknown, none. */
extern const char *const container_runtime_names[NR_RUNTIME];
extern const char *const pod_qos_names[NR_POD_QOS];

/* Points into the path; a length of 0: in none. */
struct container {
	enum container_runtime runtime;
	enum pod_qos qos;
	const char *id; /* 64 digits, or a name as the path spells it */
	size_t id_length;
	const char *pod; /* its uid as the path spells it, or 64 digits */
	size_t pod_length;
};

/*
 * The innermost container and pod. Who watches over a container, such as conmon, is in none; whatever
 * runs in a container that runs in a pod is in that pod, too.
 */
void container_find(const char *path, struct container *ret);

/* Bytes that hold any id or name: that of a file, with its NUL. */
#define CONTAINER_NAME_MAX 256

/*
 * Write the container's id or name and the pod's uid as its runtime spells them, "-" for none. Unless all of
 * it is wanted, 64 digits are cut to 12, as docker(1) does.
 */
void container_write(const struct container *container, bool whole, char buf[CONTAINER_NAME_MAX]);
void container_write_pod(const struct container *container, bool whole,
			 char buf[CONTAINER_NAME_MAX]);

/* Order by container and by pod, whichever way the uid of a pod is spelled. */
int container_compare(const struct container *a, const struct container *b);
int container_compare_pods(const struct container *a, const struct container *b);

/* Copies a name with every 64 digits of an id cut to 12. Returns the length; it is cut to fit. */
size_t container_shorten(const char *name, size_t length, char *buf, size_t size);

/* An id is told by so many digits at least. */
#define CONTAINER_PREFIX_MIN 4

/*
 * Whether a text means a container that this cgroup is in, or is below: the beginning of its id, or that of
 * the name of its cgroup as far as into the id; with by_name its whole name, too. Then *ret, unless that is
 * NULL, is the component of that container, up to the next slash.
 */
bool container_is_meant(const char *path, const char *text, bool by_name, const char **ret);
