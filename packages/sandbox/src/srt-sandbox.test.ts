import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { createServer } from "node:net";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";
import { LEFT_TO_CI } from "../../../test/depth.ts";
import { findSandbox } from "./find-sandbox.ts";
import { HostPrograms } from "./host-programs.ts";
import { noSandbox } from "./no-sandbox.ts";
import { probe } from "./probe.ts";
import type { Sandbox, SandboxAccess, SandboxedCommand } from "./sandbox.ts";
import { startProcess } from "./start-process.ts";

const { signal } = new AbortController();
const programs = fileURLToPath(
  new URL("../../../node_modules/.bin", import.meta.url),
);
const path = [programs, dirname(process.execPath), "/usr/bin", "/bin"].join(
  delimiter,
);
const hidden = join(temporaryDirectory(), "data");
mkdirSync(hidden);
const why = missing() || LEFT_TO_CI;
const found =
  why === ""
    ? await findSandbox("srt", { path, hidden: [hidden] }, signal)
    : undefined;

/** What srt needs and this machine does not have, in parentheses. */
function missing(): string {
  const host = new HostPrograms(path);
  const absent = ["srt", "bwrap", "socat", "rg"].filter(
    (name) => host.find(name, []) === undefined,
  );
  if (absent.length > 0) return ` (skipped: no ${absent.join(", ")})`;
  const namespaces = "--unshare-user --unshare-pid --unshare-net".split(" ");
  const mounts = "--ro-bind / / --dev /dev --proc /proc".split(" ");
  const { status } = spawnSync("bwrap", [...namespaces, ...mounts, "true"]);
  return status === 0 ? "" : " (skipped: no user namespaces)";
}

