/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps the first numbers and errnos without a name that are seen. */
#include "collect/odd_values.h"

#include "syscalls/names.h"

/* Whether a user may have one more: with each that anybody has there is less room, so no is for good. */
static bool has_room(const uint32_t *shares, size_t count, uint32_t share)
{
	size_t own = 0;

	for (size_t i = 0; i < count; i++)
		own += shares[i] == share;
	return own < MAX_ODD_VALUES - count;
}

static bool call_is_kept(struct odd_values *odd, uint32_t share, enum syscall_abi abi, int64_t nr)
{
	if ((nr >= 0 && nr < CALLS_INDEXED) || syscall_find_name(abi, (int)nr))
		return true;
	for (size_t i = 0; i < odd->nr_calls; i++) {
		if (odd->callers[i] == share && odd->calls[i].abi == abi && odd->calls[i].nr == nr)
			return true;
	}
	if (!has_room(odd->callers, odd->nr_calls, share))
		return false;
	odd->callers[odd->nr_calls] = share;
	odd->calls[odd->nr_calls].abi = abi;
	odd->calls[odd->nr_calls++].nr = nr;
	return true;
}

static bool errno_is_kept(struct odd_values *odd, uint32_t share, int err)
{
	if (errno_name(err))
		return true;
	for (size_t i = 0; i < odd->nr_errnos; i++) {
		if (odd->failers[i] == share && odd->errnos[i] == err)
			return true;
	}
	if (!has_room(odd->failers, odd->nr_errnos, share))
		return false;
	odd->failers[odd->nr_errnos] = share;
	odd->errnos[odd->nr_errnos++] = err;
	return true;
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
