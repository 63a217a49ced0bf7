/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions that are inlined into others, three deep, twice, and from within a block. */

#define INLINE   static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))

volatile int sink;

INLINE void innermost(int n)
{
	sink += n;
	sink ^= n;
}

INLINE void middle(int n)
{
	innermost(n);
	sink *= 3;
	innermost(n + 1);
}

INLINE void outermost(int n)
{
	for (int i = 0; i < n; i++) {
		int room = sink;

		middle(room);
	}
	sink--;
}

NOINLINE void physical(int n)
{
	sink = 7;
	outermost(n);
	sink = 8;
}

NOINLINE void alone(int n)
{
	sink = n;
}

int main(int argc, char **argv)
{
	(void)argv;
	physical(argc);
	alone(argc);
	middle(argc);
	return sink;
}
