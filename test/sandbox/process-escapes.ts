import { readdirSync, readFileSync } from "node:fs";
import { type Escape, OUT } from "./escape.ts";

/** The commands that escapes leave running when they succeed. */
export const LEFT = [
  `sleep ${process.pid}1.1`,
  `sleep ${process.pid}1.2`,
] as const;

const [PTRACE, KEYCTL, IO_URING, UNSHARE, SYSLOG] =
  process.arch === "arm64"
    ? [117, 219, 425, 97, 116]
    : [101, 250, 425, 272, 103];

/** Attempts to look into, change or outlive other processes. */
export const PROCESS_ESCAPES: readonly Escape[] = [
  {
    name: "reads another's environment",
    command: ({ neighbour }) => `tr '\\0' '\\n' </proc/${neighbour}/environ`,
  },
  {
    name: "reads another's arguments",
    command: ({ neighbour }) => `tr '\\0' '\\n' </proc/${neighbour}/cmdline`,
  },
  {
    name: "searches all environments",
    command: () => "grep -ahs canary /proc/[0-9]*/environ | tr '\\0' '\\n'",
  },
  {
    name: "reads through another's directory",
    command: ({ neighbour }) => `cat /proc/${neighbour}/cwd/secret.txt`,
  },
  {
    name: "reads another's open file",
    command: ({ neighbour }) => `cat /proc/${neighbour}/fd/3`,
  },
  {
    name: "reads through another's root",
    command: ({ neighbour, home }) =>
      `cat /proc/${neighbour}/root${home}/secret.txt`,
  },
  {
    name: "reads through the server's root",
    command: ({ home }) => `cat /proc/${process.pid}/root${home}/secret.txt`,
  },
  {
    name: "reads the server's environment",
    command: () => `grep -aq PATH= /proc/${process.pid}/environ && ${OUT}`,
  },
  {
    name: "reads its parents' environment",
    command: () => `grep -aqs npm_ /proc/$PPID/environ && ${OUT}`,
    rare: true,
  },
  {
    name: "reads the server's memory map",
    command: () => `grep -q node /proc/${process.pid}/maps && ${OUT}`,
  },
  {
    name: "opens the server's memory",
    command: () => `exec 3</proc/${process.pid}/mem && ${OUT}`,
  },
  {
    name: "sees the server",
    command: () => `ls /proc/${process.pid}/exe && ${OUT}`,
  },
  {
    name: "signals the server",
    command: () => `kill -0 ${process.pid} && ${OUT}`,
  },
  {
    name: "slows another down",
    command: ({ neighbour }) => `renice -n 19 -p ${neighbour} && ${OUT}`,
  },
  {
    name: "limits another",
    command: ({ neighbour }) => `prlimit --pid ${neighbour} --core=0 && ${OUT}`,
  },
  {
    name: "traces another",
    command: ({ neighbour }) =>
      `perl -e 'exit(syscall(${PTRACE}, 16, ${neighbour}, 0, 0) != 0)' && ${OUT}`,
    rare: true,
  },
  {
    name: "outlives its call",
    command: () => detach(LEFT[0]),
    got: () => isRunning(LEFT[0]),
  },
  {
    name: "outlives its call, ignoring signals",
    command: () => `trap '' HUP TERM INT; ${detach(LEFT[1])}`,
    got: () => isRunning(LEFT[1]),
  },
];

/**
 * Attempts to use what belongs to the whole machine: namespaces, keys, logs,
 * control groups.
 */
export const KERNEL_ESCAPES: readonly Escape[] = [
  {
    name: "mounts the home",
    command: ({ home }) =>
      `mkdir -p m && unshare -m sh -c 'mount --bind ${home} m && cat m/secret.txt'`,
    rare: true,
  },
  {
    name: "becomes root of its own namespace",
    command: () => `unshare -Ur true && ${OUT}`,
    rare: true,
  },
  {
    name: "enters the server's namespaces",
    command: ({ home }) =>
      `nsenter -t ${process.pid} -m cat ${home}/secret.txt`,
    rare: true,
  },
  {
    name: "changes its root to another's",
    command: ({ home, neighbour }) =>
      `chroot /proc/${neighbour}/root cat ${home}/secret.txt`,
    rare: true,
  },
  {
    name: "writes a setting of the kernel",
    command: () =>
      `cd /proc/sys/kernel && cat core_pattern >core_pattern && ${OUT}`,
    rare: true,
  },
  {
    name: "makes a control group",
    command: () =>
      `mkdir /sys/fs/cgroup/devtool-s11 && rmdir /sys/fs/cgroup/devtool-s11 && ${OUT}`,
    rare: true,
  },
  {
    name: "reads the kernel's memory",
    command: () => `head -c 4 /proc/kcore | grep -aq ELF && ${OUT}`,
    rare: true,
  },
  {
    name: "reaches the session's keyring",
    command: () => `perl -e 'exit(syscall(${KEYCTL}, 0, -3, 0) < 0)' && ${OUT}`,
    rare: true,
  },
  {
    name: "sets up a ring of the kernel",
    command: () =>
      `perl -e '$p = "\\0" x 120; exit(syscall(${IO_URING}, 1, $p) < 0)' && ${OUT}`,
    rare: true,
  },
  {
    name: "makes a user namespace without a map",
    command: () =>
      `perl -e 'exit(syscall(${UNSHARE}, 0x10000000) != 0)' && ${OUT}`,
    rare: true,
  },
  {
    name: "reads the kernel's log by its call",
    command: () =>
      `perl -e '$b = "." x 64; exit(syscall(${SYSLOG}, 3, $b, 64) < 0)' && ${OUT}`,
    rare: true,
  },
  {
    name: "holds back who opens a file, with a lease",
    command: () =>
      `perl -e 'open(F, "<", ".git/config"); exit !fcntl(F, 1024, 1)' && ${OUT}`,
  },
  {
    name: "makes a directory of the system",
    command: () => `mkdir /usr/devtool-s11 && rmdir /usr/devtool-s11 && ${OUT}`,
    rare: true,
  },
];

/** Leaves a command running in a session of its own. */
function detach(command: string): string {
  const leave = `setsid sh -c 'echo >detached; exec ${command}' >/dev/null 2>&1 &`;
  return `rm -f detached; ${leave} until test -e detached; do sleep 0.01; done`;
}

function isRunning(command: string): boolean {
  return processesOf(command).length > 0;
}

/** Lists the processes that run a command, or are about to. */
export function processesOf(command: string): number[] {
  const listed = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return listed.filter((pid) => commandLine(pid).endsWith(command)).map(Number);
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8")
      .split("\0")
      .join(" ")
      .trim();
  } catch {
    return "";
  }
}
