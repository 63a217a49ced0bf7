/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks at the cgroup file system, and remembers the names of cgroups. Invariant: known is sorted by id,
 * and none stands there twice.
 */
#include "collect/cgroups.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <mntent.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/clock.h"
#include "base/text.h"
#include "model/container.h"

/* The tree is looked at for a tenth of the time at most: a tenant may have a hundred thousand cgroups. */
#define REST_FACTOR 9

/* The kernel's FILEID_KERNFS: a handle of the cgroup file system is an id. */
#define KERNFS_HANDLE 0xfe

/* Where the tree is mounted; empty when it is not. 0, or -errno when that cannot be read. */
static int cgroup_mount(char *buf, size_t size)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *entry;

	*buf = 0;
	if (!mounts)
		return -errno;
	while ((entry = getmntent(mounts))) {
		if (!strcmp(entry->mnt_type, "cgroup2")) {
			snprintf(buf, size, "%s", entry->mnt_dir);
			break;
		}
	}
	endmntent(mounts);
	return 0;
}

int cgroup_find_path(const char *path, uint64_t *ret)
{
	char mount[PATH_MAX], full[PATH_MAX * 2];
	struct statfs fs;
	struct stat st;

	cgroup_mount(mount, sizeof(mount));
	if (!*mount)
		return -ENOTSUP;
	if (!strncmp(path, mount, strlen(mount)) && strchr("/", path[strlen(mount)]))
		snprintf(full, sizeof(full), "%s", path);
	else
		snprintf(full, sizeof(full), "%s/%s", mount, path);
	if (stat(full, &st))
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	/* A path with .. in it may lead elsewhere. */
	if (statfs(full, &fs) || fs.f_type != CGROUP2_SUPER_MAGIC)
		return -EXDEV;
	*ret = st.st_ino;
	return 0;
}

/* The path of a process's cgroup from the root of the tree, by its file in /proc; "" if there is none. */
static void cgroup_of(const char *name, char *buf, size_t size)
{
	FILE *file __cleanup(fclosep) = fopen(name, "re");
	char line[PATH_MAX + 8];

	*buf = 0;
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "0::/", 4))
			snprintf(buf, size, "%.*s", (int)size - 1, line + 3);
	}
}

uint64_t cgroup_memory_limit(void)
{
	char mount[PATH_MAX], path[PATH_MAX], name[2 * PATH_MAX + 16], *end;
	uint64_t limit, least = UINT64_MAX;

	cgroup_of("/proc/self/cgroup", path, sizeof(path));
	if (cgroup_mount(mount, sizeof(mount)) || !*mount)
		return least;
	/* The root of a namespace may have a limit, too. */
	do {
		FILE *file __cleanup(fclosep) = NULL;

		snprintf(name, sizeof(name), "%s%s/memory.max", mount, path);
		file = fopen(name, "re");
		if (file && fscanf(file, "%" SCNu64, &limit) == 1)
			least = min_u64(least, limit);
		end = strrchr(path, '/');
		if (end)
			*end = 0;
	} while (end);
	return least;
}

/* Visits one cgroup; path is from the root of the tree. Returns 0, or what ends the walk. */
typedef int (*cgroup_visit)(void *closure, uint64_t id, const char *path);

struct walk {
	cgroup_visit visit;
	void *closure;
};

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* A process that is gone, or not ours to look into, is passed over; a lack of our own is an error. */
static int want_of(int err)
{
	return err == EMFILE || err == ENFILE || err == ENOMEM ? -err : 0;
}

/*
 * Walks a cgroup and all below. Its file system tells id and type with the name: none is stat'ed.
 */
static int walk_below(int parent, const char *name, char *path, size_t length,
		      const struct walk *walk)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir __cleanup(closedirp) = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int err = dir ? 0 : want_of(errno);

	while (dir && !err && (entry = readdir(dir))) {
		int added;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		added = snprintf(path + length, PATH_MAX - length, "/%s", entry->d_name);
		if (added < 0 || (size_t)added >= PATH_MAX - length)
			continue;
		err = walk->visit(walk->closure, entry->d_ino, path)
			      ?: walk_below(dirfd(dir), entry->d_name, path, length + (size_t)added,
					    walk);
	}
	return err;
}

