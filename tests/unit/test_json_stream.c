/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON that is written as it goes is the same as what jansson writes of a tree. */
#include "fixture.h"

#include <jansson.h>

#include "report/json_stream.h"
#include "report/json_values.h"
#include "report/label.h"

/* Takes the tree. */
static void assert_written(struct json_stream *stream, struct text_stream *text, json_t *json)
{
	char *expected = json_dumps(json, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY);
	char *got;

	assert_non_null(expected);
	assert_int_equal(json_stream_done(stream), 0);
	got = text_close(text);
	assert_int_equal(got[strlen(got) - 1], '\n');
	got[strlen(got) - 1] = '\0';
	assert_string_equal(got, expected);
	free(got);
	free(expected);
	json_decref(json);
}

/* Commas and brackets at every depth. */
static void test_nesting(void **state)
{
	struct text_stream text;
	struct json_stream to;

	(void)state;
	json_stream_init(&to, text_open(&text));
	json_stream_object(&to, NULL);
	json_stream_list(&to, "empty");
	json_stream_end(&to);
	json_stream_object(&to, "none");
	json_stream_end(&to);
	json_stream_list(&to, "list");
	json_stream_number(&to, NULL, 1);
	json_stream_list(&to, NULL);
	json_stream_null(&to, NULL);
	json_stream_bool(&to, NULL, true);
	json_stream_end(&to);
	json_stream_object(&to, NULL);
	json_stream_bool(&to, "no", false);
	json_stream_number_if(&to, "unknown", false, 7);
	json_stream_number_if(&to, "known", true, 7);
	json_stream_end(&to);
	json_stream_end(&to);
	json_stream_word(&to, "word", "two words");
	json_stream_untrusted_text(&to, "nothing", NULL);
	json_stream_time(&to, "time", 1500000000);
	json_stream_end(&to);
	assert_written(&to, &text,
		       json_pack("{s:[],s:{},s:[i,[n,b],{s:b,s:n,s:i}],s:s,s:n,s:s}", "empty",
				 "none", "list", 1, 1, "no", 0, "unknown", "known", 7, "word",
				 "two words", "nothing", "time", "1970-01-01T00:00:01.500000000Z"));
}

/* Around each power of ten and of two, more than a buffer of them. */
static void test_numbers(void **state)
{
	json_t *json = json_array();
	struct text_stream text;
	struct json_stream to;

	(void)state;
	json_stream_init(&to, text_open(&text));
	json_stream_list(&to, NULL);
	for (uint64_t ten = 1; ten && ten <= 10000000000000000000U; ten *= 10) {
		for (uint64_t value = ten - 2; value != ten + 3; value++) {
			json_stream_number(&to, NULL, value);
			json_array_append_new(json, json_number(value));
		}
		if (ten == 10000000000000000000U)
			break;
	}
	for (unsigned int i = 0; i < 64; i++) {
		for (uint64_t value = (1ULL << i) - 2; value != (1ULL << i) + 3; value++) {
			json_stream_number(&to, NULL, value);
			json_array_append_new(json, json_number(value));
		}
	}
	json_stream_end(&to);
	assert_written(&to, &text, json);
}

/* Texts of all sorts of characters and of none, which fill many buffers. */
static void test_texts(void **state)
{
	static const char *const parts[] = { "plain words",
					     "\"",
					     "\\",
					     "\b\f\n\r\t",
					     "\x01\x1f",
					     "\x7f",
					     "\xff",
					     "/",
					     "\xc2\x9b",
					     "\xe2\x82\xac",
					     "\xf0\x9f\x98\x80",
					     "\xf4\x8f\xbf\xbf",
					     "\xed\xa0\x80",
					     "\\xff",
					     "" };
	json_t *json = json_array();
	struct text_stream text;
	struct json_stream to;
	uint64_t seed = 11;

	(void)state;
	json_stream_init(&to, text_open(&text));
	json_stream_list(&to, NULL);
	for (int i = 0; i < 3000; i++) {
		char bytes[256] = "";

		for (uint64_t j = random_below(&seed, 20); j; j--)
			strcat(bytes, parts[random_below(&seed, ARRAY_SIZE(parts))]);
		json_stream_untrusted_text(&to, NULL, bytes);
		json_array_append_new(json, json_untrusted_text(bytes));
	}
	json_stream_end(&to);
	assert_written(&to, &text, json);
}

/* A text of several buffers in one piece; bytes behind a size or a NUL are not looked at. */
static void test_sizes(void **state)
{
	const size_t length = 3 * JSON_STREAM_BUFFER + 5;
	char *bytes = malloc(length + 1);
	json_t *json = json_array();
	struct text_stream text;
	struct json_stream to;

	(void)state;
	assert_non_null(bytes);
	memset(bytes, 'x', length);
	bytes[length] = '\0';
	json_stream_init(&to, text_open(&text));
	json_stream_list(&to, NULL);
	json_stream_untrusted_text(&to, NULL, bytes);
	json_array_append_new(json, json_string(bytes));
	bytes[JSON_STREAM_BUFFER] = '\xff';
	json_stream_untrusted_text(&to, NULL, bytes);
	json_array_append_new(json, json_untrusted_text(bytes));
	json_stream_untrusted(&to, NULL, "abc", 2);
	json_stream_untrusted(&to, NULL, "a\0c", 3);
	json_array_append_new(json, json_string("ab"));
	json_array_append_new(json, json_string("a"));
	json_stream_end(&to);
	assert_written(&to, &text, json);
	free(bytes);
}

static void test_failing_stream(void **state)
{
	__cleanup(fclosep) FILE *full = full_open();
	struct json_stream to;

	(void)state;
	json_stream_init(&to, full);
	json_stream_null(&to, NULL);
	assert_int_equal(json_stream_done(&to), -EIO);
}

/* What one byte can be, next to others, comes back; and escaping it again gives the same text. */
static void test_unescape(void **state)
{
	static const struct {
		const char *text, *bytes;
	} texts[] = {
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

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		char bytes[64], again[TEXT_ESCAPED_MAX(64)];

		strcpy(bytes, texts[i].text);
		text_unescape(bytes);
		assert_string_equal(bytes, texts[i].bytes);
		text_escape(bytes, strlen(bytes), again);
		assert_string_equal(again, texts[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nesting),        cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_texts),          cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_failing_stream), cmocka_unit_test(test_unescape),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
