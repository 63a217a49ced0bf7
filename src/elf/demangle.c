/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the use of libiberty's demanglers, in their form that allocates nothing. */
#include "elf/demangle.h"

#include <setjmp.h>
#include <string.h>

#include <libiberty/demangle.h>

#define ELLIPSIS "..."

struct demangling {
	char *buf;
	size_t len;
	jmp_buf full; /* nothing else stops a demangler */
};

static void text_add(const char *text, size_t len, void *closure)
{
	struct demangling *demangling = closure;
	size_t room = DEMANGLED_SIZE - sizeof(ELLIPSIS) - demangling->len;
	size_t taken = len < room ? len : room;

	/* Of nothing they send NULL. */
	if (taken)
		memcpy(demangling->buf + demangling->len, text, taken);
	demangling->len += taken;
	if (taken < len)
		longjmp(demangling->full, 1);
}

bool symbol_demangle(const char *name, char buf[DEMANGLED_SIZE])
{
	struct demangling demangling = { .buf = buf };

	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
		return false;
	if (setjmp(demangling.full)) {
		strcpy(buf + DEMANGLED_SIZE - sizeof(ELLIPSIS), ELLIPSIS);
		return true;
	}
	/* Rust's older scheme looks like C++, which takes its hash for a part of the name. */
	if (!rust_demangle_callback(name, DMGL_NO_OPTS, text_add, &demangling)) {
		demangling.len = 0;
		if (!cplus_demangle_v3_callback(name, DMGL_NO_OPTS, text_add, &demangling))
			return false;
	}
	buf[demangling.len] = '\0';
	return demangling.len > 0;
}
