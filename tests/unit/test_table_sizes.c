/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables are sized by threads and memory. */
#include "fixture.h"

#include "collect/table_sizes.c"

#define MIB (1ULL << 20)

static struct table_sizes choose(const struct collector_options *options, uint32_t threads,
				 uint64_t host_mib, uint64_t most_mib)
{
	const struct table_needs needs = { threads, host_mib * MIB, most_mib * MIB, false };
	struct table_sizes sizes;

	table_sizes_choose(options, &needs, &sizes);
	return sizes;
}

#define WITH_STACKS { .stacks = true, .split_by = SPLIT_ARG0 }

static const struct {
	struct collector_options options;
	uint32_t threads;
	uint64_t host_mib, most_mib;
	uint32_t tasks, slots, tallies; /* the least; at most one more */
	uint64_t least_bytes, most_bytes;
} sized[] = {
	{ { 0 }, 0, 1, 1 << 20, 3072, 40000, 12288, 0, 18 * MIB },
	{ { 0 }, 20000, 482, 1 << 20, 30000, 480000, 120000, 0, 210 * MIB },
	/* A size that the user gave is obeyed, and no other table is smaller for it. */
	{ { .max_rows = 1000000 }, 300, 160, 1 << 20, 3072, 999999, 12288, 0, UINT64_MAX },
	/* Each gives up the same share; with stacks as without, whose tallies count as well. */
	{ { 0 }, 200000, 200, 1 << 20, 0, 0, 0, 198 * MIB, 202 * MIB },
	{ WITH_STACKS, 200000, 200, 1 << 20, 0, 0, 0, 198 * MIB, 202 * MIB },
	/* The cgroup has less memory. */
	{ { 0 }, 20000, 482, 8, 0, 0, 0, 7 * MIB, 8 * MIB + 4097 },
};

TEST(test_sizes)
{
	for (size_t i = 0; i < ARRAY_SIZE(sized); i++) {
		struct table_sizes sizes = choose(&sized[i].options, sized[i].threads,
						  sized[i].host_mib, sized[i].most_mib);

		assert_in_range(sizes.bytes, sized[i].least_bytes, sized[i].most_bytes - 1);
		if (!sized[i].tasks) {
			assert_true(sizes.elements[TABLE_TASKS] > 700);
			assert_in_range(sizes.elements[TABLE_SLOTS] / sizes.elements[TABLE_TASKS],
					15, 16);
			continue;
		}
		assert_in_range(sizes.elements[TABLE_TASKS], sized[i].tasks, sized[i].tasks + 1);
		assert_in_range(sizes.elements[TABLE_SLOTS], sized[i].slots, sized[i].slots + 1);
		assert_in_range(sizes.elements[TABLE_TALLIES], sized[i].tallies,
				sized[i].tallies + 1);
	}
	assert_int_equal(choose(&sized[2].options, 300, 160, 1 << 20).elements[TABLE_SLOTS],
			 1000000);
}

/* Where a user may have half, one alone finds as much room as where nobody else is. */
TEST(test_shared)
{
	const struct collector_options options = { 0 };
	const uint32_t threads[] = { 0, 20000 };

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		const struct table_needs needs = { threads[i], 4096 * MIB, 4096 * MIB, true };
		struct table_sizes alone = choose(&options, threads[i], 4096, 4096), shared;

		table_sizes_choose(&options, &needs, &shared);
		/* There are records for many short processes anyway. */
		if (!threads[i])
			shared.elements[TABLE_TASKS] *= 2;
		for (int table = 0; table < NR_TABLE; table++)
			assert_in_range(shared.elements[table], 2 * alone.elements[table] - 4,
					2 * alone.elements[table]);
	}
}

static uint32_t grow(const struct collector_options *options, const struct table_sizes *now,
		     uint64_t host_mib, enum table full)
{
	const struct table_needs needs = { 100, host_mib * MIB, (1 << 20) * MIB, false };
	bool is_full[NR_TABLE] = { 0 };

	is_full[full] = true;
	return table_sizes_grow(options, &needs, now, is_full);
}

/* Whichever is full is twice as large the next time. */
TEST(test_tables_grow)
{
	const struct collector_options options = { 0 };
	struct table_sizes sizes = choose(&options, 0, 1, 1 << 20), larger;

	for (int i = 0; i < NR_TABLE; i++) {
		larger = choose(&options, grow(&options, &sizes, 4096, i), 4096, 1 << 20);
		assert_in_range(larger.elements[i], 2 * sizes.elements[i],
				2 * sizes.elements[i] + 60);
	}
}

TEST(test_nothing_grows)
{
	const struct collector_options none = { 0 }, said = { .max_rows = 40000 };
	struct table_sizes sizes = choose(&none, 20000, 4096, 1 << 20);
	const struct table_needs needs = { 100, 4096 * MIB, (1 << 20) * MIB, false };
	const bool full[NR_TABLE] = { 0 };

	assert_int_equal(table_sizes_grow(&none, &needs, &sizes, full), 0);
	/* There is no memory for more. */
	assert_int_equal(grow(&none, &sizes, sizes.bytes / MIB, TABLE_TASKS), 0);
	assert_true(grow(&none, &sizes, 4096, TABLE_TASKS) > 20000);
	/* The user has sized it. */
	assert_int_equal(grow(&said, &sizes, 4096, TABLE_SLOTS), 0);
}

static uint32_t share_sets(struct overflow_sets sets[NR_SYSCALL_ABI], uint32_t nr_cpus)
{
	memset(sets, 0, NR_SYSCALL_ABI * sizeof(*sets));
	sets[ABI_X32].mask = MAX_NATIVE_SETS - 1;
	return overflow_sets_share(sets, nr_cpus);
}

/* No CPU of 1,024 shares its set of native calls, and no set is of two ABIs. */
TEST(test_cpus_have_sets_of_their_own)
{
	static const uint32_t cpus[] = { 1, 2, 3, 64, 255, 256, 1000, 1024 };
	struct overflow_sets sets[NR_SYSCALL_ABI];
	static int owner[MAX_NATIVE_SETS * NR_SYSCALL_ABI];

	for (size_t i = 0; i < sizeof(cpus) / sizeof(*cpus); i++) {
		uint32_t sum = share_sets(sets, cpus[i]);

		memset(owner, 0, sizeof(owner));
		for (int abi = 0; abi < NR_SYSCALL_ABI; abi++) {
			for (uint32_t cpu = 0; cpu < cpus[i]; cpu++) {
				uint32_t set = sets[abi].first + (cpu & sets[abi].mask);

				assert_true(set < sum);
				if (abi == ABI_X32)
					assert_int_equal(owner[set], 0);
				assert_true(!owner[set] || owner[set] == abi + 1);
				owner[set] = abi + 1;
			}
		}
	}
	/* Other ABIs have few, as each set takes 12 KB. */
	assert_int_equal(share_sets(sets, 1024), 1024 + 16 * (NR_SYSCALL_ABI - 1));
	assert_int_equal(share_sets(sets, 2), 2 * NR_SYSCALL_ABI);
}
