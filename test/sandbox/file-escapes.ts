import { existsSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { fileText } from "@devtool/internal/testing/files";
import { type Escape, OUT } from "./escape.ts";
import type { Ground } from "./ground.ts";

/** Attempts to read what is not shown. */
export const READ_ESCAPES: readonly Escape[] = [
  {
    name: "reads a file of the home",
    command: ({ home }) => `cat ${home}/secret.txt`,
  },
  {
    name: "reads an ssh key",
    command: ({ home }) => `cat ${home}/.ssh/id_ed25519`,
  },
  {
    name: "reads through a link of the workspace",
    command: () => "cat link/secret.txt",
  },
  {
    name: "reads through a link that it makes",
    command: ({ home }) => `ln -s ${home} out && cat out/secret.txt`,
  },
  {
    name: "reads by a relative path",
    command: ({ home, workspace }) =>
      `cat ${relative(workspace, home)}/secret.txt`,
  },
  {
    name: "reads by a hard link",
    command: ({ places }) => `ln ${places.tmp}/secret.txt hard && cat hard`,
  },
  {
    name: "reads from /tmp",
    command: ({ places }) => `cat ${places.tmp}/secret.txt`,
  },
  {
    name: "reads from /var/tmp",
    command: ({ places }) => `cat ${places.varTmp}/secret.txt`,
  },
  {
    name: "reads shared memory",
    command: ({ places }) => `cat ${places.shm}/secret.txt`,
  },
  {
    name: "searches for secrets",
    command: ({ home, places }) =>
      `grep -rhs canary ${home} $HOME ${Object.values(places).join(" ")}`,
  },
  {
    name: "reads the discovery file",
    command: ({ server }) => `grep -q token ${server.discovery} && ${OUT}`,
  },
  {
    name: "reads the tasks",
    command: ({ server }) =>
      `head -c 6 ${server.data}/tasks.db | grep -q SQLite && ${OUT}`,
  },
  {
    name: "lists the home",
    command: ({ home }) => `ls -a ${home} | grep -q ssh && ${OUT}`,
  },
  {
    name: "reads the password hashes",
    command: () => `grep -q : /etc/shadow && ${OUT}`,
    rare: true,
  },
  {
    name: "reads the kernel's log",
    command: () => `timeout 1 head -c 1 /dev/kmsg | grep -q . && ${OUT}`,
    rare: true,
  },
  {
    name: "reads the disk itself",
    command: ({ workspace }) => {
      const { dev } = statSync(workspace);
      return `mknod disk b ${dev >> 8} ${dev & 255} && head -c 512 disk >/dev/null && ${OUT}; rm -f disk`;
    },
    rare: true,
  },
];

/** Attempts to write outside of the workspace, or in its guarded places. */
export const WRITE_ESCAPES: readonly Escape[] = [
  ...writing("the home", ({ home }) => home),
  ...writing("/tmp", ({ places }) => places.tmp),
  ...writing("/var/tmp", ({ places }) => places.varTmp),
  ...writing("shared memory", ({ places }) => places.shm),
  ...writing("the tasks' directory", ({ server }) => server.data),
  {
    name: "writes through a link",
    command: () => "echo x >link/through-link",
    got: ({ home }) => existsSync(join(home, "through-link")),
  },
  {
    name: "writes by a relative path",
    command: ({ workspace, places }) =>
      `echo x >${relative(workspace, places.tmp)}/relative`,
    got: ({ places }) => existsSync(join(places.tmp, "relative")),
  },
  {
    name: "changes the shell's start",
    command: ({ home }) => `echo evil >>${home}/.bashrc`,
    got: ({ home }) => fileText(home, ".bashrc") !== "",
  },
  {
    name: "deletes a file of the home",
    command: ({ home }) => `rm ${home}/victim.txt`,
    got: ({ home }) => !existsSync(join(home, "victim.txt")),
  },
  {
    name: "opens a secret to all",
    command: ({ home }) => `chmod 666 ${home}/.ssh/id_ed25519`,
    got: ({ home }) =>
      (statSync(join(home, ".ssh/id_ed25519")).mode & 0o077) !== 0,
  },
  {
    name: "writes a hook of git",
    command: () => "echo evil >.git/hooks/pre-commit",
    got: ({ workspace }) =>
      existsSync(join(workspace, ".git/hooks/pre-commit")),
  },
  {
    name: "gives git a command to run",
    command: () => "git config core.fsmonitor evil",
    got: ({ workspace }) => fileText(workspace, ".git/config").includes("evil"),
  },
  {
    name: "points git to another configuration",
    command: () => "echo ../evil >.git/commondir",
    got: ({ workspace }) => existsSync(join(workspace, ".git/commondir")),
  },
  {
    name: "puts another repository in the place of its own",
    command: () =>
      "mv .git old && cp -r old .git && echo evil >.git/hooks/post-commit",
    got: ({ workspace }) =>
      existsSync(join(workspace, ".git/hooks/post-commit")),
  },
  {
    name: "has the editor run something",
    command: () => "echo evil >.vscode/tasks.json",
    got: ({ workspace }) =>
      fileText(workspace, ".vscode/tasks.json").includes("evil"),
  },
];

function writing(
  place: string,
  directory: (ground: Ground) => string,
): Escape[] {
  return [
    {
      name: `writes to ${place}`,
      command: (ground) => `echo x >${directory(ground)}/written`,
      got: (ground) => existsSync(join(directory(ground), "written")),
    },
  ];
}
