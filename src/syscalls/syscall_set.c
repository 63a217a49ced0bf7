/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses -t lists and matches calls with them. Invariant: a set has at least one term. */
#include "syscalls/syscall_set.h"

#include <fnmatch.h>
#include <regex.h>

#include "base/nearest.h"
#include "syscalls/families.h"
#include "syscalls/names.h"

#define BLANKS     " \t\n"
#define SEPARATORS BLANKS ","
#define TERM_MAX   128

/* Clients must not keep the daemon busy: these limit the patterns of a list, and their cost. */
#define MAX_PATTERNS 32
#define EXPENSIVE    "{}\\"

enum term_kind {
	TERM_NAME,
	TERM_LITERAL,
	TERM_GLOB,
	TERM_REGEX,
	TERM_NUMBER,
	TERM_CLASS,
	TERM_ALL
};

struct set_term {
	enum term_kind kind;
	bool is_excluded;
	char text[TERM_MAX];
	const char *family; /* of a name: the calls it stands for, or NULL */
	regex_t regex;
	unsigned int trait; /* of a class; 0: of none */
	uint32_t nr;
};

struct syscall_set {
	bool is_inverted;
	size_t count, patterns;
	struct set_term *terms;
};

/* --- matching --------------------------------------------------------------------------------- */

/* Whether one of the words that text consists of is the name of a call, or of a variant of it. */
static bool family_has(const char *words, const char *call)
{
	char word[SYSCALL_NAME_MAX];

	while (*words) {
		int length = (int)strcspn(words, " ");

		snprintf(word, sizeof(word), "%.*s", length, words);
		if (name_is_variant(call, word))
			return true;
		words += length + (words[length] == ' ');
	}
	return false;
}

/* Only for a term that goes by the name of a call. */
static bool term_has_name(const struct set_term *term, const char *name)
{
	switch (term->kind) {
	case TERM_NAME:
		return term->family ? family_has(term->family, name)
				    : name_is_variant(name, term->text);
	case TERM_LITERAL:
		return !strcmp(name, term->text);
	case TERM_GLOB:
		return !fnmatch(term->text, name, 0);
	case TERM_REGEX:
		return !regexec(&term->regex, name, 0, NULL, 0);
	default:
		return false;
	}
}

static bool term_matches(const struct set_term *term, enum syscall_abi abi, int nr)
{
	const char *name;

	if (term->kind == TERM_ALL)
		return true;
	if (term->kind == TERM_NUMBER)
		return term->nr == (uint32_t)nr;
	if (term->kind == TERM_CLASS)
		return term->trait && syscall_has_trait(abi, nr, term->trait);
	name = syscall_find_name(abi, nr);
	return name && term_has_name(term, name);
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

static bool term_matches_any(const struct set_term *term)
{
	for (int abi = 0; abi < NR_SYSCALL_ABI; abi++) {
		for (int nr = syscall_next(abi, -1); nr >= 0; nr = syscall_next(abi, nr)) {
			if (term_matches(term, abi, nr))
				return true;
		}
	}
	return false;
}

/* Lists the calls of a name; returns whether there are others than that of this name. */
static bool term_explain(const struct set_term *term, enum syscall_abi abi, char *buf, size_t size)
{
	size_t used = (size_t)snprintf(buf, size, "%s means", term->text);
	const char *comma = "";
	bool has_others = false;

	for (int nr = syscall_next(abi, -1); nr >= 0; nr = syscall_next(abi, nr)) {
		const char *name = syscall_find_name(abi, nr);

		if (!term_matches(term, abi, nr) || used >= size)
			continue;
		used += (size_t)snprintf(buf + used, size - used, "%s %s", comma, name);
		comma = ",";
		has_others |= strcmp(name, term->text) != 0;
	}
	return has_others;
}

bool syscall_set_explain(const struct syscall_set *set, enum syscall_abi abi, char *buf,
			 size_t size)
{
	size_t used = 0;
	char text[256];

	for (size_t i = 0; set && i < set->count; i++) {
		if (set->terms[i].kind != TERM_NAME ||
		    !term_explain(&set->terms[i], abi, text, sizeof(text)) ||
		    used + strlen(text) + sizeof("; ") > size)
			continue;
		used += (size_t)sprintf(buf + used, "%s%s", used ? "; " : "", text);
	}
	return used != 0;
}

/* --- parsing ---------------------------------------------------------------------------------- */

static int unknown_class_error(const char *name, struct diag *d)
{
	struct nearest near = nearest_to(name);
	char classes[256] = "";
	const char *class;

	for (size_t i = 0; (class = class_name(i)); i++) {
		size_t used = strlen(classes);

		nearest_look(&near, class);
		snprintf(classes + used, sizeof(classes) - used, "%s%%%s", used ? " " : "", class);
	}
	if (near.best)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"no class named \"%s\"; did you mean \"%%%s\"?", name, near.best);
	return diag_set(d, DIAG_USAGE, EINVAL, "no class named \"%s\"; the classes are %s", name,
			classes);
}

