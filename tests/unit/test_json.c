/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The JSON contract: golden files, and what a reader gets out of it. It is spelled as jansson spells
 * it, whatever bytes are in it.
 */
#include "scenarios.h"

#include <math.h>

#include "json/json.h"
#include "model/label.h"
#include "report/report.h"

/* The contract does not depend on the machine: one ABI is as good as another. */
#define ABI_OF_JSON ABI_X86_64

#define KEYS_OF_ALL_ROWS 33

static const json_t *row_at(const json_t *json, size_t index)
{
	const json_t *row = json_array_get(json_object_get(json, "rows"), index);

	assert_non_null(row);
	return row;
}

TEST(test_golden)
{
	scenario_for_each (i, snapshot, ABI_OF_JSON) {
		char golden[64];

		snprintf(golden, sizeof(golden), "json_%s", scenario_at(i)->name);
		golden_render(golden, report_json, snapshot);
	}
}

/* The same keys in the same order, and behind them at most what only some rows have. */
static void assert_keys(json_t *row, json_t *first)
{
	static const char *const some[] = { "tid_start_ns", "result_sum", "open_wall_ns",
					    "open_off_ns" };
	void *a = json_object_iter(first), *b = json_object_iter(row);
	size_t count = 0, other = 0;

	for (; count < KEYS_OF_ALL_ROWS; count++) {
		assert_non_null(b);
		assert_string_equal(json_object_iter_key(a), json_object_iter_key(b));
		a = json_object_iter_next(first, a);
		b = json_object_iter_next(row, b);
	}
	for (; b; b = json_object_iter_next(row, b)) {
		while (other < ARRAY_SIZE(some) &&
		       strcmp(some[other], json_object_iter_key(b)) != 0)
			other++;
		assert_true(other < ARRAY_SIZE(some));
	}
}

TEST(test_form)
{
	scenario_for_each (i, snapshot, ABI_OF_JSON) {
		__cleanup(freep) char *text = render(report_json, snapshot);
		json_auto_t *json = json_parse(text);
		const json_t *rows = json_object_get(json, "rows");
		const json_t *losses = json_object_get(json, "losses");
		size_t size = strlen(text);

		assert_true(json_is_object(json));
		assert_int_equal(text[size - 1], '\n');
		for (size_t at = 0; at < size - 1; at++)
			assert_in_range((unsigned char)text[at], ' ', '~');
		assert_int_equal(json_array_size(rows), snapshot->nr_rows);
		/* Every loss of the model stands under its name, and no other. */
		assert_int_equal(json_object_size(losses), NR_MODEL_LOSS);
		for (size_t j = 0; j < NR_MODEL_LOSS; j++)
			assert_int_equal(json_number(losses, loss_texts[j].name),
					 snapshot->losses.count[j]);
		for (size_t j = 0; j < snapshot->nr_rows; j++)
			assert_keys(json_array_get(rows, j), json_array_get(rows, 0));
	}
}

/* Counts that tell where the calls without a time went: each is its own. */
BUILDER_TEST(test_untimed_counts)
{
	static const struct text_number counts[] = {
		{ "calls", 33 },      { "no_return", 11 }, { "untimed", 12 }, { "denied", 5 },
		{ "interrupted", 6 }, { "bytes", 0 },      { "pid", 1 },
	};
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
	__cleanup(freep) char *text = NULL;
	json_auto_t *json = NULL;
	struct row row;

	row_init_calls(&row, 1, ABI_OF_JSON, "getpid", 10, 100, 0, 0);
	row.calls += 11 + 12;
	row.no_return = 11;
	row.untimed = 12;
	row.denied = 5;
	row.interrupted = 6;
	row.result_sum = 77;
	builder_take_row(builder, &row);
	snapshot = snapshot_take(builder);
	text = render(report_json, snapshot);
	json = json_parse(text);
	/* A pid is no number of bytes; its process is unknown, its number is not. */
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		assert_int_equal(json_number(json_at(json, "rows/0"), counts[i].text),
				 counts[i].number);
}

/* A reader gets whatever a process calls itself, and the report stays a report. */
SNAPSHOT_TEST(test_hostile_names, scenario_hostile(ABI_OF_JSON))
{
	__cleanup(freep) char *text = render(report_json, snapshot);
	json_auto_t *json = json_parse(text);
	const json_t *targets = json_object_get(json, "targets");
	size_t count;
	const struct hostile_name *names = scenario_hostile_names(&count);

	assert_int_equal(json_array_size(targets), count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(json_number(row_at(json, i), "pid"), 100 + i);
		assert_string_equal(json_text(row_at(json, i), "comm"), names[i].text);
		assert_string_equal(json_text(json_array_get(targets, i), "comm"), names[i].text);
	}
}

/* --- the writer ---------------------------------------------------------------------------------- */

