import { join } from "node:path";
import { realPath } from "@devtool/internal/real-path";
import { watchGitlinks } from "./added-gitlinks.ts";
import { gitIdentity } from "./git-identity.ts";
import { isTopSetting, isWithin, readGuardedPlaces } from "./guarded-places.ts";
import {
  checkMounts,
  type IntendedMount,
  intendedMounts,
} from "./mount-check.ts";
import { isPlaceholder } from "./placeholder.ts";
import { type Held, Placeholders } from "./placeholders.ts";
import { assertOutside } from "./program-outside.ts";
import { programVariables } from "./program-variables.ts";
import { leftRedirects, missingRedirects, type Redirect } from "./redirects.ts";
import type {
  GuardedPlaces,
  ProcessLimits,
  Sandbox,
  SandboxAccess,
  SandboxedCommand,
  SandboxRequest,
} from "./sandbox.ts";
import { seccompFilter } from "./seccomp-filter.ts";
import {
  networkMounts,
  realPaths,
  systemMounts,
  toolDirectories,
} from "./system-mounts.ts";
import { workTreesAround } from "./work-trees.ts";
import { isGrantable, workspaceMounts } from "./workspace-mounts.ts";

/** The machine that a bwrap sandbox runs on. */
export interface BwrapOptions {
  /** The absolute path of bwrap. */
  readonly program: string;
  /**
   * Paths that no command reads or writes, whatever it was granted: where tasks
   * and tokens are stored.
   */
  readonly hidden: readonly string[];
  /**
   * The PATH of commands: its directories outside the system are shown to them,
   * read-only.
   */
  readonly path: string;
  /** The architecture, as in `process.arch`. */
  readonly machine: string;
  /**
   * Further arguments, which not every version of bwrap knows: `BWRAP_EXTRAS`,
   * or none.
   */
  readonly extras: readonly string[];
  /**
   * Returns the absolute path of git outside of some directories, if it is
   * there. Default: no command gets an identity.
   */
  readonly findGit?: (outside: readonly string[]) => string | undefined;
}

/**
 * Prevents commands from creating user namespaces. bwrap supports it since 0.8.
 */
export const BWRAP_EXTRAS: readonly string[] = ["--disable-userns"];

/** The home directory inside: empty, and removed with the command. */
const HOME = "/tmp/.home";

/**
 * The configuration of git for the machine inside. The home directory stays
 * empty, and a command can have its own settings there.
 */
const IDENTITY = "/run/gitconfig";

const NAMESPACES = [
  [
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
  ],
  ["--die-with-parent", "--new-session", "--cap-drop", "ALL"],
].flat();

/**
 * Returns a sandbox that runs commands in bubblewrap.
 *
 * A command gets namespaces of its own and a file system in which it can write
 * the workspace, read the system, and see nothing else, the home directory
 * included. It has no privileges, and no network unless that is granted. All of
 * its processes end with its first one, which ends with this process.
 */
export function createBwrapSandbox(options: BwrapOptions): Sandbox {
  const filter = seccompFilter(options.machine);
  const system = [...systemMounts(), "--proc", "/proc", "--dev", "/dev"];
  const tools = toolDirectories(options.path);
  const expectMounts = mountExpectations(system, tools);
  const placeholders = new Placeholders();

  return {
    name: "bwrap",
    confines: true,
    promise:
      "a command writes the workspace, reads that and the system's programs, and reaches no network",
    notice: "",
    command: async (request: SandboxRequest): Promise<SandboxedCommand> => {
      const { argv, workingDirectory, environment, shell, access, limits } =
        request;
      const { missingSettings = "hold" } = request;
      assertOutside(options.program, access);
      const isIndexWritable = writesIndex(access);
      const { mounts, guarded, held } = await planWorkspace(access, {
        tools,
        hidden: options.hidden,
        missingSettings,
      });
      const git =
        request.gitIdentity &&
        options.findGit?.([access.workspace, ...access.writable]);
      const identity = git ? await gitIdentity(git, access.workspace) : "";
      const variables = programVariables({
        ...environment,
        HOME,
        TMPDIR: "/tmp",
        ...(identity === "" ? {} : { GIT_CONFIG_SYSTEM: IDENTITY }),
      });
      const { inputs, descriptors } = passedData({
        filter,
        identity,
        variables,
      });
      const network =
        access.network === "none" ? ["--unshare-net"] : networkMounts();
      const others = [...scratchMounts(options, limits), ...network];
      const { all, intended } = expectMounts(others, mounts);
      return {
        argv: [
          options.program,
          ...NAMESPACES,
          ...options.extras,
          ...system,
          ...others,
          ...descriptors,
          ...mounts,
          // In /dev a command without limits may use shared memory.
          ...(limits ? ["--remount-ro", "/dev"] : []),
          ...["--remount-ro", "/proc", "--remount-ro", "/"],
          "--chdir",
          workingDirectory,
          "--",
          ...argv,
        ],
        workingDirectory: "/",
        environment: {},
        shell,
        inputs,
        supervised: true,
        check: (pid) => checkMounts(pid, all, intended),
        guarded,
        hold: (end) => placeholders.hold(held, end),
        ...(isIndexWritable && { disarm: await watchGitlinks(access) }),
        limits,
      };
    },
    canGrant: (path, guarded) =>
      isGrantable(path, guarded, options.hidden.flatMap(realPaths)),
  };
}

