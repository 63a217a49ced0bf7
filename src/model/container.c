/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Knows how Docker, Podman, containerd, CRI-O, LXC, systemd-nspawn and the kubelet name cgroups; see
 * tests/unit/test_container.c for paths of each.
 */
#include "model/container.h"

#include <ctype.h>

#include "base/text.h"

#define ID_DIGITS    64
#define SHORT_DIGITS 12

const char *const container_runtime_names[NR_RUNTIME] = {
	[RUNTIME_DOCKER] = "docker",
	[RUNTIME_PODMAN] = "podman",
	[RUNTIME_CONTAINERD] = "containerd",
	[RUNTIME_CRIO] = "cri-o",
	[RUNTIME_LXC] = "lxc",
	[RUNTIME_NSPAWN] = "systemd-nspawn",
};

const char *const pod_qos_names[NR_POD_QOS] = { [QOS_GUARANTEED] = "Guaranteed",
						[QOS_BURSTABLE] = "Burstable",
						[QOS_BEST_EFFORT] = "BestEffort" };

/* --- components --------------------------------------------------------------------------------- */

/* Bytes that are not NUL-terminated. */
struct bytes {
	const char *at;
	size_t length;
};

/* A component of a path, and the two above it. */
struct place {
	struct bytes here, above, top;
};

static bool bytes_are(struct bytes bytes, const char *text)
{
	return bytes.length == strlen(text) && !memcmp(bytes.at, text, bytes.length);
}

static bool bytes_begin(struct bytes bytes, const char *text)
{
	return bytes.length > strlen(text) && !memcmp(bytes.at, text, strlen(text));
}

/* Removes an end. */
static bool bytes_cut(struct bytes *bytes, const char *end)
{
	size_t length = strlen(end);

	if (bytes->length < length || memcmp(bytes->at + bytes->length - length, end, length) != 0)
		return false;
	bytes->length -= length;
	return true;
}

static struct place place_first(const char *path)
{
	return (struct place){ .here = { path, 0 } };
}

static bool place_next(struct place *place)
{
	const char *next = place->here.at + place->here.length;

	place->top = place->above;
	place->above = place->here;
	next += strspn(next, "/");
	place->here = (struct bytes){ next, strcspn(next, "/") };
	return place->here.length;
}

/* How many of the first bytes are lower-case hexadecimal digits. */
static size_t count_digits(const char *at, size_t length)
{
	size_t count = 0;

	while (count < length &&
	       (isdigit((unsigned char)at[count]) || (at[count] >= 'a' && at[count] <= 'f')))
		count++;
	return count;
}

static bool bytes_are_id(struct bytes bytes)
{
	return bytes.length == ID_DIGITS && count_digits(bytes.at, bytes.length) == ID_DIGITS;
}

/* --- pods --------------------------------------------------------------------------------------- */

/* 8-4-4-4-12 digits with - or _ between them, or the 32 digits of a pod that a file on the host defines. */
static bool bytes_are_uid(struct bytes bytes)
{
	static const size_t groups[] = { 8, 4, 4, 4, 12 };

	if (bytes.length == 32)
		return count_digits(bytes.at, bytes.length) == 32;
	if (bytes.length != 36)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		if (count_digits(bytes.at, bytes.length) != groups[i])
			return false;
		bytes.at += groups[i];
		bytes.length -= groups[i];
		if (bytes.length && *bytes.at != '-' && *bytes.at != '_')
			return false;
		bytes.at += bytes.length > 0;
		bytes.length -= bytes.length > 0;
	}
	return true;
}

static const struct {
	const char *word;
	enum pod_qos qos;
} qos_words[] = { { "kubepods", QOS_GUARANTEED },
		  { "burstable", QOS_BURSTABLE },
		  { "besteffort", QOS_BEST_EFFORT } };

/* The text before the uid of a pod: kubepods-burstable in slices, or the component above it. */
static enum pod_qos qos_of(struct bytes before)
{
	for (size_t i = 0; i < ARRAY_SIZE(qos_words); i++) {
		if (bytes_cut(&before, qos_words[i].word))
			return qos_words[i].qos;
	}
	return QOS_NONE;
}

/* Splits a component that ends in podUID into the uid and the text before it. */
static bool split_uid(struct bytes name, struct bytes *ret_uid, struct bytes *ret_before)
{
	static const size_t lengths[] = { 36, 32 };

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct bytes before = { name.at, name.length - min_u64(name.length, lengths[i]) };

		*ret_uid = (struct bytes){ before.at + before.length, lengths[i] };
		*ret_before = before;
		if (bytes_cut(ret_before, "pod") && bytes_are_uid(*ret_uid))
			return true;
	}
	return false;
}

