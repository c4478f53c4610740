import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { approvalScript } from "./approval-script.ts";
import type { Ground } from "./ground.ts";

/** A way out of the sandbox. */
export interface Escape {
  readonly name: string;
  /** What is run. It says the canary, or `OUT`, when it got out. */
  readonly command: (ground: Ground) => string;
  /** Looks from outside whether it got out. */
  readonly got?: (ground: Ground) => boolean;
  /** Readies the ground. */
  readonly before?: (ground: Ground) => Promise<void>;
  /** Needs privileges or a kernel that not every machine has: then it may fail without a sandbox too. */
  readonly rare?: true;
}

/** What escapes leave running when they succeed. */
export const LEFT = [`sleep ${process.pid}1.1`, `sleep ${process.pid}1.2`] as const;

/** Says that it got out, without the word in the command's own text. */
const OUT = 'echo "O""UT"';
const [PTRACE, KEYCTL, IO_URING, UNSHARE, SYSLOG] =
  process.arch === "arm64" ? [117, 219, 425, 97, 116] : [101, 250, 425, 272, 103];

const read: readonly Escape[] = [
  { name: "reads a file of the home", command: ({ home }) => `cat ${home}/secret.txt` },
  { name: "reads an ssh key", command: ({ home }) => `cat ${home}/.ssh/id_ed25519` },
  { name: "reads through a link of the workspace", command: () => "cat link/secret.txt" },
  { name: "reads through a link that it makes", command: ({ home }) => `ln -s ${home} out && cat out/secret.txt` },
  {
    name: "reads by a relative path",
    command: ({ home, workspace }) => `cat ${relative(workspace, home)}/secret.txt`,
  },
  { name: "reads by a hard link", command: ({ places }) => `ln ${places.tmp}/secret.txt hard && cat hard` },
  { name: "reads from /tmp", command: ({ places }) => `cat ${places.tmp}/secret.txt` },
  { name: "reads from /var/tmp", command: ({ places }) => `cat ${places.varTmp}/secret.txt` },
  { name: "reads shared memory", command: ({ places }) => `cat ${places.shm}/secret.txt` },
  {
    name: "searches for secrets",
    command: ({ home, places }) => `grep -rhs canary ${home} $HOME ${Object.values(places).join(" ")}`,
  },
  { name: "reads the discovery file", command: ({ server }) => `grep -q token ${server.discovery} && ${OUT}` },
  { name: "reads the tasks", command: ({ server }) => `head -c 6 ${server.data}/tasks.db | grep -q SQLite && ${OUT}` },
  { name: "lists the home", command: ({ home }) => `ls -a ${home} | grep -q ssh && ${OUT}` },
  { name: "reads the password hashes", command: () => `grep -q : /etc/shadow && ${OUT}`, rare: true },
  { name: "reads the kernel's log", command: () => `timeout 1 head -c 1 /dev/kmsg | grep -q . && ${OUT}`, rare: true },
  {
    name: "reads the disk itself",
    command: ({ workspace }) => {
      const { dev } = statSync(workspace);
      return `mknod disk b ${dev >> 8} ${dev & 255} && head -c 512 disk >/dev/null && ${OUT}; rm -f disk`;
    },
    rare: true,
  },
];

