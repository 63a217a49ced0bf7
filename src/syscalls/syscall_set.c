/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses -t lists and matches calls with them. Invariant: a set has at least one term. */
#include "syscalls/syscall_set.h"

#include "syscalls/names.h"

#define BLANKS     " \t\n"
#define SEPARATORS BLANKS ","

/* Exactly one of the four kinds: a name, a class or "all" (trait, everything), or a number. */
struct set_term {
	char name[SYSCALL_NAME_MAX];
	unsigned int trait;
	uint32_t nr;
	bool is_nr;
	bool is_everything;
	bool is_excluded;
};

struct syscall_set {
	bool is_inverted;
	size_t count;
	struct set_term *terms;
};

static bool name_is_known(const char *name)
{
	for (int abi = 0; abi < NR_SYSCALL_ABI; abi++) {
		if (syscall_find(abi, name) >= 0)
			return true;
	}
	return false;
}

/* The whole text must be digits: strtoull() alone would take blanks and signs. */
static bool number_parse(const char *text, uint32_t *ret)
{
	size_t prefix = strncmp(text, "syscall_", 8) ? 0 : 8;
	bool is_hex = !strncmp(text + prefix, "0x", 2);
	const char *digits = is_hex ? "0123456789abcdefABCDEF" : "0123456789";
	unsigned long long value;

	text += is_hex ? prefix + 2 : 0;
	if (!*text || text[strspn(text, digits)])
		return false;
	errno = 0;
	value = strtoull(text, NULL, is_hex ? 16 : 10);
	if (errno || value > UINT32_MAX)
		return false;
	*ret = (uint32_t)value;
	return true;
}

static int unknown_class_error(const char *name, struct diag *d)
{
	char classes[256] = "";
	const char *class;

	for (size_t i = 0; (class = class_name(i)); i++) {
		size_t used = strlen(classes);

		snprintf(classes + used, sizeof(classes) - used, "%s%%%s", used ? " " : "", class);
	}
	return diag_set(d, DIAG_USAGE, EINVAL, "no class named \"%s\"; the classes are %s", name,
			classes);
}

static int unknown_name_error(const char *name, struct diag *d)
{
	const char *near = syscall_find_near(name);

	if (class_find(name))
		return diag_set(d, DIAG_USAGE, EINVAL,
				"no system call named \"%s\"; did you mean the class \"%%%s\"?",
				name, name);
	if (near)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"no system call or class named \"%s\"; did you mean \"%s\"?", name,
				near);
	return diag_set(d, DIAG_USAGE, EINVAL, "no system call or class named \"%s\"", name);
}

/* Fills in a zeroed term from its text, which is without "!". */
static int term_parse(const char *text, struct set_term *ret, struct diag *d)
{
	if (text[0] == '%') {
		ret->trait = class_find(text + 1);
		return ret->trait ? 0 : unknown_class_error(text + 1, d);
	}
	if (strcmp(text, "all") == 0) {
		ret->is_everything = true;
		return 0;
	}
	if (number_parse(text, &ret->nr)) {
		ret->is_nr = true;
		return 0;
	}
	if (!name_is_known(text))
		return unknown_name_error(text, d);
	snprintf(ret->name, sizeof(ret->name), "%s", text);
	return 0;
}

static int lone_bang_error(struct diag *d)
{
	return diag_set(d, DIAG_USAGE, EINVAL, "a \"!\" needs a system call right after it");
}

/* Adds the term of that length, its own "!" included. */
static int set_add(struct syscall_set *set, const char *text, size_t length, struct diag *d)
{
	char term[SYSCALL_NAME_MAX];
	struct set_term parsed = { .is_excluded = set->is_inverted };
	int err;

	if (*text == '!') {
		parsed.is_excluded = true;
		text++;
		length--;
		if (!length || *text == '!')
			return lone_bang_error(d);
	}
	if (length >= sizeof(term))
		return diag_set(d, DIAG_USAGE, EINVAL,
				"no system call or class has a name of %zu bytes", length);
	memcpy(term, text, length);
	term[length] = '\0';
	err = term_parse(term, &parsed, d);
	if (err)
		return err;
	if (!array_grow(&set->terms, set->count, sizeof(*set->terms)))
		return diag_oom(d);
	set->terms[set->count++] = parsed;
	return 0;
}

static int empty_term_error(const char *list, struct diag *d)
{
	if (!list[strspn(list, SEPARATORS "!")])
		return diag_set(d, DIAG_USAGE, EINVAL,
				"needs a list of system calls, such as read,write");
	return diag_set(d, DIAG_USAGE, EINVAL, "a comma needs a system call on both sides");
}

static int terms_parse(struct syscall_set *set, const char *list, struct diag *d)
{
	const char *at = list + strspn(list, BLANKS);
	bool more;

	if (*at == '!') {
		set->is_inverted = true;
		at++;
		at += strspn(at, BLANKS);
		if (*at == '!')
			return lone_bang_error(d);
	}
	do {
		size_t length = strcspn(at, SEPARATORS);
		int err = length ? set_add(set, at, length, d) : empty_term_error(list, d);

		if (err)
			return err;
		at += length;
		at += strspn(at, BLANKS);
		more = *at;
		if (*at == ',')
			at++;
		at += strspn(at, BLANKS);
	} while (more);
	return 0;
}

int syscall_set_parse(const char *list, struct syscall_set **ret, struct diag *d)
{
	__cleanup(syscall_set_freep) struct syscall_set *set = calloc(1, sizeof(*set));
	int err;

	if (!set)
		return diag_oom(d);
	err = terms_parse(set, list, d);
	if (err)
		return err;
	*ret = steal_ptr(&set);
	return 0;
}

static bool term_matches(const struct set_term *term, enum syscall_abi abi, int nr)
{
	const char *name;

	if (term->is_everything)
		return true;
	if (term->is_nr)
		return term->nr == (uint32_t)nr;
	if (term->trait)
		return syscall_has_trait(abi, nr, term->trait);
	name = syscall_find_name(abi, nr);
	return name && strcmp(name, term->name) == 0;
}

bool syscall_set_has(const struct syscall_set *set, enum syscall_abi abi, int nr)
{
	if (!set)
		return true;
	for (size_t i = set->count; i-- > 0;) {
		if (term_matches(&set->terms[i], abi, nr))
			return !set->terms[i].is_excluded;
	}
	return set->is_inverted;
}

bool syscall_waits(const struct syscall_set *set, enum syscall_abi abi, int nr)
{
	return set ? syscall_set_has(set, abi, nr) : syscall_has_trait(abi, nr, TRAIT_WAITS);
}

void syscall_set_free(struct syscall_set *set)
{
	if (!set)
		return;
	free(set->terms);
	free(set);
}