/** Whether a command can write the index of a repository around it. */
function writesIndex({ workspace, writable }: SandboxAccess): boolean {
  return workTreesAround(workspace)
    .flatMap(({ gitDirectory, commonDirectory }) => [
      gitDirectory,
      commonDirectory,
    ])
    .some((path) => isWithin(path, writable));
}

/** What bwrap reads from descriptors. */
interface PassedData {
  /** Default: none. */
  readonly filter: Uint8Array | undefined;
  /** The file with the identity for git; empty for none. */
  readonly identity: string;
  /** The variables of the program, which bwrap itself is started without. */
  readonly variables: ReadonlyMap<string, string>;
}

/**
 * Returns the data that bwrap reads from descriptors, and its arguments for
 * these and for the two that supervise the start of a command.
 */
function passedData({ filter, identity, variables }: PassedData): {
  readonly inputs: Uint8Array[];
  readonly descriptors: string[];
} {
  const inputs: Uint8Array[] = [];
  const pass = (data: Uint8Array): string => `${2 + inputs.push(data)}`;
  const seccomp = filter ? ["--seccomp", pass(filter)] : [];
  const file =
    identity === "" ? [] : ["--file", pass(Buffer.from(identity)), IDENTITY];
  // Other processes of the machine can read arguments, but not a descriptor.
  const settings = [...variables].map(
    ([name, value]) => `--setenv\0${name}\0${value}\0`,
  );
  const environment = ["--args", pass(Buffer.from(settings.join("")))];
  const info = 3 + inputs.length;
  const start = ["--info-fd", `${info}`, "--block-fd", `${info + 1}`];
  return {
    inputs,
    descriptors: [...seccomp, ...file, ...environment, ...start],
  };
}

/** The mounts that a command must have before it may start. */
interface ExpectedMounts {
  readonly all: ReadonlyMap<string, IntendedMount>;
  /** The mounts that depend on the workspace and its guarded places. */
  readonly intended: ReadonlyMap<string, IntendedMount>;
}

/**
 * Returns a function that determines the mounts of a command from bwrap's
 * arguments for it. The mounts of the system and of the tools are read once.
 */
function mountExpectations(
  system: readonly string[],
  tools: readonly string[],
): (others: readonly string[], mounts: readonly string[]) => ExpectedMounts {
  const intendedSystem = intendedMounts(system, resolveLinks);
  const intendedTools = intendedMounts(
    tools.flatMap((path) => ["--ro-bind", path, path]),
    resolveLinks,
  );
  return (others, mounts) => {
    const intended = intendedMounts(mounts);
    for (const [path, tool] of intendedTools) {
      if (intended.get(path)?.isReadOnly) intended.set(path, tool);
    }
    const intendedOthers = intendedMounts(others, resolveLinks);
    const all = new Map([...intendedSystem, ...intendedOthers, ...intended]);
    return { all, intended };
  };
}

/** How a command sees its workspace. */
interface WorkspacePlan {
  /** Arguments of bwrap. */
  readonly mounts: readonly string[];
  readonly guarded: GuardedPlaces;
  /** Placeholders to make for the command, and to remove after it. */
  readonly held: Held;
}

/**
 * Determines which places of a workspace are guarded, and plans how a command
 * sees them.
 */
async function planWorkspace(
  access: SandboxAccess,
  {
    tools,
    hidden,
    missingSettings,
  }: Pick<Required<SandboxRequest>, "missingSettings"> & {
    readonly tools: readonly string[];
    readonly hidden: readonly string[];
  },
): Promise<WorkspacePlan> {
  const { workspace, writable } = access;
  const guarded = await readGuardedPlaces(
    workspace,
    access.workspaceAccess ?? "write",
  );
  const kept = guarded.missing.filter((path) => !writable.includes(path));
  const watched = kept.filter(
    (path) =>
      missingSettings === "watch" &&
      isTopSetting(path, workspace) &&
      // There is one where a command in the background runs.
      !isPlaceholder(path),
  );
  const missing = kept.filter((path) => !watched.includes(path));
  const gitDirectories = [join(workspace, ".git"), ...guarded.gitDirectories];
  const granted = missingRedirects(
    gitDirectories.filter((path) => writable.includes(path)),
  );
  const left = leftRedirects(
    gitDirectories.filter((path) => !writable.includes(path)),
  );
  const files = guarded.missingFiles.map(
    (path): Redirect => ({ path, content: "" }),
  );
  const mounts = workspaceMounts(access, {
    tools,
    guarded,
    hidden: hidden.flatMap(realPaths),
    missing,
    redirects: [...granted, ...files].map(({ path }) => path),
  });
  return {
    mounts,
    guarded,
    held: {
      directories: missing,
      redirects: [...granted, ...left, ...files],
      links: guarded.links,
      watched,
    },
  };
}

function resolveLinks(path: string): string {
  return realPath(path) ?? path;
}

/**
 * Lists the arguments for writable, empty directories of a maximum size.
 * Without one it is half of the memory.
 */
function scratchMounts(
  { extras }: BwrapOptions,
  limits: ProcessLimits | undefined,
): string[] {
  // Versions before 0.8 support neither the extras nor sizes.
  const bytes = extras === BWRAP_EXTRAS ? limits?.scratchBytes : undefined;
  const size = bytes === undefined ? [] : ["--size", String(bytes)];
  const directories = ["/tmp", "/var/tmp"].flatMap((path) => [
    "--perms",
    "0700",
    ...size,
    "--tmpfs",
    path,
  ]);
  return [...directories, "--dir", "/run", "--dir", HOME];
}
