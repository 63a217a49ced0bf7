/* SPDX-License-Identifier: BSD-2-Clause */
/* Globs as automata that a BPF program can run; see struct selector. */
#ifndef BPFTRUSS_GLOB_H
#define BPFTRUSS_GLOB_H

#include "base/diag.h"
#include "bpftruss/abi.h"

/*
 * Compiles a glob (* ? [a-z] [!a-z] \x) into the automaton of a selector. A process name has at
 * most 15 bytes, so a pattern without a star is cut there, as the kernel cuts names. Returns 0, or
 * fills d: an empty pattern, an open bracket, or more than 31 tokens.
 */
int glob_compile(const char *glob, struct selector *selector, struct diag *d);

#endif
