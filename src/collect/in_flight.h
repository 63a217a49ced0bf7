/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists what counted threads are doing right now, and what their calls wait for. */
#pragma once

#include "collect/collector.h"
#include "model/in_flight.h"

/*
 * Lists all counted threads; in_flight_done() is due in any case. The collector was opened with options.lists_calls. 0, or -errno with d filled.
 */
int collector_list_calls(const struct collector *collector, struct in_flight *ret, struct diag *d);

/*
 * Looks up what threads that are due wait for, without stopping them. Facts that cannot be read are
 * left out; a thread that has gone on is marked.
 */
void in_flight_look(struct in_flight *list);
