/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts text into the grid. Whatever the place, every write is clipped to it. */
#include "tui/screen.h"

bool cell_is_spark(char c)
{
	return c > 0 && c <= SPARK_LEVELS;
}

int screen_put(struct screen *screen, int x, int y, enum cell_style style, const char *text)
{
	for (; *text; text++, x++) {
		if (x < 0 || y < 0 || x >= screen->width || y >= screen->height)
			continue;
		/* Texts were made safe where they were made; this is the last wall. */
		screen->cells[y * screen->width + x] = (struct cell){
			.c = (*text >= ' ' && *text <= '~') || cell_is_spark(*text) ? *text : '?',
			.style = (unsigned char)style,
		};
	}
	return x;
}

int screen_put_format(struct screen *screen, int x, int y, enum cell_style style,
		      const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return screen_put(screen, x, y, style, text);
}
