/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests lines of calls about sockets, memory, processes, signals and time. */
#include <linux/sched.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <time.h>

#include "call_fixture.h"

TEST(test_sockets)
{
	struct sockaddr_in inet = { AF_INET, htons(4711), { htonl(INADDR_LOOPBACK) }, { 0 } };
	struct sockaddr_in6 inet6 = { AF_INET6, htons(80), 0, IN6ADDR_LOOPBACK_INIT, 3 };

	CHECK({ "socket",
		{ AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP },
		5,
		{ { 0 } },
		"socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_TCP) = 5",
		NULL },
	      { "socket",
		{ AF_UNIX, SOCK_DGRAM, 0 },
		5,
		{ { 0 } },
		"socket(AF_UNIX, SOCK_DGRAM, 0) = 5",
		NULL },
	      { "socket",
		{ AF_NETLINK, SOCK_RAW, 0 },
		5,
		{ { 0 } },
		"socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE) = 5",
		NULL },
	      { "socketpair",
		{ AF_UNIX, SOCK_STREAM, 0, 0x10 },
		0,
		{ THING_AT(3, ((int[]){ 3, 4 })) },
		"socketpair(AF_UNIX, SOCK_STREAM, 0, [3, 4]) = 0",
		NULL },
	      { "connect",
		{ 5, 0x10, 16 },
		ERR(EINPROGRESS),
		{ THING_AT(1, inet) },
		"connect(5, {sa_family=AF_INET, sin_port=4711, sin_addr=\"127.0.0.1\"}, 16) "
		"Err#115 EINPROGRESS",
		"connect(5, {sa_family=AF_INET, sin_port=htons(4711), "
		"sin_addr=inet_addr(\"127.0.0.1\")}, 16) = -1 EINPROGRESS (Operation now in "
		"progress)" },
	      { "bind",
		{ 5, 0x10, 28 },
		0,
		{ THING_AT(1, inet6) },
		"bind(5, {sa_family=AF_INET6, sin6_port=80, sin6_addr=\"::1\", sin6_scope_id=3}, "
		"28) "
		"= 0",
		"bind(5, {sa_family=AF_INET6, sin6_port=htons(80), sin6_flowinfo=htonl(0), "
		"inet_pton(AF_INET6, \"::1\", &sin6_addr), sin6_scope_id=3}, 28) = 0" },
	      { "connect",
		{ 5, 0x10, 9 },
		0,
		{ BYTES_AT(1, "\1\0/run/x") },
		"connect(5, {sa_family=AF_UNIX, sun_path=\"/run/x\"}, 9) = 0",
		NULL },
	      { "connect",
		{ 5, 0x10, 6 },
		0,
		{ BYTES_AT(1, "\1\0\0abs") },
		"connect(5, {sa_family=AF_UNIX, sun_path=@\"abs\"}, 6) = 0",
		NULL },
	      { "connect",
		{ 5, 0x10, 2 },
		0,
		{ BYTES_AT(1, "\1\0") },
		"connect(5, {sa_family=AF_UNIX}, 2) = 0",
		NULL },
	      { "connect",
		{ 5, 0x10, 5 },
		0,
		{ BYTES_AT(1, "\x63\0abc") },
		"connect(5, {sa_family=0x63, sa_data=\"abc\"}, 5) = 0",
		NULL },
	      { "bind",
		{ 5, 0x10, 12 },
		0,
		{ BYTES_AT(1, "\20\0\0\0\5\0\0\0\1\0\0\0") },
		"bind(5, {sa_family=AF_NETLINK, nl_pid=5, nl_groups=0x000001}, 12) = 0",
		NULL },
	      { "accept4",
		{ 5, 0x10, 0x20, SOCK_CLOEXEC },
		6,
		{ THING_AT(1, inet), THING_AT(2, (uint32_t){ 16 }) },
		"accept4(5, {sa_family=AF_INET, sin_port=4711, sin_addr=\"127.0.0.1\"}, [16], "
		"SOCK_CLOEXEC) = 6",
		"accept4(5, {sa_family=AF_INET, sin_port=htons(4711), "
		"sin_addr=inet_addr(\"127.0.0.1\")}, [16], SOCK_CLOEXEC) = 6" },
	      { "accept", { 5, 0, 0 }, 6, { { 0 } }, "accept(5, NULL, NULL) = 6", NULL },
	      { "setsockopt",
		{ 5, SOL_SOCKET, SO_REUSEADDR, 0x10, 4 },
		0,
		{ THING_AT(3, (int){ 1 }) },
		"setsockopt(5, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0",
		NULL },
	      { "getsockopt",
		{ 5, 6, 1, 0x10, 0x20 },
		0,
		{ THING_AT(3, (int){ 0 }), THING_AT(4, (uint32_t){ 4 }) },
		"getsockopt(5, SOL_TCP, TCP_NODELAY, [0], [4]) = 0",
		NULL },
	      { "sendto",
		{ 5, 0x10, 2, MSG_DONTWAIT, 0, 0 },
		2,
		{ BYTES_AT(1, "hi") },
		"sendto(5, \"hi\", 2, MSG_DONTWAIT, NULL, 0) = 2",
		NULL },
	      { "recvfrom",
		{ 5, 0x10, 100, 0, 0, 0 },
		2,
		{ BYTES_AT(1, "hi") },
		"recvfrom(5, \"hi\", 100, 0, NULL, NULL) = 2",
		NULL },
	      { "shutdown", { 5, SHUT_RDWR }, 0, { { 0 } }, "shutdown(5, SHUT_RDWR) = 0", NULL },
	      { "listen", { 5, 128 }, 0, { { 0 } }, "listen(5, 128) = 0", NULL });
}

