/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A path has the text that the program passed. A file has the names from the root that the kernel
 * had when it was first seen; if these are too many, the name that /proc has for the descriptor, if
 * it still is that file.
 */
#include "collect/arguments.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/process.h"
#include "base/text.h"
#include "collect/call_facts.h"
#include "collect/call_rings.h"
#include "truss.skel.h"

/* The number of entries read at once. */
#define BATCH 256

struct arguments {
	struct argument_texts *texts; /* as of the last reading; NULL: none yet */
};

void arguments_configure(struct truss_bpf *skel, const struct collector_options *options)
{
	const bool wanted = options->split_by >= SPLIT_PATH;
	const uint32_t most = options->max_paths ?: DEFAULT_MAX_PATHS;

	bpf_map__set_autocreate(skel->maps.call_plans, wanted || options->view);
	bpf_map__set_autocreate(skel->maps.open_arguments, wanted);
	bpf_map__set_autocreate(skel->maps.arguments, wanted);
	if (!wanted)
		return;
	bpf_map__set_max_entries(skel->maps.open_arguments,
				 bpf_map__max_entries(skel->maps.records));
	bpf_map__set_max_entries(skel->maps.arguments, most);
	skel->data_pools->pools[POOL_PATHS].limit = most + 1;
}

int arguments_new(const struct truss_bpf *skel, struct arguments **ret)
{
	static const struct plan_options nothing;
	struct arguments *arguments = calloc(1, sizeof(*arguments));
	int err = arguments ? call_plans_fill(skel, &nothing) : -ENOMEM;

	if (err)
		free(arguments);
	else
		*ret = arguments;
	return err;
}

void arguments_free(struct arguments *arguments)
{
	if (!arguments)
		return;
	argument_texts_free(arguments->texts);
	free(arguments);
}

/* --- sockets ------------------------------------------------------------------------------------ */

static const char *protocol_name(uint16_t protocol)
{
	static const struct {
		uint16_t number;
		const char *name;
	} names[] = { { IPPROTO_TCP, "TCP" },     { IPPROTO_UDP, "UDP" },
		      { IPPROTO_ICMP, "ICMP" },   { IPPROTO_RAW, "RAW" },
		      { IPPROTO_ICMPV6, "ICMP" }, { IPPROTO_SCTP, "SCTP" },
		      { IPPROTO_MPTCP, "MPTCP" } };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (names[i].number == protocol)
			return names[i].name;
	}
	return "INET";
}

#define END_TEXT_MAX (INET6_ADDRSTRLEN + 8)

static void end_text(uint16_t family, const uint8_t *address, uint16_t port, char buf[END_TEXT_MAX])
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(family, address, text, sizeof(text));
	snprintf(buf, END_TEXT_MAX, family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, port);
}

/* A socket that has no end yet is known by its inode, as all others are. */
static char *socket_text(const struct argument_entry *entry)
{
	const struct socket_ends *ends = &entry->ends;
	char local[END_TEXT_MAX], peer[END_TEXT_MAX], *text;
	int length;

	if ((ends->family != AF_INET && ends->family != AF_INET6) ||
	    (!ends->local_port && !ends->peer_port)) {
		char *name =
			ends->family == AF_UNIX ? unix_socket_text(entry->pid, entry->inode) : NULL;

		length = name ? asprintf(&text, "UNIX %s", name)
			      : asprintf(&text, "socket:[%" PRIu64 "]", (uint64_t)entry->inode);
		free(name);
		return length < 0 ? NULL : text;
	}
	end_text(ends->family, ends->local, ends->local_port, local);
	end_text(ends->family, ends->peer, ntohs(ends->peer_port), peer);
	length = asprintf(&text, "%s %s%s%s", protocol_name(ends->protocol), local,
			  ends->peer_port ? "->" : "", ends->peer_port ? peer : "");
	return length < 0 ? NULL : text;
}

/* --- files -------------------------------------------------------------------------------------- */

/* Joins the names from the root on; if there are too many, the last ones after an ellipsis. */
static char *names_text(const struct argument_entry *entry)
{
	size_t used = min_u64(entry->used, ARGUMENT_TEXT), at = used, length = 0;
	char *text = malloc(ARGUMENT_BYTES_MAX + 1);

	if (!text)
		return NULL;
	if (entry->flags & ARGUMENT_CUT)
		length = (size_t)sprintf(text, "…");
	while (at) {
		size_t end = at - 1;

		for (at = end; at && entry->text[at - 1]; at--)
			;
		text[length++] = '/';
		memcpy(text + length, entry->text + at, end - at);
		length += end - at;
	}
	if (!length)
		text[length++] = '/';
	text[length] = 0;
	return text;
}

