/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the use of inih, and which line of a file is at fault. */
#include "cmd/config_file.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

struct parse {
	const struct config_reader *reader;
	const char *path;
	FILE *file;
	int line; /* the last one that inih has got */
	int errors;
};

static void complain(struct parse *parse, int line, const char *sentence)
{
	parse->errors++;
	parse->reader->complain(parse->path, line, sentence);
}

/* Nothing is left of the line. */
static char *line_skipped(struct parse *parse, char *buf, const char *sentence)
{
	complain(parse, parse->line, sentence);
	strcpy(buf, "\n");
	return buf;
}

/* As fgets(), but counting; what is too long for inih's buffer would come as two lines. */
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

static bool section_exists(const struct config_reader *reader, const char *name)
{
	for (size_t i = 0; i < reader->nr_sections; i++) {
		if (!strcmp(reader->sections[i].name, name))
			return true;
	}
	return false;
}

static const struct option_def *part_find(const struct option_part *part, const char *key)
{
	for (size_t i = 0; i < part->count; i++) {
		if (!strcmp(part->defs[i].name, key))
			return &part->defs[i];
	}
	return NULL;
}

/* The keys of one section may be in several parts. */
static const struct option_def *key_find(const struct config_reader *reader, const char *section,
					 const char *key)
{
	const struct option_def *found = NULL;

	for (size_t i = 0; i < reader->nr_sections && !found; i++) {
		if (!strcmp(reader->sections[i].name, section))
			found = part_find(reader->sections[i].part, key);
	}
	return found;
}

/* The section that has such a key, for whoever wrote it into another one. */
static const char *section_of_key(const struct config_reader *reader, const char *key)
{
	for (size_t i = 0; i < reader->nr_sections; i++) {
		if (part_find(reader->sections[i].part, key))
			return reader->sections[i].name;
	}
	return NULL;
}

static int key_unknown(const struct config_reader *reader, const char *section, const char *key,
		       struct diag *d)
{
	const char *other = section_of_key(reader, key);

	if (!section_exists(reader, section) && *section)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"no section [%.64s]; there are [daemon], [targets], [tables], "
				"[history], [metrics]",
				section);
	if (other)
		return diag_set(d, DIAG_USAGE, EINVAL, "%.64s belongs in [%s]", key, other);
	return diag_set(d, DIAG_USAGE, EINVAL,
			"no key %.64s; 'bpftruss daemon --help' lists them as flags", key);
}

/* An option without an argument is on or off: what its set function gets for that. */
static int switch_read(const char *key, const char *value, const char **ret, struct diag *d)
{
	static const char *const words[][2] = {
		{ "no", "yes" }, { "false", "true" }, { "off", "on" }, { "0", "1" }
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		for (int on = 0; on < 2; on++) {
			if (!strcasecmp(value, words[i][on])) {
				*ret = on ? NULL : OPTION_OFF;
				return 0;
			}
		}
	}
	return diag_set(d, DIAG_USAGE, EINVAL, "%.64s: \"%.64s\" is neither yes nor no", key,
			value);
}

static int key_set(const struct config_reader *reader, const char *section, const char *key,
		   const char *value, struct diag *d)
{
	const struct option_def *def = key_find(reader, section, key);
	const char *kept = NULL;
	int err;

	if (!def)
		return key_unknown(reader, section, key, d);
	if (!option_takes_argument(def)) {
		err = switch_read(key, value, &kept, d);
		return err ?: def->set(reader->options, kept, d);
	}
	if (!*value)
		return diag_set(d, DIAG_USAGE, EINVAL, "%.64s has no value", key);
	kept = reader->keep(reader->options, value);
	return kept ? def->set(reader->options, kept, d) : diag_oom(d);
}

static int handle_key(void *closure, const char *section, const char *key, const char *value)
{
	struct parse *parse = closure;
	struct diag d;

	if (key_set(parse->reader, section, key, value ?: "", &d))
		complain(parse, parse->line, d.text);
	return 1;
}

int config_file_read(const struct config_reader *reader, const char *path)
{
	FILE *file __cleanup(fclosep) = fopen(path, "re");
	struct parse parse = { .reader = reader, .path = path, .file = file };
	int bad;

	if (!file)
		return -errno;
	bad = ini_parse_stream(next_line, &parse, handle_key, &parse);
	/* What inih itself did not understand. */
	if (bad > 0)
		complain(&parse, bad, "this is neither [section], key = value nor a # comment");
	if (ferror(file))
		return -EIO;
	return parse.errors;
}