/* The lines as strace writes them. */
TEST(test_orders_and_ends)
{
	CHECK({ "openat",
		{ CWD, 1, O_NONBLOCK | O_DIRECTORY | O_CLOEXEC },
		3,
		{ TEXT_AT(1, "/") },
		"openat(AT_FDCWD, \"/\", O_RDONLY|O_NONBLOCK|O_CLOEXEC|O_DIRECTORY) = 3",
		NULL },
	      { "socket",
		{ AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0 },
		3,
		{ { 0 } },
		"socket(AF_UNIX, SOCK_STREAM|SOCK_CLOEXEC|SOCK_NONBLOCK, 0) = 3",
		NULL },
	      { "getsockopt",
		{ 5, SOL_SOCKET, SO_ERROR, 0x10, 0x20 },
		0,
		{ THING_AT(3, (int){ ECONNREFUSED }), THING_AT(4, (uint32_t){ 4 }) },
		"getsockopt(5, SOL_SOCKET, SO_ERROR, [ECONNREFUSED], [4]) = 0",
		NULL },
	      { "kill", { 5, SIGIO }, 0, { { 0 } }, "kill(5, SIGIO) = 0", NULL },
	      { "getdents64",
		{ 3, 0x10, 32768 },
		0,
		{ { 0 } },
		"getdents64(3, 0x10, 32768) = 0",
		NULL },
	      { "mremap",
		{ 0x1000, 1, 2, 1, 9 },
		0x1000,
		{ { 0 } },
		"mremap(0x1000, 1, 2, MREMAP_MAYMOVE) = 0x1000",
		NULL },
	      { "rseq",
		{ 0x7f00, 32, 0, 0x53053053 },
		0,
		{ { 0 } },
		"rseq(0x7f00, 0x20, 0, 0x53053053) = 0",
		NULL },
	      { "clone3",
		{ 0x10, 64 },
		102,
		{ { 0, PART_SELF, 0, "\0\1\0\0\0\0\0\0", 8 } },
		"clone3({flags=CLONE_VM, ...}, 64) = 102",
		NULL },
	      { "clone3",
		{ 0x10, 8 },
		102,
		{ { 0, PART_SELF, 0, "\0\1\0\0\0\0\0\0", 8 } },
		"clone3({flags=CLONE_VM}, 8) = 102",
		NULL },
	      { "futex",
		{ 0x7f00, 0x189, 5, 0, 0, UINT64_MAX },
		0,
		{ { 0 } },
		"futex(0x7f00, FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, 5, NULL, "
		"FUTEX_BITSET_MATCH_ANY) = 0",
		NULL },
	      /* The piece has more than was received. */
	      { "recvfrom",
		{ 5, 0x10, 100, 0, 0, 0 },
		2,
		{ { 1, PART_SELF, PIECE_CUT, "hi and more", 11 } },
		"recvfrom(5, \"hi\", 100, 0, NULL, NULL) = 2",
		NULL });
}

