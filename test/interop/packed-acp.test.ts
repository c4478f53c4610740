import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import {
  copyFile,
  mkdir,
  mkdtemp,
  readFile,
  rm,
  writeFile,
} from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
} from "vitest";
import { type FakeModel, pathWith, REAL_AGENTS } from "../acp/real-agents.ts";
import { DEPTH, LEFT_TO_CI } from "../depth.ts";
import {
  type ServerProcess,
  startServing,
} from "../durability/crash/server-process.ts";
import { PackedProject } from "../packed/project.ts";

const run = promisify(execFile);
const PYTHON = fileURLToPath(new URL(".venv-1.0/bin/python", import.meta.url));
const PYTHON_03 = fileURLToPath(
  new URL(".venv-0.3/bin/python", import.meta.url),
);
const AGENTS_PAGE = readFileSync(
  new URL("../../docs/agents.md", import.meta.url),
  "utf8",
);
const TALK = fileURLToPath(new URL("../packed/talk.py", import.meta.url));
const ACP_SDK = "@agentclientprotocol/sdk@2.4.0";

let project: PackedProject;
let main: string;

if (LEFT_TO_CI === "") {
  beforeAll(async () => {
    project = await PackedProject.install([ACP_SDK], ["cli"]);
    main = join(project.directory, "node_modules/@devtool/cli/dist/main.js");
    for (const name of ["acp-agent.mjs", "acp-editor.mjs"]) {
      await copyFile(
        new URL(`../packed/${name}`, import.meta.url),
        join(project.directory, name),
      );
    }
  }, 400_000);
}

describe.skipIf(LEFT_TO_CI !== "")(
  `an ACP agent behind the packed command, from an empty home${LEFT_TO_CI}`,
  () => {
    let work: string;
    let server: ServerProcess;

    beforeEach(async () => {
      work = join(project.directory, "work");
      await mkdir(work);
      const agent = `acp:${process.execPath} ${join(project.directory, "acp-agent.mjs")}`;
      server = await startServing(
        ["--agent", agent, "--workspace", work],
        project.environment(),
        main,
      );
    });
    afterEach(async () => {
      await server.kill();
      await rm(work, { recursive: true });
    });

    it("asks, and writes on a plain yes of Python's a2a-sdk", async ({
      skip,
    }) => {
      if (!existsSync(PYTHON)) {
        skip("Python's a2a-sdk is missing: run `pnpm install:interop`");
      }
      const [asked = "", ended] = await talk("Hello from Python.", "yes");
      expect(asked).toMatch(/^INPUT_REQUIRED .*Write said\.txt/);
      expect(ended).toMatch(/^COMPLETED .*Written\.$/);
      expect(await written()).toBe("Hello from Python.");
    });

    it("asks, and does not write on a plain no of Python's a2a-sdk", async ({
      skip,
    }) => {
      if (!existsSync(PYTHON)) {
        skip("Python's a2a-sdk is missing: run `pnpm install:interop`");
      }
      const [asked, ended] = await talk("Hello from Python.", "no");
      expect([asked, ended]).toEqual([
        expect.stringMatching(/^INPUT_REQUIRED /),
        expect.stringMatching(/^COMPLETED .*Not written\.$/),
      ]);
      expect(existsSync(join(work, "said.txt"))).toBe(false);
    });

    it("asks in an ACP editor, and does what the user chose there", async () => {
      const place = { work, environment: project.environment() };
      expect(await edit(place, "reject_once", "No.")).toBe(
        "end_turn Not written.\n",
      );
      expect(existsSync(join(work, "said.txt"))).toBe(false);
      expect(await edit(place, "allow_once", "Hello from an editor.")).toBe(
        "end_turn Written.\n",
      );
      expect(await written()).toBe("Hello from an editor.");
    });

    /**
     * Sends words with Python's SDK, one message each, and gives its line about
     * each.
     */
    async function talk(...words: readonly string[]): Promise<string[]> {
      const { stdout } = await run(PYTHON, [TALK, ...words], {
        env: project.environment(),
      });
      return stdout.trimEnd().split("\n");
    }

    function written(): Promise<string> {
      return readFile(join(work, "said.txt"), "utf8");
    }
  },
);

const strangers = REAL_AGENTS.filter(
  ({ name }) => name === "gemini" || name === "codex",
);
for (const { name, missing } of strangers) {
  if (missing !== undefined) console.info(`skipped: ${name} ${missing}`);
}

