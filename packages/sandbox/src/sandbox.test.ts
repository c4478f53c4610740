import {
  mkdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";
import { findDenial } from "./denial.ts";
import type { Extension } from "./extension.ts";
import { findSandbox, lazySandbox } from "./find-sandbox.ts";
import { readGuardedPlaces } from "./guarded-places.ts";
import { HostPrograms } from "./host-programs.ts";
import { noSandbox } from "./no-sandbox.ts";
import type { Sandbox, SandboxAccess } from "./sandbox.ts";
import { SandboxError } from "./sandbox-error.ts";
import { toolDirectories } from "./system-mounts.ts";
import { workspaceMounts } from "./workspace-mounts.ts";

const { signal } = new AbortController();
const machine = process.arch;

describe("finding a sandbox", () => {
  let root: string;
  beforeEach(() => {
    root = temporaryDirectory();
  });

  it("takes none where none is wanted", async () => {
    const sandbox = await findSandbox(
      "none",
      { hidden: [], path: "", machine },
      signal,
    );
    expect(sandbox).toMatchObject({
      name: "none",
      confines: false,
      notice: "",
    });
  });

  it("tries it out, and says what does not work: as an error, or as a notice when anything will do", async () => {
    writeFileSync(
      join(root, "bwrap"),
      "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n",
      {
        mode: 0o755,
      },
    );
    const options = {
      hidden: [],
      path: root,
      machine,
      programs: programsIn(root),
    };
    const reason = await findSandbox("bwrap", options, signal).catch(
      (thrown: unknown) => thrown,
    );
    expect(reason).toBeInstanceOf(SandboxError);
    expect(reason).toMatchObject({
      reason: "unavailable",
      message: `sandbox "bwrap" cannot be used: ${root}/bwrap says "bwrap: No permissions to create new namespace": allow unprivileged user namespaces (in a container: docs/sandbox.md, "In a container"), or choose "none", which leaves commands to what confines the server`,
    });
    const auto = await findSandbox("auto", options, signal);
    expect(auto).toMatchObject({
      name: "none",
      confines: false,
      notice: expect.stringContaining("No permissions"),
    });
  });

  it("goes without what an older bwrap does not know", async () => {
    writeFileSync(
      join(root, "bwrap"),
      '#!/bin/sh\ncase "$*" in *--disable-userns*) exit 1;; esac\necho ran\n',
      {
        mode: 0o755,
      },
    );
    const options = {
      hidden: [],
      path: "",
      machine,
      programs: programsIn(root),
    };
    const sandbox = await findSandbox("bwrap", options, signal);
    const elsewhere = join(root, "elsewhere");
    mkdirSync(elsewhere);
    expect(await argvOf(sandbox, accessTo(elsewhere))).not.toContain(
      "--disable-userns",
    );
  });

  it("looks once, when it is first needed, and again after a failure", async () => {
    let looked = 0;
    const find = () =>
      ++looked === 1
        ? Promise.reject(new Error("no"))
        : Promise.resolve(noSandbox(""));
    const lazy = lazySandbox(find, () => 0);
    expect(looked).toBe(0);
    await expect(lazy()).rejects.toThrow("no");
    expect(await lazy()).toBe(await lazy());
    expect(looked).toBe(2);
  });

  it("looks again after a while where none worked, and keeps what does", async () => {
    const finds = [noSandbox("busy"), noSandbox("busy"), noSandbox("")];
    let now = 0;
    let looked = 0;
    const lazy = lazySandbox(
      async () => finds[looked++] ?? expect.unreachable(),
      () => now,
    );
    const notices: string[] = [];
    for (now of [0, 29_999, 30_000, 59_999, 60_000, 999_999]) {
      notices.push((await lazy()).notice);
    }
    expect(notices).toEqual(["busy", "busy", "busy", "busy", "", ""]);
    expect(looked).toBe(3);
  });
});

/** Programs of a directory alone, and the system's bash. */
function programsIn(directory: string): HostPrograms {
  symlinkSync("/bin/bash", join(directory, "bash"));
  return new HostPrograms("", [directory]);
}

describe("what a command is shown", () => {
  let root: string;
  let workspace: string;
  beforeEach(() => {
    root = temporaryDirectory();
    workspace = join(root, "workspace");
    for (const path of [
      "workspace/.git/hooks",
      "workspace/.data",
      "other/deep",
      "workspace-evil",
    ]) {
      mkdirSync(join(root, path), { recursive: true });
    }
    putFile(workspace, ".git/config", "");
    putFile(workspace, ".mcp.json", "");
  });

  it("is the workspace, with what runs by itself to read only", async () => {
    expect(await mounts({})).toEqual([
      "bind workspace",
      "ro-bind workspace/.git",
      "ro-bind workspace/.mcp.json",
    ]);
  });

  it("is .git to write when that is granted, but not what git takes commands from", async () => {
    rmSync(join(workspace, ".git/hooks"), { recursive: true });
    expect(await mounts({ writable: [join(workspace, ".git")] })).toEqual(
      [
        "bind workspace",
        "bind workspace/.git",
        "ro-bind workspace/.mcp.json",
        "tmpfs workspace/.git/hooks",
        "remount-ro workspace/.git/hooks",
        "ro-bind workspace/.git/config",
      ].toSorted(byPathLength),
    );
  });

  it("is decided by the deepest path, whichever way round", async () => {
    const access = {
      readable: [join(root, "other")],
      writable: [join(root, "other/deep"), root],
    };
    expect(await mounts(access, [join(workspace, ".data")])).toEqual(
      [
        "bind ",
        "ro-bind other",
        "bind workspace",
        "bind other/deep",
        "ro-bind workspace/.git",
        "tmpfs workspace/.data",
        "remount-ro workspace/.data",
        "ro-bind workspace/.mcp.json",
      ].toSorted(byPathLength),
    );
  });

  it("is never what is hidden or protects git, nor the root, nor a link, whatever is granted", async () => {
    symlinkSync(root, join(root, "link"));
    const hidden = join(root, "other");
    const writable = [
      hidden,
      join(hidden, "deep"),
      join(workspace, ".git/hooks"),
      join(workspace, ".git/config"),
      "/",
      "/proc",
      join(root, "link"),
      join(root, "missing"),
    ];
    expect(await mounts({ writable, readable: [hidden] }, [hidden])).toEqual(
      await mounts({}),
    );
  });

  it("is not confused by a name that begins like another", async () => {
    expect(
      await mounts({ writable: [join(root, "workspace-evil")] }, [workspace]),
    ).toContain("bind workspace-evil");
  });

  it("is nothing of a workspace that cannot be protected", async () => {
    rmSync(join(workspace, ".git"), { recursive: true });
    symlinkSync("../other", join(workspace, ".git"));
    await expect(mounts({})).rejects.toThrow("its .git is a symbolic link");
    symlinkSync(workspace, join(root, "alias"));
    await expect(
      readGuardedPlaces(join(root, "alias"), "write"),
    ).rejects.toThrow("by its real path");
    await expect(readGuardedPlaces("/", "write")).rejects.toThrow("below /");
  });

  it("is the tools of the PATH, and of a version manager all that belongs to one", () => {
    const [node, bin] = [
      join(root, ".nvm/versions/node/v24/bin"),
      join(root, ".local/bin"),
    ];
    for (const path of [node, bin]) mkdirSync(path, { recursive: true });
    const path = `/usr/bin:relative:${node}:${bin}:/bin:${join(root, "missing")}`;
    expect(toolDirectories(path)).toEqual([
      node,
      join(root, ".nvm/versions/node/v24"),
      bin,
    ]);
  });

  it("is not the home, what holds it, or all optional software, although the PATH names it", () => {
    const home = realpathSync(homedir());
    const shown = toolDirectories(
      `${home}:/:${dirname(home)}:/opt:${join(root, "versions/bin")}`,
    );
    expect(
      shown.filter((path) => path === "/" || home.startsWith(path)),
    ).toEqual([]);
    mkdirSync(join(root, "versions/bin"), { recursive: true });
    expect(toolDirectories(join(root, "versions/bin"))).toEqual([
      join(root, "versions/bin"),
    ]);
  });

  async function mounts(
    access: Partial<SandboxAccess>,
    hidden: readonly string[] = [],
  ): Promise<string[]> {
    const guarded = await readGuardedPlaces(workspace, "write");
    const confinement = {
      tools: [],
      guarded,
      hidden,
      missing: [],
      redirects: [],
    };
    const given = workspaceMounts(
      { ...accessTo(workspace), ...access },
      confinement,
    );
    const lines = given.join(" ").split(" --");
    return lines.map((line) =>
      line
        .replace(/^--/, "")
        .replace(/^(\S+) .*?(\S+)$/, "$1 $2")
        .replace(`${root}/`, "")
        .replace(root, ""),
    );
  }
});

describe("what a failed command says", () => {
  const workspace = realpathSync(tmpdir());
  const cases: readonly {
    readonly says: string;
    readonly of?: string;
    readonly means: Extension | undefined;
  }[] = [
    {
      says: "bash: line 1: /srv/x: Read-only file system",
      means: { case: "write", path: "/srv" },
    },
    {
      says: "touch: cannot touch '/srv/x': Read-only file system",
      means: { case: "write", path: "/srv" },
    },
    {
      says: "mkdir: cannot create directory ‘/srv/x’: Read-only file system",
      means: { case: "write", path: "/srv" },
    },
    {
      says: "OSError: [Errno 30] Read-only file system: '/srv/x'",
      means: { case: "write", path: "/srv" },
    },
    {
      says: "Error: EROFS: read-only file system, open '/srv/x'",
      means: { case: "write", path: "/srv" },
    },
    {
      says: "touch: cannot touch '/proc/x': Read-only file system",
      of: "touch /proc/x",
      means: { case: "unconfined" },
    },
    {
      says: "touch: cannot touch '/x': Read-only file system",
      of: "touch /x",
      means: { case: "unconfined" },
    },
    {
      says: "touch: cannot touch '/x': Read-only file system",
      means: undefined,
    },
    {
      says: "cat: /srv/x: Permission denied",
      means: { case: "write", path: "/srv" },
    },
    { says: "cat: mine: Permission denied", means: undefined },
    {
      says: "chown: changing ownership of 'x': Operation not permitted",
      of: "chown a x",
      means: { case: "unconfined" },
    },
    {
      says: "chown: changing ownership of 'x': Operation not permitted",
      means: undefined,
    },
    {
      says: "ping: socket: Operation not permitted",
      of: "cd a && ping localhost",
      means: { case: "unconfined" },
    },
    {
      says: "Operation not permitted",
      of: "sh -c ./evil.sh",
      means: undefined,
    },
    {
      says: "curl: (6) Could not resolve host: example.com",
      means: { case: "network" },
    },
    {
      says: "getaddrinfo EAI_AGAIN registry.example",
      means: { case: "network" },
    },
    { says: "connect ENETUNREACH 192.0.2.1:443", means: { case: "network" } },
    {
      says: "ls: cannot access '/srv': No such file or directory",
      means: { case: "read", path: "/srv" },
    },
    { says: "cat: missing: No such file or directory", means: undefined },
    {
      says: "cat: /nowhere/at/all: No such file or directory",
      means: undefined,
    },
    { says: "1 test failed", means: undefined },
  ];
  for (const { says, of: command = "npm test", means } of cases) {
    it(`${JSON.stringify(says)} of ${command} is read as ${means?.case ?? "its own fault"}`, async () => {
      const access = accessTo(workspace);
      const guarded = await readGuardedPlaces(workspace, "write");
      const output = `before\n${says}\nafter\n`;
      expect(
        findDenial(
          { command, output, workingDirectory: workspace, access, guarded },
          noSandbox(""),
        ),
      ).toEqual(means);
    });
  }
});

function accessTo(workspace: string): SandboxAccess {
  return { workspace, readable: [], writable: [], network: "none" };
}

async function argvOf(
  sandbox: Sandbox,
  access: SandboxAccess,
): Promise<readonly string[]> {
  const request = {
    argv: ["true"],
    workingDirectory: access.workspace,
    environment: {},
    shell: "/bin/bash",
    access,
  };
  return (await sandbox.command(request)).argv;
}

function byPathLength(one: string, other: string): number {
  return pathOf(one).length - pathOf(other).length;
}

function pathOf(line: string): string {
  return line.split(" ")[1] ?? "";
}
