/* SPDX-License-Identifier: Apache-2.0 */
/* unpack NAME.host DIR: writes a captured host as a new directory DIR, so that a transcript can change it. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include "lib/capture.h"
#include "lib/file.h"

int main(int argc, char **argv)
{
	gt_autofree char *text = NULL;
	struct gt_err err = { 0 };
	size_t len;
	int fd;

	if (argc != 3 || gt_file_read(argv[1], 64u << 20, &text, &len, &err) < 0 || mkdir(argv[2], 0755) < 0 ||
	    (fd = open(argv[2], O_PATH | O_DIRECTORY)) < 0 ||
	    gt_capture_unpack(text, len, argv[1], fd, &err) < 0) {
		fprintf(stderr, "unpack: %s\n", err.msg[0] ? err.msg : "usage: unpack NAME.host DIR");
		return 64;
	}
	return 0;
}
