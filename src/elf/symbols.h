/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parsers that say which functions addresses belong to: symbols of an ELF file, lines of a JIT's
 * perf map, inlined functions of DWARF. They parse in the calling process: see elf/worker.h. Each
 * returns 0, -ENOMEM, -EBADMSG (no such file) or -E2BIG.
 */
#pragma once

#include "elf/functions.h"

/*
 * The symbols of some offsets in a file, by their ELF virtual addresses: of its .symtab, else of the
 * debug file that is the file's, else of its .dynsym and .gnu_debugdata. An address that no symbol
 * owns has none; never its neighbour's.
 */
int elf_symbols_read(int fd, const struct debug_files *debug, const struct elf_addresses *offsets,
		     struct elf_functions **ret);

/* A larger map names nothing: it would take a worker too long, and too much memory. */
#define MAX_PERF_MAP_BYTES (32u << 20)

/*
 * Opens the map of a process: root_fd is its /proc/PID/root, pid its own in its namespace. A map that
 * neither root nor uid owns is refused, as anybody may write to /tmp, and so is one that only root may
 * read, as a mount may have put it there. Returns a descriptor opened with O_PATH, or -ENOENT, -EPERM, …
 */
int perf_map_open(int root_fd, pid_t pid, uid_t uid);

/*
 * Reads the names of some addresses in the process of a perf map. Where lines overlap the later
 * wins; lines that make no sense are passed over.
 */
int perf_map_read(int fd, const struct elf_addresses *addresses, struct elf_functions **ret);

/*
 * The functions that were inlined at some ELF virtual addresses, as the DWARF of a file tells, which may
 * be a debug file. An address about which nothing is found, in the time that there is, has none.
 */
int elf_inlines_read(int fd, const struct elf_addresses *addresses, struct elf_functions **ret);
