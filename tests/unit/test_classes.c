/* SPDX-License-Identifier: BSD-2-Clause */
/* Membership of system calls in classes and traits. */
#include "test.h"

#include "syscalls/names.h"

static const struct text_number rows[] = {
#include "syscalls/classes.inc"
};

static bool name_exists(const char *name)
{
	for (int abi = 0; abi < NR_SYSCALL_ABI; abi++) {
		if (syscall_find(abi, name) >= 0)
			return true;
	}
	return false;
}

/* A misspelt row would never match, an unsorted one not be found. */
TEST(test_rows_are_sound)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!name_exists(rows[i].text))
			fail_msg("%s is in no table", rows[i].text);
		if (i && strcmp(rows[i - 1].text, rows[i].text) >= 0)
			fail_msg("%s is out of order", rows[i].text);
		assert_int_not_equal(rows[i].number, 0);
		assert_int_equal(syscall_name_traits(rows[i].text), rows[i].number);
	}
}

static size_t class_size(unsigned int trait)
{
	size_t size = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		size += (rows[i].number & trait) != 0;
	return size;
}

TEST(test_classes_have_members)
{
	unsigned int seen = 0;
	size_t i;

	for (i = 0; class_name(i); i++) {
		unsigned int trait = class_find(class_name(i));

		assert_true(strlen(class_name(i)) > 0);
		assert_int_not_equal(trait, 0);
		assert_int_equal(trait & (trait - 1), 0);
		assert_int_equal(seen & trait, 0);
		assert_true(class_size(trait) > 0);
		seen |= trait;
	}
	assert_int_equal(i, 15);
	assert_all(!class_name(i + 1), !class_name(SIZE_MAX));
	assert_int_equal(seen & (TRAIT_MOVES_DATA | TRAIT_NO_RETURN | TRAIT_WAITS), 0);
	assert_int_equal(class_size(TRAIT_WAITS), 31);
}

TEST(test_unknown_classes)
{
	assert_int_equal(class_find(""), 0);
	assert_int_equal(class_find("%file"), 0);
	assert_int_equal(class_find("File"), 0);
	assert_int_equal(class_find("read"), 0);
}

TEST(test_spot_members)
{
	static const struct {
		const char *name;
		unsigned int has, lacks;
	} spots[] = {
		{ "openat", TRAIT_FILE | TRAIT_DESC, TRAIT_IO | TRAIT_NETWORK },
		{ "open", TRAIT_FILE | TRAIT_DESC, TRAIT_IO },
		{ "close", TRAIT_DESC, TRAIT_FILE | TRAIT_IO },
		{ "read", TRAIT_DESC | TRAIT_IO, TRAIT_FILE | TRAIT_NETWORK },
		{ "socket", TRAIT_DESC | TRAIT_NETWORK, TRAIT_IO | TRAIT_IPC },
		{ "mmap", TRAIT_MEMORY | TRAIT_DESC, TRAIT_FILE | TRAIT_IO },
		{ "mmap2", TRAIT_MEMORY | TRAIT_DESC, TRAIT_FILE | TRAIT_IO },
		{ "munmap", TRAIT_MEMORY, TRAIT_DESC },
		{ "execve", TRAIT_PROCESS | TRAIT_FILE, TRAIT_DESC | TRAIT_NO_RETURN },
		{ "kill", TRAIT_PROCESS | TRAIT_SIGNAL, TRAIT_IPC },
		{ "shmat", TRAIT_IPC | TRAIT_MEMORY, TRAIT_DESC },
		{ "setuid32", TRAIT_CREDS, TRAIT_PROCESS },
		{ "clock_gettime64", TRAIT_CLOCK, TRAIT_SIGNAL },
		{ "stat64", TRAIT_STAT | TRAIT_FILE, TRAIT_DESC | TRAIT_LSTAT | TRAIT_FSTAT },
		{ "lstat", TRAIT_LSTAT | TRAIT_FILE, TRAIT_DESC | TRAIT_STAT },
		{ "newfstatat", TRAIT_FSTAT | TRAIT_FILE | TRAIT_DESC, TRAIT_STAT },
		{ "fstat", TRAIT_FSTAT | TRAIT_DESC, TRAIT_FILE },
		{ "statfs64", TRAIT_STATFS | TRAIT_FILE, TRAIT_FSTATFS },
		{ "fstatfs", TRAIT_FSTATFS | TRAIT_DESC, TRAIT_STATFS },
		{ "getpid", 0, ~0U },
		{ "clock_nanosleep", TRAIT_WAITS, TRAIT_CLOCK },
		{ "", 0, ~0U },
		{ "zzz", 0, ~0U },
	};

	for (size_t i = 0; i < ARRAY_SIZE(spots); i++) {
		unsigned int traits = syscall_name_traits(spots[i].name);

		if ((traits & spots[i].has) != spots[i].has || (traits & spots[i].lacks))
			fail_msg("%s has traits 0x%x", spots[i].name, traits);
	}
}

/* A wrong row here would print a sum of something else as bytes. */
TEST(test_moves_data)
{
	static const char yes[] =
		"read write pread64 pwrite64 readv writev preadv pwritev preadv2 "
		"pwritev2 sendto recvfrom sendmsg recvmsg send recv sendfile "
		"sendfile64 splice tee vmsplice copy_file_range getrandom getdents "
		"getdents64 process_vm_readv process_vm_writev msgrcv mq_timedreceive "
		"mq_timedreceive_time64";
	static const char no[] =
		"recvmmsg sendmmsg readlink readlinkat getcwd getxattr lseek msgsnd "
		"mq_timedsend io_uring_enter poll open mmap";
	char name[MAX_WORD];
	size_t count = 0;

	for (const char *at = yes; word_read(&at, name); count++)
		assert_true(syscall_name_traits(name) & TRAIT_MOVES_DATA);
	for (const char *at = no; word_read(&at, name);)
		assert_false(syscall_name_traits(name) & TRAIT_MOVES_DATA);
	assert_int_equal(count, 30);
	assert_int_equal(class_size(TRAIT_MOVES_DATA), count);
	assert_int_equal(class_size(TRAIT_NO_RETURN), 2);
}

/* 60 is exit in one ABI and umask in another. */
TEST(test_traits_by_number)
{
	assert_all(syscall_has_trait(ABI_X86_64, 60, TRAIT_NO_RETURN),
		   syscall_has_trait(ABI_X86_64, 231, TRAIT_NO_RETURN),
		   !syscall_has_trait(ABI_I386, 60, TRAIT_NO_RETURN),
		   syscall_has_trait(ABI_I386, 1, TRAIT_NO_RETURN),
		   syscall_has_trait(ABI_ARM64, 93, TRAIT_NO_RETURN),
		   syscall_has_trait(ABI_X86_64, 0, TRAIT_MOVES_DATA),
		   !syscall_has_trait(ABI_I386, 0, TRAIT_MOVES_DATA),
		   syscall_has_trait(ABI_X86_64, 0, TRAIT_FILE | TRAIT_IO),
		   !syscall_has_trait(ABI_X86_64, 0, TRAIT_FILE),
		   !syscall_has_trait(ABI_X86_64, 0, 0), !syscall_has_trait(ABI_X86_64, -1, ~0U),
		   !syscall_has_trait(ABI_X86_64, INT_MAX, ~0U),
		   !syscall_has_trait(NR_SYSCALL_ABI, 0, ~0U));
}
