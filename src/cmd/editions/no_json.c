/* SPDX-License-Identifier: BSD-2-Clause */
/* Stands in for JSON in an edition that refuses the options which ask for it. */
#include "calls/exemplars.h"
#include "json/call.h"
#include "json/documents.h"
#include "json/exemplars.h"
#include "report/report.h"

int report_json(const struct snapshot *snapshot, FILE *out)
{
	(void)snapshot, (void)out;
	return -ENOTSUP;
}

int report_rows_json(const struct snapshot *snapshot, const struct report_options *options,
		     FILE *out)
{
	(void)snapshot, (void)options, (void)out;
	return -ENOTSUP;
}

int report_page(const struct snapshot *snapshot, const struct report_options *options, FILE *out)
{
	(void)snapshot, (void)options, (void)out;
	return -ENOTSUP;
}

int report_in_flight_json(const struct in_flight *list, FILE *out)
{
	(void)list, (void)out;
	return -ENOTSUP;
}

int report_call_json(struct call_decoder *decoder, const struct call_record *record,
		     int64_t real_ns, const struct stack *stack, FILE *out)
{
	(void)decoder, (void)record, (void)real_ns, (void)stack, (void)out;
	return -ENOTSUP;
}

size_t exemplars_choose(const struct exemplars *exemplars, const struct row *const *rows,
			size_t nr_rows, const struct exemplar *ret[EXEMPLARS_MAX])
{
	(void)exemplars, (void)rows, (void)nr_rows, (void)ret;
	return 0;
}