/* A list that is written, and as what it is to be read. */
struct writing {
	struct json_writer to;
	struct text_stream text;
	json_t *json;
};

static void writing_begin(struct writing *w)
{
	w->json = json_array();
	json_begin(&w->to, text_open(&w->text));
	json_put_list(&w->to, NULL);
}

static void writing_check(struct writing *w)
{
	__cleanup(freep) char *expected = json_dumps(w->json, JSON_COMPACT | JSON_ENSURE_ASCII);
	__cleanup(freep) char *got = NULL;

	assert_non_null(expected);
	json_put_end(&w->to);
	assert_int_equal(json_end(&w->to), 0);
	got = text_close(&w->text);
	assert_int_equal(got[strlen(got) - 1], '\n');
	got[strlen(got) - 1] = '\0';
	assert_string_equal(got, expected);
	json_decref(w->json);
}

#define WRITING_TEST(name) TEST_OF(name, struct writing, w, writing_check, writing_begin)

static int null_write(const char *key, FILE *out)
{
	struct json_writer to;

	json_begin(&to, out);
	json_put_null(&to, key);
	return json_end(&to);
}

/* Commas and brackets at every depth. */
WRITING_TEST(test_nesting)
{
	struct json_writer *to = &w->to;

	json_put_object(to, NULL);
	json_put_list(to, "empty");
	json_put_end(to);
	json_put_object(to, "none");
	json_put_end(to);
	json_put_list(to, "list");
	json_put_number(to, NULL, 1);
	json_put_list(to, NULL);
	json_put_null(to, NULL);
	json_put_bool(to, NULL, true);
	json_put_end(to);
	json_put_object(to, NULL);
	json_put_bool(to, "no", false);
	json_put_number_if(to, "unknown", false, 7);
	json_put_number_if(to, "known", true, 7);
	json_put_end(to);
	json_put_end(to);
	json_put_word(to, "word", "two words");
	json_put_text(to, "nothing", NULL);
	json_put_time(to, "time", 1500000000);
	json_put_end(to);
	json_array_append_new(w->json,
			      json_pack("{s:[],s:{},s:[i,[n,b],{s:b,s:n,s:i}],s:s,s:n,s:s}",
					"empty", "none", "list", 1, 1, "no", 0, "unknown", "known",
					7, "word", "two words", "nothing", "time",
					"1970-01-01T00:00:01.500000000Z"));
	assert_full(null_write, NULL);
}

/* Around each power of ten and of two, more than a buffer of them. */
WRITING_TEST(test_numbers)
{
	struct json_writer *to = &w->to;

	for (uint64_t ten = 1; ten && ten <= 10000000000000000000U; ten *= 10) {
		for (uint64_t value = ten - 2; value != ten + 3; value++) {
			json_put_number(to, NULL, value);
			json_array_append_new(w->json, json_integer((json_int_t)value));
		}
		if (ten == 10000000000000000000U)
			break;
	}
	for (unsigned int i = 0; i < 64; i++) {
		for (uint64_t value = (1ULL << i) - 2; value != (1ULL << i) + 3; value++) {
			json_put_number(to, NULL, value);
			json_array_append_new(w->json, json_integer((json_int_t)value));
		}
	}
}

/* Texts of all sorts of characters and of none, which fill many buffers. */
WRITING_TEST(test_texts)
{
	static const struct text_pair parts[] = {
		{ "plain words", "plain words" },
		{ "\"", "\"" },
		{ "\\", "\\" },
		{ "\b\f\n\r\t", "\b\f\n\r\t" },
		{ "\x01\x1f", "\x01\x1f" },
		{ "\x7f", "\\x7f" },
		{ "\xff", "\\xff" },
		{ "/", "/" },
		{ "\xc2\x9b", "\xc2\x9b" },
		{ "\xe2\x82\xac", "\xe2\x82\xac" },
		{ "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" },
		{ "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf" },
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" },
		{ "\\xff", "\\xff" },
		{ "", "" },
	};
	struct json_writer *to = &w->to;
	uint64_t seed = 11;

	for (int i = 0; i < 3000; i++) {
		char bytes[512] = "", expected[512] = "";

		for (uint64_t j = random_below(&seed, 20); j; j--) {
			uint64_t part = random_below(&seed, ARRAY_SIZE(parts));

			strcat(bytes, parts[part].given);
			strcat(expected, parts[part].expected);
		}
		json_put_text(to, NULL, bytes);
		json_array_append_new(w->json, json_string(expected));
	}
}

