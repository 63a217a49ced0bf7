/* SPDX-License-Identifier: BSD-2-Clause */
/* Connects to other hosts: addresses, GnuTLS, and what is wrong with either in a sentence. */
#include "ipc/remote.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "ipc/key_file.h"
#include "ipc/socket.h"

#define DEFAULT_PORT "9477"
#define HOST_MAX     256
#define PRIORITIES   "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

struct remote {
	bool has_tls;
	char host[HOST_MAX], port[8];
	char name[HOST_MAX + 16];
	char *head;                                   /* owned */
	gnutls_certificate_credentials_t credentials; /* owned; NULL without TLS */
};

struct remote_line {
	int fd;                   /* owned */
	gnutls_session_t session; /* owned; NULL without TLS */
};

/* --- the address -------------------------------------------------------------------------------- */

static int url_refused(const char *url, struct diag *d)
{
	return diag_set(d, DIAG_USAGE, EINVAL,
			"--host: %.200s is not https://HOST:PORT, with brackets around an address "
			"of IPv6",
			url);
}

/* Cuts https://HOST[:PORT] into pieces. */
static int url_read(struct remote *remote, const char *url, struct diag *d)
{
	static const char secure[] = "https://", plain[] = "http://";
	const char *at = url, *end, *port;
	size_t length;

	remote->has_tls = !strncmp(url, secure, strlen(secure));
	if (!remote->has_tls && strncmp(url, plain, strlen(plain)) != 0)
		return url_refused(url, d);
	at += strlen(remote->has_tls ? secure : plain);
	end = *at == '[' ? strchr(at, ']') : at + strcspn(at, ":/?#@");
	if (!end)
		return url_refused(url, d);
	at += *at == '[';
	length = (size_t)(end - at);
	end += *end == ']';
	port = *end == ':' ? end + 1 : "";
	end = *end == ':' ? port + strspn(port, "0123456789") : end;
	end += !strcmp(end, "/");
	if (!length || length >= sizeof(remote->host) || *end || (*port && end - port > 6))
		return url_refused(url, d);
	snprintf(remote->host, sizeof(remote->host), "%.*s", (int)length, at);
	snprintf(remote->port, sizeof(remote->port), "%.*s", (int)strspn(port, "0123456789"), port);
	if (!*remote->port)
		snprintf(remote->port, sizeof(remote->port), "%s", DEFAULT_PORT);
	snprintf(remote->name, sizeof(remote->name),
		 strchr(remote->host, ':') ? "[%s]:%s" : "%s:%s", remote->host, remote->port);
	return 0;
}

/* Refuses options that would be without effect, and what would be sent in the clear. */
static int options_check(const struct remote *remote, const struct remote_options *o,
			 struct diag *d)
{
	const char *tls = o->ca ? "--ca" : o->certificate ? "--cert" : o->key ? "--key" : NULL;

	if (!o->certificate != !o->key)
		return diag_set(d, DIAG_USAGE, EINVAL, "%s needs %s", o->key ? "--key" : "--cert",
				o->key ? "--cert" : "--key");
	if (!remote->has_tls && tls)
		return diag_set(d, DIAG_USAGE, EINVAL, "%s needs an address with https://", tls);
	if (remote->has_tls && o->is_insecure)
		return diag_set(
			d, DIAG_USAGE, EINVAL,
			"--insecure is for addresses with http://: a certificate that is not "
			"trusted needs its CA, with --ca");
	if (remote->has_tls || o->is_insecure || socket_host_is_loopback(remote->name))
		return 0;
	return diag_set(d, DIAG_USAGE, EINVAL,
			"--host: anybody on the way to %s could read and change what goes there: "
			"use https://, or say --insecure, too",
			remote->host);
}

/* --- files -------------------------------------------------------------------------------------- */

static int trust(struct remote *remote, const char *path, struct diag *d)
{
	char *text = NULL;
	gnutls_datum_t pem;
	int err, count;

	if (!path) {
		count = gnutls_certificate_set_x509_system_trust(remote->credentials);
		return count > 0 ? 0
				 : diag_set(d, DIAG_FAILED, ENOENT,
					    "this system trusts no CA (ca-certificates): give "
					    "that of the host with --ca");
	}
	err = key_file_read("--ca", path, false, &text, d);
	if (err)
		return err;
	pem = (gnutls_datum_t){ (unsigned char *)text, (unsigned int)strlen(text) };
	count = gnutls_certificate_set_x509_trust_mem(remote->credentials, &pem,
						      GNUTLS_X509_FMT_PEM);
	free(text);
	if (count > 0)
		return 0;
	return diag_set(d, DIAG_FAILED, EINVAL, "--ca: %s has no certificate in the form PEM",
			path);
}

