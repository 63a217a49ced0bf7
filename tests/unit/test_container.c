/* SPDX-License-Identifier: BSD-2-Clause */
/* Containers and pods of cgroup paths, as the runtimes make them; names; who is meant by a text. */
#include "test.h"

#include "model/container.h"

#define ID       "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
#define ID_2     "fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9"
#define SHORT    "2c26b46b68ff"
#define UID      "55c6c714-b240-4dec-9a45-57b61696ab6e"
#define SLICED   "55c6c714_b240_4dec_9a45_57b61696ab6e"
#define HASH     "8daa50c3a64c9ff60bb9eab7b44b56fd" /* of a pod that a file on the host defines */
#define ROOTLESS "/user.slice/user-1000.slice/user@1000.service/user.slice/"

/* The container and pod as tables show them. */
static const struct {
	const char *path, *container, *pod;
	enum container_runtime runtime;
	enum pod_qos qos;
} paths[] = {
	/* Docker: systemd driver, cgroupfs driver, rootless, in itself. */
	{ "/system.slice/docker-" ID ".scope", SHORT, "-", RUNTIME_DOCKER, QOS_NONE },
	{ "/docker/" ID, SHORT, "-", RUNTIME_DOCKER, QOS_NONE },
	{ "/docker/" ID "/init.scope", SHORT, "-", RUNTIME_DOCKER, QOS_NONE },
	{ ROOTLESS "docker-" ID ".scope", SHORT, "-", RUNTIME_DOCKER, QOS_NONE },
	{ "/docker/" ID_2 "/docker/" ID, SHORT, "-", RUNTIME_DOCKER, QOS_NONE },
	{ "/system.slice/docker.service", "-", "-", RUNTIME_UNKNOWN, QOS_NONE },
	{ "/docker", "-", "-", RUNTIME_UNKNOWN, QOS_NONE },

	/* Podman: both drivers, crun's own cgroup, --cgroups=split, rootless, in a pod. */
	{ "/machine.slice/libpod-" ID ".scope/container", SHORT, "-", RUNTIME_PODMAN, QOS_NONE },
	{ "/machine.slice/libpod-" ID ".scope", SHORT, "-", RUNTIME_PODMAN, QOS_NONE },
	{ "/libpod_parent/libpod-" ID, SHORT, "-", RUNTIME_PODMAN, QOS_NONE },
	{ ROOTLESS "libpod-" ID ".scope/container", SHORT, "-", RUNTIME_PODMAN, QOS_NONE },
	{ "/srv.slice/container-hass.service/libpod-payload-" ID, SHORT, "-", RUNTIME_PODMAN,
	  QOS_NONE },
	{ "/srv.slice/container-hass.service/runtime", "-", "-", RUNTIME_UNKNOWN, QOS_NONE },
	{ "/machine.slice/machine-libpod_pod_" ID_2 ".slice/libpod-" ID ".scope/container", SHORT,
	  "fcde2b2edba5", RUNTIME_PODMAN, QOS_NONE },
	{ ROOTLESS "user-libpod_pod_" ID_2 ".slice/libpod-" ID ".scope", SHORT, "fcde2b2edba5",
	  RUNTIME_PODMAN, QOS_NONE },
	{ "/libpod_parent/" ID_2 "/libpod-" ID, SHORT, "fcde2b2edba5", RUNTIME_PODMAN, QOS_NONE },
	{ "/libpod_parent/" ID_2, "-", "fcde2b2edba5", RUNTIME_UNKNOWN, QOS_NONE },
	{ "/machine.slice/libpod-conmon-" ID ".scope", "-", "-", RUNTIME_UNKNOWN, QOS_NONE },

	/* containerd: nerdctl with both drivers. */
	{ "/system.slice/nerdctl-" ID ".scope", SHORT, "-", RUNTIME_CONTAINERD, QOS_NONE },
	{ "/default/" ID, SHORT, "-", RUNTIME_UNKNOWN, QOS_NONE },

	/* Kubernetes, systemd driver: containerd, CRI-O, cri-dockerd; each quality of service. */
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" SLICED
	  ".slice/cri-containerd-" ID ".scope",
	  SHORT, UID, RUNTIME_CONTAINERD, QOS_BURSTABLE },
	{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" SLICED
	  ".slice/crio-" ID ".scope/container",
	  SHORT, UID, RUNTIME_CRIO, QOS_BEST_EFFORT },
	{ "/kubepods.slice/kubepods-pod" SLICED ".slice/docker-" ID ".scope", SHORT, UID,
	  RUNTIME_DOCKER, QOS_GUARANTEED },
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" HASH
	  ".slice/cri-containerd-" ID ".scope",
	  SHORT, HASH, RUNTIME_CONTAINERD, QOS_BURSTABLE },
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" SLICED
	  ".slice/crio-conmon-" ID ".scope",
	  "-", UID, RUNTIME_UNKNOWN, QOS_BURSTABLE },

	/* Kubernetes, cgroupfs driver: containerd and cri-dockerd look alike; CRI-O. */
	{ "/kubepods/burstable/pod" UID "/" ID, SHORT, UID, RUNTIME_UNKNOWN, QOS_BURSTABLE },
	{ "/kubepods/besteffort/pod" UID "/" ID, SHORT, UID, RUNTIME_UNKNOWN, QOS_BEST_EFFORT },
	{ "/kubepods/pod" HASH "/" ID, SHORT, HASH, RUNTIME_UNKNOWN, QOS_GUARANTEED },
	{ "/kubepods/burstable/pod" UID "/crio-" ID, SHORT, UID, RUNTIME_CRIO, QOS_BURSTABLE },
	{ "/kubepods/burstable/pod" UID, "-", UID, RUNTIME_UNKNOWN, QOS_BURSTABLE },

	/* Drivers that do not agree; a node that is a container itself; Docker in a pod. */
	{ "/system.slice/containerd.service/kubepods-burstable-pod" HASH
	  ".slice:cri-containerd:" ID,
	  SHORT, HASH, RUNTIME_CONTAINERD, QOS_BURSTABLE },
	{ "/system.slice/docker-" ID_2
	  ".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
	  "kubelet-kubepods-besteffort-pod" SLICED ".slice/cri-containerd-" ID ".scope",
	  SHORT, UID, RUNTIME_CONTAINERD, QOS_BEST_EFFORT },
	{ "/system.slice/docker-" ID_2 ".scope/kubelet.slice/kubelet.service", "fcde2b2edba5", "-",
	  RUNTIME_DOCKER, QOS_NONE },
	{ "/docker/" ID_2 "/kubelet/kubepods/besteffort/pod" UID "/" ID, SHORT, UID,
	  RUNTIME_UNKNOWN, QOS_BEST_EFFORT },
	{ "/kubepods/pod" UID "/" ID_2 "/docker/" ID, SHORT, UID, RUNTIME_DOCKER, QOS_GUARANTEED },

	/* LXC and what is built on it, older and newer; its monitors. */
	{ "/lxc.payload.web/system.slice/ssh.service", "web", "-", RUNTIME_LXC, QOS_NONE },
	{ "/lxc.payload/web", "web", "-", RUNTIME_LXC, QOS_NONE },
	{ "/lxc/101/ns/init.scope", "101", "-", RUNTIME_LXC, QOS_NONE },
	{ "/lxc.payload.outer/lxc.payload.inner", "inner", "-", RUNTIME_LXC, QOS_NONE },
	{ "/lxc.monitor.web", "-", "-", RUNTIME_UNKNOWN, QOS_NONE },
	{ "/lxc.monitor/101", "-", "-", RUNTIME_UNKNOWN, QOS_NONE },

	/* systemd-nspawn as a service and by hand; what else registers machines. */
	{ "/machine.slice/systemd-nspawn@web.service/payload/init.scope", "web", "-",
	  RUNTIME_NSPAWN, QOS_NONE },
	{ "/machine.slice/systemd-nspawn@web.service/supervisor", "-", "-", RUNTIME_UNKNOWN,
	  QOS_NONE },
	{ "/machine.slice/machine-TEST\\x2d13.7ye.scope/payload", "TEST-13.7ye", "-",
	  RUNTIME_NSPAWN, QOS_NONE },
	{ "/machine.slice/machine-qemu\\x2d1\\x2ddebian.scope", "-", "-", RUNTIME_UNKNOWN,
	  QOS_NONE },
	{ "/machine.slice/machine-lxc\\x2d1234\\x2dsl.scope", "1234-sl", "-", RUNTIME_UNKNOWN,
	  QOS_NONE },

	/* None. */
	{ "/", "-", "-", RUNTIME_UNKNOWN, QOS_NONE },
	{ "", "-", "-", RUNTIME_UNKNOWN, QOS_NONE },
	{ "/system.slice/foo-" ID ".service", "-", "-", RUNTIME_UNKNOWN, QOS_NONE },
	{ "/system.slice/docker-" ID "0.scope", "-", "-", RUNTIME_UNKNOWN, QOS_NONE },
	{ "/system.slice/pod" UID, "-", "-", RUNTIME_UNKNOWN, QOS_NONE },
	{ "/system.slice/my-pod" SLICED ".slice", "-", "-", RUNTIME_UNKNOWN, QOS_NONE },
	{ "/system.slice/systemd-nspawn@.service", "-", "-", RUNTIME_UNKNOWN, QOS_NONE },
	{ "/lxc.payload.", "-", "-", RUNTIME_UNKNOWN, QOS_NONE },
	{ "/machine-.scope", "-", "-", RUNTIME_UNKNOWN, QOS_NONE },
};

