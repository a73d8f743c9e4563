/* SPDX-License-Identifier: MIT */
/* cli_verbs.h: the run functions of the table in cli.c, one file each. */
#ifndef RYE_CLI_CLI_VERBS_H
#define RYE_CLI_CLI_VERBS_H

struct cli;

int verb_complete(struct cli *cli);
int verb_doctor(struct cli *cli);
int verb_execute(struct cli *cli);
int verb_fetch(struct cli *cli);
int verb_init(struct cli *cli);
int verb_keygen(struct cli *cli);
int verb_keys(struct cli *cli);
int verb_search(struct cli *cli);
int verb_sign(struct cli *cli);
int verb_thread_run(struct cli *cli);
int verb_threads(struct cli *cli);
int verb_trust(struct cli *cli);
int verb_umount(struct cli *cli);
int verb_untrust(struct cli *cli);
int verb_verify(struct cli *cli);

#endif