static int unknown_name_error(const char *name, struct diag *d)
{
	struct nearest near = nearest_to(name);
	const char *other;

	if (class_find(name))
		return diag_set(d, DIAG_USAGE, EINVAL,
				"no system call named \"%s\"; did you mean the class \"%%%s\"?",
				name, name);
	for (int abi = 0; abi < NR_SYSCALL_ABI; abi++) {
		for (int nr = syscall_next(abi, -1); nr >= 0; nr = syscall_next(abi, nr))
			nearest_look(&near, syscall_find_name(abi, nr));
	}
	for (size_t i = 0; (other = family_name(i)); i++)
		nearest_look(&near, other);
	if (near.best)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"no system call or class named \"%s\"; did you mean \"%s\"?", name,
				near.best);
	return diag_set(d, DIAG_USAGE, EINVAL, "no system call or class named \"%s\"", name);
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

static int class_parse(struct set_term *term, const char *name, struct diag *d)
{
	name += *name == '%';
	term->kind = TERM_CLASS;
	term->trait = class_find(name);
	return term->trait ? 0 : unknown_class_error(name, d);
}

/* Fills in the regular expression of a term whose text has it between slashes. */
static int regex_parse(struct set_term *term, struct diag *d)
{
	char pattern[TERM_MAX], why[128];
	size_t length = strlen(term->text);
	bool is_closed = length > 2 && term->text[length - 1] == '/';
	int err;

	if (strpbrk(term->text, EXPENSIVE))
		return diag_set(d, DIAG_USAGE, EINVAL,
				"\"%s\": a regular expression cannot have {, } or \\ here",
				term->text);
	snprintf(pattern, sizeof(pattern), "%.*s", (int)(length - 1 - is_closed), term->text + 1);
	err = regcomp(&term->regex, pattern, REG_EXTENDED | REG_NOSUB);
	if (err) {
		regerror(err, &term->regex, why, sizeof(why));
		return diag_set(d, DIAG_USAGE, EINVAL, "\"%s\" is not a regular expression: %s",
				term->text, why);
	}
	term->kind = TERM_REGEX;
	return 0;
}

/* Fills in a term that is a pattern; a fault if it must match a call and does not. */
static int pattern_parse(struct set_term *term, bool is_optional, struct diag *d)
{
	int err = 0;

	if (*term->text == '/')
		err = regex_parse(term, d);
	else
		term->kind = TERM_GLOB;
	if (!err && !is_optional && !term_matches_any(term))
		err = diag_set(d, DIAG_USAGE, EINVAL, "no system call matches \"%s\"", term->text);
	return err;
}

static int name_parse(struct set_term *term, bool is_optional, struct diag *d)
{
	if (*term->text == '=') {
		term->kind = TERM_LITERAL;
		memmove(term->text, term->text + 1, strlen(term->text));
	} else {
		term->kind = TERM_NAME;
		term->family = family_of(term->text);
	}
	if (is_optional || term->family || syscall_exists(term->text))
		return 0;
	return unknown_name_error(term->text, d);
}

/* Fills in a term from its text, which is without "!". */
static int term_parse(struct set_term *term, struct diag *d)
{
	bool is_optional = *term->text == '?';

	if (*term->text == '%')
		return class_parse(term, term->text + 1, d);
	if (!strcmp(term->text, "all") || !strcmp(term->text, "none")) {
		term->kind = *term->text == 'a' ? TERM_ALL : TERM_CLASS;
		return 0;
	}
	if (is_optional)
		memmove(term->text, term->text + 1, strlen(term->text));
	if (number_parse(term->text, &term->nr)) {
		term->kind = TERM_NUMBER;
		return 0;
	}
	if (*term->text == '/' || strpbrk(term->text, "*?["))
		return pattern_parse(term, is_optional, d);
	return name_parse(term, is_optional, d);
}

static void term_done(struct set_term *term)
{
	if (term->kind == TERM_REGEX)
		regfree(&term->regex);
}

static int lone_sign_error(char sign, struct diag *d)
{
	return diag_set(d, DIAG_USAGE, EINVAL, "a \"%c\" needs a system call right after it", sign);
}

/* Adds the term of that length, its own "!" included. */
static int set_add(struct syscall_set *set, const char *text, size_t length, struct diag *d)
{
	bool is_not = *text == '!';
	struct set_term term = { .is_excluded = is_not || set->is_inverted };
	int err;

	text += is_not;
	length -= is_not;
	if (is_not && (!length || *text == '!'))
		return lone_sign_error('!', d);
	if (length == 1 && strchr("?=/%", *text))
		return lone_sign_error(*text, d);
	if (length >= sizeof(term.text))
		return diag_set(d, DIAG_USAGE, EINVAL,
				"no system call or class has a name of %zu bytes", length);
	memcpy(term.text, text, length);
	err = term_parse(&term, d);
	set->patterns += term.kind == TERM_GLOB || term.kind == TERM_REGEX;
	if (!err && set->patterns > MAX_PATTERNS)
		err = diag_set(d, DIAG_USAGE, EINVAL, "a list can have %d patterns at most",
			       MAX_PATTERNS);
	if (!err && !array_grow(&set->terms, set->count, sizeof(*set->terms)))
		err = diag_oom(d);
	if (err) {
		term_done(&term);
		return err;
	}
	set->terms[set->count++] = term;
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
			return lone_sign_error('!', d);
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

void syscall_set_free(struct syscall_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->count; i++)
		term_done(&set->terms[i]);
	free(set->terms);
	free(set);
}