/* A text of several buffers in one piece; bytes behind a size or a NUL are not looked at. */
WRITING_TEST(test_sizes)
{
	const size_t length = 3 * JSON_BUFFER + 5;
	__cleanup(freep) char *bytes = malloc(length + 1);
	struct json_writer *to = &w->to;

	memset(bytes, 'x', length);
	bytes[length] = '\0';
	json_put_text(to, NULL, bytes);
	json_array_append_new(w->json, json_string(bytes));
	bytes[JSON_BUFFER] = '\xff';
	json_put_text(to, NULL, bytes);
	json_array_append_new(
		w->json, json_sprintf("%.*s\\xff%s", JSON_BUFFER, bytes, bytes + JSON_BUFFER + 1));
	json_put_bytes(to, NULL, "abc", 2);
	json_put_bytes(to, NULL, "a\0c", 3);
	json_array_append_new(w->json, json_string("ab"));
	json_array_append_new(w->json, json_string("a"));
}

/* A real is as short as can be read back, with a dot or an exponent; no number becomes null. */
TEST(test_reals)
{
	static const double reals[] = {
		0,       -40,          0.1,          83.3333333,
		1.0 / 3, 123456789.25, 4.16495e-113, -1.7976931348623157e308,
		NAN,     INFINITY
	};
	struct text_stream text;
	struct json_writer to;
	__cleanup(freep) char *got = NULL;

	json_begin(&to, text_open(&text));
	json_put_list(&to, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(reals); i++)
		json_put_real(&to, NULL, reals[i]);
	json_put_end(&to);
	assert_int_equal(json_end(&to), 0);
	got = text_close(&text);
	assert_string_equal(
		got, "[0.0,-40.0,0.1,83.3333333,0.3333333333333333,123456789.25,4.16495e-113,"
		     "-1.7976931348623157e+308,null,null]\n");
}

/* Returns what a reader of JSON gets of bytes. */
static char *text_read_back(const char *bytes, size_t size)
{
	struct text_stream text;
	struct json_writer to;
	__cleanup(freep) char *line = NULL;
	json_auto_t *json = NULL;

	json_begin(&to, text_open(&text));
	json_put_bytes(&to, NULL, bytes, size);
	assert_int_equal(json_end(&to), 0);
	line = text_close(&text);
	json = json_loads(line, JSON_DECODE_ANY, NULL);
	assert_non_null(json);
	return strdup(json_string_value(json));
}

/* The bytes are copied to the end of a block, so that reading too far is seen. */
static void escape_check(const char *bytes, size_t size, const char *expected)
{
	__cleanup(freep) char *in = malloc(size ? size : 1);
	__cleanup(freep) char *out = NULL;

	memcpy(in, bytes, size);
	out = text_read_back(in, size);
	assert_string_equal(out, expected);
}

TEST(test_escape_plain)
{
	escape_check("", 0, "");
	escape_check("abc", 3, "abc");
	escape_check("abc", 2, "ab");
	escape_check("abc\0def", 7, "abc");
	escape_check("\0", 1, "");
	escape_check("0123456789abcdef", 16, "0123456789abcdef");
	escape_check("\x01\x1b\n\t\"\\", 6, "\x01\x1b\n\t\"\\");
	escape_check("a\x7f~", 3, "a\\x7f~");
	/* The size cuts a sequence, the bytes behind it do not count. */
	escape_check("\xc3\xa9", 1, "\\xc3");
	escape_check("\xe2\x82\xac", 2, "\\xe2\\x82");
	escape_check("\xe2\x82\xac", 1, "\\xe2");
	escape_check("\xf0\x9f\x98\x80", 3, "\\xf0\\x9f\\x98");
	escape_check("0123456789abcd\xe2\x82\xac", 16, "0123456789abcd\\xe2\\x82");
	escape_check("0123456789abc\xe2\x82\xac", 16, "0123456789abc\xe2\x82\xac");
	escape_check("\xe2\x82\0\xac", 4, "\\xe2\\x82");
}

/* Ends of each form of valid UTF-8: they stay. */
TEST(test_escape_valid)
{
	static const char valid[] =
		"~ \xc2\x80 \xdf\xbf \xe0\xa0\x80 \xe0\xbf\xbf \xe1\x80\x80 "
		"\xec\xbf\xbf \xed\x80\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf "
		"\xef\xbf\xbd \xf0\x90\x80\x80 \xf0\xbf\xbf\xbf \xf1\x80\x80\x80 "
		"\xf3\xbf\xbf\xbf \xf4\x80\x80\x80 \xf4\x8f\xbf\xbf \xf0\x9f\x98\x80 "
		"\xe2\x82\xac";
	char bytes[MAX_WORD], framed[3 * MAX_WORD];

	for (const char *at = valid; word_read(&at, bytes);) {
		escape_check(bytes, strlen(bytes), bytes);
		snprintf(framed, sizeof(framed), "a%sb%s", bytes, bytes);
		escape_check(framed, strlen(framed), framed);
	}
}