/* kubepods-burstable-podUID.slice below the systemd driver, [kubepods/burstable/]podUID below the other. */
static bool read_kubernetes_pod(const struct place *place, struct container *c)
{
	struct bytes name = place->here, uid, before;
	const char *colon = memchr(name.at, ':', name.length);
	bool is_slice;

	/* containerd without the systemd driver takes for a name what a kubelet with it gives. */
	if (colon)
		name.length = (size_t)(colon - name.at);
	is_slice = bytes_cut(&name, ".slice");
	if (!split_uid(name, &uid, &before))
		return false;
	if (is_slice && (!bytes_cut(&before, "-") ||
			 !memmem(before.at, before.length, "kubepods", strlen("kubepods"))))
		return false;
	if (!is_slice && (before.length || (!bytes_are(place->above, "kubepods") &&
					    !bytes_are(place->top, "kubepods"))))
		return false;
	c->qos = qos_of(is_slice ? before : place->above);
	c->pod = uid.at;
	c->pod_length = uid.length;
	return true;
}

/* machine-libpod_pod_ID.slice, or libpod_parent/ID. */
static bool read_podman_pod(const struct place *place, struct container *c)
{
	static const char word[] = "libpod_pod_";
	struct bytes id = place->here;
	const char *at = memmem(id.at, id.length, word, strlen(word));

	bytes_cut(&id, ".slice");
	if (at) {
		at += strlen(word);
		id = (struct bytes){ at, (size_t)(id.at + id.length - at) };
	}
	if ((!at && !bytes_are(place->above, "libpod_parent")) || !bytes_are_id(id))
		return false;
	c->qos = QOS_NONE;
	c->pod = id.at;
	c->pod_length = id.length;
	return true;
}

/* --- containers --------------------------------------------------------------------------------- */

/* The text before an id, without the dash or colon between them. */
static const struct {
	const char *word;
	enum container_runtime runtime;
} id_words[] = { { "docker", RUNTIME_DOCKER },         { "libpod", RUNTIME_PODMAN },
		 { "libpod-payload", RUNTIME_PODMAN }, { "cri-containerd", RUNTIME_CONTAINERD },
		 { "nerdctl", RUNTIME_CONTAINERD },    { "crio", RUNTIME_CRIO } };

/* docker-ID.scope, crio-ID, SLICE:cri-containerd:ID, or ID alone. */
static bool read_id(const struct place *place, struct container *c)
{
	struct bytes id = place->here, word = place->above;
	enum container_runtime runtime = RUNTIME_UNKNOWN;
	const char *colon;

	bytes_cut(&id, ".scope");
	if (id.length < ID_DIGITS)
		return false;
	if (id.length > ID_DIGITS) {
		word = (struct bytes){ id.at, id.length - ID_DIGITS - 1 };
		if (word.at[word.length] != '-' && word.at[word.length] != ':')
			return false;
		colon = memrchr(word.at, ':', word.length);
		if (colon)
			word = (struct bytes){ colon + 1,
					       (size_t)(word.at + word.length - colon) - 1 };
	}
	id = (struct bytes){ id.at + id.length - ID_DIGITS, ID_DIGITS };
	/* A monitor is outside of its container. */
	if (!bytes_are_id(id) || bytes_are(word, "conmon") || bytes_cut(&word, "-conmon"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(id_words); i++) {
		if (bytes_are(word, id_words[i].word))
			runtime = id_words[i].runtime;
	}
	c->runtime = runtime;
	c->id = id.at;
	c->id_length = id.length;
	return true;
}

/* lxc.payload.NAME, lxc/NAME, systemd-nspawn@NAME.service. */
static bool read_name(const struct place *place, struct container *c)
{
	static const struct {
		const char *above, *before, *after;
		enum container_runtime runtime; /* NR_RUNTIME: it is no container */
	} forms[] = { { NULL, "lxc.payload.", "", RUNTIME_LXC },
		      { "lxc.payload", "", "", RUNTIME_LXC },
		      { "lxc", "", "", RUNTIME_LXC },
		      { NULL, "systemd-nspawn@", ".service", RUNTIME_NSPAWN },
		      { NULL, "machine-qemu\\x2d", ".scope", NR_RUNTIME },
		      { NULL, "machine-lxc\\x2d", ".scope", RUNTIME_UNKNOWN },
		      { NULL, "machine-", ".scope", RUNTIME_NSPAWN } };

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct bytes name = place->here;

		if ((forms[i].above && !bytes_are(place->above, forms[i].above)) ||
		    !bytes_begin(name, forms[i].before) || !bytes_cut(&name, forms[i].after) ||
		    !bytes_begin(name, forms[i].before))
			continue;
		if (forms[i].runtime == NR_RUNTIME)
			return false;
		c->runtime = forms[i].runtime;
		c->id = name.at + strlen(forms[i].before);
		c->id_length = name.length - strlen(forms[i].before);
		return true;
	}
	return false;
}

static bool read_pod(const struct place *place, struct container *c)
{
	return read_kubernetes_pod(place, c) || read_podman_pod(place, c);
}

static void forget_container(struct container *c)
{
	c->runtime = RUNTIME_UNKNOWN;
	c->id = NULL;
	c->id_length = 0;
}

