import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, realpathSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { ACP_PROFILES } from "@devtool/acp/profiles";
import { discoveryPath, writeDiscovery } from "@devtool/cli/testing";
import {
  confirmationPart,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { isGuardedPath } from "@devtool/policy";
import type { Sandbox, SandboxAccess } from "@devtool/sandbox";
import {
  findSandbox,
  noSandbox,
  type RunningProcess,
  startProcess,
} from "@devtool/sandbox";
import {
  createBwrapSandbox,
  SETTINGS,
  SETTINGS_WHEN_PRESENT,
} from "@devtool/sandbox/testing";
import { ApprovalMode, type ToolCall, toolCallsOf } from "@devtool/schema";
import { ServerInfoSchema } from "@devtool/schema/operator";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { LEFT_TO_CI, roundsOf, variantsOf } from "../depth.ts";
import { approvalScript } from "./approval-script.ts";
import type { Escape } from "./escape.ts";
import { ESCAPES } from "./escapes.ts";
import { type Ground, prepareGround } from "./ground.ts";
import { LEFT, processesOf } from "./process-escapes.ts";

const signal = AbortSignal.timeout(240_000);
const path = `${dirname(realpathSync(process.execPath))}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`;
const found = await findSandbox("auto", { path }, signal);
/** How often the cost of a command is measured. */
const ROUNDS = roundsOf("DEVTOOL_SANDBOX_ROUNDS", {
  quick: 3,
  ci: 10,
  deep: 25,
});
const why = found.confines ? "" : ` (skipped: ${found.notice})`;

describe.skipIf(!found.confines)(`the sandbox (S11)${why}`, () => {
  let ground: Ground;
  let sandbox: Sandbox;
  beforeAll(async () => {
    ground = await prepareGround();
    sandbox = await findSandbox(
      "bwrap",
      { hidden: [ground.server.data], path },
      signal,
    );
  });
  afterAll(() => ground[Symbol.asyncDispose]());

  it(`lets none of ${ESCAPES.length} escapes out`, async () => {
    expect(ESCAPES.length).toBeGreaterThanOrEqual(40);
    const tried = variantsOf("ways out", ESCAPES, 26);
    expect(await escaped(tried, sandbox)).toEqual([]);
  });

  it("lets no command make a user namespace with a bwrap that cannot forbid it, either", async () => {
    const options = {
      program: "/usr/bin/bwrap",
      hidden: [],
      path,
      machine: process.arch,
      extras: [],
    };
    const making = ESCAPES.filter(({ name }) =>
      /user namespace|root of its own namespace/.test(name),
    );
    expect(making).toHaveLength(2);
    expect(await escaped(making, createBwrapSandbox(options))).toEqual([]);
  });

  it("lets commands change all that the file tools change without asking", () => {
    const names = [...SETTINGS, ...SETTINGS_WHEN_PRESENT];
    expect(
      names.filter(
        (name) => !isGuardedPath(name) && !isGuardedPath(`${name}/x`),
      ),
    ).toEqual([]);
  });

  it("S4: guards the settings of every agent that the server offers", () => {
    const settings: Readonly<Record<string, readonly string[]>> = {
      gemini: [".gemini"],
      "codex-acp": [".codex"],
      opencode: [".opencode", "opencode.json", "opencode.jsonc"],
      qwen: [".qwen"],
      vibe: [".vibe"],
      claude: [".claude", ".mcp.json"],
    };
    expect(Object.keys(settings)).toEqual(ACP_PROFILES.map(({ name }) => name));
    const guarded = [...SETTINGS, ...SETTINGS_WHEN_PRESENT];
    const paths = Object.values(settings).flat();
    expect(paths.filter((path) => !guarded.includes(path))).toEqual([]);
    expect(
      paths.filter(
        (path) => !isGuardedPath(path) && !isGuardedPath(`${path}/x`),
      ),
    ).toEqual([]);
  });

  it("does not prevent work: the programs that escapes use are there", async () => {
    const work = `
      set -e
      echo text >file && git status --short && git log 2>&1 | grep -q commits && touch "$TMPDIR/x" "$HOME/y"
      perl -e 'print "perl\n"' && node -e 'net.createServer().listen(0, "127.0.0.1", function () {
        net.connect(this.address().port, "127.0.0.1", () => { console.log("node"); process.exit(); });
      })'
      for tool in cat chroot cp grep kill mknod mount mv nsenter prlimit renice setsid timeout tr unshare; do
        command -v $tool >/dev/null
      done
      echo done`;
    expect(await run(work, sandbox)).toMatch(
      /\?\? file\n[\s\S]*perl\nnode\ndone\n$/,
    );
  });

  it("lets no command reach into the first process of its sandbox, and traces others", async () => {
    const [ptrace, read, write] =
      process.arch === "arm64" ? [117, 270, 271] : [101, 310, 311];
    const reach = `
      exec perl -e '
        my $own = fork; sleep 60 or exit if $own == 0;
        my ($b, $seize, $kill) = ("." x 8, 0x4206, 9);
        my $iov = pack("P Q", $b, 8);
        for my $pid (1, $own) {
          my $pidfd = syscall(434, $pid, 0);
          my $vm = pack("Q Q", $pid == 1 ? 4096 : unpack("Q", pack("p", $b)), 8);
          my $got = join ",", map { $_ < 0 ? 0 + $! : "done" } $pidfd;
          $! = 0; syscall(${read}, $pid, $iov, 1, $vm, 1, 0); $got .= "," . ($! + 0);
          $! = 0; syscall(${write}, $pid, $iov, 1, $vm, 1, 0); $got .= "," . ($! + 0);
          $! = 0; syscall(${ptrace}, $seize, $pid, 0, 0); $got .= "," . ($! + 0);
          $! = 0; syscall(${ptrace}, 16, $pid + 2**32, 0, 0) if $pid == 1; $got .= "," . ($! + 0);
          print "$got\n";
        }
        kill 9, $own;
      '`;
    expect(await run(reach, sandbox)).toBe("1,1,1,1,1\ndone,0,0,0,0\n");
  });

  it("gives no token away even with the network granted, and a place beside it", async () => {
    const wide: Partial<SandboxAccess> = {
      network: "host",
      writable: [ground.server.data],
      readable: [ground.home],
    };
    const found = ESCAPES.filter(({ name }) =>
      /token it finds|discovery file|reads the tasks/.test(name),
    );
    expect(found).toHaveLength(3);
    expect(await escaped(found, sandbox, wide)).toEqual([]);
  });

  it.skipIf(LEFT_TO_CI !== "")(
    `is what holds them: without it they are out${LEFT_TO_CI}`,
    async () => {
      const out = await escaped(ESCAPES, noSandbox(""));
      const held = ESCAPES.filter(
        ({ name, rare }) => !rare && !out.includes(name),
      ).map(({ name }) => name);
      expect(held).toEqual([]);
      const never = ESCAPES.filter(({ name }) => !out.includes(name)).map(
        ({ name }) => name,
      );
      console.log(
        `S11: what this machine does not allow anyway: ${never.join(", ") || "nothing"}`,
      );
      console.log(
        `S11: without a sandbox ${out.length} of ${ESCAPES.length} escapes succeed, in bwrap none`,
      );
    },
  );

  it("costs little for each command", async () => {
    const times = new Map<Sandbox, number[]>([
      [noSandbox(""), []],
      [sandbox, []],
    ]);
    for (let round = 0; round < ROUNDS; round++) {
      for (const [kind, list] of times) {
        const begun = performance.now();
        await run("true", kind);
        list.push(performance.now() - begun);
      }
    }
    const [plain = 0, confined = 0] = [...times.values()].map(median);
    console.log(
      `S11: a command takes ${plain.toFixed(1)} ms, in bwrap ${confined.toFixed(1)} ms (medians)`,
    );
    // The quickest round takes a few milliseconds; half a second was too little
    // at a load of 30.
    const [quickPlain = 0, quickConfined = 0] = [...times.values()].map(
      (list) => Math.min(...list),
    );
    expect(quickConfined - quickPlain).toBeLessThan(10_000);
  });

  for (const kind of ["bwrap", "none"] as const) {
    it(`${kind === "none" ? "is what keeps" : "keeps"} an agent's shell from approving its own calls (${kind})`, async () => {
      const { home, workspace } = ground;
      const data = join(home, `data-${kind}`);
      await using server = await serveCodingAgent({
        workspace,
        dataDirectory: data,
        sandbox: kind,
      });
      await writeDiscovery(
        data,
        create(ServerInfoSchema, {
          url: server.url,
          token: server.token,
          pid: process.pid,
        }),
      );
      const [waiting, attack] = [`own-${kind}.txt`, `attack-${kind}.mjs`];
      const discovery = JSON.stringify(discoveryPath(data));
      putFile(
        workspace,
        attack,
        approvalScript(`JSON.parse(fs.readFileSync(${discovery}, "utf8"))`),
      );
      expect(await ask(server, `write ${waiting} approved`)).toHaveLength(1);
      const [call] = await ask(server, `run ${process.execPath} ${attack}`);
      if (call) await agree(server, call);
      expect(existsSync(join(workspace, waiting))).toBe(kind === "none");
    });
  }

  async function escaped(
    escapes: readonly Escape[],
    kind: Sandbox,
    wider: Partial<SandboxAccess> = {},
  ): Promise<string[]> {
    const out: string[] = [];
    for (const { name, command, got, before } of escapes) {
      await before?.(ground);
      const output = await run(command(ground), kind, wider);
      if (
        output.includes(ground.canary) ||
        output.includes("OUT") ||
        (await got?.(ground))
      ) {
        out.push(name);
      }
    }
    return out;
  }

  async function run(
    command: string,
    kind: Sandbox,
    wider: Partial<SandboxAccess> = {},
  ): Promise<string> {
    const { workspace, home } = ground;
    const access: SandboxAccess = {
      workspace,
      readable: [],
      writable: [],
      network: "none",
      ...wider,
    };
    const environment = { PATH: path, HOME: home };
    const argv = ["bash", "-c", command];
    const confined = await kind.command({
      argv,
      workingDirectory: workspace,
      environment,
      shell: "/bin/bash",
      access,
    });
    await using process = startProcess(confined, AbortSignal.timeout(60_000));
    return await textOf(process);
  }
});

describe.skipIf(!found.confines)(`docs/sandbox.md${why}`, () => {
  it("says what a command sees, and how many ways out are tried", async () => {
    const manual = await readFile(
      new URL("../../docs/sandbox.md", import.meta.url),
      "utf8",
    );
    const [script = "", outputs = ""] = ["script", "outputs"].map(
      (name) =>
        new RegExp(`<!-- ${name} -->\\n\`{3}\\n([^\`]*)`).exec(manual)?.[1],
    );
    expect(outputs.split("\n").length).toBeGreaterThan(5);
    const workspace = temporaryDirectory();
    spawnSync("git", ["init", "--quiet", workspace]);
    await using server = await serveCodingAgent({
      workspace,
      sandbox: "bwrap",
      approvalMode: ApprovalMode.YOLO,
    });
    const message = textMessage(randomUUID(), script);
    const { task } = await clientOf(server).tasks.sendMessage({ message });
    expect(task?.history.flatMap(toolCallsOf).map(outputOf).join("")).toBe(
      outputs,
    );
    expect(manual).toContain(`tries ${ESCAPES.length} ways out`);
  });
});

function outputOf({ result }: ToolCall): string {
  if (result.case === "error") return result.value.message;
  return result.case === "output" && result.value.result.case === "text"
    ? result.value.result.value
    : "";
}

interface Asked {
  readonly taskId: string;
  readonly call: ToolCall;
}

async function ask(server: DevtoolServer, text: string): Promise<Asked[]> {
  const { task } = await clientOf(server).tasks.sendMessage({
    message: textMessage(randomUUID(), text),
  });
  return task
    ? pendingToolCalls(task).map((call) => ({ taskId: task.id, call }))
    : [];
}

async function agree(
  server: DevtoolServer,
  { taskId, call }: Asked,
): Promise<void> {
  const message = {
    messageId: randomUUID(),
    parts: [confirmationPart(call, "proceed_once")],
  };
  await clientOf(server).tasks.sendMessage({ message, taskId });
}

async function textOf(process: RunningProcess): Promise<string> {
  let text = "";
  for await (const chunk of process.output()) text += chunk;
  await process.ended;
  return text;
}

function median(times: readonly number[]): number {
  return (
    times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)] ??
    0
  );
}

/** The processes that escapes left running without a sandbox. */
afterAll(() => {
  for (const pid of LEFT.flatMap(processesOf)) process.kill(pid, "SIGKILL");
});
