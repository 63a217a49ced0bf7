/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps the first numbers and errnos without a name that are seen. */
#include "collect/odd_values.h"

#include "syscalls/names.h"

/* Each value that is kept leaves less room, so a "no" is final. */
static bool value_is_kept(struct odd_list *list, const struct odd_value *value)
{
	size_t own = 0;

	for (size_t i = 0; i < list->nr; i++) {
		if (!memcmp(&list->values[i], value, sizeof(*value)))
			return true;
		own += list->values[i].share == value->share;
	}
	if (own >= MAX_ODD_VALUES - list->nr)
		return false;
	list->values[list->nr++] = *value;
	return true;
}

void odd_values_apply(struct odd_values *odd, uint32_t share, struct row *row)
{
	const struct odd_value call = { share, row->abi, row->nr };
	size_t kept = 0;

	if ((row->nr < 0 || row->nr >= CALLS_INDEXED) &&
	    !syscall_find_name(row->abi, (int)row->nr) && !value_is_kept(&odd->calls, &call))
		row_forget_number(row);
	for (size_t i = 0; i < row->nr_errnos; i++) {
		const struct odd_value err = { .share = share, .value = row->errnos[i].err };

		if (errno_name(row->errnos[i].err) || value_is_kept(&odd->errnos, &err))
			row->errnos[kept++] = row->errnos[i];
	}
	row->nr_errnos = kept;
}