static const char invalid[] =
	/* Nothing that starts a sequence. */
	"\\x80 \\xbf a\\x80z \\xfe \\xff \\xf8\\x88\\x80\\x80\\x80 "
	"\\xfc\\x84\\x80\\x80\\x80\\x80 "
	/* Overlong. */
	"\\xc0\\x80 \\xc0\\xaf \\xc1\\xbf \\xe0\\x80\\x80 \\xe0\\x9f\\xbf \\xf0\\x80\\x80\\x80 "
	"\\xf0\\x8f\\xbf\\xbf "
	/* Surrogates. */
	"\\xed\\xa0\\x80 \\xed\\xbf\\xbf \\xed\\xa0\\xbd\\xed\\xb8\\x80 "
	/* Above U+10FFFF. */
	"\\xf4\\x90\\x80\\x80 \\xf5\\x80\\x80\\x80 \\xf7\\xbf\\xbf\\xbf "
	/* Cut short, by the end and by another byte. */
	"\\xc2 \\xe2\\x82 \\xf0\\x9f\\x98 \\xc2z \\xe2z \\xe2\\x82z \\xf0\\x9f\\x98z "
	"\\xf0\\x9fz\\x80 "
	/* A lost start does not take the next sequence along. */
	"\\xc2\xc3\xa9 \\xe2\\x82\xe2\x82\xac \\xf0\\x9f\\x98\xf0\x9f\x98\x80 \xc3\xa9\\xa9 "
	"\\xe2\xc2\x80 "
	/* Last bytes just outside their range. */
	"\\xc2\\x7f \\xc2\\xc0 \\xe1\\x80\\x7f \\xe1\\x80\\xc0 \\xf1\\x80\\x80\\x7f "
	"\\xf1\\x80\\x80\\xc0 \\xf1\\x80\\xc0\\x80 ";

TEST(test_escape_invalid)
{
	char expected[MAX_WORD], bytes[MAX_WORD];

	for (const char *at = invalid; word_read(&at, expected);) {
		bytes_unescape(expected, bytes);
		escape_check(bytes, strlen(bytes), expected);
	}
}

/* Decodes one sequence without the tables of the code under test; 0 when it is to be escaped. */
static size_t utf8_decoded_length(const unsigned char *s, size_t left)
{
	static const uint32_t first[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length = s[0] < 0x80         ? 1
			: (s[0] >> 5) == 6  ? 2
			: (s[0] >> 4) == 14 ? 3
			: (s[0] >> 3) == 30 ? 4
					    : 0;
	uint32_t point;

	if (length < 2 || length > left)
		return length == 1 && s[0] != 0x7f;
	point = s[0] & (0x7f >> length);
	for (size_t i = 1; i < length; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (s[i] & 0x3f);
	}
	if (point < first[length] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
		return 0;
	return length;
}

/* Every two bytes, and the start of each longer sequence with every second byte. */
TEST(test_escape_all_starts)
{
	for (unsigned int pair = 0x0101; pair <= 0xffff; pair++) {
		unsigned char in[4] = { (unsigned char)(pair >> 8), (unsigned char)pair, 0x80,
					0xbf };
		__cleanup(freep) char *out = text_read_back((const char *)in, sizeof(in));
		char expected[TEXT_ESCAPED_MAX(4)] = "";
		size_t length;

		if (!in[1])
			continue;
		for (size_t at = 0; at < sizeof(in); at += length ? length : 1) {
			size_t used = strlen(expected);

			length = utf8_decoded_length(in + at, sizeof(in) - at);
			if (length)
				memcpy(expected + used, in + at, length);
			else
				sprintf(expected + used, "\\x%02x", in[at]);
			expected[used + (length ? length : 4)] = 0;
		}
		assert_string_equal(out, expected);
	}
}

/* Any byte, next to others, comes back; and escaping it again gives the same text. */
TEST(test_unescape)
{
	static const struct text_pair texts[] = {
		{ "plain", "plain" },
		{ "\\xff\\x80", "\xff\x80" },
		{ "\\x7f", "\x7f" },
		{ "\\x41\\x0a\\x00", "\\x41\\x0a\\x00" },
		{ "\\xFF\\xf\\x", "\\xFF\\xf\\x" },
		{ "\\\\xff", "\\\xff" },
		{ "\\xe2\\x82", "\xe2\x82" },
		/* Bytes would be a character: somebody wrote the first as text. */
		{ "\\xe2\\x82\\xac", "\\xe2\x82\xac" },
		{ "\\xc2\\xc2\\x9b", "\xc2\\xc2\x9b" },
		{ "", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		__cleanup(freep) char *again = NULL;
		char bytes[64];

		strcpy(bytes, texts[i].given);
		text_unescape(bytes);
		assert_string_equal(bytes, texts[i].expected);
		again = text_read_back(bytes, strlen(bytes));
		assert_string_equal(again, texts[i].given);
	}
}
