import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, renameSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { type Companion, startCompanion } from "@devtool/ide";
import { findCompanions, IdeLinks } from "@devtool/ide/operator";
import { ScriptedEditor } from "@devtool/ide/testing";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it, onTestFinished } from "vitest";

const run = promisify(execFile);

/** Nobody's user id. */
const OTHER = 65_534;

/** Only root can be somebody else. */
const IS_ROOT = process.getuid?.() === 0;
if (!IS_ROOT) console.info("skipped: only root can play another user");

const AS_OTHER = { uid: OTHER, gid: OTHER, env: {}, cwd: "/" } as const;

/** Runs shell commands as another user of this machine. */
function asOther(script: string): { status: number | null; stderr: string } {
  const { status, stderr } = spawnSync("/bin/sh", ["-c", script], AS_OTHER);
  return { status, stderr: String(stderr) };
}

/**
 * Starts a companion's double of another user, which answers each request.
 * Returns its port, and what it was sent so far.
 */
async function listenAsOther() {
  const code = `require("node:http").createServer((request, response) => {
    console.log(JSON.stringify(request.headers)); response.writeHead(400).end();
  }).listen(0, "127.0.0.1", function () { console.log(this.address().port) })`;
  const child = spawn(process.execPath, ["-e", code], {
    ...AS_OTHER,
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill());
  const [line] = await once(child.stdout, "data");
  const heard: string[] = [];
  child.stdout.on("data", (data) => heard.push(String(data)));
  return { port: Number(line), heard };
}

/** A user with a home, a workspace and a directory that all can write to. */
function newPlace() {
  const [home, workspace] = [temporaryDirectory(), temporaryDirectory()];
  // Others may pass through to what is shared.
  chmodSync(dirname(home), 0o711);
  chmodSync(home, 0o711);
  const shared = join(home, "shared");
  mkdirSync(shared);
  chmodSync(shared, 0o1777);
  return {
    workspace,
    shared,
    env: { HOME: home, TMPDIR: shared },
    /** What a file of a companion says. */
    content: (port: number) =>
      JSON.stringify({
        port,
        workspacePath: workspace,
        authToken: "secret",
        ideInfo: { name: "e", displayName: "Editor" },
      }),
  };
}

type Place = ReturnType<typeof newPlace>;

const FILE = `gemini/ide/gemini-ide-server-${process.pid}-1.json`;

/** Who leads an agent to a companion that is not the user's, and how. */
interface Attack {
  readonly attack: string;
  readonly needsRoot: boolean;
  /** Makes it so. Returns what the attacker was sent. */
  make(place: Place): Promise<readonly string[]> | readonly string[];
  /** What the doctor says of the file, for Gemini CLI and for our agent. */
  readonly geminiCli: RegExp;
  readonly devtool: RegExp;
}

const ATTACKS: readonly Attack[] = [
  {
    attack: "another user plants a file in a directory that all can write to",
    needsRoot: true,
    make({ shared, content }) {
      mkdirSync(join(shared, "gemini/ide"), { recursive: true });
      chmodSync(join(shared, "gemini/ide"), 0o777);
      const path = join(shared, FILE);
      expect(asOther(`umask 077; echo '${content(1)}' > ${path}`).status).toBe(
        0,
      );
      return [];
    },
    geminiCli: /^refused: it belongs to another user \(65534\)/,
    devtool: /^refused: it belongs to another user \(65534\)/,
  },
  {
    attack: "another user makes the directory first",
    needsRoot: true,
    make({ shared, content }) {
      const path = join(shared, FILE);
      const made = `mkdir -p ${dirname(path)}; echo '${content(1)}' > ${path}`;
      expect(asOther(made).status).toBe(0);
      return [];
    },
    geminiCli:
      /^refused: it belongs to another user .*; ".*" belongs to another user \(65534\)$/,
    devtool: /^refused: ".*gemini\/ide" belongs to another user \(65534\)/,
  },
  {
    attack: "another user leads the directory to what a repository has brought",
    needsRoot: true,
    make({ shared, workspace, content }) {
      putFile(workspace, FILE, content(1));
      chmodSync(join(workspace, FILE), 0o600);
      const at = join(shared, "gemini");
      const made = `mkdir ${at}; ln -s ${workspace}/gemini/ide ${at}/ide`;
      expect(asOther(made).status).toBe(0);
      return [];
    },
    geminiCli: /^broken: nobody listens .*; ".*gemini\/ide" is a link/,
    devtool: /^refused: ".*gemini\/ide" is a link/,
  },
  {
    attack: "another user listens where a file that stayed leads",
    needsRoot: true,
    async make({ shared, content }) {
      const { port, heard } = await listenAsOther();
      putFile(shared, FILE, content(port));
      chmodSync(join(shared, FILE), 0o600);
      return heard;
    },
    geminiCli: /^broken: a program of another user \(65534\) listens at port/,
    devtool: /^broken: a program of another user \(65534\) listens at port/,
  },
  {
    attack: "a file is a link to what a repository has brought",
    needsRoot: false,
    make({ shared, workspace, content }) {
      putFile(workspace, "brought.json", content(1));
      chmodSync(join(workspace, "brought.json"), 0o600);
      mkdirSync(join(shared, "gemini/ide"), { recursive: true });
      symlinkSync(join(workspace, "brought.json"), join(shared, FILE));
      return [];
    },
    geminiCli: /^broken: nobody listens/,
    devtool: /^refused: it is a link: remove it/,
  },
];

describe("what leads agents to a companion", () => {
  it.each(ATTACKS.filter(({ needsRoot }) => IS_ROOT || !needsRoot))(
    "is not used when $attack, and the doctor says so",
    async ({ make, geminiCli, devtool }) => {
      const place = newPlace();
      const { env, workspace } = place;
      const heard = await make(place);
      const reports = await findCompanions({
        cwd: workspace,
        env,
        user: process.getuid?.(),
        isInContainer: false,
        idePid: process.pid,
        isRunning: () => true,
      });
      const [first, , , last] = reports.map(({ files }) =>
        files.map(({ verdict, says, warning }) =>
          [`${verdict}: ${says}`, warning].filter(Boolean).join("; "),
        ),
      );
      expect(first).toEqual([expect.stringMatching(geminiCli)]);
      expect(last).toEqual([expect.stringMatching(devtool)]);
      await using links = new IdeLinks(env);
      const found = await links.connect(workspace, AbortSignal.timeout(60_000));
      expect(found.case).toBe("none");
      expect(heard).toEqual([]);
    },
  );

  it("is not looked for in the workspace, whatever a repository brings", async () => {
    const { env, workspace, content } = newPlace();
    for (const file of [
      FILE,
      `.gemini/ide/gemini-ide-server-${process.pid}-1.json`,
      ".qwen/ide/1.lock",
      ".claude/ide/1.lock",
    ]) {
      putFile(workspace, file, content(1));
      chmodSync(join(workspace, file), 0o600);
    }
    const reports = await findCompanions({
      cwd: workspace,
      env,
      user: process.getuid?.(),
      isInContainer: false,
      idePid: process.pid,
      isRunning: () => true,
    });
    expect(reports.flatMap(({ files }) => files)).toEqual([]);
  });
});

describe.skipIf(!IS_ROOT)("another user of the machine", () => {
  it("gets neither the token nor into the companion, and takes no directory", async () => {
    const { env, workspace, shared } = newPlace();
    const start = (): Promise<Companion> =>
      startCompanion(new ScriptedEditor(workspace), { env });
    const companion = await start();
    onTestFinished(() => companion.close());
    const path = join(
      shared,
      `gemini/ide/gemini-ide-server-${process.ppid}-${companion.port}.json`,
    );
    const { port } = companion;
    const knocks = [
      `cat ${path}`,
      `ls ${dirname(path)}`,
      `cat /proc/${process.pid}/environ`,
      `mv ${join(shared, "gemini")} ${join(shared, "mine")}`,
    ];
    for (const knock of knocks) {
      const { status, stderr } = asOther(knock);
      expect(status).not.toBe(0);
      expect(stderr).toMatch(/denied|not permitted/);
    }
    const knock = `const knock = (headers) => fetch("http://127.0.0.1:${port}/mcp", { headers }).then(({ status }) => status);
      Promise.all([knock({}), knock({ authorization: "Bearer x" }), knock({ origin: "http://localhost:${port}" })]).then((all) => console.log(all.join()));`;
    const { stdout } = await run(process.execPath, ["-e", knock], AS_OTHER);
    expect(stdout.trim()).toBe("401,401,403");

    // The other one was there first.
    renameSync(join(shared, "gemini"), join(shared, "ours"));
    expect(asOther(`mkdir -p ${dirname(path)}`).status).toBe(0);
    const late = await start();
    onTestFinished(() => late.close());
    expect(late.problems).toEqual([
      expect.stringMatching(
        /^Gemini CLI finds this editor in its own terminals only, as ".*" could not be written: ".*" belongs to another user \(65534\)$/,
      ),
    ]);
  });
});
