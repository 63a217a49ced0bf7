/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes and reads the threads of a snapshot, where they are told apart. */
#include "json/json.h"

void json_put_threads(struct json_writer *to, const struct snapshot *snapshot)
{
	if (!snapshot->nr_threads)
		return;
	json_put_list(to, "threads");
	for (size_t i = 0; i < snapshot->nr_threads; i++) {
		const struct thread *thread = &snapshot->threads[i];

		/* In a part of a snapshot, only threads of its processes are written. */
		if (!snapshot_process_like(snapshot, &thread->its))
			continue;
		json_put_object(to, NULL);
		json_put_part(to, snapshot, thread->its.host);
		json_put_number(to, "pid", thread->its.pid);
		json_put_number(to, "start_ns", thread->its.boot_ns);
		json_put_number(to, "tid", thread->tid);
		json_put_number(to, "tid_start_ns", thread->tid_ns);
		json_put_bytes(to, "comm", thread->its.comm, PROCESS_COMM_SIZE);
		json_put_number_if(to, "ended_ns", thread->its.ended_ns != 0, thread->its.ended_ns);
		for (size_t j = 0; j < NR_PROCESS_COUNTS; j++)
			json_put_number(to, process_counts[j].name, process_count(&thread->its, j));
		json_put_end(to);
	}
	json_put_end(to);
}

void json_get_threads(const struct json_place *whole, struct snapshot *snapshot)
{
	const json_t *list = json_object_get(whole->object, "threads");
	struct json_place at;

	for (size_t i = 0; json_get_element(whole, list, i, &at); i++) {
		struct thread thread = { 0 };

		thread.its.host = json_get_part(&at, snapshot);
		thread.its.pid = (uint32_t)json_get_number(&at, "pid", JSON_32_BITS, 0);
		thread.its.boot_ns = json_get_number(&at, "start_ns", 0, 0);
		thread.tid = (uint32_t)json_get_number(&at, "tid", JSON_32_BITS, 0);
		thread.tid_ns = json_get_number(&at, "tid_start_ns", 0, 0);
		json_get_bytes(&at, "comm", thread.its.comm, PROCESS_COMM_SIZE);
		thread.its.ended_ns =
			json_get_number(&at, "ended_ns", JSON_OR_NULL | JSON_OR_ABSENT, 0);
		thread.its.threads = !thread.its.ended_ns;
		for (size_t j = 0; j < NR_PROCESS_COUNTS; j++)
			*(uint64_t *)((char *)&thread.its + process_counts[j].offset) =
				json_get_number(&at, process_counts[j].name, JSON_OR_ABSENT, 0);
		json_check(&at, snapshot_add_thread(snapshot, &thread));
	}
	snapshot_sort_threads(snapshot);
}
