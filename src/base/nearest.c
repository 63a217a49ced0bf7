/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts the letters in which two words differ. */
#include "base/nearest.h"

#include <ctype.h>

#include "base/text.h"

/* Edits beyond which a misspelt word is no longer taken for another. */
#define DISTANCE_MAX 3

static bool same_letter(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/*
 * How many letters must be added, dropped, replaced or swapped with their neighbour to make a
 * into b. Only the last three rows of the matrix are kept; both are shorter than the name limit.
 */
static size_t edit_distance(const char *a, const char *b)
{
	size_t rows[3][NEAREST_WORD_MAX];
	size_t a_length = strlen(a), b_length = strlen(b);

	for (size_t j = 0; j <= b_length; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		size_t *row = rows[i % 3], *last = rows[(i - 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			row[j] = min_u64(min_u64(last[j], row[j - 1]) + 1,
					 last[j - 1] + !same_letter(a[i - 1], b[j - 1]));
			if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
			    same_letter(a[i - 2], b[j - 1]))
				row[j] = min_u64(row[j], rows[(i - 2) % 3][j - 2] + 1);
		}
	}
	return rows[a_length % 3][b_length];
}

struct nearest nearest_to(const char *word)
{
	size_t length = strlen(word);

	/* A third of the letters may be wrong: beyond that, a suggestion would be a guess. */
	return (struct nearest){ .word = length < NEAREST_WORD_MAX ? word : "",
				 .limit = max_u64(1, min_u64(length / 3, DISTANCE_MAX)) };
}

void nearest_look(struct nearest *nearest, const char *candidate)
{
	size_t distance;

	if (!*nearest->word || strlen(candidate) >= NEAREST_WORD_MAX)
		return;
	distance = edit_distance(nearest->word, candidate);
	/* Strictly nearer than the last, so that of equals the first wins. */
	if (distance < nearest->limit + !nearest->best) {
		nearest->best = candidate;
		nearest->limit = distance;
	}
}
