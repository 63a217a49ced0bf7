/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps the first numbers and errnos without a name that are seen. */
#include "collect/odd_values.h"

#include <string.h>

#include "syscalls/errnos.h"
#include "syscalls/names.h"

/* With each that anybody has there is less room, so no is for good. */
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

static bool call_is_kept(struct odd_values *odd, uint32_t share, enum syscall_abi abi, int64_t nr)
{
	return (nr >= 0 && nr < CALLS_INDEXED) || syscall_find_name(abi, (int)nr) ||
	       value_is_kept(&odd->calls, &(struct odd_value){ share, abi, nr });
}

static bool errno_is_kept(struct odd_values *odd, uint32_t share, int err)
{
	return errno_name(err) ||
	       value_is_kept(&odd->errnos, &(struct odd_value){ .share = share, .value = err });
}

void odd_values_apply(struct odd_values *odd, uint32_t share, struct row *row)
{
	size_t kept = 0;

	if (!call_is_kept(odd, share, row->abi, row->nr))
		row_forget_number(row);
	for (size_t i = 0; i < row->nr_errnos; i++) {
		if (errno_is_kept(odd, share, row->errnos[i].err))
			row->errnos[kept++] = row->errnos[i];
	}
	row->nr_errnos = kept;
}
