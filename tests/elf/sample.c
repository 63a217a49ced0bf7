/* SPDX-License-Identifier: BSD-2-Clause */
/* Code whose frames and symbols the tests of src/elf know; the Makefile builds it in many ways. */

#define NOINLINE __attribute__((noinline))

extern int sample_alias(int n) __attribute__((weak, alias("sample_public")));
extern int _sample_public(int n) __attribute__((alias("sample_public")));

/* A hostile file may give a function such a name. */
int sample_escape(int n) __asm__("\033[31mred\nname");

volatile int sink;

NOINLINE int sample_escape(int n)
{
	return n + sink;
}

static NOINLINE int sample_hidden(int n)
{
	char room[4096];

	for (int i = 0; i < n; i++)
		((volatile char *)room)[i] = (char)n;
	return room[n - 1] + sink;
}

NOINLINE int sample_public(int n)
{
	int sum = 0;

	for (int i = 1; i < n; i++)
		sum += sample_hidden(i) * sample_hidden(n - i + 1);
	return sum;
}

int main(int argc, char **argv)
{
	(void)argv;
	sink = sample_public(argc + 1) + sample_escape(argc);
	return 0;
}
