/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps the last text of /metrics, and gives it again for a second. */
#include "daemon/scrape.h"

#include <string.h>

#include "base/mem.h"

void scrape_done(struct scrape *scrape)
{
	free(scrape->text);
	*scrape = (struct scrape){ 0 };
}

static char *text_copy(const char *text, size_t size)
{
	char *copy = malloc(size + 1);

	if (copy)
		memcpy(copy, text, size);
	return copy;
}

bool scrape_again(const struct scrape *scrape, uint64_t now_ns, char **ret_text, size_t *ret_size)
{
	char *copy;

	if (!scrape->text || now_ns - scrape->made_ns >= SCRAPE_MAX_AGE_NS)
		return false;
	copy = text_copy(scrape->text, scrape->size);
	if (!copy)
		return false;
	*ret_text = copy;
	*ret_size = scrape->size;
	return true;
}

void scrape_keep(struct scrape *scrape, uint64_t now_ns, const char *text, size_t size)
{
	scrape_done(scrape);
	scrape->text = text_copy(text, size);
	scrape->size = size;
	scrape->made_ns = now_ns;
}