TEST(test_messages)
{
	const uint64_t iovec[] = { 0x20, 5, 0x30, 6 }, one[] = { 0x20, 100 };
	const uint64_t sent[7] = { 0, 0, 0x40, 2, 0, 0, 0 }, got[7] = { 0, 0, 0x40, 1, 0, 0, 0 };
	const uint64_t named[7] = { 0x50, 16, 0x40, 1, 0x60, 24, MSG_TRUNC };
	struct sockaddr_in inet = { AF_INET, htons(53), { htonl(INADDR_LOOPBACK) }, { 0 } };

	CHECK({ "sendmsg",
		{ 5, 0x10, MSG_NOSIGNAL },
		11,
		{ THING_AT(1, sent),
		  { 1, PART_IOVEC, 0, iovec, sizeof(iovec) },
		  PART_AT(1, PART_BUFFERS, "hello"),
		  PART_AT(1, PART_BUFFERS + 1, "wor\001ld") },
		"sendmsg(5, {msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base=\"hello\", "
		"iov_len=5}, {iov_base=\"wor\\1ld\", iov_len=6}], msg_iovlen=2, msg_controllen=0, "
		"msg_flags=0}, MSG_NOSIGNAL) = 11",
		NULL },
	      { "recvmsg",
		{ 5, 0x10, 0 },
		2,
		{ THING_AT(1, got),
		  { 1, PART_IOVEC, 0, one, sizeof(one) },
		  PART_AT(1, PART_BUFFERS, "hi") },
		"recvmsg(5, {msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base=\"hi\", "
		"iov_len=100}], "
		"msg_iovlen=1, msg_controllen=0, msg_flags=0}, 0) = 2",
		NULL },
	      { "recvmsg",
		{ 5, 0x10, 0 },
		2,
		{ THING_AT(1, named),
		  { 1, PART_NAME, 0, &inet, sizeof(inet) },
		  { 1, PART_IOVEC, 0, one, sizeof(one) },
		  PART_AT(1, PART_BUFFERS, "hi") },
		"recvmsg(5, {msg_name={sa_family=AF_INET, sin_port=53, sin_addr=\"127.0.0.1\"}, "
		"msg_namelen=16, msg_iov=[{iov_base=\"hi\", iov_len=100}], msg_iovlen=1, "
		"msg_control=0x60, msg_controllen=24, msg_flags=MSG_TRUNC}, 0) = 2",
		"recvmsg(5, {msg_name={sa_family=AF_INET, sin_port=htons(53), "
		"sin_addr=inet_addr(\"127.0.0.1\")}, msg_namelen=16, msg_iov=[{iov_base=\"hi\", "
		"iov_len=100}], msg_iovlen=1, msg_control=0x60, msg_controllen=24, "
		"msg_flags=MSG_TRUNC}, 0) = 2" });
}

/* The kernel writes of an address as much as there is room for, and how long it is. */
TEST(test_room_for_an_address)
{
	static const struct {
		int room;
		const char *truss, *strace;
	} cases[] = {
		{ 0, "getpeername(5, 0x10, [0 => 16]) = 0", NULL },
		{ 16,
		  "getpeername(5, {sa_family=AF_INET, sin_port=80, sin_addr=\"127.0.0.1\"}, [16]) "
		  "= 0",
		  "getpeername(5, {sa_family=AF_INET, sin_port=htons(80), "
		  "sin_addr=inet_addr(\"127.0.0.1\")}, [16]) = 0" },
		{ 64,
		  "getpeername(5, {sa_family=AF_INET, sin_port=80, sin_addr=\"127.0.0.1\"}, [64 => "
		  "16]) = 0",
		  "getpeername(5, {sa_family=AF_INET, sin_port=htons(80), "
		  "sin_addr=inet_addr(\"127.0.0.1\")}, [64 => 16]) = 0" },
	};
	const unsigned char address[16] = { 2, 0, 0, 80, 127, 0, 0, 1 };
	const int length = sizeof(address);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK({ "getpeername",
			{ 5, 0x10, 0x20 },
			0,
			{ { 1, PART_SELF, PIECE_AT_EXIT, address, sizeof(address) },
			  { 2, PART_SELF, 0, &cases[i].room, sizeof(int) },
			  { 2, PART_AFTER, PIECE_AT_EXIT, &length, sizeof(length) } },
			cases[i].truss,
			cases[i].strace });
	/* How much room there was, nobody knows. */
	CHECK({ "getpeername",
		{ 5, 0x10, 0x20 },
		0,
		{ { 1, PART_SELF, PIECE_AT_EXIT, address, sizeof(address) },
		  { 2, PART_SELF, PIECE_AT_EXIT, &length, sizeof(length) },
		  { 2, PART_AFTER, PIECE_AT_EXIT, &length, sizeof(length) } },
		"getpeername(5, 0x10, 0x20 => [16]) = 0",
		NULL });
}

