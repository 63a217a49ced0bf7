/* SPDX-License-Identifier: BSD-2-Clause */
/* Globs as automata, which a BPF program can run, too; see struct selector. */
#ifndef BPFTRUSS_GLOB_H
#define BPFTRUSS_GLOB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"
#include "bpftruss/abi.h"

/*
 * Compiles a glob (* ? [a-z] [!a-z] \x) into the automaton of a selector. A process name has at
 * most 15 bytes, so a pattern without a star is cut there, as the kernel cuts names. Returns 0, or
 * fills d: an empty pattern, an open bracket, or more than 31 tokens.
 */
int glob_compile(const char *glob, struct selector *selector, struct diag *d);

/* Whether a name, up to a NUL or size, matches: the answer is that of the BPF program. */
bool glob_matches(const struct selector *selector, const char *name, size_t size);

#endif
