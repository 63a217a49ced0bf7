/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of C++ and Rust as their authors wrote them, without parameters and hashes. */
#ifndef BPFTRUSS_DEMANGLE_H
#define BPFTRUSS_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/* What does not fit is cut and ends in "...". */
#define DEMANGLED_SIZE 1024

/* False: the name is not mangled. A short name may stand for a very long one: it costs no more than
 * what fits. */
bool symbol_demangle(const char *name, char buf[DEMANGLED_SIZE]);

#endif
