import { existsSync } from "node:fs";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { textMessage } from "@devtool/client";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";
import { FakeTerminal } from "../../test/fake-terminal.ts";
import { createClient } from "../connection/connection.ts";
import type { Io } from "../io.ts";
import { runProgram } from "../program.ts";

/** A module whose agent says a text. */
const saying = (text: string): string => `
export const agent = {
  about: { name: "Sayer", description: "Says ${text}." },
  open: () => ({ createExecutor: () => ({ async *execute(turn) { yield* turn.say("${text}"); } }) }),
};`;

describe("devtool serve --agent", () => {
  let base: string;
  let work: string;
  beforeEach(async () => {
    base = temporaryDirectory();
    work = join(base, "work");
    await mkdir(work);
    await mkdir(join(base, "data"), { mode: 0o700 });
  });

  it("serves the agents of modules, and the coding agent by its name; the first is the default", async () => {
    const [first, second] = [
      await module("first.mjs", saying("one")),
      await module("second.mjs", saying("two")),
    ];
    const answers = await answersOf(
      ["", "second", "other", "devtool"],
      first,
      `other=${second}`,
      `second=${second}`,
      "devtool",
    );
    expect(answers).toEqual([
      "one",
      "two",
      "two",
      expect.stringContaining("scripted agent"),
    ]);
  });

  it("loads what the first turn of an agent needs when it listens, and serves what does not load", async () => {
    const loaded = join(base, "loaded");
    const load = `load() { fs.writeFileSync(${JSON.stringify(loaded)}, ""); throw new Error("later"); },`;
    const text = saying("one").replace("open:", `${load} open:`);
    const path = await module("agent.mjs", `import fs from "node:fs";${text}`);
    expect(await answersOf([""], path)).toEqual(["one"]);
    expect(existsSync(loaded)).toBe(true);
  });

  it("serves those of the config file, whose paths are relative to it, where no flag names one", async () => {
    await writeFile(
      join(base, "data/config.toml"),
      '[[agents]]\nname = "mine"\nmodule = "../first.mjs"\n',
      {
        mode: 0o600,
      },
    );
    await module("first.mjs", saying("one"));
    expect(await answersOf(["mine"])).toEqual(["one"]);
    const other = await module("other.mjs", saying("two"));
    await expect(answersOf(["mine"], other)).rejects.toThrow(
      'agent "mine" is not served here: choose other',
    );
  });

  it("loads nothing that only lies in the workspace", async () => {
    for (const name of ["agent.mjs", "devtool", "config.toml"]) {
      putFile(
        work,
        name,
        name === "config.toml"
          ? '[[agents]]\nmodule = "agent.mjs"'
          : saying("evil"),
      );
    }
    expect(await answersOf([""])).toEqual([
      expect.stringContaining("scripted agent"),
    ]);
    expect(await answersOf(["devtool"], "devtool")).toEqual([
      expect.stringContaining("scripted agent"),
    ]);
  });

  it.each([
    [
      "missing.mjs",
      undefined,
      /--agent ".*missing.mjs" cannot be read: ENOENT.*: name a module that exports "agent"/,
    ],
    [
      "empty.mjs",
      "",
      /exports no "agent", only nothing: write `export const agent = …`/,
    ],
    ["default.mjs", "export default {};", /exports no "agent", only default/],
    [
      "shape.mjs",
      "export const agent = { about: {} };",
      /exports an "agent" that is not an Agent: give it about.name/,
    ],
    ["broken.mjs", "throw new Error('no luck');", /cannot be loaded: no luck/],
    [
      "a.b.mjs",
      "",
      /gives no name of letters, digits, - and _: name it \(--agent NAME=MODULE/,
    ],
  ])(
    "says what is wrong with %s, and what to do",
    async (name, text, problem) => {
      const path =
        text === undefined ? join(base, name) : await module(name, text);
      expect(await refusalOf(path)).toMatch(problem);
    },
  );

  it("names the agents that it knows where a word is neither a file nor one of them", async () => {
    expect(await refusalOf("gemni")).toContain(
      '--agent "gemni" is not a file and not a known agent: choose devtool, codex, gemini, codex-acp, opencode, qwen, vibe, claude, write acp:COMMAND',
    );
  });

  it.each([
    [
      "codex",
      '--agent "codex" needs the program "codex", which is not in PATH: run npm install -g @openai/codex',
    ],
    ["mine=codex", "not in PATH: run npm install -g @openai/codex"],
    [
      "codex-acp",
      "not in PATH: run npm install -g @agentclientprotocol/codex-acp",
    ],
    [
      "acp:no-such-agent --acp",
      'needs the program "no-such-agent", which is not in PATH: ',
    ],
    [
      "acp:./no-such-agent",
      'no-such-agent", which is not a file: check the path',
    ],
    [
      "acp:",
      '--agent "acp:" is not a command line: write acp:PROGRAM ARGUMENTS',
    ],
    [
      "acp:agent 'open",
      "is not a command line: write acp:PROGRAM ARGUMENTS, and end what is in quotes",
    ],
    ["acp:a+b", "gives no name of letters, digits, - and _: name it"],
  ])(
    "says why the agent %s cannot be started, and what to do",
    async (agent, problem) => {
      expect(await refusalOf(agent)).toContain(problem);
    },
  );

  it("starts no program that a workspace or another user can change", async () => {
    for (const directory of [work, join(base, "open")]) {
      await mkdir(directory, { recursive: true });
      for (const name of ["codex", "codex-acp"]) {
        await writeFile(join(directory, name), "#!/bin/sh\nexit 1\n", {
          mode: 0o755,
        });
      }
    }
    await chmod(join(base, "open"), 0o777);
    const env = {
      NO_COLOR: "1",
      PATH: `${work}:${join(base, "open")}:/usr/bin`,
    };
    expect(await refusalOf("codex", { env })).toContain(
      'needs the program "codex"',
    );
    expect(await refusalOf("codex-acp", { env })).toContain(
      'needs the program "codex-acp"',
    );
    const named = join(base, "named");
    await writeFile(named, "#!/bin/sh\n", { mode: 0o755 });
    await chmod(named, 0o777);
    expect(await refusalOf(`acp:${named}`)).toContain(
      "may be changed by everybody: chmod o-w it",
    );
    await chmod(named, 0o644);
    expect(await refusalOf(`acp:${named}`)).toContain(
      "is not executable: chmod +x it",
    );
  });

  it("serves a program by its name, by a command line and beside modules", async () => {
    const programs = join(base, "programs");
    await mkdir(programs);
    await writeFile(join(programs, "gemini"), "#!/bin/sh\n", { mode: 0o755 });
    const path = await module("first.mjs", saying("one"));
    const env = { NO_COLOR: "1", PATH: `${programs}:/usr/bin` };
    const card = await cardOf(
      ["gemini", `mine=acp:${programs}/gemini --acp`, path],
      env,
    );
    expect(card).toMatchObject({ name: "Gemini CLI" });
  });

  it("loads nothing that somebody else could change", async () => {
    const path = await module("open.mjs", saying("one"));
    await chmod(path, 0o666);
    expect(await refusalOf(path)).toContain(
      "may be changed by everybody: chmod o-w it",
    );
  });

  it("takes no two agents of one name, no agent without a module, and none beside a profile", async () => {
    const path = await module("first.mjs", saying("one"));
    expect(await refusalOf(path, path)).toContain(
      'has the name "first" of another agent: choose another name',
    );
    expect(await refusalOf("first=")).toContain(
      '--agent "first=" names no module',
    );
    expect(await refusalOf(path, "--profile", "tck")).toContain(
      "cannot be used with option '--profile",
    );
  });

  async function module(name: string, text: string): Promise<string> {
    putFile(base, name, text);
    return join(base, name);
  }

  function argumentsOf(agents: readonly string[]): string[] {
    const flags = agents.flatMap((each, at) =>
      agents.indexOf("--profile") >= 0 && at > 0 ? [each] : ["--agent", each],
    );
    return [
      "serve",
      "--json",
      "--log-level",
      "error",
      "--port",
      "0",
      "--data",
      join(base, "data"),
      "--workspace",
      work,
      ...flags,
    ];
  }

  /**
   * The answers of a server with these agents in sessions that choose agents by
   * name.
   */
  async function answersOf(
    names: readonly string[],
    ...agents: readonly string[]
  ): Promise<string[]> {
    const terminal = new FakeTerminal();
    const code = runProgram(argumentsOf(agents), terminal.io);
    await terminal.shows('"token"');
    const address = JSON.parse(terminal.said);
    const { tasks } = await createClient(address, "connect");
    const answers: string[] = [];
    try {
      for (const agent of names) {
        const message = textMessage(crypto.randomUUID(), "Hello.");
        const { task } = await tasks.sendMessage({
          message,
          sessionSettings: { agent },
        });
        const content = task?.history.at(-1)?.parts[0]?.content;
        answers.push(content?.case === "text" ? content.value : "");
      }
      return answers;
    } finally {
      terminal.interrupt();
      await code;
    }
  }

  async function cardOf(
    agents: readonly string[],
    env: Io["env"],
  ): Promise<unknown> {
    const terminal = new FakeTerminal(env);
    const code = runProgram(argumentsOf(agents), terminal.io);
    await terminal.shows('"token"');
    try {
      const { url } = JSON.parse(terminal.said);
      return await (await fetch(`${url}/.well-known/agent-card.json`)).json();
    } finally {
      terminal.interrupt();
      await code;
    }
  }

  async function refusalOf(
    ...given: readonly (string | { readonly env: Io["env"] })[]
  ): Promise<string> {
    const agents = given.filter((each) => typeof each === "string");
    const [options] = given.filter((each) => typeof each !== "string");
    const terminal = new FakeTerminal(options?.env);
    expect(await runProgram(argumentsOf(agents), terminal.io)).not.toBe(0);
    return terminal.said;
  }
});
