/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes addresses of sockets. */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "calls/sets.h"
#include "calls/structures.h"

/* Text that looks like a call: htons(80). */
__attribute__((format(printf, 4, 5))) static void
put_form(struct value_writer *to, const char *field, uint64_t value, const char *format, ...)
{
	char text[INET6_ADDRSTRLEN + 64];
	va_list args;
	int length;

	if (field)
		to->ops->field(to, field);
	va_start(args, format);
	length = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	to->ops->symbol(to, text, (size_t)length, value);
}

/* JSON has plain numbers. */
static void put_port(struct value_writer *to, const char *field, uint16_t port)
{
	if (to->style == STYLE_STRACE) {
		put_form(to, field, ntohs(port), "htons(%u)", ntohs(port));
		return;
	}
	to->ops->field(to, field);
	to->ops->natural(to, ntohs(port));
}

static void put_host(struct value_writer *to, const char *field, int family, const void *address)
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(family, address, text, sizeof(text));
	if (to->style == STYLE_STRACE && family == AF_INET)
		put_form(to, field, 0, "inet_addr(\"%s\")", text);
	else if (to->style == STYLE_STRACE)
		/* The field is a part of this form. */
		put_form(to, "", 0, "inet_pton(AF_INET6, \"%s\", &%s)", text, field);
	else {
		to->ops->field(to, field);
		to->ops->string(to, text, strlen(text), false);
	}
}

static void put_inet(struct value_writer *to, const unsigned char *bytes, size_t size)
{
	struct sockaddr_in address;

	(void)size;
	memcpy(&address, bytes, sizeof(address));
	put_port(to, "sin_port", address.sin_port);
	put_host(to, "sin_addr", AF_INET, &address.sin_addr);
}

static void put_inet6(struct value_writer *to, const unsigned char *bytes, size_t size)
{
	struct sockaddr_in6 address = { 0 };

	memcpy(&address, bytes, size < sizeof(address) ? size : sizeof(address));
	put_port(to, "sin6_port", address.sin6_port);
	if (to->style == STYLE_STRACE) {
		put_form(to, "sin6_flowinfo", ntohl(address.sin6_flowinfo), "htonl(%u)",
			 ntohl(address.sin6_flowinfo));
	} else if (address.sin6_flowinfo) {
		to->ops->field(to, "sin6_flowinfo");
		to->ops->natural(to, ntohl(address.sin6_flowinfo));
	}
	put_host(to, "sin6_addr", AF_INET6, &address.sin6_addr);
	if (to->style == STYLE_STRACE || address.sin6_scope_id) {
		to->ops->field(to, "sin6_scope_id");
		to->ops->natural(to, address.sin6_scope_id);
	}
}

/* An abstract name begins with a NUL, which is written as @ before it. */
static void put_unix(struct value_writer *to, const unsigned char *bytes, size_t size)
{
	const char *path = (const char *)bytes + offsetof(struct sockaddr_un, sun_path);
	size_t length = size - offsetof(struct sockaddr_un, sun_path);

	if (!length)
		return;
	if (*path) {
		to->ops->field(to, "sun_path");
		to->ops->string(to, path, strnlen(path, length), false);
		return;
	}
	to->ops->field(to, to->style == STYLE_JSON ? "sun_abstract" : "sun_path");
	if (to->style != STYLE_JSON)
		to->ops->symbol(to, "@", 1, 0);
	to->ops->string(to, path + 1, length - 1, false);
}

static void put_netlink(struct value_writer *to, const unsigned char *bytes, size_t size)
{
	struct sockaddr_nl address;

	(void)size;
	memcpy(&address, bytes, sizeof(address));
	to->ops->field(to, "nl_pid");
	to->ops->number(to, (int32_t)address.nl_pid);
	put_form(to, "nl_groups", address.nl_groups, "0x%06x", address.nl_groups);
}

static void put_packet(struct value_writer *to, const unsigned char *bytes, size_t size)
{
	struct sockaddr_ll address;

	(void)size;
	memcpy(&address, bytes, sizeof(address));
	put_form(to, "sll_protocol", ntohs(address.sll_protocol), "htons(0x%x)",
		 ntohs(address.sll_protocol));
	to->ops->field(to, "sll_ifindex");
	to->ops->number(to, address.sll_ifindex);
	to->ops->field(to, "sll_hatype");
	to->ops->hex(to, address.sll_hatype);
	to->ops->field(to, "sll_pkttype");
	to->ops->natural(to, address.sll_pkttype);
	to->ops->field(to, "sll_halen");
	to->ops->natural(to, address.sll_halen);
	to->ops->field(to, "sll_addr");
	to->ops->string(to, address.sll_addr,
			address.sll_halen < sizeof(address.sll_addr) ? address.sll_halen
								     : sizeof(address.sll_addr),
			false);
}

static const struct {
	sa_family_t family;
	size_t least; /* bytes that it takes to make sense */
	void (*put)(struct value_writer *to, const unsigned char *bytes, size_t size);
} families[] = {
	{ AF_INET, sizeof(struct sockaddr_in), put_inet },
	{ AF_INET6, offsetof(struct sockaddr_in6, sin6_scope_id), put_inet6 },
	{ AF_UNIX, offsetof(struct sockaddr_un, sun_path), put_unix },
	{ AF_NETLINK, sizeof(struct sockaddr_nl), put_netlink },
	{ AF_PACKET, sizeof(struct sockaddr_ll), put_packet },
};

void sockaddr_put(struct value_writer *to, const struct call_memory *memory)
{
	sa_family_t family;
	size_t i = 0;

	if (memory->size < sizeof(family)) {
		to->ops->string(to, memory->bytes, memory->size, memory->flags & PIECE_CUT);
		return;
	}
	memcpy(&family, memory->bytes, sizeof(family));
	to->ops->group(to, GROUP_STRUCT);
	to->ops->field(to, "sa_family");
	set_put_enum(to, own_set(to, OWN_FAMILY), family);
	while (i < ARRAY_SIZE(families) &&
	       (families[i].family != family || memory->size < families[i].least))
		i++;
	if (i < ARRAY_SIZE(families)) {
		families[i].put(to, memory->bytes, memory->size);
	} else if (memory->size > sizeof(family)) {
		to->ops->field(to, "sa_data");
		to->ops->string(to, memory->bytes + sizeof(family), memory->size - sizeof(family),
				memory->flags & PIECE_CUT);
	}
	to->ops->group_end(to);
}
