/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the writing of SVG elements. */
#include "report/svg.h"

#include "base/mem.h"

void svg_escape(const char *text, FILE *out)
{
	static const struct {
		char byte;
		const char *entity;
	} entities[] = {
		{ '&', "&amp;" },
		{ '<', "&lt;" },
		{ '>', "&gt;" },
		{ '"', "&quot;" },
	};

	for (; *text; text++) {
		const char *entity = NULL;

		for (size_t i = 0; i < ARRAY_SIZE(entities); i++)
			entity = entities[i].byte == *text ? entities[i].entity : entity;
		if (entity)
			fputs(entity, out);
		else
			fputc(*text, out);
	}
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