static int identify(struct remote *remote, const struct remote_options *o, struct diag *d)
{
	char *certificate = NULL, *key = NULL;
	gnutls_datum_t pem, key_pem;
	int err = key_file_read("--cert", o->certificate, false, &certificate, d)
			  ?: key_file_read("--key", o->key, true, &key, d);

	if (!err) {
		pem = (gnutls_datum_t){ (unsigned char *)certificate,
					(unsigned int)strlen(certificate) };
		key_pem = (gnutls_datum_t){ (unsigned char *)key, (unsigned int)strlen(key) };
		err = gnutls_certificate_set_x509_key_mem(remote->credentials, &pem, &key_pem,
							  GNUTLS_X509_FMT_PEM);
		if (err < 0)
			err = diag_set(d, DIAG_FAILED, EINVAL,
				       "--cert, --key: %s and %s are not a certificate and its key "
				       "in the form PEM, without a password: %s",
				       o->certificate, o->key, gnutls_strerror(err));
	}
	free(certificate);
	key_file_forget(key);
	return err < 0 ? err : 0;
}

/* Takes the first secret. */
static int take_secret(void *closure, const char *secret)
{
	char **header = closure;

	*header = *header ?: key_file_header(secret);
	return *header ? 0 : -ENOMEM;
}

static int head_make(struct remote *remote, const char *path, struct diag *d)
{
	char *text = NULL, *header = NULL;
	int err = path ? key_file_read("--auth", path, true, &text, d) : 0;

	if (!err && path)
		err = key_file_secrets("--auth", path, text, take_secret, &header, d);
	if (!err &&
	    asprintf(&remote->head, "Host: %s\r\n%s%s%s", remote->name,
		     header ? "Authorization: " : "", header ?: "", header ? "\r\n" : "") < 0) {
		remote->head = NULL;
		err = diag_oom(d);
	}
	key_file_forget(text);
	key_file_forget(header);
	return err;
}

int remote_new(const struct remote_options *o, struct remote **ret, struct diag *d)
{
	struct remote *remote __cleanup(remote_freep) = calloc(1, sizeof(*remote));
	int err = remote ? url_read(remote, o->url, d) ?: options_check(remote, o, d) : diag_oom(d);

	if (!err && remote->has_tls &&
	    gnutls_certificate_allocate_credentials(&remote->credentials))
		err = diag_oom(d);
	if (!err && remote->has_tls)
		err = trust(remote, o->ca, d);
	if (!err && o->certificate)
		err = identify(remote, o, d);
	if (!err)
		err = head_make(remote, o->secret, d);
	if (!err)
		*ret = steal_ptr(&remote);
	return err;
}

void remote_free(struct remote *remote)
{
	if (!remote)
		return;
	if (remote->credentials)
		gnutls_certificate_free_credentials(remote->credentials);
	key_file_forget(remote->head);
	free(remote);
}

const char *remote_name(const struct remote *remote)
{
	return remote->name;
}

const char *remote_head(const struct remote *remote)
{
	return remote->head;
}

/* --- a connection ------------------------------------------------------------------------------- */

/* Connects to one address of the host; negative errno on failure. */
static int connect_to(const struct addrinfo *address, unsigned int silence_ms)
{
	const struct timeval silence = { silence_ms / 1000, silence_ms % 1000 * 1000 };
	int fd __cleanup(closep) = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* The limit on sending is that on connecting, too. */
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &silence, sizeof(silence)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof(silence)) ||
	    connect(fd, address->ai_addr, address->ai_addrlen))
		return errno == EINPROGRESS ? -ETIMEDOUT : -errno;
	return steal_fd(&fd);
}

/* Tries all addresses of the host. Returns a descriptor or -errno with d filled. */
static int connect_any(const struct remote *remote, unsigned int silence_ms, struct diag *d)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	int err = getaddrinfo(remote->host, remote->port, &hints, &list), fd = -EADDRNOTAVAIL;

	if (err)
		return diag_set(d, DIAG_FAILED, EADDRNOTAVAIL, "--host: %s: %s", remote->host,
				err == EAI_SYSTEM ? strerror(errno) : gai_strerror(err));
	for (const struct addrinfo *at = list; at && fd < 0; at = at->ai_next)
		fd = connect_to(at, silence_ms);
	freeaddrinfo(list);
	if (fd >= 0)
		return fd;
	return diag_set(
		d, DIAG_FAILED, -fd,
		"no daemon answers at %s: %s (its configuration says where, with listen and "
		"listen-reports)",
		remote->name, strerror(-fd));
}

