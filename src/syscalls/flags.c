/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes flags and other constants by the names that the headers of the building system have for them. */
#include "syscalls/arguments.h"

#include "flags.inc"

/* The longest number without a name, with the "|" before it. */
#define REST_MAX 20

const struct flag_set *flag_set_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(flag_sets); i++) {
		if (!strcmp(flag_sets[i]->name, name))
			return flag_sets[i];
	}
	return NULL;
}

static bool has_name(const struct flag_name *name, uint64_t value)
{
	return (value & name->mask) == name->value;
}

/* Whether a name is part of another one that applies: O_SYNC includes O_DSYNC. */
static bool is_part_of_another(const struct flag_set *set, const struct flag_name *name,
			       uint64_t value)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct flag_name *other = &set->names[i];

		if (other->mask != name->mask && (other->mask & name->mask) == name->mask &&
		    has_name(other, value))
			return true;
	}
	return false;
}

/* Appends a name unless what may follow would have no room; returns whether it did. */
static bool name_append(const char *name, char *buf, size_t size, size_t *used)
{
	size_t length = strlen(name) + (*used != 0);

	if (*used + length + REST_MAX > size)
		return false;
	*used += (size_t)snprintf(buf + *used, size - *used, "%s%s", *used ? "|" : "", name);
	return true;
}

static void enum_write(const struct flag_set *set, uint64_t value, char *buf, size_t size)
{
	for (size_t i = 0; i < set->count; i++) {
		if (set->names[i].value == value) {
			snprintf(buf, size, "%s", set->names[i].name);
			return;
		}
	}
	snprintf(buf, size, value ? "%#" PRIx64 : "0", value);
}

void flag_set_write(const struct flag_set *set, uint64_t value, bool is_enum, char *buf,
		    size_t size)
{
	size_t used = 0;
	uint64_t rest;

	if (!set->is_wide)
		value = (uint32_t)value;
	if (is_enum) {
		enum_write(set, value, buf, size);
		return;
	}
	rest = value;
	/* -1 is no set of flags: it asks personality() for the present ones. */
	for (size_t i = 0; i < set->count && value != UINT32_MAX; i++) {
		const struct flag_name *name = &set->names[i];

		if (has_name(name, value) && !is_part_of_another(set, name, value) &&
		    name_append(name->name, buf, size, &used))
			rest &= ~name->mask;
	}
	if (rest)
		snprintf(buf + used, size - used, "%s%#" PRIx64, used ? "|" : "", rest);
	else if (!used)
		snprintf(buf, size, "0");
}

#define PERMISSIONS 07777u

void mode_write(unsigned int mode, char *buf, size_t size)
{
	char type[MODE_MAX];

	if (!(mode & ~PERMISSIONS)) {
		snprintf(buf, size, "%#03o", mode);
		return;
	}
	flag_set_write(&flag_set_mode, mode & ~PERMISSIONS, false, type, sizeof(type));
	snprintf(buf, size, "%s|%#03o", type, mode & PERMISSIONS);
}
