import type { Sandbox, SandboxedCommand, SandboxRequest } from "./sandbox.ts";
import { seccompFilter } from "./seccomp-filter.ts";
import { networkMounts, realPaths, systemMounts, toolDirectories } from "./system-mounts.ts";
import { isGrantable, workspaceMounts } from "./workspace-mounts.ts";

/** What a bwrap sandbox is made of. */
export interface BwrapOptions {
  /** Where bwrap is: an absolute path. */
  readonly program: string;
  /** Paths that no command reads or writes, whatever it was granted: where tasks and tokens lie. */
  readonly hidden: readonly string[];
  /** The PATH of commands: its directories outside the system are shown to them, read-only. */
  readonly path: string;
  /** The machine, as `process.arch` names it. */
  readonly machine: string;
  /** What to ask of bwrap beyond what all versions know; `BWRAP_EXTRAS`, or none. */
  readonly extras: readonly string[];
}

/** Keeps commands from making user namespaces of their own; bwrap knows it since 0.8. */
export const BWRAP_EXTRAS: readonly string[] = ["--disable-userns"];

/** The home directory inside: empty, and gone with the command. */
const HOME = "/tmp/.home";

const NAMESPACES = [
  ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
  ["--die-with-parent", "--new-session", "--cap-drop", "ALL"],
].flat();
const SCRATCH = [
  "--perms",
  "0700",
  "--tmpfs",
  "/tmp",
  "--perms",
  "0700",
  "--tmpfs",
  "/var/tmp",
  "--dir",
  "/run",
  "--dir",
  HOME,
];

/**
 * Runs commands in bubblewrap: namespaces and a file system of their own, in which only the workspace can be written,
 * the system is read-only and the rest, home first, is not there; no privileges, no network unless granted, and all
 * processes end with the first, which ends with the server.
 */
export function createBwrapSandbox(options: BwrapOptions): Sandbox {
  const filter = seccompFilter(options.machine);
  const system = [...systemMounts(), "--proc", "/proc", "--dev", "/dev", ...SCRATCH];
  const tools = toolDirectories(options.path);
  const inputs = filter ? [filter] : [];
  const descriptors = [...(filter ? ["--seccomp", "3"] : []), "--info-fd", String(3 + inputs.length)];
  const before = [options.program, ...NAMESPACES, ...options.extras, ...descriptors, ...system];
  return {
    name: "bwrap",
    confines: true,
    notice: "",
    command: ({ argv, workingDirectory, environment, access }: SandboxRequest): SandboxedCommand => {
      const readable = [...tools, ...access.readable];
      const mounts = workspaceMounts({ ...access, readable }, options.hidden.flatMap(realPaths));
      const after = ["--remount-ro", "/proc", "--remount-ro", "/", "--chdir", workingDirectory, "--"];
      return {
        argv: [
          ...before,
          ...(access.network === "none" ? ["--unshare-net"] : networkMounts()),
          ...mounts,
          ...after,
          ...argv,
        ],
        workingDirectory: "/",
        environment: { ...environment, HOME, TMPDIR: "/tmp" },
        inputs,
        supervised: true,
      };
    },
    canGrant: (path, workspace) => isGrantable(path, workspace, options.hidden.flatMap(realPaths)),
  };
}