/*
 * Visits all cgroups that can be looked at. 0 (also when the tree is not mounted), what ended the
 * walk, or -EMFILE, -ENFILE, -ENOMEM for want of what looking at it takes.
 */
static int cgroup_walk(cgroup_visit visit, void *closure)
{
	struct walk walk = { visit, closure };
	char mount[PATH_MAX], path[PATH_MAX] = "";
	struct stat st;
	int err = cgroup_mount(mount, sizeof(mount));

	if (err || !*mount || stat(mount, &st))
		return want_of(-err);
	err = visit(closure, st.st_ino, "/");
	return err ?: walk_below(AT_FDCWD, mount, path, 0, &walk);
}

/* A search for a name; the nearest so far, without the type of a unit. */
struct search {
	const char *name;
	char word[NEAREST_WORD_MAX], best[NEAREST_WORD_MAX];
	struct nearest near;
};

/* Copies the name of a unit without its type, which most have in common. */
static void copy_stem(const char *name, char buf[NEAREST_WORD_MAX])
{
	static const char service[] = ".service";
	size_t length = strlen(name), end = strlen(service);

	if (length > end && !strcmp(name + length - end, service))
		length -= end;
	snprintf(buf, NEAREST_WORD_MAX, "%.*s", length < NEAREST_WORD_MAX ? (int)length : 0, name);
}

static int visit_wanted(void *closure, uint64_t id, const char *path)
{
	struct search *search = closure;
	const char *name = strrchr(path, '/') + 1;
	char stem[NEAREST_WORD_MAX];

	(void)id;
	copy_stem(name, stem);
	search->near.best = *search->best ? search->best : NULL;
	nearest_look(&search->near, stem);
	if (search->near.best == stem)
		strcpy(search->best, stem);
	return !strcmp(name, search->name);
}

bool cgroup_name_exists(const char *name, char near[NEAREST_WORD_MAX])
{
	struct search search = { .name = name };
	bool exists;

	copy_stem(name, search.word);
	search.near = nearest_to(search.word);
	exists = cgroup_walk(visit_wanted, &search) == 1;
	memcpy(near, search.best, NEAREST_WORD_MAX);
	return exists;
}

/* A search for a container. */
struct container_search {
	const char *text;
	bool by_name;
	char *name;
	uint64_t id;
	char found[CONTAINER_NAME_MAX]; /* the component; empty: none so far */
};

static int visit_container(void *closure, uint64_t id, const char *path)
{
	struct container_search *search = closure;
	const char *last = strrchr(path, '/') + 1, *component;

	/* What is below it is in it. */
	if (!container_is_meant(path, search->text, search->by_name, &component) ||
	    component != last)
		return 0;
	if (*search->found && (strcmp(search->found, component) != 0 || !*search->name))
		return -ENOTUNIQ;
	snprintf(search->found, sizeof(search->found), "%s", component);
	search->id = id;
	/* The NAME of lxc/NAME can be any text. */
	if (strlen(component) < SELECTOR_NAME_SIZE &&
	    (!search->by_name || strcmp(component, search->text) != 0))
		strcpy(search->name, component);
	return 0;
}

int cgroup_find_container(const char *text, bool by_name, char name[SELECTOR_NAME_SIZE],
			  uint64_t *ret)
{
	struct container_search search = { .text = text, .by_name = by_name, .name = name };
	int err;

	memset(name, 0, SELECTOR_NAME_SIZE);
	err = cgroup_walk(visit_container, &search);
	if (err)
		return err;
	*ret = search.id;
	return *search.found ? 0 : -ENOENT;
}

/* --- names ------------------------------------------------------------------------------------- */

/* NULL: it is not known. */
static struct id_name *known_find(const struct cgroup_names *names, uint64_t id)
{
	return names->nr_known ? bsearch(&id, names->known, names->nr_known, sizeof(*names->known),
					 compare_first_u64)
			       : NULL;
}

bool cgroup_names_know(const struct cgroup_names *names, uint64_t id)
{
	return known_find(names, id);
}

