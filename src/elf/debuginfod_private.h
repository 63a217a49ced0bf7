/* SPDX-License-Identifier: BSD-2-Clause */
/* The folder of a debuginfod client, which belongs to the user that the client runs as. */
#ifndef BPFTRUSS_DEBUGINFOD_PRIVATE_H
#define BPFTRUSS_DEBUGINFOD_PRIVATE_H

#define CLIENT_FOLDER_SIZE 64

struct client_folder {
	char path[CLIENT_FOLDER_SIZE]; /* empty: there is none */
	int fd;
};

/* 0 or a negative errno; client_folder_done() is due in both cases. */
int client_folder_make(struct client_folder *folder);

/* Removes it with all that is in it. */
void client_folder_done(struct client_folder *folder);

#endif
