/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends files with libcurl. Invariants: only the child uses libcurl; it has the folder, memory for its results,
 * and no capability; what a server answers is kept up to a limit.
 */
#include "ipc/post.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/text.h"
#include "ipc/key_file.h"
#include "ipc/socket.h"

/* Limits for a request, for the time in which the child begins another one, and for the whole child. */
#define CONNECT_SECONDS 10L
#define REQUEST_SECONDS 20L
#define BEGIN_NS        (20 * NS_PER_SEC)
#define CHILD_SECONDS   45

#define ENDPOINT_BYTES_MAX 1000

/* --- headers ------------------------------------------------------------------------------------ */

/* Whether a line is NAME: VALUE, of a header that is not ours to set. */
static bool header_is_right(const char *line)
{
	static const char *const ours[] = { "content-type", "content-length", "content-encoding",
					    "transfer-encoding", "host" };
	const size_t length = strspn(line, "abcdefghijklmnopqrstuvwxyz"
					   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");

	for (size_t i = 0; i < ARRAY_SIZE(ours); i++) {
		if (length == strlen(ours[i]) && !strncasecmp(line, ours[i], length))
			return false;
	}
	if (!length || line[length] != ':')
		return false;
	for (const char *at = line + length + 1; *at; at++) {
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			return false;
	}
	return line[length + 1 + strspn(line + length + 1, " ")];
}

/* The next header of a text, which is changed; NULL behind the last, and where a line is wrong. */
static const char *header_next(char **text, unsigned int *number, bool *is_wrong)
{
	for (const char *line; (line = strsep(text, "\n"));) {
		(*number)++;
		if (!*line || *line == '#')
			continue;
		*is_wrong = !header_is_right(line);
		return *is_wrong ? NULL : line;
	}
	return NULL;
}

static int check_headers(const char *path, struct diag *d)
{
	char *text __cleanup(freep) = NULL, *at;
	unsigned int number = 0;
	bool is_wrong = false;
	size_t size;
	int err = key_file_read("--otlp-headers", path, true, &text, d);

	if (err)
		return err;
	at = text;
	size = strlen(text);
	while (header_next(&at, &number, &is_wrong))
		;
	explicit_bzero(text, size);
	if (!is_wrong)
		return 0;
	return diag_set(d, DIAG_FAILED, EINVAL,
			"--otlp-headers: line %u of %s is not a header, as in Authorization: "
			"Bearer TOKEN, or one that bpftruss sets itself",
			number, path);
}

/* --- what the configuration says ---------------------------------------------------------------- */

/* Returns what follows the scheme; NULL: it is neither http nor https. */
static const char *endpoint_host(const char *endpoint)
{
	if (!strncmp(endpoint, "http://", 7))
		return endpoint + 7;
	return strncmp(endpoint, "https://", 8) ? NULL : endpoint + 8;
}

static bool endpoint_is_right(const char *endpoint)
{
	const char *host = endpoint_host(endpoint);

	if (!host || strlen(endpoint) > ENDPOINT_BYTES_MAX || strpbrk(endpoint, "?#@ \"\\"))
		return false;
	for (const char *at = endpoint; *at; at++) {
		if (*at <= ' ' || *at >= 0x7f)
			return false;
	}
	return *host && *host != '/' && *host != ':';
}

/* Whether what is sent stays on this host, or is encrypted. */
static bool endpoint_is_private(const char *endpoint)
{
	const char *host = endpoint_host(endpoint);
	char name[ENDPOINT_BYTES_MAX + 1];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(host, "/"), host);
	return !strncmp(endpoint, "https", 5) || socket_host_is_loopback(name);
}