/* Says why a certificate is not believed, in the words of GnuTLS. */
static int untrusted(const struct remote *remote, gnutls_session_t session, struct diag *d)
{
	const unsigned int status = gnutls_session_get_verify_cert_status(session);
	gnutls_datum_t why = { NULL, 0 };

	gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &why, 0);
	diag_set(d, DIAG_FAILED, EPERM, "%s is not trusted: %.*s(--ca names who vouches for it)",
		 remote->name, (int)why.size, (char *)why.data);
	gnutls_free(why.data);
	return -EPERM;
}

static int shake_hands(const struct remote *remote, struct remote_line *line, struct diag *d)
{
	int err = gnutls_init(&line->session, GNUTLS_CLIENT | GNUTLS_NO_SIGNAL);

	if (err)
		return diag_oom(d);
	gnutls_priority_set_direct(line->session, PRIORITIES, NULL);
	gnutls_credentials_set(line->session, GNUTLS_CRD_CERTIFICATE, remote->credentials);
	gnutls_server_name_set(line->session, GNUTLS_NAME_DNS, remote->host, strlen(remote->host));
	gnutls_session_set_verify_cert(line->session, remote->host, 0);
	gnutls_transport_set_int(line->session, line->fd);
	do
		err = gnutls_handshake(line->session);
	while (err == GNUTLS_E_INTERRUPTED ||
	       (err < 0 && err != GNUTLS_E_AGAIN && !gnutls_error_is_fatal(err)));
	if (err == GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR)
		return untrusted(remote, line->session, d);
	if (err == GNUTLS_E_AGAIN)
		return diag_set(d, DIAG_FAILED, ETIMEDOUT, "no TLS with %s: it does not answer",
				remote->name);
	if (err < 0)
		return diag_set(d, DIAG_FAILED, EPROTO, "no TLS with %s: %s", remote->name,
				gnutls_strerror(err));
	return 0;
}

int remote_connect(const struct remote *remote, unsigned int silence_ms, struct remote_line **ret,
		   struct diag *d)
{
	struct remote_line *line __cleanup(remote_line_freep) = calloc(1, sizeof(*line));
	int err;

	if (!line)
		return diag_oom(d);
	line->fd = connect_any(remote, silence_ms, d);
	if (line->fd < 0)
		return line->fd;
	err = remote->has_tls ? shake_hands(remote, line, d) : 0;
	if (!err)
		*ret = steal_ptr(&line);
	return err;
}

void remote_line_free(struct remote_line *line)
{
	if (!line)
		return;
	if (line->session)
		gnutls_deinit(line->session);
	if (line->fd >= 0)
		close(line->fd);
	free(line);
}

/* Sends a part. */
static ssize_t line_write(struct remote_line *line, const char *bytes, size_t size)
{
	ssize_t sent;

	if (!line->session)
		return send(line->fd, bytes, size, MSG_NOSIGNAL);
	sent = gnutls_record_send(line->session, bytes, size);
	if (sent < 0)
		errno = sent == GNUTLS_E_INTERRUPTED ? EINTR
			: sent == GNUTLS_E_AGAIN     ? EAGAIN
						     : EPIPE;
	return sent < 0 ? -1 : sent;
}

int remote_send(struct remote_line *line, const char *bytes, size_t size)
{
	while (size) {
		ssize_t sent = line_write(line, bytes, size);

		if (sent < 0 && errno != EINTR)
			return -1;
		if (sent < 0)
			continue;
		bytes += sent;
		size -= (size_t)sent;
	}
	return 0;
}

/* The length of a reply tells whether it was cut off. */
ssize_t remote_receive(struct remote_line *line, char *buf, size_t size)
{
	ssize_t got;

	do
		got = line->session ? gnutls_record_recv(line->session, buf, size)
				    : recv(line->fd, buf, size, 0);
	while (line->session ? got == GNUTLS_E_INTERRUPTED || got == GNUTLS_E_REHANDSHAKE ||
				       (got < 0 && got != GNUTLS_E_AGAIN &&
					!gnutls_error_is_fatal((int)got))
			     : got < 0 && errno == EINTR);
	if (line->session && got < 0)
		errno = got == GNUTLS_E_AGAIN ? EAGAIN : EPROTO;
	return got < 0 ? -1 : got;
}