void container_find(const char *path, struct container *ret)
{
	struct place place = place_first(path);

	*ret = (struct container){ 0 };
	while (place_next(&place)) {
		/* A node of a cluster may be a container itself. */
		bool is_pod = read_pod(&place, ret);

		if (is_pod)
			forget_container(ret);
		if (is_pod && !memchr(place.here.at, ':', place.here.length))
			continue;
		if (read_id(&place, ret) || read_name(&place, ret))
			continue;
		/* systemd-nspawn itself is outside of its container. */
		if (ret->runtime == RUNTIME_NSPAWN && bytes_are(place.here, "supervisor") &&
		    place.above.at <= ret->id && ret->id < place.above.at + place.above.length)
			forget_container(ret);
	}
}

/* --- names -------------------------------------------------------------------------------------- */

/* Undoes \x2d, as systemd writes bytes that mean something in the name of a unit. */
static size_t unescape_unit(char *name)
{
	size_t length = 0;
	unsigned int byte;

	for (const char *at = name; *at; length++) {
		if (at[0] == '\\' && at[1] == 'x' && count_digits(at + 2, 2) == 2 &&
		    sscanf(at + 2, "%2x", &byte) == 1 && byte) {
			name[length] = (char)byte;
			at += 4;
		} else {
			name[length] = *at++;
		}
	}
	name[length] = '\0';
	return length;
}

static void write_bytes(const char *at, size_t length, bool whole, char buf[CONTAINER_NAME_MAX])
{
	if (!length)
		strcpy(buf, "-");
	else if (whole)
		snprintf(buf, CONTAINER_NAME_MAX, "%.*s", (int)length, at);
	else
		container_shorten(at, length, buf, CONTAINER_NAME_MAX);
}

void container_write(const struct container *c, bool whole, char buf[CONTAINER_NAME_MAX])
{
	write_bytes(c->id, min_u64(c->id_length, CONTAINER_NAME_MAX - 1), whole, buf);
	if (c->runtime != RUNTIME_LXC)
		unescape_unit(buf);
}

void container_write_pod(const struct container *c, bool whole, char buf[CONTAINER_NAME_MAX])
{
	write_bytes(c->pod, c->pod_length, whole, buf);
	for (char *at = buf; *at; at++) {
		if (*at == '_')
			*at = '-';
	}
}

static int compare_bytes(const char *a, size_t a_length, const char *b, size_t b_length)
{
	int order = a_length && b_length ? memcmp(a, b, min_u64(a_length, b_length)) : 0;

	return order ?: compare_u64(a_length, b_length);
}

int container_compare(const struct container *a, const struct container *b)
{
	return compare_bytes(a->id, a->id_length, b->id, b->id_length);
}

int container_compare_pods(const struct container *a, const struct container *b)
{
	char text_a[CONTAINER_NAME_MAX], text_b[CONTAINER_NAME_MAX];

	/* One without any is first, as it is with containers. */
	if (!a->pod_length || !b->pod_length)
		return compare_u64(a->pod_length, b->pod_length);
	container_write_pod(a, true, text_a);
	container_write_pod(b, true, text_b);
	return strcmp(text_a, text_b);
}

size_t container_shorten(const char *name, size_t length, char *buf, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < length && used + 1 < size;) {
		size_t digits = count_digits(name + i, length - i);
		size_t kept = digits == ID_DIGITS ? SHORT_DIGITS : digits ?: 1;

		kept = min_u64(kept, size - 1 - used);
		memcpy(buf + used, name + i, kept);
		used += kept;
		i += digits ?: 1;
	}
	buf[used] = '\0';
	return used;
}

/* --- selection ---------------------------------------------------------------------------------- */

static bool text_means(struct bytes text, struct bytes here, const struct container *c,
		       bool by_name)
{
	char name[CONTAINER_NAME_MAX];
	size_t before = (size_t)(c->id - here.at);

	if (!bytes_are_id((struct bytes){ c->id, c->id_length })) {
		container_write(c, true, name);
		return by_name && bytes_are(text, name);
	}
	if (text.length >= CONTAINER_PREFIX_MIN && text.length <= ID_DIGITS &&
	    !memcmp(c->id, text.at, text.length))
		return true;
	bytes_cut(&text, ".scope");
	return text.length >= before + CONTAINER_PREFIX_MIN && text.length <= before + ID_DIGITS &&
	       !memcmp(here.at, text.at, text.length);
}

bool container_is_meant(const char *path, const char *text, bool by_name, const char **ret)
{
	struct place place = place_first(path);
	struct bytes wanted = { text, strlen(text) };

	while (place_next(&place)) {
		struct container c = { 0 };

		if (read_podman_pod(&place, &c) || (!read_id(&place, &c) && !read_name(&place, &c)))
			continue;
		if (!text_means(wanted, place.here, &c, by_name))
			continue;
		if (ret)
			*ret = place.here.at;
		return true;
	}
	return false;
}