/* Ids are never used again: what is known stays right, but for "". */
static int known_add(void *closure, uint64_t id, const char *path)
{
	struct cgroup_names *names = closure;
	struct id_name *known = known_find(names, id);
	char *copy;

	if (known && *known->name)
		return 0;
	if (known) {
		copy = strdup(path);
		if (!copy)
			return -ENOMEM;
		free(known->name);
		known->name = copy;
		names->known_bytes += strlen(path);
		return 0;
	}
	if (id_names_add(&names->known, &names->nr_known, id, path))
		return -ENOMEM;
	names->known_bytes += strlen(path) + 1;
	return 0;
}

/* What a walk has found that was not known. A tree may be large, so it is sorted once. */
struct found {
	const struct cgroup_names *names;
	struct id_name *items; /* owned, with their names */
	size_t count;
};

static void found_done(struct found *found)
{
	for (size_t i = 0; i < found->count; i++)
		free(found->items[i].name);
	free(found->items);
}

static int found_add(void *closure, uint64_t id, const char *path)
{
	struct found *found = closure;
	const struct id_name *known = known_find(found->names, id);
	char *name;

	if (known && *known->name)
		return 0;
	name = array_grow(&found->items, found->count, sizeof(*found->items)) ? strdup(path) : NULL;
	if (!name)
		return -ENOMEM;
	found->items[found->count++] = (struct id_name){ id, name };
	return 0;
}

/* Takes over what was found. */
static int known_merge(struct cgroup_names *names, struct found *found)
{
	struct id_name *all = calloc(names->nr_known + found->count + 1, sizeof(*all));
	size_t i = 0, j = 0, count = 0;

	if (!all)
		return -ENOMEM;
	if (found->count)
		qsort(found->items, found->count, sizeof(*found->items), compare_first_u64);
	while (i < names->nr_known || j < found->count) {
		bool is_known = j == found->count ||
				(i < names->nr_known && names->known[i].id < found->items[j].id);
		struct id_name *next = is_known ? &names->known[i++] : &found->items[j++];

		/* It was known by no name. */
		if (!is_known && i < names->nr_known && names->known[i].id == next->id) {
			names->known_bytes -= strlen(names->known[i].name) + 1;
			free(names->known[i++].name);
		}
		if (count && all[count - 1].id == next->id)
			continue;
		names->known_bytes += is_known ? 0 : strlen(next->name) + 1;
		all[count++] = (struct id_name){ next->id, steal_ptr(&next->name) };
	}
	free(names->known);
	names->known = all;
	names->nr_known = count;
	return 0;
}

int cgroup_names_learn(struct cgroup_names *names)
{
	struct found found __cleanup(found_done) = { .names = names };
	uint64_t begin_ns = clock_mono_ns(), end_ns;
	int err = cgroup_walk(found_add, &found);

	names->learned = true;
	names->incomplete = err == -EMFILE || err == -ENFILE;
	err = names->incomplete ? 0 : err;
	err = err ?: known_merge(names, &found);
	end_ns = clock_mono_ns();
	if (!names->incomplete)
		names->rest_until_ns = end_ns + REST_FACTOR * (end_ns - begin_ns);
	return err;
}

/* Takes a name out of a slot of the ring. */
static char *recent_steal(struct cgroup_names *names, struct id_name *slot)
{
	if (slot->name)
		names->recent_bytes -= strlen(slot->name) + 1;
	return steal_ptr(&slot->name);
}

/* Takes over the path; NULL: nothing. The oldest make room. */
static void recent_add(struct cgroup_names *names, uint64_t id, char *path)
{
	if (!path)
		return;
	names->recent_bytes += strlen(path) + 1;
	while (names->nr_made - names->nr_forgotten >= RECENT_CGROUPS ||
	       (names->recent_bytes > RECENT_CGROUP_BYTES && names->nr_forgotten < names->nr_made))
		free(recent_steal(names, &names->recent[names->nr_forgotten++ % RECENT_CGROUPS]));
	names->recent[names->nr_made++ % RECENT_CGROUPS] = (struct id_name){ id, path };
}

void cgroup_names_made(struct cgroup_names *names, uint64_t id, const char *path)
{
	if (!names->recent)
		names->recent = calloc(RECENT_CGROUPS, sizeof(*names->recent));
	if (!names->recent)
		return;
	if (cgroup_names_know(names, id)) {
		/* Asked for before this was heard of. */
		known_add(names, id, path);
		return;
	}
	recent_add(names, id, strdup(path));
}