int post_check(const struct post_options *options, struct diag *d)
{
	const char *endpoint = options->endpoint;

	if (!endpoint && (options->headers || options->ca))
		return diag_set(d, DIAG_USAGE, EINVAL, "--%s needs --otlp-endpoint",
				options->headers ? "otlp-headers" : "otlp-ca");
	if (!endpoint)
		return 0;
	if (!endpoint_is_right(endpoint))
		return diag_set(
			d, DIAG_USAGE, EINVAL,
			"--otlp-endpoint: \"%.200s\" is not the base URL of a collector, as in "
			"http://localhost:4318 or https://HOST/PATH; what says who we are "
			"belongs in --otlp-headers",
			endpoint);
	if (options->headers && !endpoint_is_private(endpoint))
		return diag_set(d, DIAG_USAGE, EINVAL,
				"--otlp-headers: they could be read on the way to %.200s: use "
				"https, or a collector on this host",
				endpoint);
	if (options->ca && access(options->ca, R_OK))
		return diag_set(d, DIAG_FAILED, errno, "--otlp-ca: cannot read %s: %s", options->ca,
				strerror(errno));
	return options->headers ? check_headers(options->headers, d) : 0;
}

/* --- the daemon's side -------------------------------------------------------------------------- */

/* Becomes the child. */
static void child_enter(const struct post_options *options, int folder, int output,
			const char *const *names, size_t nr)
{
	char *argv[5 + POST_MAX_FILES + 1] = { "bpftruss", POST_ARGUMENT, (char *)options->endpoint,
					       (char *)(options->headers ?: ""),
					       (char *)(options->ca ?: "") };
	char *environment[] = { NULL };

	for (size_t i = 0; i < nr; i++)
		argv[5 + i] = (char *)names[i];
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (dup2(folder, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0)
		_exit(127);
	child_become("/proc/self/exe", argv, environment);
	_exit(127);
}

int post_start(const struct post_options *options, int folder, const char *const *names, size_t nr,
	       struct child *ret)
{
	/* A pipe could be too small for all results. */
	struct child child = { .pidfd = -1, .output = memfd_create("otlp-post", MFD_CLOEXEC) };
	pid_t pid;
	int err;

	if (child.output < 0)
		return -errno;
	pid = fork();
	if (!pid)
		child_enter(options, folder, child.output, names,
			    nr < POST_MAX_FILES ? nr : POST_MAX_FILES);
	err = pid < 0 ? -errno : child_adopt(&child, pid, CHILD_SECONDS);
	if (err)
		child_done(&child);
	else
		*ret = child;
	return err;
}

bool post_is_taken(const struct post_result *result)
{
	return result->status >= 200 && result->status < 300;
}

int post_finish(struct child *child, struct post_result results[POST_MAX_FILES])
{
	const int status = child_reap(child);
	int count = 0;

	lseek(child->output, 0, SEEK_SET);
	while (count < POST_MAX_FILES && read(child->output, &results[count], sizeof(*results)) ==
						 (ssize_t)sizeof(*results)) {
		results[count].text[sizeof(results->text) - 1] = 0;
		count++;
	}
	child_done(child);
	return count || !status ? count : status < 0 ? status : -EPROTO;
}

/* --- the child ---------------------------------------------------------------------------------- */

/*
 * libcurl brings so many libraries that each start of the program would take four times as long: only the child
 * loads it.
 */
struct library {
	__typeof__(curl_global_init) *global_init;
	__typeof__(curl_easy_init) *init;
	__typeof__(curl_easy_setopt) *setopt;
	__typeof__(curl_easy_perform) *perform;
	__typeof__(curl_easy_getinfo) *getinfo;
	__typeof__(curl_easy_strerror) *text_of;
	__typeof__(curl_slist_append) *append;
};

static int library_load(struct library *lib, struct post_result *ret)
{
	/* Debian has one with GnuTLS, which the daemon uses, too; others have one alone. */
	static const char *const names[] = { "libcurl-gnutls.so.4", "libcurl.so.4" };
	const struct {
		const char *name;
		void *at;
	} functions[] = {
		{ "curl_global_init", &lib->global_init }, { "curl_easy_init", &lib->init },
		{ "curl_easy_setopt", &lib->setopt },      { "curl_easy_perform", &lib->perform },
		{ "curl_easy_getinfo", &lib->getinfo },    { "curl_easy_strerror", &lib->text_of },
		{ "curl_slist_append", &lib->append },
	};
	void *handle = NULL, *function = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(names) && !handle; i++)
		handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		function = handle ? dlsym(handle, functions[i].name) : NULL;
		if (!function)
			break;
		memcpy(functions[i].at, &function, sizeof(function));
	}
	if (function)
		return 0;
	snprintf(ret->text, sizeof(ret->text), "cannot load libcurl; is it installed? %s",
		 dlerror() ?: "");
	return -ENOENT;
}

