/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads configuration files with inih, and says which line of them is at fault. */
#include <glob.h>
#include <ini.h>

#include "cmd/options.h"
#include "daemon/log.h"

#define CONFIG_DIR "/etc/bpftruss/conf.d"

/* Carries a file through its reading. */
struct parse {
	struct options *options;
	const char *path;
	FILE *file;
	int line; /* the last one that inih has got */
	int errors;
};

/* Whoever only checks the files has asked just now: no line of a log for him. */
static void complain(struct parse *parse, int line, const char *sentence)
{
	char text[1024], visible[TEXT_ESCAPED_MAX(sizeof(text))];

	parse->errors++;
	if (!parse->options->check_config) {
		log_line(LOG_ERR, "%s:%d: %s", parse->path, line, sentence);
		return;
	}
	snprintf(text, sizeof(text), "%s:%d: %s", parse->path, line, sentence);
	text_escape_visible(text, sizeof(text), visible);
	fprintf(stderr, "bpftruss: %s\n", visible);
}

/* Nothing is left of the line. */
static char *line_skipped(struct parse *parse, char *buf, const char *sentence)
{
	complain(parse, parse->line, sentence);
	strcpy(buf, "\n");
	return buf;
}

/* Works like fgets(), but counts lines; a line too long for inih's buffer would come as two. */
static char *next_line(char *buf, int size, void *stream)
{
	struct parse *parse = stream;
	size_t length;
	int c;

	if (!fgets(buf, size, parse->file))
		return NULL;
	parse->line++;
	length = strlen(buf);
	/* inih would take it for more of the value above. */
	if (strspn(buf, " \t") && buf[strspn(buf, " \t\r\n")])
		return line_skipped(parse, buf, "a line must not begin with a blank");
	if (length + 1 < (size_t)size || buf[length - 1] == '\n')
		return buf;
	while ((c = getc(parse->file)) != '\n' && c != EOF)
		;
	return line_skipped(parse, buf, "the line is too long");
}

/* Copies a value, to live as long as the options. */
static const char *value_keep(struct options *o, const char *value)
{
	char *copy = strdup(value);

	if (copy && array_grow(&o->kept, o->nr_kept, sizeof(*o->kept)))
		return o->kept[o->nr_kept++] = copy;
	free(copy);
	return NULL;
}

static int key_set(struct options *o, const char *section, const char *key, const char *value,
		   struct diag *d)
{
	const struct option_def *def = option_find(VERB_DAEMON, key);
	const char *kept;

	if (!def || !def->section)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"no key %.64s; 'bpftruss daemon --help' lists them as flags", key);
	if (strcmp(def->section, section))
		return diag_set(d, DIAG_USAGE, EINVAL, "%s belongs in [%s]", key, def->section);
	if (!*value && option_argument(def))
		return diag_set(d, DIAG_USAGE, EINVAL, "%.64s has no value", key);
	kept = value_keep(o, value);
	return kept ? option_set(def, o, def->name, kept, d) : diag_oom(d);
}

static int handle_key(void *closure, const char *section, const char *key, const char *value)
{
	struct parse *parse = closure;
	struct diag d;

	if (key_set(parse->options, section, key, value ?: "", &d))
		complain(parse, parse->line, d.text);
	return 1;
}

static int file_read(struct options *o, const char *path, int *errors, struct diag *d)
{
	FILE *file __cleanup(fclosep) = fopen(path, "re");
	struct parse parse = { .options = o, .path = path, .file = file };
	int bad;

	if (!file)
		return diag_set(d, DIAG_USAGE, errno, "cannot read %s: %s", path, strerror(errno));
	bad = ini_parse_stream(next_line, &parse, handle_key, &parse);
	/* Tells of the first line that inih itself did not understand. */
	if (bad > 0)
		complain(&parse, bad, "this is neither [section], key = value nor a # comment");
	if (ferror(file))
		return diag_set(d, DIAG_USAGE, EIO, "cannot read %s: %s", path, strerror(EIO));
	*errors += parse.errors;
	return 0;
}

int config_read(struct options *o, const char *path, struct diag *d)
{
	bool absent = !path && access(DEFAULT_CONFIG, F_OK) && errno == ENOENT;
	glob_t files = { .gl_pathc = 0 };
	int errors = 0, missed;
	int err = absent ? 0 : file_read(o, path ?: DEFAULT_CONFIG, &errors, d);

	if (!err && !path) {
		missed = glob(CONFIG_DIR "/*.conf", GLOB_ERR, NULL, &files);
		if (missed && missed != GLOB_NOMATCH && !access(CONFIG_DIR, F_OK))
			err = diag_set(d, DIAG_USAGE, EIO, "cannot read %s", CONFIG_DIR);
		for (size_t i = 0; i < files.gl_pathc && !err; i++)
			err = file_read(o, files.gl_pathv[i], &errors, d);
		globfree(&files);
	}
	if (!err && errors)
		err = diag_set(d, DIAG_USAGE, EINVAL, "%d error%s in the configuration", errors,
			       errors == 1 ? "" : "s");
	return err;
}
