/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one mapping between a latency and its histogram bucket, compiled by the BPF side (which
 * counts) and by user space (which knows the bounds). Log-linear: four equal buckets an octave,
 * so a bucket is at most 25% wide. Bucket 0 holds everything below 2^HIST_MIN_SHIFT ns, the last
 * one everything from 2^HIST_MAX_SHIFT ns (73 minutes) up.
 */
#pragma once

#define HIST_MIN_SHIFT      6
#define HIST_MAX_SHIFT      42
#define HIST_OCTAVE_BUCKETS 4
#define HIST_BUCKETS        ((HIST_MAX_SHIFT - HIST_MIN_SHIFT) * HIST_OCTAVE_BUCKETS + 2)

/*
 * Returns 1 if v is above a limit, else 0; both are below 2^63. Clang compiles a comparison to a branch,
 * and the verifier follows the rest once for each path. The asm hides the range of v: a compiler that knew
 * it could turn the difference back into a comparison.
 */
static inline __attribute__((always_inline)) unsigned int hist_is_above(unsigned long long v,
									unsigned long long limit)
{
	__asm__("" : "+r"(v));
	return (unsigned int)((limit - v) >> 63);
}

/*
 * The buckets of the first 2^15 ns, 16 ns an entry. Nine octaves up, buckets are 2^9 times as wide, so this
 * serves those, too.
 */
#define HIST_TABLE_OCTAVES 9
#define HIST_TABLE_SIZE    (HIST_OCTAVE_BUCKETS << HIST_TABLE_OCTAVES)
#define HIST_TABLE_QUARTER(octave, quarter)                                 \
	[(4 + (quarter)) << (octave)...((5 + (quarter)) << (octave)) - 1] = \
		1 + (octave) * HIST_OCTAVE_BUCKETS + (quarter)
#define HIST_TABLE_OCTAVE(octave)                                     \
	HIST_TABLE_QUARTER(octave, 0), HIST_TABLE_QUARTER(octave, 1), \
		HIST_TABLE_QUARTER(octave, 2), HIST_TABLE_QUARTER(octave, 3)

static const unsigned char hist_table[HIST_TABLE_SIZE] = {
	HIST_TABLE_OCTAVE(0), HIST_TABLE_OCTAVE(1), HIST_TABLE_OCTAVE(2),
	HIST_TABLE_OCTAVE(3), HIST_TABLE_OCTAVE(4), HIST_TABLE_OCTAVE(5),
	HIST_TABLE_OCTAVE(6), HIST_TABLE_OCTAVE(7), HIST_TABLE_OCTAVE(8),
};

/* The last latency that takes this many steps of nine octaves. */
#define HIST_TABLE_LAST(times) ((1ULL << (HIST_MIN_SHIFT + HIST_TABLE_OCTAVES * ((times) + 1))) - 1)

/* Bucket of a latency in ns: 0 … HIST_BUCKETS - 1. No comparison waits for another. */
static inline __attribute__((always_inline)) unsigned int hist_bucket(unsigned long long ns)
{
	unsigned int times;

	if (ns >= (1ULL << HIST_MAX_SHIFT))
		return HIST_BUCKETS - 1;
	times = hist_is_above(ns, HIST_TABLE_LAST(0)) + hist_is_above(ns, HIST_TABLE_LAST(1)) +
		hist_is_above(ns, HIST_TABLE_LAST(2));
	ns >>= times * HIST_TABLE_OCTAVES + HIST_MIN_SHIFT - 2;
	return times * HIST_TABLE_OCTAVES * HIST_OCTAVE_BUCKETS +
	       hist_table[ns & (HIST_TABLE_SIZE - 1)];
}

/* Smallest latency in ns of a bucket; of bucket HIST_BUCKETS, the end of the last: UINT64_MAX. */
static inline __attribute__((always_inline)) unsigned long long hist_bucket_low(unsigned int bucket)
{
	unsigned int octave;

	if (bucket == 0)
		return 0;
	if (bucket >= HIST_BUCKETS)
		return ~0ULL;
	octave = HIST_MIN_SHIFT + (bucket - 1) / HIST_OCTAVE_BUCKETS;
	return (1ULL << octave) +
	       (unsigned long long)((bucket - 1) % HIST_OCTAVE_BUCKETS) * (1ULL << (octave - 2));
}