#define CONTROL_HEAD \
	"sendmsg(5, {msg_name=NULL, msg_namelen=0, msg_iov=NULL, msg_iovlen=0, msg_control=["
#define CONTROL_TAIL "], msg_controllen=%d, msg_flags=0}, 0) = 0"

static void control_check(const void *bytes, size_t size, uint64_t length, const char *expected)
{
	const uint64_t message[7] = { 0, 0, 0, 0, 0x60, length, 0 };
	char line[512];

	snprintf(line, sizeof(line), CONTROL_HEAD "%s" CONTROL_TAIL, expected, (int)length);
	CHECK({ "sendmsg",
		{ 5, 0x10, 0 },
		0,
		{ THING_AT(1, message), { 1, PART_CONTROL, 0, bytes, size } },
		line,
		NULL });
}

/* A length that fills all that there can be: what comes behind it is nowhere. */
static void control_check_endless(void)
{
	enum { DATA = 128 - 16 };
	uint64_t bytes[16];
	const uint64_t message[7] = { 0, 0, 0, 0, 0x60, UINT64_MAX, 0 };
	char data[4 * DATA + 1], line[1024];

	memset(bytes, 0xff, sizeof(bytes));
	for (size_t i = 0; i < DATA; i++)
		strcpy(&data[4 * i], "\\377");
	snprintf(line, sizeof(line),
		 CONTROL_HEAD "{cmsg_len=%" PRIu64 ", cmsg_level=0xffffffff, "
			      "cmsg_type=0xffffffffffffffff, cmsg_data=\"%s\"...}], "
			      "msg_controllen=%" PRIu64 ", msg_flags=0}, 0) = 0",
		 UINT64_MAX, data, UINT64_MAX);
	CHECK({ "sendmsg",
		{ 5, 0x10, 0 },
		0,
		{ THING_AT(1, message), { 1, PART_CONTROL, 0, bytes, sizeof(bytes) } },
		line,
		NULL });
}

/* As struct cmsghdr, which has no fixed size. */
struct control_head {
	uint64_t length;
	int level, type;
};

TEST(test_control)
{
	struct {
		struct control_head rights;
		int fds[2];
		struct control_head credentials;
		int ids[4];
		struct control_head other;
		char text[8];
	} sent = { { 24, SOL_SOCKET, SCM_RIGHTS },      { 3, 7 },
		   { 28, SOL_SOCKET, SCM_CREDENTIALS }, { 1, 2, 3, 0 },
		   { 18, IPPROTO_IP, IP_TTL },          "a\n" };
	const char *rights =
		"{cmsg_len=24, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, cmsg_data=[3, 7]}";
	char most[512], all[512], cut[512];

	snprintf(most, sizeof(most),
		 "%s, {cmsg_len=28, cmsg_level=SOL_SOCKET, cmsg_type=SCM_CREDENTIALS, "
		 "cmsg_data={pid=1, uid=2, gid=3}}",
		 rights);
	snprintf(all, sizeof(all),
		 "%s, {cmsg_len=18, cmsg_level=SOL_IP, cmsg_type=2, cmsg_data=\"a\\n\"}", most);
	control_check(&sent, sizeof(sent), sizeof(sent), all);
	control_check_endless();
	/* What is not there, or is no message, is left out. */
	snprintf(cut, sizeof(cut), "%s, ...", most);
	control_check(&sent, offsetof(__typeof__(sent), other) + 4, sizeof(sent), cut);
	/* Of a message whose head was read, that which was read is shown. */
	control_check(&sent, offsetof(__typeof__(sent), fds) + 6, 24,
		      "{cmsg_len=24, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, "
		      "cmsg_data=[3, ...]}");
	control_check(&sent, offsetof(__typeof__(sent), fds) + 4, sizeof(sent),
		      "{cmsg_len=24, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, "
		      "cmsg_data=[3, ...]}, ...");
	control_check(&sent, offsetof(__typeof__(sent), fds), 24,
		      "{cmsg_len=24, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, "
		      "cmsg_data=[...]}");
	control_check(&sent, offsetof(__typeof__(sent), ids) + 8, sizeof(sent) - 24,
		      "{cmsg_len=24, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, "
		      "cmsg_data=[3, 7]}, {cmsg_len=28, cmsg_level=SOL_SOCKET, "
		      "cmsg_type=SCM_CREDENTIALS, cmsg_data={pid=1, uid=2, ...}}");
	sent.credentials.length = 15;
	snprintf(cut, sizeof(cut), "%s, ...", rights);
	control_check(&sent, sizeof(sent), sizeof(sent), cut);
	sent.rights.length = UINT64_MAX;
	control_check(&sent, sizeof(sent), sizeof(sent), "...");
}

