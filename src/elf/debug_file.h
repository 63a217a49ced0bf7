/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Separate debug files. They are found and opened as a process sees them, below a root directory
 * that its owner may change at any time; nothing of them is read there. Which of them is the right
 * one is seen by whoever reads them: a worker.
 */
#ifndef BPFTRUSS_DEBUG_FILE_H
#define BPFTRUSS_DEBUG_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MAX_BUILD_ID  64
#define MAX_DEBUGLINK 256

/*
 * What an ELF file says of itself, so that its separate debug file can be found. All of it is
 * untrusted, but in bounds and terminated.
 */
struct elf_identity {
	uint8_t build_id[MAX_BUILD_ID];
	char debuglink[MAX_DEBUGLINK]; /* a base name; empty: none */
	uint32_t debuglink_crc;
	uint16_t nr_build_id; /* bytes; 0: none */
	uint8_t has_symtab;   /* it needs no debug file for its names */
	uint8_t has_dwarf;    /* nor for the functions that were inlined */
	uint64_t load_offset; /* from offsets in the file to addresses, as its first code has it */
};

#define MAX_DEBUG_FILE_BYTES (4ULL << 30)

/* By build id, and by name in three places. */
#define MAX_DEBUG_FILES 4

/* No file, where one is chosen. */
#define DEBUG_FILE_NONE MAX_DEBUG_FILES

/*
 * Descriptors of regular files, the likeliest first; they may have been opened with O_PATH. All
 * zero: none.
 */
struct debug_files {
	int fds[MAX_DEBUG_FILES];
	size_t nr;
};

void debug_files_close(struct debug_files *files);

/*
 * What may be the separate debug file of a file at path (absolute below root_fd, as in
 * /proc/PID/maps; NULL: unknown, by build id only), root_fd being /proc/PID/root opened with O_PATH.
 * It has to be root's or of that file's owner: others map the file, too, and arrange what they see.
 */
void debug_files_open(int root_fd, const char *path, uid_t owner,
		      const struct elf_identity *identity, struct debug_files *ret);

/*
 * The first that is the file's: it has its build id, or else the checksum that the file asks for.
 * DEBUG_FILE_NONE: none is. Reads the files, which must be open for that: see elf/worker.h.
 */
size_t debug_files_choose(const struct debug_files *files, const struct elf_identity *identity);

#endif
