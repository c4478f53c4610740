import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { Role, toolCallsOf } from "@devtool/schema";
import type { CommandContext } from "@devtool/server/agent";
import { beforeEach, describe, expect, it } from "vitest";
import type { Model } from "../../agent/model.ts";
import { Workspace } from "../../tool/workspace.ts";
import type { WorkspaceTrust } from "../../trust/trust.ts";
import { TrustStore } from "../../trust/trust-store.ts";
import type { FoundCommands, SlashCommand } from "../slash-command.ts";
import { createCommandFiles } from "./command-files.ts";

const { signal } = new AbortController();

describe("command files", () => {
  let base: string;
  let workspace: string;
  let trust: TrustStore;
  /** The prompts that the model got. */
  let prompts: string[];
  /** The notices for the operator. */
  let notices: string[];

  beforeEach(async () => {
    base = temporaryDirectory();
    workspace = join(base, "repository");
    prompts = [];
    notices = [];
    trust = new TrustStore({
      dataDirectory: join(base, "data"),
      openDirectory: (path) => new Workspace(path),
      now: () => new Date(0),
    });
    await mkdir(workspace);
  });

  it("become commands named by their paths, with their descriptions and arguments", async () => {
    await write(
      "git/commit.toml",
      'description = "Writes a commit message"\nprompt = "Commit: {{args}}"\n[[arguments]]\nname = "scope"\ndescription = "what to commit"\nis_required = true\n',
    );
    await write(
      "review.md",
      "---\ndescription: 'Reviews the change'\nargument-hint: [file]\n---\nReview it.\n",
    );
    await write("notes.txt", "no command");
    const { commands, notices } = await findTrusted();
    expect(notices).toEqual([]);
    expect(
      commands.map(({ path, description }) => [path.join(" "), description]),
    ).toEqual([
      ["git commit", "Writes a commit message"],
      ["review", "Reviews the change"],
    ]);
    expect(commands[0]?.arguments).toMatchObject([
      { name: "scope", description: "what to commit", isRequired: true },
    ]);
    expect(commands[1]?.arguments).toMatchObject([
      { name: "file", isRequired: false },
    ]);
  });

  it("send the model their prompt with the arguments", async () => {
    await write("fix.toml", 'prompt = "Fix {{args}} now, {{ args }}!"');
    await write("explain.md", "Explain this.\n");
    await write("plain.md", "Nothing typed.");
    const { commands } = await findTrusted();
    await play(commands, "fix", " the $& bug ");
    await play(commands, "explain", "src/main.ts");
    await play(commands, "plain", "");
    expect(prompts).toEqual([
      "Fix the $& bug now, the $& bug!",
      "Explain this.\n\nsrc/main.ts",
      "Nothing typed.",
    ]);
    expect(
      commands.find(({ path }) => path[0] === "fix")?.arguments,
    ).toMatchObject([{ name: "args" }]);
  });

  const broken = [
    {
      file: "a.toml",
      content: "prompt = ",
      says: /is not valid TOML: line 1, column 10: invalid value/,
    },
    {
      file: "a.toml",
      content: 'prompt = ["x"]',
      says: /cannot be used: prompt must be a string/,
    },
    {
      file: "a.toml",
      content: 'prompt = "x"\nrun = "rm -rf /"',
      says: /cannot be used: run is unknown: the fields here are description, prompt, arguments/,
    },
    {
      file: "a.toml",
      content: 'description = "x"',
      says: /has no prompt: say what the model is told/,
    },
    {
      file: "a.md",
      content: "---\ndescription: x\n",
      says: /has a head without an end/,
    },
    {
      file: "a.md",
      content: "---\nhooks: rm\n---\nx",
      says: /has "hooks: rm" in its head: it takes/,
    },
    {
      file: "a.md",
      content: "x".repeat(64 * 1024 + 1),
      says: /has 65537 bytes: limit is 65536/,
    },
    {
      file: "white space/a.md",
      content: "x",
      says: /has the word "white space" in its name/,
    },
    { file: "a.md", content: "", says: /has no prompt/ },
  ];
  for (const { file, content, says } of broken) {
    it(`are listed as broken and refuse to start: ${file} with ${JSON.stringify(content.slice(0, 30))}`, async () => {
      await write(file, content);
      await write("good.md", "Works.");
      const { commands } = await findTrusted();
      const bad = commands.find(({ description }) =>
        description.startsWith("Broken: "),
      );
      expect(bad?.description).toMatch(says);
      expect(() => bad?.play("", context())).toThrow(says);
      await play(commands, "good", "");
      expect(prompts).toEqual(["Works."]);
    });
  }

  it("are not offered in an untrusted or changed workspace, with a notice (S4)", async () => {
    await write("deploy.md", "Deploy.");
    expect(await find()).toEqual({
      commands: [],
      notices: [expect.stringContaining("nobody trusted it")],
    });
    await findTrusted();
    await write("steal.md", "Steal.");
    expect(await find()).toEqual({
      commands: [],
      notices: [expect.stringContaining("(.devtool/commands/steal.md added)")],
    });
  });

  it("report an internal error to the operator with details, and to the user without", async () => {
    const fail = (): never => {
      throw new TypeError("secret");
    };
    const content = Object.assign(Buffer.from("x"), { toString: fail });
    const files = new Map([[".devtool/commands/odd.md", content]]);
    const { commands } = await find({
      trustOf: async () => ({ case: "trusted", files }),
    });
    expect(commands[0]?.description).toBe(
      "Broken: internal error: the server's log says more",
    );
    expect(notices).toEqual([
      expect.stringMatching(
        /^reading a command file failed inside the server: \{"file":".devtool\/commands\/odd.md","/,
      ),
    ]);
    expect(notices.join()).not.toContain("secret");
  });

  it("give no notice in a workspace without any", async () => {
    expect(await find()).toEqual({ commands: [], notices: [] });
  });

  function find(from: WorkspaceTrust = trust): Promise<FoundCommands> {
    const onNotice = (text: string): unknown => notices.push(text);
    return createCommandFiles({
      trust: from,
      model: listener(),
      onNotice,
    }).find({ workspacePath: workspace, principal: "me" }, signal);
  }

  async function findTrusted(): Promise<FoundCommands> {
    await trust.grant(await trust.preview(workspace));
    return find();
  }

  /** A model that records its prompts. */
  function listener(): Model {
    return {
      name: "listener",
      async *generate({ history }) {
        const [first] = history;
        expect(first?.role).toBe(Role.USER);
        expect(history.flatMap(toolCallsOf)).toEqual([]);
        prompts.push(
          first?.parts.map(({ content }) => content.value).join("") ?? "",
        );
        yield { case: "text", value: "ok" };
      },
    };
  }

  async function play(
    commands: readonly SlashCommand[],
    name: string,
    args: string,
  ): Promise<void> {
    const model = commands
      .find(({ path }) => path.join(" ") === name)
      ?.play(args, context());
    if (!model) throw new Error(`/${name} should be there`);
    const request = {
      history: [],
      tools: [],
      workspacePath: workspace,
      instructions: async () => "",
      beginStep: () => () => undefined,
      traceContext: () => undefined,
      model: "",
    };
    for await (const event of model.generate(request, signal)) {
      expect(event).toEqual({ case: "text", value: "ok" });
    }
  }

  function context(): CommandContext {
    return { workspacePath: workspace, contextId: "", principal: "" };
  }

  async function write(path: string, content: string): Promise<void> {
    const file = join(workspace, ".devtool/commands", path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }
});