TEST(test_memory)
{
	CHECK({ "mmap",
		{ 0, 8192, 3, 0x22, UINT32_MAX, 0 },
		0x7f49a6050000,
		{ { 0 } },
		"mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = "
		"0x7f49a6050000",
		NULL },
	      { "mmap",
		{ 0x7f00, 4096, 5, 0x812, 3, 0x26000 },
		0x7f00,
		{ { 0 } },
		"mmap(0x7f00, 4096, PROT_READ|PROT_EXEC, MAP_PRIVATE|MAP_FIXED|MAP_DENYWRITE, 3, "
		"0x26000) = 0x7f00",
		NULL },
	      { "mprotect",
		{ 0x7f00, 4096, 1 },
		0,
		{ { 0 } },
		"mprotect(0x7f00, 4096, PROT_READ) = 0",
		NULL },
	      { "munmap", { 0x7f00, 38991 }, 0, { { 0 } }, "munmap(0x7f00, 38991) = 0", NULL },
	      { "brk", { 0 }, 0x5633f8fd2000, { { 0 } }, "brk(NULL) = 0x5633f8fd2000", NULL },
	      { "madvise",
		{ 0x1000, 4096, 4 },
		ERR(ENOMEM),
		{ { 0 } },
		"madvise(0x1000, 4096, MADV_DONTNEED) Err#12 ENOMEM",
		"madvise(0x1000, 4096, MADV_DONTNEED) = -1 ENOMEM (Cannot allocate memory)" });
}