const processes: readonly Escape[] = [
  { name: "reads another's environment", command: ({ neighbour }) => `tr '\\0' '\\n' </proc/${neighbour}/environ` },
  { name: "reads another's arguments", command: ({ neighbour }) => `tr '\\0' '\\n' </proc/${neighbour}/cmdline` },
  { name: "searches all environments", command: () => "grep -ahs canary /proc/[0-9]*/environ | tr '\\0' '\\n'" },
  { name: "reads through another's directory", command: ({ neighbour }) => `cat /proc/${neighbour}/cwd/secret.txt` },
  { name: "reads another's open file", command: ({ neighbour }) => `cat /proc/${neighbour}/fd/3` },
  {
    name: "reads through another's root",
    command: ({ neighbour, home }) => `cat /proc/${neighbour}/root${home}/secret.txt`,
  },
  { name: "reads through the server's root", command: ({ home }) => `cat /proc/${process.pid}/root${home}/secret.txt` },
  { name: "reads the server's environment", command: () => `grep -aq PATH= /proc/${process.pid}/environ && ${OUT}` },
  { name: "reads its parents' environment", command: () => `grep -aqs npm_ /proc/$PPID/environ && ${OUT}`, rare: true },
  { name: "reads the server's memory map", command: () => `grep -q node /proc/${process.pid}/maps && ${OUT}` },
  { name: "opens the server's memory", command: () => `exec 3</proc/${process.pid}/mem && ${OUT}` },
  { name: "sees the server", command: () => `ls /proc/${process.pid}/exe && ${OUT}` },
  { name: "signals the server", command: () => `kill -0 ${process.pid} && ${OUT}` },
  { name: "slows another down", command: ({ neighbour }) => `renice -n 5 -p ${neighbour} && ${OUT}` },
  { name: "limits another", command: ({ neighbour }) => `prlimit --pid ${neighbour} --core=0 && ${OUT}` },
  {
    name: "traces another",
    command: ({ neighbour }) => `perl -e 'exit(syscall(${PTRACE}, 16, ${neighbour}, 0, 0) != 0)' && ${OUT}`,
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

const network: readonly Escape[] = [
  { name: "connects to the loopback", command: ({ ports }) => `cat </dev/tcp/127.0.0.1/${ports.v4}` },
  { name: "connects to the loopback by name", command: ({ ports }) => `cat </dev/tcp/localhost/${ports.v4}` },
  { name: "connects to the loopback of IPv6", command: ({ ports }) => `cat </dev/tcp/::1/${ports.v6}`, rare: true },
  {
    name: "connects to another loopback address",
    command: ({ ports }) => `cat </dev/tcp/127.0.0.1/${ports.v4} 2>/dev/null || cat </dev/tcp/0.0.0.0/${ports.v4}`,
  },
  {
    name: "sends a datagram",
    command: ({ udpPort, canary }) => `echo ${canary} >/dev/udp/127.0.0.1/${udpPort}; sleep 0.2`,
    got: ({ heard }) => heard.length > 0,
  },
  { name: "connects to a socket by path", command: ({ socket }) => connectTo(socket) },
  { name: "connects to an abstract socket", command: ({ abstractSocket }) => connectTo(`\\0${abstractSocket}`) },
  { name: "finds docker", command: () => `test -S /var/run/docker.sock && ${OUT}`, rare: true },
  { name: "finds dbus", command: () => `ls /run/dbus/system_bus_socket /run/user/*/bus && ${OUT}`, rare: true },
  {
    name: "opens a socket to the host of a virtual machine",
    command: () => `perl -e 'exit !socket(S, 40, 1, 0)' && ${OUT}`,
    rare: true,
  },
  {
    name: "asks the server whether it lives",
    command: ({ server }) => `node -e "fetch('${server.url}/healthz').then(() => console.log('O' + 'UT'))"`,
  },
  {
    name: "sees the machine's network",
    command: () =>
      `node -e "process.exit(+!Object.keys(os.networkInterfaces()).some((name) => name !== 'lo'))" && ${OUT}`,
    rare: true,
  },
];

const approvals: readonly Escape[] = [
  {
    name: "approves its own call with the token it finds",
    before: (ground) => ground.ask("approved-found.txt"),
    command: ({ server }) => approve(`JSON.parse(fs.readFileSync("${server.discovery}", "utf8"))`),
    got: ({ workspace }) => existsSync(join(workspace, "approved-found.txt")),
  },
  {
    name: "approves its own call with a token that it was told",
    before: (ground) => ground.ask("approved-told.txt"),
    command: ({ server: { url, token } }) => approve(JSON.stringify({ url, token })),
    got: ({ workspace }) => existsSync(join(workspace, "approved-told.txt")),
  },
];

const write: readonly Escape[] = [
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
    command: ({ workspace, places }) => `echo x >${relative(workspace, places.tmp)}/relative`,
    got: ({ places }) => existsSync(join(places.tmp, "relative")),
  },
  {
    name: "changes the shell's start",
    command: ({ home }) => `echo evil >>${home}/.bashrc`,
    got: ({ home }) => readFileSync(join(home, ".bashrc"), "utf8") !== "",
  },
  {
    name: "deletes a file of the home",
    command: ({ home }) => `rm ${home}/victim.txt`,
    got: ({ home }) => !existsSync(join(home, "victim.txt")),
  },
  {
    name: "opens a secret to all",
    command: ({ home }) => `chmod 666 ${home}/.ssh/id_ed25519`,
    got: ({ home }) => (statSync(join(home, ".ssh/id_ed25519")).mode & 0o077) !== 0,
  },
  {
    name: "writes a hook of git",
    command: () => "echo evil >.git/hooks/pre-commit",
    got: ({ workspace }) => existsSync(join(workspace, ".git/hooks/pre-commit")),
  },
  {
    name: "gives git a command to run",
    command: () => "git config core.fsmonitor evil",
    got: ({ workspace }) => readFileSync(join(workspace, ".git/config"), "utf8").includes("evil"),
  },
  {
    name: "points git to another configuration",
    command: () => "echo ../evil >.git/commondir",
    got: ({ workspace }) => existsSync(join(workspace, ".git/commondir")),
  },
  {
    name: "puts another repository in the place of its own",
    command: () => "mv .git old && cp -r old .git && echo evil >.git/hooks/post-commit",
    got: ({ workspace }) => existsSync(join(workspace, ".git/hooks/post-commit")),
  },
  {
    name: "has the editor run something",
    command: () => "echo evil >.vscode/tasks.json",
    got: ({ workspace }) => readFileSync(join(workspace, ".vscode/tasks.json"), "utf8").includes("evil"),
  },
];

const kernel: readonly Escape[] = [
  {
    name: "mounts the home",
    command: ({ home }) => `mkdir -p m && unshare -m sh -c 'mount --bind ${home} m && cat m/secret.txt'`,
    rare: true,
  },
  { name: "becomes root of its own namespace", command: () => `unshare -Ur true && ${OUT}`, rare: true },
  {
    name: "enters the server's namespaces",
    command: ({ home }) => `nsenter -t ${process.pid} -m cat ${home}/secret.txt`,
    rare: true,
  },
  {
    name: "changes its root to another's",
    command: ({ home, neighbour }) => `chroot /proc/${neighbour}/root cat ${home}/secret.txt`,
    rare: true,
  },
  {
    name: "writes a setting of the kernel",
    command: () => `cd /proc/sys/kernel && cat core_pattern >core_pattern && ${OUT}`,
    rare: true,
  },
  {
    name: "makes a control group",
    command: () => `mkdir /sys/fs/cgroup/devtool-s11 && rmdir /sys/fs/cgroup/devtool-s11 && ${OUT}`,
    rare: true,
  },
  { name: "reads the kernel's memory", command: () => `head -c 4 /proc/kcore | grep -aq ELF && ${OUT}`, rare: true },
  {
    name: "reaches the session's keyring",
    command: () => `perl -e 'exit(syscall(${KEYCTL}, 0, -3, 0) < 0)' && ${OUT}`,
    rare: true,
  },
  {
    name: "sets up a ring of the kernel",
    command: () => `perl -e '$p = "\\0" x 120; exit(syscall(${IO_URING}, 1, $p) < 0)' && ${OUT}`,
    rare: true,
  },
  {
    name: "makes a user namespace without a map",
    command: () => `perl -e 'exit(syscall(${UNSHARE}, 0x10000000) != 0)' && ${OUT}`,
    rare: true,
  },
  {
    name: "reads the kernel's log by its call",
    command: () => `perl -e '$b = "." x 64; exit(syscall(${SYSLOG}, 3, $b, 64) < 0)' && ${OUT}`,
    rare: true,
  },
  {
    name: "holds back who opens a file, with a lease",
    command: () => `perl -e 'open(F, "<", ".git/config"); exit !fcntl(F, 1024, 1)' && ${OUT}`,
  },
  {
    name: "makes a directory of the system",
    command: () => `mkdir /usr/devtool-s11 && rmdir /usr/devtool-s11 && ${OUT}`,
    rare: true,
  },
];

/** All of them. */
export const ESCAPES: readonly Escape[] = [...read, ...processes, ...network, ...approvals, ...write, ...kernel];

function writing(place: string, directory: (ground: Ground) => string): Escape[] {
  return [
    {
      name: `writes to ${place}`,
      command: (ground) => `echo x >${directory(ground)}/written`,
      got: (ground) => existsSync(join(directory(ground), "written")),
    },
  ];
}

function connectTo(path: string): string {
  return `node -e 'net.connect({ path: "${path}" }).on("error", () => {}).pipe(process.stdout)'`;
}

/** Leaves a command running in a session of its own. */
function detach(command: string): string {
  const leave = `setsid sh -c 'echo >detached; exec ${command}' >/dev/null 2>&1 &`;
  return `rm -f detached; ${leave} until test -e detached; do sleep 0.01; done`;
}

function approve(access: string): string {
  return `node --input-type=module -e '${approvalScript(access)}'`;
}

function isRunning(command: string): boolean {
  return processesOf(command).length > 0;
}

/** The processes that run a command; one may be about to become it. */
export function processesOf(command: string): number[] {
  const listed = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return listed.filter((pid) => commandLine(pid).endsWith(command)).map(Number);
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").join(" ").trim();
  } catch {
    return "";
  }
}
