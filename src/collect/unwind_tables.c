/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the packing of unwind tables into the kernel's maps. Invariant: pages point at rows that are
 * written already, files at pages that are.
 */
#include "collect/code_files.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>

#include "bpftruss/call_abi.h"
#include "truss.skel.h"

#include "base/clock.h"

#define PAGE_BYTES  (1u << UNWIND_PAGE_SHIFT)
#define PAGES_BYTES (sizeof(struct unwind_page) * MAX_UNWIND_PAGES)

/* Rule numbers that need no looking for. */
#define RULE_NONE        0
#define RULE_UNSUPPORTED 1

struct known_rule {
	struct unwind_rule rule;
	uint32_t number;
};

/* Owners whose ids have the same hash share it. */
#define OWNER_SHARES 1024

/* Counts what the files of an owner take. */
struct owner_share {
	uint32_t nr_rules, nr_pages;
	uint64_t nr_rows;
};

struct unwind_tables {
	struct owner_share *shares; /* NULL: all is the targets' own */
	uint64_t nr_rows;
	uint32_t seed;
	int slabs_fd, rules_fd, files_fd, inodes_fd;
	struct unwind_page *pages; /* mapped */
	uint32_t nr_pages;
	struct unwind_slab *slab; /* mapped: the one that is being filled; NULL before the first */
	uint32_t nr_slabs, nr_slab_rows;
	void *rules; /* tree of struct known_rule */
	uint32_t nr_rules;
};

static int compare_rules(const void *a, const void *b)
{
	const struct known_rule *x = a, *y = b;

	return memcmp(&x->rule, &y->rule, sizeof(x->rule));
}

static int rule_add(struct unwind_tables *t, struct owner_share *share,
		    const struct unwind_rule *rule)
{
	const struct known_rule known = { *rule, t->nr_rules };

	if (!tree_add(&t->rules, &known, sizeof(known), compare_rules))
		return -ENOMEM;
	if (bpf_map_update_elem(t->rules_fd, &t->nr_rules, rule, BPF_ANY))
		return -errno;
	if (share)
		share->nr_rules++;
	return (int)t->nr_rules++;
}

int unwind_tables_new(const struct truss_bpf *skel, struct unwind_tables **ret)
{
	struct unwind_tables *t __cleanup(unwind_tables_freep) = calloc(1, sizeof(*t));
	struct unwind_rule none = { .cfa = CFA_NONE }, unsupported = { .cfa = CFA_UNSUPPORTED };
	void *pages;

	if (!t)
		return -ENOMEM;
	pages = mmap(NULL, PAGES_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		     bpf_map__fd(skel->maps.unwind_pages), 0);
	if (pages == MAP_FAILED)
		return -errno;
	madvise(pages, PAGES_BYTES, MADV_DONTFORK);
	t->pages = pages;
	t->slabs_fd = bpf_map__fd(skel->maps.unwind_slabs);
	t->rules_fd = bpf_map__fd(skel->maps.unwind_rules);
	t->files_fd = bpf_map__fd(skel->maps.unwind_files);
	t->inodes_fd = bpf_map__fd(skel->maps.unwind_inodes);
	t->seed = (uint32_t)skel->rodata->hash_seed;
	if (skel->rodata->has_shares)
		t->shares = calloc(OWNER_SHARES, sizeof(*t->shares));
	if ((skel->rodata->has_shares && !t->shares) || rule_add(t, NULL, &none) != RULE_NONE ||
	    rule_add(t, NULL, &unsupported) != RULE_UNSUPPORTED)
		return -ENOMEM;
	*ret = steal_ptr(&t);
	return 0;
}

void unwind_tables_free(struct unwind_tables *tables)
{
	if (!tables)
		return;
	if (tables->pages)
		munmap(tables->pages, PAGES_BYTES);
	if (tables->slab)
		munmap(tables->slab, sizeof(*tables->slab));
	tdestroy(tables->rules, free);
	free(tables->shares);
	free(tables);
}

/* Puts an empty slab in the place of the one that is full. */
static int slab_add(struct unwind_tables *t)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	int fd __cleanup(closep) = -1;
	void *rows;

	if (t->nr_slabs == MAX_SLABS)
		return -ENOSPC;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_slab", sizeof(__u32),
			    sizeof(struct unwind_slab), 1, &options);
	if (fd < 0)
		return -errno;
	rows = mmap(NULL, sizeof(*t->slab), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (rows == MAP_FAILED)
		return -errno;
	if (t->slab)
		munmap(t->slab, sizeof(*t->slab));
	t->slab = rows;
	t->nr_slab_rows = 0;
	if (bpf_map_update_elem(t->slabs_fd, &t->nr_slabs, &fd, BPF_ANY))
		return -errno;
	t->nr_slabs++;
	return 0;
}

/* The rows of one page. */
struct page_rows {
	uint32_t rows[PAGE_BYTES + 1];
	uint32_t count;
	struct owner_share *share; /* NULL: nobody's */
};

