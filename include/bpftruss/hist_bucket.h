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

/* Index of the highest bit set, without branches; v must not be 0. */
static inline __attribute__((always_inline)) unsigned int hist_log2(unsigned long long v)
{
	unsigned int shift, log;

	log = hist_is_above(v >> 1, 0xffffffffULL >> 1) << 5;
	v >>= log;
	shift = hist_is_above(v, 0xffff) << 4;
	v >>= shift;
	log |= shift;
	shift = hist_is_above(v, 0xff) << 3;
	v >>= shift;
	log |= shift;
	shift = hist_is_above(v, 0xf) << 2;
	v >>= shift;
	log |= shift;
	shift = hist_is_above(v, 0x3) << 1;
	v >>= shift;
	return log | shift | (unsigned int)(v >> 1);
}

/* Bucket of a latency in ns: 0 … HIST_BUCKETS - 1. */
static inline __attribute__((always_inline)) unsigned int hist_bucket(unsigned long long ns)
{
	unsigned int octave;

	if (ns < (1ULL << HIST_MIN_SHIFT))
		return 0;
	if (ns >= (1ULL << HIST_MAX_SHIFT))
		return HIST_BUCKETS - 1;
	octave = hist_log2(ns);
	return 1 + (octave - HIST_MIN_SHIFT) * HIST_OCTAVE_BUCKETS +
	       ((ns >> (octave - 2)) & (HIST_OCTAVE_BUCKETS - 1));
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