/* Returns /proc's name of the descriptor; NULL: it is another file, or its name is too long. */
static char *link_text(const struct argument_entry *entry)
{
	int process __cleanup(closep) = process_open(entry->pid);
	char path[32], link[PATH_MAX];
	struct stat st;
	ssize_t length;

	snprintf(path, sizeof(path), "fd/%d", entry->fd);
	if (process < 0 || file_status_known(process, path, &st) || st.st_ino != entry->inode ||
	    (major(st.st_dev) << 20 | minor(st.st_dev)) != entry->device)
		return NULL;
	length = readlinkat(process, path, link, sizeof(link) - 1);
	if (length <= 0 || length >= ARGUMENT_TEXT)
		return NULL;
	link[length] = 0;
	return strdup(link);
}

static char *file_text(const struct argument_entry *entry)
{
	char *text = NULL;
	int length = 0;

	if (entry->flags & ARGUMENT_SOCKET)
		return socket_text(entry);
	if (entry->flags & ARGUMENT_PIPE)
		length = asprintf(&text, "pipe:[%" PRIu64 "]", (uint64_t)entry->inode);
	else if (entry->flags & ARGUMENT_ANONYMOUS)
		length = asprintf(&text, "anon_inode:%.*s", ARGUMENT_TEXT / 2, entry->text);
	else if (entry->flags & ARGUMENT_CUT)
		text = link_text(entry);
	/* File systems internal to the kernel, such as that of namespaces, have no names. */
	if (!text && entry->flags & ARGUMENT_CUT && !strcmp(entry->text, "/"))
		length = asprintf(&text, "inode:[%" PRIu64 "]", (uint64_t)entry->inode);
	return length < 0 ? NULL : text ?: names_text(entry);
}

static char *path_text(const struct argument_entry *entry)
{
	char *text;

	if (asprintf(&text, "%.*s%s", ARGUMENT_TEXT - 1, entry->text,
		     entry->flags & ARGUMENT_CUT ? "…" : "") < 0)
		return NULL;
	return text;
}

/* --- the table ---------------------------------------------------------------------------------- */

/* This many readings ask for the name of a unix socket, as each takes some system calls. */
#define UNIX_LOOKS 16

/* Whether a name is final: a socket may still get a peer, or a name. */
static bool name_is_final(const struct argument_entry *entry, const struct argument_text *known)
{
	return !(entry->flags & ARGUMENT_SOCKET) || !strncmp(known->text, "UNIX ", 5) ||
	       (entry->ends.family == AF_UNIX && known->looks >= UNIX_LOOKS);
}

static int texts_add(struct argument_texts *texts, const struct argument_texts *before,
		     uint64_t key, const struct argument_entry *entry, bool is_file)
{
	const struct argument_text *known = argument_texts_find_item(before, key);
	const bool is_final = known && name_is_final(entry, known);
	char *text __cleanup(freep) = is_final  ? strdup(known->text)
				      : is_file ? file_text(entry)
						: path_text(entry);
	int err = text ? argument_texts_add(texts, key, text) : -ENOMEM;

	if (!err && known)
		texts->items[texts->count - 1].looks = known->looks + !is_final;
	return err;
}

static int texts_read(const struct truss_bpf *skel, const struct argument_texts *before,
		      struct argument_texts *texts)
{
	const bool are_files = skel->rodata->split_by == SPLIT_FILE;
	const int fd = bpf_map__fd(skel->maps.arguments);
	struct argument_entry *entries __cleanup(freep) = calloc(BATCH, sizeof(*entries));
	uint64_t keys[BATCH];
	uint32_t place, count;
	int err = entries ? 0 : -ENOMEM, got = 0;

	for (bool is_first = true; !err && !got; is_first = false) {
		count = BATCH;
		got = bpf_map_lookup_batch(fd, is_first ? NULL : &place, &place, keys, entries,
					   &count, NULL);
		/* The last batch returns an error along with its entries. */
		if (got && errno != ENOENT)
			return -errno;
		for (uint32_t i = 0; i < count && !err; i++)
			err = texts_add(texts, before, keys[i], &entries[i], are_files);
	}
	argument_texts_sort(texts);
	return err;
}

int arguments_read(struct arguments *arguments, const struct truss_bpf *skel,
		   struct argument_texts **ret)
{
	const uint32_t *now = &skel->data_pools->pools[POOL_PATHS].used;
	const uint32_t used = __atomic_load_n(now, __ATOMIC_ACQUIRE);
	struct argument_texts *texts __cleanup(argument_texts_freep) = NULL;
	int err;

	/* Paths are final, but sockets may have got their ends since. */
	if (!arguments->texts || arguments->texts->count != used ||
	    skel->rodata->split_by == SPLIT_FILE) {
		err = argument_texts_new(&texts) ?: texts_read(skel, arguments->texts, texts);
		if (err)
			return err;
		argument_texts_free(arguments->texts);
		arguments->texts = steal_ptr(&texts);
	}
	*ret = argument_texts_ref(arguments->texts);
	return 0;
}