static int page_add_row(struct unwind_tables *t, struct page_rows *page, uint64_t offset,
			const struct unwind_rule *rule)
{
	struct known_rule key = { .rule = *rule };
	struct known_rule *const *found = tfind(&key, &t->rules, compare_rules);
	uint32_t own = page->share ? page->share->nr_rules : 0;
	int number = RULE_UNSUPPORTED;

	/* An owner of files has no more rules than are left for others. */
	if (found)
		number = (int)(*found)->number;
	else if (own < MAX_UNWIND_RULES - t->nr_rules)
		number = rule_add(t, page->share, rule);
	if (number < 0)
		return number;
	if (page->count > PAGE_BYTES)
		return -EINVAL;
	page->rows[page->count++] = (uint32_t)offset << 16 | (uint32_t)number;
	return 0;
}

/* Fills a page with the row in force at its start and those inside it; *at goes past them. */
static int page_fill(struct unwind_tables *t, const struct elf_unwind *unwind, uint64_t start,
		     size_t *at, struct page_rows *page)
{
	int err = 0;

	page->count = 0;
	if (*at > 0 && unwind->rows[*at - 1].pc < start &&
	    (*at == unwind->nr_rows || unwind->rows[*at].pc > start))
		err = page_add_row(t, page, 0, &unwind->rows[*at - 1].rule);
	while (!err && *at < unwind->nr_rows && unwind->rows[*at].pc < start + PAGE_BYTES) {
		err = page_add_row(t, page, unwind->rows[*at].pc - start, &unwind->rows[*at].rule);
		++*at;
	}
	return err;
}

static int page_store(struct unwind_tables *t, const struct page_rows *page)
{
	int err = 0;

	if (!t->slab || t->nr_slab_rows + page->count > SLAB_ROWS)
		err = slab_add(t);
	if (err)
		return err;
	memcpy(&t->slab->rows[t->nr_slab_rows], page->rows, page->count * sizeof(*page->rows));
	t->pages[t->nr_pages++] = (struct unwind_page){
		.first = (t->nr_slabs - 1) << 16 | t->nr_slab_rows,
		.count = page->count,
	};
	t->nr_slab_rows += page->count;
	return 0;
}

static bool share_has_room(const struct unwind_tables *t, const struct owner_share *share,
			   uint64_t pages, uint64_t rows)
{
	uint64_t pages_left = MAX_UNWIND_PAGES - t->nr_pages;
	uint64_t rows_left = (uint64_t)MAX_SLABS * SLAB_ROWS - t->nr_rows;

	if (!share)
		return pages <= pages_left;
	return share->nr_pages + 2 * pages <= pages_left && share->nr_rows + 2 * rows <= rows_left;
}

static int rows_publish(struct unwind_tables *t, struct owner_share *share,
			const struct elf_unwind *unwind, struct unwind_file *file)
{
	struct page_rows *page __cleanup(freep) = malloc(sizeof(*page));
	/* A page may begin with a row of the one before. */
	uint64_t pages = (unwind->text_end - unwind->text_start + PAGE_BYTES - 1) / PAGE_BYTES;
	uint64_t rows = unwind->nr_rows + pages;
	size_t at = 0;
	int err = page ? 0 : -ENOMEM;

	if (!share_has_room(t, share, pages, rows))
		return -ENOSPC;
	if (!err)
		page->share = share;
	if (share) {
		share->nr_pages += (uint32_t)pages;
		share->nr_rows += rows;
	}
	t->nr_rows += rows;
	file->first_page = t->nr_pages;
	for (uint64_t i = 0; i < pages && !err; i++) {
		err = page_fill(t, unwind, unwind->text_start + i * PAGE_BYTES, &at, page);
		err = err ?: page_store(t, page);
	}
	if (!err)
		file->nr_pages = (uint32_t)pages;
	return err;
}

int unwind_tables_publish(struct unwind_tables *t, uint32_t number, uint32_t owner,
			  const struct elf_unwind *unwind)
{
	struct unwind_file file = { .ready = 1 };
	struct owner_share *share = NULL;
	int err = 0;

	if (unwind) {
		file.text_start = unwind->text_start;
		file.load_offset = unwind->load_offset;
		/* Users have not made the files that root owns: these may fill the whole table. */
		if (t->shares && owner)
			share = &t->shares[(owner ^ t->seed) * 0x9e3779b9u >> 22];
		if (unwind->nr_rows)
			err = rows_publish(t, share, unwind, &file);
	}
	if (bpf_map_update_elem(t->files_fd, &number, &file, BPF_ANY))
		return -errno;
	return err;
}

void unwind_tables_ask_again(struct unwind_tables *t, const struct inode_key *key, uint32_t file,
			     uint32_t pause_s)
{
	struct inode_file value = { .number = file };

	/* Nobody knows how much of the current second is over. */
	if (pause_s)
		value.asked = (uint32_t)(clock_mono_ns() / NS_PER_SEC) + 1 + pause_s;
	bpf_map_update_elem(t->inodes_fd, key, &value, BPF_EXIST);
}

size_t unwind_tables_bytes(const struct unwind_tables *t)
{
	return t->nr_slabs * sizeof(struct unwind_slab);
}
