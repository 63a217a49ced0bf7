/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes and reads where something was counted: the host, the parts of a merged snapshot, containers. In a merged
 * snapshot whatever is of one host has its name, and the index of its part.
 */
#include "json/json.h"

void json_put_origin(struct json_writer *to, const struct snapshot *snapshot)
{
	json_put_text(to, "host", snapshot->host ?: "");
	json_put_text(to, "boot_id", snapshot->boot_id ?: "");
	json_put_text(to, "kernel", snapshot->kernel ?: "");
	json_put_time(to, "start", snapshot->start_ns);
	json_put_time(to, "end", snapshot->end_ns);
	json_put_number(to, "elapsed_ns", snapshot->elapsed_ns);
}

void json_put_part(struct json_writer *to, const struct snapshot *snapshot, uint32_t host)
{
	if (!snapshot->origins)
		return;
	json_put_text(to, "host", host == HOST_ALL ? NULL : snapshot_host(snapshot, host));
	json_put_number_if(to, "part", host != HOST_ALL, host);
}

uint32_t json_get_part(const struct json_place *at, const struct snapshot *snapshot)
{
	uint64_t part;

	if (!snapshot->origins)
		return 0;
	part = json_get_number(at, "part", JSON_OR_NULL | JSON_32_BITS, HOST_ALL);
	if (part != HOST_ALL && part >= snapshot->origins->count)
		json_refuse(at, "part is beyond the list of parts");
	return (uint32_t)part;
}

void json_put_parts(struct json_writer *to, const struct snapshot *snapshot)
{
	const struct origins *origins = snapshot->origins;

	if (!origins)
		return;
	json_put_list(to, "parts");
	for (size_t i = 0; i < origins->count; i++) {
		const struct origin *origin = &origins->items[i];

		json_put_object(to, NULL);
		json_put_text(to, "host", origin->host);
		json_put_text(to, "boot_id", origin->boot_id);
		json_put_text(to, "kernel", origin->kernel);
		json_put_text(to, "version", origin->version);
		json_put_time(to, "start", origin->start_ns);
		json_put_time(to, "end", origin->end_ns);
		json_put_number(to, "elapsed_ns", origin->elapsed_ns);
		if (origin->paused_ns)
			json_put_number(to, "paused_ns", origin->paused_ns);
		json_put_number(to, "monotonic_ns", origin->end_mono_ns);
		json_put_bool(to, "exact", origin->is_exact);
		json_put_end(to);
	}
	json_put_end(to);
}

static void read_part(const struct json_place *at, struct origins *origins)
{
	char *host __cleanup(freep) = json_get_text(at, "host", 0);
	char *boot_id __cleanup(freep) = json_get_text(at, "boot_id", 0);
	char *kernel __cleanup(freep) = json_get_text(at, "kernel", 0);
	char *version __cleanup(freep) = json_get_text(at, "version", 0);
	const struct origin origin = {
		.host = host,
		.boot_id = boot_id,
		.kernel = kernel,
		.version = version,
		.start_ns = json_get_time(at, "start"),
		.end_ns = json_get_time(at, "end"),
		.elapsed_ns = json_get_number(at, "elapsed_ns", 0, 0),
		.paused_ns = json_get_number(at, "paused_ns", JSON_OR_ABSENT, 0),
		.end_mono_ns = json_get_number(at, "monotonic_ns", 0, 0),
		.is_exact = json_get_bool(at, "exact", 0),
	};

	json_check(at, origins_add(origins, &origin));
}

void json_get_parts(const struct json_place *whole, struct snapshot *snapshot)
{
	const json_t *list = json_object_get(whole->object, "parts");
	const bool is_exact = json_get_bool(whole, "exact", 0);
	struct json_place at;

	snapshot->version = json_get_text(whole, "version", 0);
	if (!list)
		return;
	json_check(whole, origins_new(&snapshot->origins));
	for (size_t i = 0; json_get_element(whole, list, i, &at); i++) {
		read_part(&at, snapshot->origins);
		if (is_exact && !whole->document->err && !snapshot->origins->items[i].is_exact)
			json_refuse(&at, "a part is not exact, but the whole is");
	}
	if (!whole->document->err && !snapshot->origins->count)
		json_refuse(whole, "parts has none");
}

/* --- containers ---------------------------------------------------------------------------------- */

void json_put_container(struct json_writer *to, const struct container *container)
{
	char name[CONTAINER_NAME_MAX] = "";

	if (container)
		container_write(container, true, name);
	json_put_text(to, "container", container ? name : NULL);
	json_put_text(to, "runtime",
		      container ? container_runtime_names[container->runtime] : NULL);
}

void json_put_pod(struct json_writer *to, const struct container *container)
{
	char name[CONTAINER_NAME_MAX] = "";

	if (container)
		container_write_pod(container, true, name);
	json_put_text(to, "pod", container ? name : NULL);
	json_put_text(to, "qos", container ? pod_qos_names[container->qos] : NULL);
}
