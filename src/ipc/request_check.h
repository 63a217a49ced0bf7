/* SPDX-License-Identifier: BSD-2-Clause */
/* What of a request's text is taken for good. */
#ifndef BPFTRUSS_REQUEST_CHECK_H
#define BPFTRUSS_REQUEST_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A path with its query, before it is decoded: begins with a slash, has no blank or control
 * character, neither as it is nor behind a percent sign, and each percent sign has two digits.
 */
bool request_target_ok(const char *target);

/* Does text of so many bytes lack NUL and other control characters? */
bool request_text_ok(const char *text, size_t size);

/* Is this value of a Host header localhost or an address of it, with or without a port? */
bool request_host_is_loopback(const char *host);

#endif