TEST(test_paths)
{
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		char name[CONTAINER_NAME_MAX], pod[CONTAINER_NAME_MAX];
		struct container c;

		container_find(paths[i].path, &c);
		container_write(&c, false, name);
		container_write_pod(&c, false, pod);
		if (strcmp(name, paths[i].container) != 0 || strcmp(pod, paths[i].pod) != 0 ||
		    c.runtime != paths[i].runtime || c.qos != paths[i].qos)
			fail_msg("%s: container %s, pod %s, runtime %d, qos %d", paths[i].path,
				 name, pod, c.runtime, c.qos);
		container_write(&c, true, name);
		if (!strcmp(paths[i].container, SHORT))
			assert_string_equal(name, ID);
		container_write_pod(&c, true, pod);
		if (!strcmp(paths[i].pod, "fcde2b2edba5"))
			assert_string_equal(pod, ID_2);
	}
}

/* The drivers spell the uid of a pod in different ways. */
TEST(test_compare)
{
	struct container slices, files, other;

	container_find("/kubepods.slice/kubepods-pod" SLICED ".slice/crio-" ID ".scope", &slices);
	container_find("/kubepods/pod" UID "/crio-" ID, &files);
	container_find("/kubepods/pod" HASH "/crio-" ID_2, &other);
	assert_all(!container_compare_pods(&slices, &files), !container_compare(&slices, &files),
		   container_compare_pods(&slices, &other), container_compare(&files, &other));
	container_find("/", &other);
	assert_all(container_compare(&files, &other) > 0, container_compare(&other, &files) < 0,
		   container_compare_pods(&files, &other) > 0, !container_compare(&other, &other),
		   !container_compare_pods(&other, &other));
}