/* Copies the path of a cgroup if it is still that of this id; else -ESTALE. */
static int path_take(const char *path, uint64_t id, char **ret)
{
	uint64_t found = 0;

	if (cgroup_find_path(path, &found) || found != id)
		return -ESTALE;
	*ret = strdup(path);
	return *ret ? 0 : -ENOMEM;
}

/* Finds the path of a cgroup that a process is in. -ESTALE: it is in another one, or has ended. */
static int path_of_process(uint64_t id, uint32_t pid, char **ret)
{
	char name[32], path[PATH_MAX];

	snprintf(name, sizeof(name), "/proc/%u/cgroup", pid);
	cgroup_of(name, path, sizeof(path));
	return *path ? path_take(path, id, ret) : -ESTALE;
}

/* Finds the path of a cgroup by its handle: takes CAP_DAC_READ_SEARCH. -ESTALE: it is gone. */
static int path_of_handle(uint64_t id, char **ret)
{
	struct {
		struct file_handle head;
		uint64_t id;
	} handle = { .head = { .handle_bytes = sizeof(id), .handle_type = KERNFS_HANDLE },
		     .id = id };
	int mount_fd __cleanup(closep) = -1, fd __cleanup(closep) = -1;
	char mount[PATH_MAX], link[32], path[PATH_MAX];
	struct statfs fs;
	size_t above;
	ssize_t length;

	cgroup_mount(mount, sizeof(mount));
	mount_fd = *mount ? open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (mount_fd < 0 || fstatfs(mount_fd, &fs) || fs.f_type != CGROUP2_SUPER_MAGIC)
		return -ENOTSUP;
	fd = open_by_handle_at(mount_fd, &handle.head, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	above = strlen(mount);
	if (length < (ssize_t)above || strncmp(path, mount, above) != 0)
		return -ENOTSUP;
	path[length] = 0;
	return path_take(path[above] ? &path[above] : "/", id, ret);
}

const char *cgroup_names_find(struct cgroup_names *names, uint64_t id, uint32_t pid)
{
	char *path __cleanup(freep) = NULL;
	int err = 0, missing = 0;

	if (known_find(names, id))
		return known_find(names, id)->name;
	for (size_t i = 0; names->recent && i < RECENT_CGROUPS && !path; i++) {
		if (names->recent[i].id == id)
			path = recent_steal(names, &names->recent[i]);
	}
	if (!path && path_of_process(id, pid, &path))
		missing = path_of_handle(id, &path);
	if (path)
		err = known_add(names, id, path);
	else if (missing == -ESTALE)
		err = 0;
	else if (!names->learned && clock_mono_ns() < names->rest_until_ns)
		return "";
	else if (!names->learned)
		err = cgroup_names_learn(names);
	if (err)
		return NULL;
	/* Still unknown: it is gone, unless it was us who could not look. */
	if (!known_find(names, id) && names->incomplete)
		return "";
	return known_add(names, id, "") ? NULL : known_find(names, id)->name;
}

bool cgroup_names_are_many(const struct cgroup_names *names)
{
	return names->nr_known > (names->prune_at ?: RECENT_CGROUPS) ||
	       names->known_bytes > (names->prune_bytes_at ?: RECENT_CGROUP_BYTES);
}

void cgroup_names_prune(struct cgroup_names *names, uint64_t *in_use, size_t count)
{
	size_t kept = 0, bytes = 0;

	qsort(in_use, count, sizeof(*in_use), compare_first_u64);
	for (size_t i = 0; i < names->nr_known; i++) {
		struct id_name *name = &names->known[i];

		if (!bsearch(&name->id, in_use, count, sizeof(*in_use), compare_first_u64)) {
			free(name->name);
			continue;
		}
		bytes += strlen(name->name) + 1;
		names->known[kept++] = *name;
	}
	names->nr_known = kept;
	names->known_bytes = bytes;
	names->prune_bytes_at = bytes + RECENT_CGROUP_BYTES;
	names->prune_at = kept + RECENT_CGROUPS;
}

void cgroup_names_done(struct cgroup_names *names)
{
	for (size_t i = 0; i < names->nr_known; i++)
		free(names->known[i].name);
	for (size_t i = 0; names->recent && i < RECENT_CGROUPS; i++)
		free(names->recent[i].name);
	free(names->known);
	free(names->recent);
}
