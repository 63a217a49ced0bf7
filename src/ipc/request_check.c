/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the rules for the text of a request. Pure functions: nothing is decoded or changed. */
#include "ipc/request_check.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#define DELETE 0x7f

static bool is_control(unsigned char c)
{
	return c < ' ' || c == DELETE;
}

/* Value of a hexadecimal digit, -1 for what is none. */
static int digit_value(char c)
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	const char *found = c ? strchr(digits, c) : NULL;

	return found ? (int)(found - digits) % 16 : -1;
}

bool request_target_ok(const char *target)
{
	if (target[0] != '/')
		return false;
	for (; *target; target++) {
		int high, low;

		if (*target == ' ' || is_control((unsigned char)*target))
			return false;
		if (*target != '%')
			continue;
		high = digit_value(target[1]);
		low = high < 0 ? -1 : digit_value(target[2]);
		if (low < 0 || is_control((unsigned char)(high * 16 + low)))
			return false;
		target += 2;
	}
	return true;
}

bool request_text_ok(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (is_control((unsigned char)text[i]))
			return false;
	return true;
}

static bool port_ok(const char *port)
{
	return !*port || (*port == ':' && !port[1 + strspn(port + 1, "0123456789")]);
}

bool request_host_is_loopback(const char *host)
{
	const bool bracketed = host[0] == '[';
	const size_t length = bracketed ? strcspn(host, "]") : strcspn(host, ":");
	char name[INET6_ADDRSTRLEN];
	struct in6_addr in6;
	struct in_addr in;

	if (length >= sizeof(name) || (bracketed && !host[length]) ||
	    !port_ok(host + length + bracketed))
		return false;
	memcpy(name, host + bracketed, length - bracketed);
	name[length - bracketed] = '\0';
	if (bracketed)
		return inet_pton(AF_INET6, name, &in6) == 1 && IN6_IS_ADDR_LOOPBACK(&in6);
	if (!strcasecmp(name, "localhost"))
		return true;
	return inet_pton(AF_INET, name, &in) == 1 && ntohl(in.s_addr) >> 24 == IN_LOOPBACKNET;
}
