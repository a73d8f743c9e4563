/* SPDX-License-Identifier: MIT */
/*
 * ring_forms.h: the kernel's numbers and forms for FUSE over io_uring, from include/uapi/linux/fuse.h of
 * Linux 6.14, where it came; they stand here because older headers have none of them.
 */
#ifndef RYE_FS_LOOP_RING_FORMS_H
#define RYE_FS_LOOP_RING_FORMS_H

#include <linux/fuse.h>
#include <stdint.h>

#define RING_INIT_FLAGS2 (1U << 9) /* FUSE_OVER_IO_URING, bit 41 of the flags: bit 9 of flags2 */

enum { /* enum fuse_uring_cmd */
       RING_REGISTER = 1,
       RING_COMMIT_AND_FETCH = 2,
};

/* struct fuse_uring_cmd_req: in the command area of an SQE */
struct ring_command {
	uint64_t flags;
	uint64_t commit_id; /* of the request that is answered */
	uint16_t qid;
	uint8_t padding[6];
};

/* struct fuse_uring_req_header */
struct ring_head {
	char in_out[128]; /* struct fuse_in_header; struct fuse_out_header */
	char op_in[128]; /* what follows it, up to the first name or byte */
	uint64_t flags;
	uint64_t commit_id;
	uint32_t payload_len;
	uint32_t padding;
	uint64_t reserved;
};

#endif