for (const agent of strangers) {
  const isPlayed =
    LEFT_TO_CI === "" && (agent.missing === undefined || DEPTH === "deep");
  const behind = `${agent.name} behind the packed command, as docs/agents.md says, from an empty home${LEFT_TO_CI}`;
  describe.skipIf(!isPlayed)(behind, () => {
    let work: string;
    let model: FakeModel;
    let environment: NodeJS.ProcessEnv;
    let server: ServerProcess;

    beforeAll(async () => {
      // Codex refuses a home below the directory for temporary files.
      const home = await mkdtemp(join(homedir(), ".devtool-stranger-"));
      work = join(home, "project");
      await mkdir(work);
      model = await agent.startModel();
      const PATH = `${join(project.directory, "node_modules/.bin")}:${pathWith(agent, join(home, "bin"))}`;
      environment = project.environment({
        HOME: home,
        PATH,
        ...agent.configure(home, model.url),
      });
      const [, flags = ""] =
        /^ +devtool serve (--agent gemini .*)$/m.exec(AGENTS_PAGE) ?? [];
      const words = flags
        .replace("gemini", agent.name)
        .replace("~", home)
        .split(" ");
      server = await startServing(words, environment, main);
    });
    afterAll(async () => {
      await server?.stop();
      await model?.[Symbol.asyncDispose]();
      if (environment?.HOME !== undefined) {
        await rm(environment.HOME, { recursive: true });
      }
    });

    it("is found by devtool doctor", async () => {
      const { stdout } = await run("devtool", ["doctor"], {
        cwd: work,
        env: environment,
      }).catch(toEnded);
      expect(stdout).toMatch(
        new RegExp(`^✓ agent ${agent.name} .*${agent.version}`, "m"),
      );
    });

    it("answers the program of the page, with Python's a2a-sdk", async ({
      skip,
    }) => {
      if (!existsSync(PYTHON_03)) {
        skip("Python's a2a-sdk is missing: run `pnpm install:interop`");
      }
      const [, program = ""] =
        /<!-- agents: python -->\n```py\n(.*?)```/s.exec(AGENTS_PAGE) ?? [];
      const [, commands = ""] =
        /```sh\n(export DEVTOOL_URL.*?)```/s.exec(AGENTS_PAGE) ?? [];
      const asked = "What is this project about?";
      expect(program).toContain(asked);
      await writeFile(
        join(work, "talk.py"),
        program.replace(asked, "text It is about ports."),
      );
      const PATH = `${dirname(PYTHON_03)}:${environment.PATH}`;
      const { stdout } = await run("sh", ["-ec", commands], {
        cwd: work,
        env: { ...environment, PATH },
      });
      expect(stdout.split("\n")).toEqual([
        "completed",
        "user text It is about ports.",
        "agent It is about ports.",
        "",
      ]);
    });

    it("asks in an ACP editor before it runs a command, which runs on a yes", async () => {
      const place = { work, environment };
      expect(
        await edit(place, "reject_once", agent.runs("echo no > no.txt")),
      ).toMatch(/^(end_turn|cancelled) /);
      expect(existsSync(join(work, "no.txt"))).toBe(false);
      const said = await edit(
        place,
        "allow_once",
        `${agent.runs("echo yes > yes.txt")}\ntext Ran.`,
      );
      expect([said, await readFile(join(work, "yes.txt"), "utf8")]).toEqual([
        "end_turn Ran.\n",
        "yes\n",
      ]);
    });
  });
}

/**
 * Sends a prompt through `devtool acp`, and answers its questions with an
 * option of a kind.
 */
async function edit(place: Place, kind: string, text: string): Promise<string> {
  const words = [
    join(project.directory, "acp-editor.mjs"),
    kind,
    text,
    process.execPath,
    main,
    "acp",
  ];
  return (
    await run(process.execPath, words, {
      cwd: place.work,
      env: place.environment,
    })
  ).stdout;
}

/** Where an editor works. */
interface Place {
  readonly work: string;
  readonly environment: NodeJS.ProcessEnv;
}

/** What a program printed that ended with another code than 0. */
function toEnded(reason: unknown): { readonly stdout: string } {
  return { stdout: String(Object(reason).stdout) };
}
