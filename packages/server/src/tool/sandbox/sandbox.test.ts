import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Code, DevtoolError } from "../../errors.ts";
import { type Extension, findDenial } from "./denial.ts";
import { findSandbox, lazySandbox } from "./find-sandbox.ts";
import { noSandbox } from "./no-sandbox.ts";
import type { Sandbox, SandboxAccess } from "./sandbox.ts";
import { toolDirectories } from "./system-mounts.ts";
import { workspaceMounts } from "./workspace-mounts.ts";

const signal = AbortSignal.timeout(60_000);
const machine = process.arch;

describe("finding a sandbox", () => {
  let root: string;
  beforeEach(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), "devtool-find-")));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  it("takes none where none is wanted", async () => {
    const sandbox = await findSandbox("none", { hidden: [], path: "", machine }, signal);
    expect(sandbox).toMatchObject({ name: "none", confines: false, notice: "" });
  });

  it("tries it out, and says what does not work: as an error, or as a notice when anything will do", async () => {
    writeFileSync(
      join(root, "bwrap"),
      "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n",
      {
        mode: 0o755,
      },
    );
    const options = { hidden: [], path: root, machine };
    const reason = await findSandbox("bwrap", options, signal).catch((thrown: unknown) => thrown);
    expect(reason).toBeInstanceOf(DevtoolError);
    expect(reason).toMatchObject({
      code: Code.FailedPrecondition,
      message: `sandbox "bwrap" cannot be used: ${root}/bwrap says "bwrap: No permissions to create new namespace": allow unprivileged user namespaces, or choose "none"`,
    });
    const auto = await findSandbox("auto", options, signal);
    expect(auto).toMatchObject({ name: "none", confines: false, notice: expect.stringContaining("No permissions") });
  });

  it("goes without what an older bwrap does not know", async () => {
    writeFileSync(join(root, "bwrap"), '#!/bin/sh\ncase "$*" in *--disable-userns*) exit 1;; esac\nexit 0\n', {
      mode: 0o755,
    });
    const sandbox = await findSandbox("bwrap", { hidden: [], path: root, machine }, signal);
    expect(argvOf(sandbox, accessTo(root))).not.toContain("--disable-userns");
  });

  it("looks once, when it is first needed, and again after a failure", async () => {
    let looked = 0;
    const lazy = lazySandbox(() => (++looked === 1 ? Promise.reject(new Error("no")) : Promise.resolve(noSandbox(""))));
    expect(looked).toBe(0);
    await expect(lazy()).rejects.toThrow("no");
    expect(await lazy()).toBe(await lazy());
    expect(looked).toBe(2);
  });
});