TEST(test_processes)
{
	struct clone_args arguments = { .flags = CLONE_VM | CLONE_FS,
					.exit_signal = SIGCHLD,
					.stack = 0x7f00,
					.stack_size = 0x8000 };
	struct utsname name = { .sysname = "Linux", .nodename = "vm", .release = "6" };
	struct rusage usage = { .ru_utime = { 1, 2 }, .ru_stime = { 3, 4 } };
	struct rlimit limit = { 8192L * 1024, RLIM_INFINITY };
	const uint64_t flags = CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID | SIGCHLD;

	CHECK({ "getpid", { 0 }, 100, { { 0 } }, "getpid() = 100", NULL },
	      { "execve",
		{ 1, 2, 0x7ffd },
		0,
		{ TEXT_AT(0, "/bin/sh"),
		  PART_AT(1, PART_BUFFERS, "sh\0"),
		  PART_AT(1, PART_BUFFERS + 1, "-c\0"),
		  PART_AT(1, PART_BUFFERS + 2, "a\nb\0"),
		  { 1, PART_SELF, 0, "", 0 } },
		"execve(\"/bin/sh\", [\"sh\", \"-c\", \"a\\nb\"], 0x7ffd) = 0",
		NULL },
	      { "execve",
		{ 1, 2, 0 },
		0,
		{ TEXT_AT(0, "a"),
		  PART_AT(1, PART_BUFFERS, "x\0"),
		  { 1, PART_SELF, PIECE_CUT, "", 0 } },
		"execve(\"a\", [\"x\", ...], NULL) = 0",
		NULL },
	      { "clone",
		{ flags, 0, 0, 0x7a10, 0 },
		102,
		{ { 0 } },
		"clone(CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD, NULL, NULL, 0x7a10, 0) = "
		"102",
		"clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD, "
		"child_tidptr=0x7a10) = 102" },
	      { "clone3",
		{ 0x10, 88 },
		102,
		{ THING_AT(0, arguments) },
		"clone3({flags=CLONE_VM|CLONE_FS, exit_signal=SIGCHLD, stack=0x7f00, "
		"stack_size=0x8000}, 88) = 102",
		NULL },
	      { "clone3",
		{ 0x10, 32 },
		102,
		{ THING_AT(0, ((uint64_t[]){ CLONE_PARENT_SETTID, 0x7f10, 0, 0x7f10 })) },
		"clone3({flags=CLONE_PARENT_SETTID, parent_tid=0x7f10}, 32) = 102",
		NULL },
	      { "clone3",
		{ 0x10, 32 },
		102,
		{ THING_AT(0, ((uint64_t[]){ CLONE_PIDFD, 0x7f10, 0, 0 })) },
		"clone3({flags=CLONE_PIDFD, pidfd=0x7f10}, 32) = 102",
		NULL },
	      { "wait4",
		{ UINT32_MAX, 0x10, WNOHANG, 0 },
		102,
		{ THING_AT(1, (int){ 3 << 8 }) },
		"wait4(-1, [exited 3], WNOHANG, NULL) = 102",
		"wait4(-1, [{WIFEXITED(s) && WEXITSTATUS(s) == 3}], WNOHANG, NULL) = 102" },
	      { "wait4",
		{ UINT32_MAX, 0x10, 0, 0 },
		102,
		{ THING_AT(1, (int){ SIGSEGV | 0x80 }) },
		"wait4(-1, [SIGSEGV core], 0, NULL) = 102",
		"wait4(-1, [{WIFSIGNALED(s) && WTERMSIG(s) == SIGSEGV && WCOREDUMP(s)}], 0, NULL) "
		"= "
		"102" },
	      { "wait4",
		{ UINT32_MAX, 0x10, WNOHANG, 0x20 },
		0,
		{ { 1, PART_SELF, PIECE_AT_EXIT, "\0\0\0", 4 } },
		"wait4(-1, 0x10, WNOHANG, 0x20) = 0",
		NULL },
	      { "prlimit64",
		{ 0, RLIMIT_STACK, 0, 0x10 },
		0,
		{ THING_AT(3, limit) },
		"prlimit64(0, RLIMIT_STACK, NULL, {rlim_cur=8192*1024, rlim_max=RLIM64_INFINITY}) "
		"= 0",
		NULL },
	      { "getrusage",
		{ RUSAGE_SELF, 0x10 },
		0,
		{ THING_AT(1, usage) },
		"getrusage(RUSAGE_SELF, {ru_utime={tv_sec=1, tv_usec=2}, ru_stime={tv_sec=3, "
		"tv_usec=4}, ...}) = 0",
		NULL },
	      { "uname",
		{ 0x10 },
		0,
		{ THING_AT(0, name) },
		"uname({sysname=\"Linux\", nodename=\"vm\", ...}) = 0",
		NULL },
	      { "times",
		{ 0x10 },
		5,
		{ THING_AT(0, (struct tms){ 1, 2, 3, 4 }) },
		"times({tms_utime=1, tms_stime=2, tms_cutime=3, tms_cstime=4}) = 5",
		NULL },
	      { "prctl",
		{ 15, 0x10 },
		0,
		{ TEXT_AT(1, "foo") },
		"prctl(PR_SET_NAME, \"foo\") = 0",
		NULL },
	      { "prctl",
		{ 1, SIGTERM },
		0,
		{ { 0 } },
		"prctl(PR_SET_PDEATHSIG, SIGTERM) = 0",
		NULL },
	      { "arch_prctl",
		{ 0x1002, 0x7f00 },
		0,
		{ { 0 } },
		"arch_prctl(ARCH_SET_FS, 0x7f00) = 0",
		NULL },
	      { "set_robust_list",
		{ 0x7f20, 24 },
		0,
		{ { 0 } },
		"set_robust_list(0x7f20, 24) = 0",
		NULL });
}