describe.skipIf(why !== "")(`commands in srt${why}`, () => {
  let workspace: string;
  beforeEach(() => {
    workspace = temporaryDirectory();
  });

  it("write the workspace and nothing else, and see neither the home directory nor the server's data", async () => {
    putFile(hidden, "token", "secret");
    const outside = temporaryDirectory();
    const said = await run(
      `echo in > made; echo out > ${outside}/made; cat ${hidden}/token; echo home: $(ls -A ${homedir()} 2>/dev/null); touch .git/hooks/pre-commit; mkdir .claude`,
      {
        before: () =>
          mkdirSync(join(workspace, ".git/hooks"), { recursive: true }),
      },
    );
    expect(fileText(workspace, "made")).toBe("in\n");
    expect(readdirSync(outside)).toEqual([]);
    expect(said).not.toContain("secret");
    expect(said).toMatch(/^home:$/m);
    expect(said).toContain("Read-only file system");
    expect(readdirSync(join(workspace, ".git/hooks"))).toEqual([]);
    expect(existsSync(join(workspace, ".claude"))).toBe(false);
  });

  it("write nothing where they may only read", async () => {
    await run("touch made", { access: { workspaceAccess: "read" } });
    expect(readdirSync(workspace)).toEqual([]);
  });

  it("reach no port, and are refused when the network was granted", async () => {
    let connections = 0;
    await using server = createServer((socket) => {
      connections++;
      socket.destroy();
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const address = server.address();
    const port = typeof address === "object" ? address?.port : undefined;
    expect(await run(`cat < /dev/tcp/127.0.0.1/${port}; true`)).toContain(
      "refused",
    );
    expect(connections).toBe(0);
    await expect(run("true", { access: { network: "host" } })).rejects.toThrow(
      'sandbox "srt" cannot confine the command: the network cannot be opened to a command',
    );
  });

  it("have a home and a directory for temporary files that are their own", async () => {
    const said = await run('echo made >"$(mktemp)"; [ "$TMPDIR" = ~ ] && ls ~');
    expect(said).toMatch(/^tmp\..+\n$/);
  });

  it("have their variables, which the programs around them do not", async () => {
    const ran = join(temporaryDirectory(), "ran");
    const makes = `: 2>/dev/null >${ran}`;
    putFile(workspace, "run.sh", makes);
    putFile(workspace, "bin/node", `#!/bin/sh\n${makes}\nexit 1`);
    chmodSync(join(workspace, "bin/node"), 0o755);
    const environment = {
      PATH: `${join(workspace, "bin")}:${path}`,
      BASH_ENV: join(workspace, "run.sh"),
      NODE_OPTIONS: "--no-such-option",
      ODD: "it's\n$(secret)",
      "a.b": "dotted",
    };
    const command = await usable().command({
      ...requestOf('echo "$ODD"; env | grep ^a.b; echo "$NODE_OPTIONS"', {}),
      environment,
    });
    expect(command.argv.join(" ")).not.toContain("secret");
    expect(await read(command)).toBe(
      "it's\n$(secret)\na.b=dotted\n--no-such-option\n",
    );
    expect(existsSync(ran)).toBe(false);
  });

  it("have failed when a signal ended them or their group", async () => {
    const sandbox = usable();
    const killed = await sandbox.command(requestOf("kill -TERM $$", {}));
    await using alone = startProcess(killed, signal);
    expect(await alone.ended).toMatchObject({ exitCode: 143 });
    const command = await sandbox.command(
      requestOf("echo begun; sleep 1000", {}),
    );
    await using running = startProcess(command, signal);
    for await (const text of running.output()) {
      if (text.includes("begun")) process.kill(-running.pid, "SIGTERM");
    }
    expect(await running.ended).toEqual({
      exitCode: -1,
      signalName: "SIGTERM",
    });
  });

  it("end with all that they started when they are canceled", async () => {
    const sandbox = usable();
    const stop = new AbortController();
    const command = await sandbox.command(
      requestOf("echo begun; sleep 1000 & sleep 1000", {}),
    );
    const running = startProcess(
      command,
      AbortSignal.any([signal, stop.signal]),
    );
    for await (const text of running.output()) {
      if (text.includes("begun")) stop.abort();
    }
    await running[Symbol.asyncDispose]();
    expect(() => process.kill(-running.pid, 0)).toThrow("ESRCH");
  });

  function usable(): Sandbox {
    if (!found) throw new Error(why);
    return found;
  }

  function requestOf(line: string, access: Partial<SandboxAccess>) {
    return {
      argv: ["/bin/bash", "-c", line],
      workingDirectory: workspace,
      environment: { PATH: path },
      shell: "/bin/bash",
      access: {
        workspace,
        readable: [],
        writable: [],
        network: "none" as const,
        ...access,
      },
    };
  }

  async function run(
    line: string,
    {
      access = {},
      before = () => {},
    }: { access?: Partial<SandboxAccess>; before?: () => void } = {},
  ): Promise<string> {
    before();
    return read(await usable().command(requestOf(line, access)));
  }

  async function read(command: SandboxedCommand): Promise<string> {
    await using running = startProcess(command, signal);
    let said = "";
    for await (const text of running.output()) said += text;
    return said;
  }
});

describe("the probe of a sandbox", () => {
  const programs = { shell: "/bin/bash", path: "/usr/bin:/bin" };

  it("believes none that lets a command write outside", async () => {
    expect(await probe(noSandbox(""), programs, signal)).toMatchObject({
      message: 'a command in it wrote outside of its workspace: choose "none"',
    });
  });

  it("believes none that lets a command connect", async () => {
    const cannotWrite = wrapped((line) =>
      `${line}`.replace('echo > "$1/outside"', ""),
    );
    expect(await probe(cannotWrite, programs, signal)).toMatchObject({
      message:
        'a command in it connected to a port of this machine: choose "none"',
    });
  });

  it("believes none whose test does not run", async () => {
    expect(
      await probe(
        wrapped(() => "exit 0"),
        programs,
        signal,
      ),
    ).toBe("exit code 0");
  });

  /** A sandbox that confines nothing, and runs another script. */
  function wrapped(change: (line: string) => string): Sandbox {
    const free = noSandbox("");
    return {
      ...free,
      command: (request) =>
        free.command({
          ...request,
          argv: request.argv.map((arg, index) =>
            index === 2 ? change(arg) : arg,
          ),
        }),
    };
  }
});