describe("what a command is shown", () => {
  let root: string;
  let workspace: string;
  beforeEach(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), "devtool-mounts-")));
    workspace = join(root, "workspace");
    for (const path of ["workspace/.git/hooks", "workspace/.data", "other/deep", "workspace-evil"]) {
      mkdirSync(join(root, path), { recursive: true });
    }
    writeFileSync(join(workspace, ".git/config"), "");
    writeFileSync(join(workspace, ".mcp.json"), "");
  });
  afterEach(() => rmSync(root, { recursive: true }));

  it("is the workspace, with what runs by itself to read only", () => {
    expect(mounts({})).toEqual(["bind workspace", "ro-bind workspace/.git", "ro-bind workspace/.mcp.json"]);
  });

  it("is .git to write when that is granted, but not what git takes commands from", () => {
    rmSync(join(workspace, ".git/hooks"), { recursive: true });
    expect(mounts({ writable: [join(workspace, ".git")] })).toEqual(
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

  it("is decided by the deepest path, whichever way round", () => {
    const access = { readable: [join(root, "other")], writable: [join(root, "other/deep"), root] };
    expect(mounts(access, [join(workspace, ".data")])).toEqual(
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

  it("is never what is hidden or protects git, nor the root, nor a link, whatever is granted", () => {
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
    expect(mounts({ writable, readable: [hidden] }, [hidden])).toEqual(mounts({}));
  });

  it("is not confused by a name that begins like another", () => {
    expect(mounts({ writable: [join(root, "workspace-evil")] }, [workspace])).toContain("bind workspace-evil");
  });

  it("is nothing of a workspace that cannot be protected", () => {
    rmSync(join(workspace, ".git"), { recursive: true });
    symlinkSync("../other", join(workspace, ".git"));
    expect(() => mounts({})).toThrow("its .git is a symbolic link");
    symlinkSync(workspace, join(root, "alias"));
    expect(() => workspaceMounts(accessTo(join(root, "alias")), [])).toThrow("by its real path");
    expect(() => workspaceMounts(accessTo("/"), [])).toThrow("below /");
  });

  it("is the tools of the PATH, and of a version manager all that belongs to one", () => {
    const [node, bin] = [join(root, ".nvm/versions/node/v24/bin"), join(root, ".local/bin")];
    for (const path of [node, bin]) mkdirSync(path, { recursive: true });
    const path = `/usr/bin:relative:${node}:${bin}:/bin:${join(root, "missing")}`;
    expect(toolDirectories(path)).toEqual([node, join(root, ".nvm/versions/node/v24"), bin]);
  });

  function mounts(access: Partial<SandboxAccess>, hidden: readonly string[] = []): string[] {
    const given = workspaceMounts({ ...accessTo(workspace), ...access }, hidden);
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
  const cases: readonly { readonly says: string; readonly means: Extension | undefined }[] = [
    { says: "bash: line 1: /srv/x: Read-only file system", means: { case: "write", path: "/srv" } },
    { says: "touch: cannot touch '/srv/x': Read-only file system", means: { case: "write", path: "/srv" } },
    { says: "mkdir: cannot create directory ‘/srv/x’: Read-only file system", means: { case: "write", path: "/srv" } },
    { says: "OSError: [Errno 30] Read-only file system: '/srv/x'", means: { case: "write", path: "/srv" } },
    { says: "Error: EROFS: read-only file system, open '/srv/x'", means: { case: "write", path: "/srv" } },
    { says: "touch: cannot touch '/proc/x': Read-only file system", means: { case: "unconfined" } },
    { says: "touch: cannot touch '/x': Read-only file system", means: { case: "unconfined" } },
    { says: "cat: /srv/x: Permission denied", means: { case: "write", path: "/srv" } },
    { says: "cat: mine: Permission denied", means: undefined },
    { says: "chown: changing ownership of 'x': Operation not permitted", means: { case: "unconfined" } },
    { says: "curl: (6) Could not resolve host: example.com", means: { case: "network" } },
    { says: "getaddrinfo EAI_AGAIN registry.example", means: { case: "network" } },
    { says: "connect ENETUNREACH 192.0.2.1:443", means: { case: "network" } },
    { says: "ls: cannot access '/srv': No such file or directory", means: { case: "read", path: "/srv" } },
    { says: "cat: missing: No such file or directory", means: undefined },
    { says: "cat: /nowhere/at/all: No such file or directory", means: undefined },
    { says: "1 test failed", means: undefined },
  ];
  for (const { says, means } of cases) {
    it(`${JSON.stringify(says)} is read as ${means?.case ?? "its own fault"}`, () => {
      const access = accessTo(workspace);
      const output = `before\n${says}\nafter\n`;
      expect(findDenial({ output, workingDirectory: workspace, access }, noSandbox(""))).toEqual(means);
    });
  }
});

function accessTo(workspace: string): SandboxAccess {
  return { workspace, readable: [], writable: [], network: "none" };
}

function argvOf(sandbox: Sandbox, access: SandboxAccess): readonly string[] {
  return sandbox.command({ argv: ["true"], workingDirectory: access.workspace, environment: {}, access }).argv;
}

function byPathLength(one: string, other: string): number {
  return pathOf(one).length - pathOf(other).length;
}

function pathOf(line: string): string {
  return line.split(" ")[1] ?? "";
}