TEST(test_signals)
{
	const uint64_t action[] = { 0x55e1, SA_RESTART | SA_SIGINFO | 0x04000000, 0x7f50, 2 };
	const uint64_t ignore[] = { 1, 0, 0, 0 };

	CHECK({ "kill", { 5, SIGTERM }, 0, { { 0 } }, "kill(5, SIGTERM) = 0", NULL },
	      { "kill", { -1U, 0 }, 0, { { 0 } }, "kill(-1, 0) = 0", NULL },
	      { "tgkill", { 5, 6, 34 }, 0, { { 0 } }, "tgkill(5, 6, SIGRT_2) = 0", NULL },
	      { "rt_sigaction",
		{ SIGINT, 0x10, 0, 8 },
		0,
		{ THING_AT(1, action) },
		"rt_sigaction(SIGINT, {sa_handler=0x55e1, sa_mask=[INT], "
		"sa_flags=SA_RESTORER|SA_RESTART|SA_SIGINFO, sa_restorer=0x7f50}, NULL, 8) = 0",
		NULL },
	      { "rt_sigaction",
		{ SIGPIPE, 0, 0x10, 8 },
		0,
		{ THING_AT(2, ignore) },
		"rt_sigaction(SIGPIPE, NULL, {sa_handler=SIG_IGN, sa_mask=[], sa_flags=0}, 8) = 0",
		NULL },
	      { "rt_sigprocmask",
		{ SIG_BLOCK, 0x10, 0x20, 8 },
		0,
		{ THING_AT(1, (uint64_t){ 0x4002 }), THING_AT(2, (uint64_t){ 0 }) },
		"rt_sigprocmask(SIG_BLOCK, [INT TERM], [], 8) = 0",
		NULL },
	      { "rt_sigprocmask",
		{ SIG_SETMASK, 0x10, 0, 8 },
		0,
		{ THING_AT(1, (uint64_t){ ~(3ULL << 31) }) },
		"rt_sigprocmask(SIG_SETMASK, ~[RTMIN RT_1], NULL, 8) = 0",
		NULL },
	      { "rt_sigsuspend",
		{ 0x10, 8 },
		-514,
		{ THING_AT(0, (uint64_t){ 0 }) },
		"rt_sigsuspend([], 8) Err#514 ERESTARTNOHAND",
		"rt_sigsuspend([], 8) = ? ERESTARTNOHAND (To be restarted if no handler)" });
}

TEST(test_waits)
{
	struct timespec time = { 1, 500 };

	CHECK({ "nanosleep",
		{ 0x10, 0 },
		0,
		{ THING_AT(0, time) },
		"nanosleep({tv_sec=1, tv_nsec=500}, NULL) = 0",
		NULL },
	      { "clock_nanosleep",
		{ 0, 1, 0x10, 0x20 },
		0,
		{ THING_AT(2, time) },
		"clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, {tv_sec=1, tv_nsec=500}, 0x20) = 0",
		NULL },
	      { "clock_gettime",
		{ 1, 0x10 },
		0,
		{ THING_AT(1, time) },
		"clock_gettime(CLOCK_MONOTONIC, {tv_sec=1, tv_nsec=500}) = 0",
		NULL },
	      { "gettimeofday",
		{ 0x10, 0 },
		0,
		{ THING_AT(0, (struct timeval){ 1, 2 }) },
		"gettimeofday({tv_sec=1, tv_usec=2}, NULL) = 0",
		NULL },
	      { "futex",
		{ 0x7f00, 0x80, 2, 0, 9, 9 },
		0,
		{ { 0 } },
		"futex(0x7f00, FUTEX_WAIT_PRIVATE, 2, NULL) = 0",
		NULL },
	      { "futex",
		{ 0x7f00, 0x81, INT32_MAX, 9 },
		1,
		{ { 0 } },
		"futex(0x7f00, FUTEX_WAKE_PRIVATE, 2147483647) = 1",
		NULL },
	      { "futex",
		{ 0x7f00, 0x189, 5, 0x10, 0, UINT32_MAX },
		ERR(ETIMEDOUT),
		{ THING_AT(3, time) },
		"futex(0x7f00, FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, 5, {tv_sec=1, "
		"tv_nsec=500}, FUTEX_BITSET_MATCH_ANY) Err#110 ETIMEDOUT",
		"futex(0x7f00, FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, 5, {tv_sec=1, "
		"tv_nsec=500}, FUTEX_BITSET_MATCH_ANY) = -1 ETIMEDOUT (Connection timed out)" },
	      { "futex",
		{ 0x7f00, 0x84, 1, 2, 0x7f10, 0 },
		0,
		{ { 0 } },
		"futex(0x7f00, FUTEX_CMP_REQUEUE_PRIVATE, 1, 2, 0x7f10, 0) = 0",
		NULL },
	      { "sched_yield", { 0 }, 0, { { 0 } }, "sched_yield() = 0", NULL });
}
