/* SPDX-License-Identifier: BSD-2-Clause */
/* Spells addresses of sockets. */
#pragma once

#include "base/mem.h"

/* Bytes that hold any address, with its NUL. */
#define ADDRESS_MAX 128

/*
 * Writes a struct sockaddr of so many bytes: 127.0.0.1:80, [::1]:80, or the path of a unix socket, whose
 * bytes are untrusted; an abstract name begins with "@", as ss(8) has it. Returns the length; 0: it has no
 * address, or one that makes no sense.
 */
size_t address_format(const void *address, size_t size, char buf[ADDRESS_MAX]);
