/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes elements of SVG. */
#include "report/svg.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"

void svg_escape(const char *text, FILE *out)
{
	static const char reserved[] = "&<>\"";
	static const char *const entities[] = { "&amp;", "&lt;", "&gt;", "&quot;" };

	for (; *text; text++) {
		const char *found = strchr(reserved, *text);

		if (found)
			fputs(entities[found - reserved], out);
		else
			fputc(*text, out);
	}
}

void svg_head(FILE *out, int x, int y, const char *title, const struct snapshot *snapshot,
	      const char *remark)
{
	char text[512], start[CLOCK_RFC3339_SIZE], age[AGE_MAX], host[256];

	clock_rfc3339(snapshot->start_ns, start, sizeof(start));
	format_age(snapshot->elapsed_ns, age, sizeof(age));
	text_escape_visible(snapshot->host, (sizeof(host) - 1) / 4, host);
	snprintf(text, sizeof(text), "%s, from %.19sZ for %s; %s%s%s", host, start, age, remark,
		 *remark ? "; " : "",
		 snapshot_is_exact(snapshot) ? "exact: no call is missing"
					     : "not exact: the text report says why");
	svg_text(out, x, y, "title", title);
	svg_text(out, x, y + 20, "note", text);
}

void svg_text(FILE *out, int x, int y, const char *class, const char *text)
{
	fprintf(out, "<text x=\"%d\" y=\"%d\" class=\"%s\">", x, y, class);
	svg_escape(text, out);
	fputs("</text>\n", out);
}

void svg_line(FILE *out, int x1, int y1, int x2, int y2, const char *class)
{
	fprintf(out, "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" class=\"%s\"/>\n", x1, y1, x2,
		y2, class);
}

void svg_rect(FILE *out, int x, int y, int width, int height, const char *class)
{
	fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" class=\"%s\"/>\n", x, y,
		width, height, class);
}
