import { join } from "node:path";
import { isWithin, readGuardedPlaces } from "./guarded-places.ts";
import { Placeholders } from "./placeholders.ts";
import { leftRedirects, missingRedirects } from "./redirects.ts";
import type { Sandbox, SandboxAccess, SandboxedCommand, SandboxRequest } from "./sandbox.ts";
import { SandboxError } from "./sandbox-error.ts";
import { seccompFilter } from "./seccomp-filter.ts";
import { networkMounts, realPaths, systemMounts, toolDirectories } from "./system-mounts.ts";
import { isGrantable, workspaceMounts } from "./workspace-mounts.ts";

/** What a bwrap sandbox needs to know of this machine. */
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

/** Lists the arguments for directories that are empty and writable, with a maximum size in bytes; half of the memory when undefined. */
function scratchMounts(sizeBytes: number | undefined): string[] {
  const size = sizeBytes === undefined ? [] : ["--size", String(sizeBytes)];
  const directories = ["/tmp", "/var/tmp"].flatMap((path) => ["--perms", "0700", ...size, "--tmpfs", path]);
  return [...directories, "--dir", "/run", "--dir", HOME];
}

/**
 * Runs commands in bubblewrap: namespaces and a file system of their own, in which only the workspace can be written,
 * the system is read-only and the rest, home first, is not there; no privileges, no network unless granted, and all
 * processes end with the first, which ends with the server.
 */
export function createBwrapSandbox(options: BwrapOptions): Sandbox {
  const filter = seccompFilter(options.machine);
  const system = [...systemMounts(), "--proc", "/proc", "--dev", "/dev"];
  // Versions before 0.8 know neither that nor sizes.
  const knowsSizes = options.extras === BWRAP_EXTRAS;
  const tools = toolDirectories(options.path);
  const inputs = filter ? [filter] : [];
  const descriptors = [...(filter ? ["--seccomp", "3"] : []), "--info-fd", String(3 + inputs.length)];
  const before = [options.program, ...NAMESPACES, ...options.extras, ...descriptors, ...system];
  const placeholders = new Placeholders();
  return {
    name: "bwrap",
    confines: true,
    notice: "",
    command: async (request: SandboxRequest): Promise<SandboxedCommand> => {
      const { argv, workingDirectory, environment, shell, access, limits } = request;
      assertOutside(options.program, access);
      const readable = [...tools, ...access.readable];
      const guarded = await readGuardedPlaces(access.workspace, access.workspaceAccess ?? "write");
      const hidden = options.hidden.flatMap(realPaths);
      const missing = guarded.missing.filter((path) => !access.writable.includes(path));
      const isGitGranted = access.writable.includes(join(access.workspace, ".git"));
      const redirects = isGitGranted ? missingRedirects(access.workspace) : leftRedirects(access.workspace);
      const mounted = isGitGranted ? redirects.map(({ path }) => path) : [];
      const mounts = workspaceMounts({ ...access, readable }, { guarded, hidden, missing, redirects: mounted });
      // Scratch space without a limit is for commands without limits.
      const devices = limits ? ["--remount-ro", "/dev"] : [];
      const after = [...devices, "--remount-ro", "/proc", "--remount-ro", "/", "--chdir", workingDirectory, "--"];
      return {
        argv: [
          ...before,
          ...scratchMounts(knowsSizes ? limits?.scratchBytes : undefined),
          ...(access.network === "none" ? ["--unshare-net"] : networkMounts()),
          ...mounts,
          ...after,
          ...argv,
        ],
        workingDirectory: "/",
        environment: { ...environment, HOME, TMPDIR: "/tmp" },
        shell,
        inputs,
        supervised: true,
        guarded,
        hold: () => placeholders.hold({ directories: missing, redirects, links: guarded.links }),
        ...(limits && { limits }),
      };
    },
    canGrant: (path, guarded) => isGrantable(path, guarded, options.hidden.flatMap(realPaths)),
  };
}

/** A command that could change bwrap itself would be confined by what it wrote. */
function assertOutside(program: string, { workspace, writable }: SandboxAccess): void {
  if (!realPaths(program).some((path) => isWithin(path, [workspace, ...writable]))) return;
  const remedy = "install bubblewrap for the system, or choose another workspace";
  throw new SandboxError(`${program} lies where the command may write`, "cannot-confine", { remedy });
}