TEST(test_shorten)
{
	static const struct {
		const char *name, *shorter;
	} names[] = { { "docker-" ID ".scope", "docker-" SHORT ".scope" },
		      { ID, SHORT },
		      { "/libpod_parent/" ID_2 "/libpod-" ID,
			"/libpod_parent/fcde2b2edba5/libpod-" SHORT },
		      { "nginx.service", "nginx.service" },
		      { ID "0", ID "0" },
		      { HASH, HASH },
		      { "", "" } };
	char text[CONTAINER_NAME_MAX], small[8];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t length =
			container_shorten(names[i].name, strlen(names[i].name), text, sizeof(text));

		assert_string_equal(text, names[i].shorter);
		assert_int_equal(length, strlen(text));
	}
	assert_int_equal(container_shorten(ID, strlen(ID), small, sizeof(small)), 7);
	assert_string_equal(small, "2c26b46");
}

TEST(test_who_is_meant)
{
	static const char docker[] = "/system.slice/docker-" ID ".scope/init.scope";
	static const char node[] = "/docker/" ID_2 "/kubepods/pod" UID "/crio-" ID;
	static const char nspawn[] = "/machine.slice/machine-my\\x2dbox.scope/payload";
	static const struct {
		const char *path, *text, *component; /* NULL: it is not meant */
		bool needs_name;
	} cases[] = {
		{ docker, "2c26", "docker-", false },
		{ docker, ID, "docker-", false },
		{ docker, SHORT, "docker-", false },
		{ docker, "docker-2c26", "docker-", false },
		{ docker, "docker-" SHORT ".scope", "docker-", false },
		{ docker, "docker-" ID ".scope", "docker-", false },
		{ docker, "2c2", NULL, false },
		{ docker, "docker-2c2", NULL, false },
		{ docker, "docker-", NULL, false },
		{ docker, "docker", NULL, false },
		{ docker, "c26b", NULL, false },
		{ docker, ID "0", NULL, false },
		{ docker, "docker-" ID "0.scope", NULL, false },
		{ docker, "", NULL, false },
		{ node, "2c26", "crio-", false },
		{ node, "fcde", ID_2, false },
		{ node, UID, NULL, false },
		{ nspawn, "my-box", "machine-my", true },
		{ nspawn, "my-bo", NULL, false },
		{ "/lxc.payload.web", "web", "lxc.payload.web", true },
		{ "/lxc/101", "101", "101", true },
		{ "/machine.slice/libpod-conmon-" ID ".scope", "2c26", NULL, false },
		{ "/libpod_parent/" ID "/x", "2c26", NULL, false },
		{ "/", "2c26", NULL, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *component = NULL, *expected = cases[i].component;

		if (container_is_meant(cases[i].path, cases[i].text, true, &component) !=
		    (expected != NULL))
			fail_msg("%s, %s", cases[i].path, cases[i].text);
		if (expected && strncmp(component, expected, strlen(expected)) != 0)
			fail_msg("%s, %s: %s", cases[i].path, cases[i].text, component);
		assert_int_equal(container_is_meant(cases[i].path, cases[i].text, false, NULL),
				 expected && !cases[i].needs_name);
	}
}
