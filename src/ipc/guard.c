/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads certificates, keys and secrets, and compares clients with them. Invariant: a secret is compared in a
 * time that depends on its length alone.
 */
#include "ipc/guard.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <strings.h>

#include "ipc/key_file.h"

enum guard_text {
	TEXT_CERTIFICATE,
	TEXT_KEY,
	TEXT_CLIENT_CA,
	TEXT_SECRETS,
	NR_GUARD_TEXT,
};

static const struct {
	const char *name; /* of the option */
	bool is_secret;
} texts[NR_GUARD_TEXT] = { [TEXT_CERTIFICATE] = { "--listen-cert", false },
			   [TEXT_KEY] = { "--listen-key", true },
			   [TEXT_CLIENT_CA] = { "--listen-client-ca", false },
			   [TEXT_SECRETS] = { "--listen-auth", true } };

struct guard {
	char *texts[NR_GUARD_TEXT]; /* owned; NULL: not given */
	char **secrets;             /* owned: what a header has to say */
	size_t nr_secrets;
};

/* --- files -------------------------------------------------------------------------------------- */

static void credentials_freep(gnutls_certificate_credentials_t *credentials)
{
	if (*credentials)
		gnutls_certificate_free_credentials(*credentials);
}

/* Finds what the server would only fail at: no PEM, a key of another certificate. */
static int check_pair(const struct guard *guard, const struct guard_files *files, struct diag *d)
{
	gnutls_certificate_credentials_t credentials __cleanup(credentials_freep) = NULL;
	const gnutls_datum_t certificate = { (unsigned char *)guard->texts[TEXT_CERTIFICATE],
					     (unsigned int)strlen(guard->texts[TEXT_CERTIFICATE]) };
	const gnutls_datum_t key = { (unsigned char *)guard->texts[TEXT_KEY],
				     (unsigned int)strlen(guard->texts[TEXT_KEY]) };
	gnutls_x509_crt_t *list = NULL;
	unsigned int count = 0;
	int err;

	if (gnutls_certificate_allocate_credentials(&credentials))
		return diag_oom(d);
	err = gnutls_x509_crt_list_import2(&list, &count, &certificate, GNUTLS_X509_FMT_PEM, 0);
	for (unsigned int i = 0; i < count && err >= 0; i++)
		gnutls_x509_crt_deinit(list[i]);
	gnutls_free(list);
	if (err < 0)
		return diag_set(d, DIAG_FAILED, EINVAL,
				"--listen-cert: %s has no certificate in the form PEM: %s",
				files->certificate, gnutls_strerror(err));
	err = gnutls_certificate_set_x509_key_mem(credentials, &certificate, &key,
						  GNUTLS_X509_FMT_PEM);
	if (err == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
		return diag_set(d, DIAG_FAILED, EINVAL,
				"--listen-key: %s is not the key of the certificate in %s",
				files->key, files->certificate);
	if (err < 0)
		return diag_set(d, DIAG_FAILED, EINVAL,
				"--listen-key: %s has no private key in the form PEM without a "
				"password: %s",
				files->key, gnutls_strerror(err));
	return 0;
}

static int check_client_ca(const struct guard *guard, const struct guard_files *files,
			   struct diag *d)
{
	gnutls_certificate_credentials_t credentials __cleanup(credentials_freep) = NULL;
	const gnutls_datum_t ca = { (unsigned char *)guard->texts[TEXT_CLIENT_CA],
				    (unsigned int)strlen(guard->texts[TEXT_CLIENT_CA]) };
	int count;

	if (gnutls_certificate_allocate_credentials(&credentials))
		return diag_oom(d);
	count = gnutls_certificate_set_x509_trust_mem(credentials, &ca, GNUTLS_X509_FMT_PEM);
	if (count <= 0)
		return diag_set(d, DIAG_FAILED, EINVAL,
				"--listen-client-ca: %s has no certificate in the form PEM",
				files->client_ca);
	return 0;
}

static int take_secret(void *closure, const char *secret)
{
	struct guard *guard = closure;

	if (!array_grow(&guard->secrets, guard->nr_secrets, sizeof(*guard->secrets)))
		return -ENOMEM;
	guard->secrets[guard->nr_secrets] = key_file_header(secret);
	return guard->secrets[guard->nr_secrets++] ? 0 : -ENOMEM;
}

/* --- the guard ---------------------------------------------------------------------------------- */

int guard_new(const struct guard_files *files, struct guard **ret, struct diag *d)
{
	const char *const paths[NR_GUARD_TEXT] = { [TEXT_CERTIFICATE] = files->certificate,
						   [TEXT_KEY] = files->key,
						   [TEXT_CLIENT_CA] = files->client_ca,
						   [TEXT_SECRETS] = files->secrets };
	struct guard *guard __cleanup(guard_freep) = calloc(1, sizeof(*guard));
	int err = guard ? 0 : diag_oom(d);

	if (!err && !paths[TEXT_CERTIFICATE] != !paths[TEXT_KEY])
		err = diag_set(d, DIAG_USAGE, EINVAL, "%s needs %s",
			       texts[paths[TEXT_KEY] ? TEXT_KEY : TEXT_CERTIFICATE].name,
			       texts[paths[TEXT_KEY] ? TEXT_CERTIFICATE : TEXT_KEY].name);
	if (!err && paths[TEXT_CLIENT_CA] && !paths[TEXT_KEY])
		err = diag_set(d, DIAG_USAGE, EINVAL,
			       "--listen-client-ca needs --listen-cert and --listen-key");
	for (int i = 0; i < NR_GUARD_TEXT && !err; i++) {
		if (paths[i])
			err = key_file_read(texts[i].name, paths[i], texts[i].is_secret,
					    &guard->texts[i], d);
	}
	if (!err && paths[TEXT_KEY])
		err = check_pair(guard, files, d);
	if (!err && paths[TEXT_CLIENT_CA])
		err = check_client_ca(guard, files, d);
	if (!err && paths[TEXT_SECRETS])
		err = key_file_secrets(texts[TEXT_SECRETS].name, paths[TEXT_SECRETS],
				       guard->texts[TEXT_SECRETS], take_secret, guard, d);
	if (!err)
		*ret = steal_ptr(&guard);
	return err;
}

void guard_free(struct guard *guard)
{
	if (!guard)
		return;
	for (int i = 0; i < NR_GUARD_TEXT; i++)
		key_file_forget(guard->texts[i]);
	for (size_t i = 0; i < guard->nr_secrets; i++)
		key_file_forget(guard->secrets[i]);
	free(guard->secrets);
	free(guard);
}

const char *guard_certificate(const struct guard *guard)
{
	return guard ? guard->texts[TEXT_CERTIFICATE] : NULL;
}

const char *guard_key(const struct guard *guard)
{
	return guard ? guard->texts[TEXT_KEY] : NULL;
}

const char *guard_client_ca(const struct guard *guard)
{
	return guard ? guard->texts[TEXT_CLIENT_CA] : NULL;
}

bool guard_asks(const struct guard *guard)
{
	return guard && (guard->nr_secrets || guard->texts[TEXT_CLIENT_CA]);
}

/* --- clients ------------------------------------------------------------------------------------ */

/* The scheme is a word in any case, what follows is compared byte by byte to its end. */
static bool headers_are_equal(const char *expected, const char *header)
{
	size_t scheme = strcspn(expected, " ") + 1, length = strlen(expected);
	unsigned char differs = 0;

	if (strlen(header) != length || strncasecmp(expected, header, scheme) != 0)
		return false;
	for (size_t i = scheme; i < length; i++)
		differs |= (unsigned char)(expected[i] ^ header[i]);
	return !differs;
}

bool guard_has_secret(const struct guard *guard, const char *authorization)
{
	bool found = !guard || !guard->nr_secrets;

	for (size_t i = 0; guard && authorization && i < guard->nr_secrets; i++)
		found |= headers_are_equal(guard->secrets[i], authorization);
	return found;
}

bool guard_has_certificate(const struct guard *guard, void *session)
{
	gnutls_typed_vdata_st purpose = { .type = GNUTLS_DT_KEY_PURPOSE_OID,
					  .data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT };
	unsigned int status = 0;

	if (!guard || !guard->texts[TEXT_CLIENT_CA])
		return true;
	return session && !gnutls_certificate_verify_peers(session, &purpose, 1, &status) &&
	       !status;
}
