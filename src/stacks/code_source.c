/* SPDX-License-Identifier: BSD-2-Clause */
/* Closes, packs and unpacks what was opened of a file, and has its unwind table read. */
#include "stacks/code_source.h"

#include <fcntl.h>
#include <sys/stat.h>

void opened_code_close(struct opened_code *code)
{
	closep(&code->fd);
	closep(&code->root);
	free(code->path);
	free(code->name);
	*code = NO_CODE;
}

/* No server is asked: what it said when the file was opened is known here. */
bool opened_code_is_unchanged(const struct opened_code *code)
{
	struct statx status;

	if (!code->key.ino)
		return true;
	return !statx(code->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MTIME, &status) &&
	       status.stx_mtime.tv_sec == code->key.mtime_s &&
	       status.stx_mtime.tv_nsec == code->key.mtime_ns;
}

int opened_code_copy(const struct opened_code *code, struct opened_code *ret)
{
	struct opened_code copy __cleanup(opened_code_close) = {
		.fd = fcntl(code->fd, F_DUPFD_CLOEXEC, 0),
		.root = code->root < 0 ? -1 : fcntl(code->root, F_DUPFD_CLOEXEC, 0),
		.path = code->path ? strdup(code->path) : NULL,
		.key = code->key,
		.owner = code->owner,
	};

	if (copy.fd < 0)
		return -errno;
	if (!opened_code_is_unchanged(&copy))
		return -ESTALE;
	*ret = copy;
	copy = NO_CODE;
	return 0;
}

void opened_code_pack(struct opened_code *code, struct copy_answer *ret)
{
	ret->key = code->key;
	ret->numbers[0] = code->owner;
	if (code->fd >= 0)
		ret->fds[ret->nr_fds++] = code->fd;
	if (code->fd >= 0 && code->root >= 0)
		ret->fds[ret->nr_fds++] = code->root;
	snprintf(ret->text, sizeof(ret->text), "%s", code->path ?: "");
	snprintf(ret->name, sizeof(ret->name), "%s", code->name ?: "");
	code->fd = code->root = -1;
}

void opened_code_unpack(struct copy_answer *answer, struct opened_code *ret)
{
	*ret = (struct opened_code){
		.fd = answer->nr_fds > 0 ? answer->fds[0] : -1,
		.root = answer->nr_fds > 1 ? answer->fds[1] : -1,
		.key = answer->key,
		.owner = (uint32_t)answer->numbers[0],
		.path = answer->text[0] ? strdup(answer->text) : NULL,
		.name = answer->name[0] ? strdup(answer->name) : NULL,
	};
	answer->nr_fds = 0;
}

int code_table_start(int fd, const struct elf_proof *proof, struct child *ret)
{
	const struct elf_question question = { .kind = ELF_UNWIND, .fd = fd, .proof = proof };

	return elf_worker_start(&question, ret);
}

int code_table_finish(struct child *worker, struct elf_unwind **ret)
{
	return elf_worker_unwind(worker, ret);
}