/* Keeps the beginning of an answer. */
static size_t answer_take(char *bytes, size_t size, size_t count, void *closure)
{
	struct post_result *result = closure;
	const size_t used = strlen(result->text), room = sizeof(result->text) - 1 - used;

	/* An answer in protocol buffers ends with its first NUL. */
	strncat(result->text, bytes, size * count < room ? size * count : room);
	return size * count;
}

/* Reads a whole request, to be freed. 0 or -errno. */
static int request_read(const char *name, char **ret, size_t *ret_size)
{
	int fd __cleanup(closep) = openat(STDIN_FILENO, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char *text __cleanup(freep) = NULL;
	struct stat status;
	size_t used = 0;
	ssize_t got;

	if (fd < 0 || fstat(fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode) || (uint64_t)status.st_size > POST_MAX_BYTES)
		return -EFBIG;
	text = malloc((size_t)status.st_size + 1);
	if (!text)
		return -ENOMEM;
	while (used < (size_t)status.st_size) {
		got = read(fd, text + used, (size_t)status.st_size - used);
		if (got < 0)
			return -errno;
		if (!got)
			break;
		used += (size_t)got;
	}
	*ret = steal_ptr(&text);
	*ret_size = used;
	return 0;
}

static bool name_ends_in(const char *name, const char *suffix)
{
	const size_t length = strlen(name), end = strlen(suffix);

	return length > end && !strcmp(name + length - end, suffix);
}

static void handle_set(const struct library *lib, CURL *curl, const char *ca,
		       struct curl_slist *headers)
{
#if LIBCURL_VERSION_NUM >= 0x075500
	lib->setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	lib->setopt(curl, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
	lib->setopt(curl, CURLOPT_HTTPHEADER, headers);
	lib->setopt(curl, CURLOPT_USERAGENT, "bpftruss/" BPFTRUSS_VERSION);
	lib->setopt(curl, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
	lib->setopt(curl, CURLOPT_TIMEOUT, REQUEST_SECONDS);
	lib->setopt(curl, CURLOPT_NOSIGNAL, 1L);
	lib->setopt(curl, CURLOPT_WRITEFUNCTION, answer_take);
	/* libcurl would trust the CAs of the system, too. */
	if (*ca) {
		lib->setopt(curl, CURLOPT_CAINFO, ca);
		lib->setopt(curl, CURLOPT_CAPATH, (char *)NULL);
	}
}

/* Sends one file. */
static void file_send(const struct library *lib, CURL *curl, const char *endpoint, const char *name,
		      struct post_result *ret)
{
	const size_t length = strlen(endpoint) - (endpoint[strlen(endpoint) - 1] == '/');
	char url[ENDPOINT_BYTES_MAX + 32], why[CURL_ERROR_SIZE] = "";
	char *text __cleanup(freep) = NULL;
	curl_off_t wait_s = 0;
	long status = 0, os_error = 0;
	CURLcode code;
	size_t size = 0;
	int err = request_read(name, &text, &size);

	if (err) {
		ret->is_lost = err == -ENOENT || err == -EFBIG;
		snprintf(ret->text, sizeof(ret->text), "cannot read %s: %s", name, strerror(-err));
		return;
	}
	snprintf(url, sizeof(url), "%.*s/v1/%s", (int)length, endpoint,
		 name_ends_in(name, POST_LOGS_SUFFIX) ? "logs" : "metrics");
	lib->setopt(curl, CURLOPT_URL, url);
	lib->setopt(curl, CURLOPT_POSTFIELDS, text);
	lib->setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
	lib->setopt(curl, CURLOPT_WRITEDATA, ret);
	lib->setopt(curl, CURLOPT_ERRORBUFFER, why);
	code = lib->perform(curl);
	lib->setopt(curl, CURLOPT_ERRORBUFFER, NULL);
	lib->getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	/* A request that was taken is not made again for want of the rest of its answer. */
	if (code && (status < 200 || status > 299)) {
		lib->getinfo(curl, CURLINFO_OS_ERRNO, &os_error);
		snprintf(ret->text, sizeof(ret->text), "%s%s%s", *why ? why : lib->text_of(code),
			 os_error ? ": " : "", os_error ? strerror((int)os_error) : "");
		return;
	}
	lib->getinfo(curl, CURLINFO_RETRY_AFTER, &wait_s);
	ret->status = (uint32_t)status;
	ret->retry_after_s = wait_s > 0 ? (uint32_t)min_u64((uint64_t)wait_s, UINT32_MAX) : 0;
}

/* The daemon may be gone. */
static void result_tell(const struct post_result *result)
{
	if (write(STDOUT_FILENO, result, sizeof(*result)) != (ssize_t)sizeof(*result))
		_exit(127);
}

static void drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	syscall(SYS_capset, &header, none);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* The headers of all requests; a file that has become wrong since it was checked is not sent. */
static int headers_read(const struct library *lib, const char *path, struct curl_slist **list,
			struct post_result *ret)
{
	char *text __cleanup(freep) = NULL, *at;
	unsigned int number = 0;
	bool is_wrong = false;
	const char *line;
	struct diag d;

	*list = lib->append(NULL, "Content-Type: application/json");
	*list = lib->append(*list, "Expect:");
	if (!*path)
		return 0;
	if (key_file_read("--otlp-headers", path, true, &text, &d)) {
		snprintf(ret->text, sizeof(ret->text), "%.400s", d.text);
		return -EINVAL;
	}
	at = text;
	while ((line = header_next(&at, &number, &is_wrong)))
		*list = lib->append(*list, line);
	if (is_wrong)
		snprintf(ret->text, sizeof(ret->text), "line %u of %.300s is not a header", number,
			 path);
	return is_wrong ? -EINVAL : 0;
}

static void files_send(const struct library *lib, CURL *curl, char **argv, int argc)
{
	const uint64_t end_ns = clock_mono_ns() + BEGIN_NS;
	struct post_result result = { .status = 200 };

	for (int i = 5;
	     i < argc && (post_is_taken(&result) || result.is_lost) && clock_mono_ns() < end_ns;
	     i++) {
		result = (struct post_result){ .status = 0 };
		file_send(lib, curl, argv[2], argv[i], &result);
		result_tell(&result);
	}
}

_Noreturn void post_main(int argc, char **argv)
{
	struct post_result result = { .status = 0 };
	struct curl_slist *headers = NULL;
	struct library lib;
	CURL *curl;

	signal(SIGPIPE, SIG_IGN);
	drop_capabilities();
	if (argc < 6 || library_load(&lib, &result) ||
	    headers_read(&lib, argv[3], &headers, &result)) {
		result_tell(&result);
		_exit(0);
	}
	curl = lib.global_init(CURL_GLOBAL_DEFAULT) ? NULL : lib.init();
	if (!curl)
		_exit(127);
	handle_set(&lib, curl, argv[4], headers);
	files_send(&lib, curl, argv, argc);
	_exit(0);
}
