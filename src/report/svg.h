/* SPDX-License-Identifier: BSD-2-Clause */
/* Elements of a picture, in whole pixels; classes are those of the picture's style sheet. */
#ifndef BPFTRUSS_SVG_H
#define BPFTRUSS_SVG_H

#include <stdio.h>

#include "model/snapshot.h"

/* Text with what XML reserves replaced; it has been through text_escape_visible(). */
void svg_escape(const char *text, FILE *out);

/* A title, and below it what the picture is of: host, time, a remark, if any, and how exact. */
void svg_head(FILE *out, int x, int y, const char *title, const struct snapshot *snapshot,
	      const char *remark);

void svg_text(FILE *out, int x, int y, const char *class, const char *text);
void svg_line(FILE *out, int x1, int y1, int x2, int y2, const char *class);
void svg_rect(FILE *out, int x, int y, int width, int height, const char *class);

#endif
