import { execFile } from "node:child_process";
import {
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { create, fromJsonString } from "@bufbuild/protobuf";
import { serveCodingAgent } from "@devtool/coding-agent";
import {
  type CaseResult,
  REQUIREMENTS,
  runProgramSuite,
} from "@devtool/conformance";
import {
  type Binding,
  BindingSchema,
  ConversationSchema,
  type ProgramResponse,
} from "@devtool/conformance/protos";
import {
  agentCases,
  jsonGoldens,
  playProgram,
  programCases,
  startCuttingProxy,
} from "@devtool/conformance/testing";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { emptyTask } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import {
  afterAll,
  beforeAll,
  describe,
  expect,
  it,
  type TestContext,
} from "vitest";
import { roundsOf, variantsOf } from "../depth.ts";
import { honestProgram } from "./bindings/honest-program.ts";

const directory = fileURLToPath(new URL("../../bindings/", import.meta.url));
/**
 * How the languages of which only the generation is checked define a message.
 */
const TEMPLATES: Readonly<Record<string, (message: string) => RegExp>> = {
  kotlin: (message) =>
    new RegExp(
      `^public inline fun .*: com\\.devtool\\.a2a\\.v1alpha\\.${message} `,
      "m",
    ),
  csharp: (message) =>
    new RegExp(`^ +public sealed partial class ${message} : `, "m"),
  cpp: (message) => new RegExp(`^class ${message} final`, "m"),
  swift: (message) =>
    new RegExp(`^public struct Devtool_A2a_V1alpha_${message}: `, "m"),
};
/** The bytes between two cuts: CI cuts a 31st of the connections of `test:deep`. */
const CUT_EVERY = roundsOf("DEVTOOL_CUT_EVERY", {
  quick: 499,
  ci: 499,
  deep: 16,
});
const CONVERSATIONS = programCases().cases.map(({ id }) => id);

function bindings(): [string, Binding][] {
  const names = readdirSync(directory).filter((name) =>
    existsSync(join(directory, name, "binding.json")),
  );
  return names.map((name) => [
    name,
    fromJsonString(
      BindingSchema,
      readFileSync(join(directory, name, "binding.json"), "utf8"),
    ),
  ]);
}

describe.concurrent("the bindings", () => {
  for (const [
    language,
    { title, program, example, knownFailures },
  ] of bindings()) {
    const cwd = join(directory, language);

    function isBuilt(context: TestContext): boolean {
      if (existsSync(join(cwd, ".built"))) return true;
      const reason = `the binding of ${title} is not built: pnpm bindings ${language}`;
      console.info(`skipped: ${reason}`);
      context.skip(reason);
      return false;
    }

    if (program) {
      it(`in ${title} read, write and converse as the wire has it`, {
        timeout: 900_000,
      }, async (context) => {
        if (!isBuilt(context)) return;
        const play = await playProgram(
          join(cwd, "binding.json"),
          {
            startServer: (workspace) =>
              serveCodingAgent({ workspace, sandbox: "none" }),
            // All languages play side by side.
            timeout: 60,
            cutEvery: CUT_EVERY,
          },
          AbortSignal.timeout(880_000),
        );
        const results = await all(play.results);
        const others = results.filter(
          (result) => result.status !== "passed" && !isLeftOut(result),
        );
        expect(
          others.map(({ id }) => id),
          others.map(({ id, reason }) => `${id}: ${reason}`).join("\n"),
        ).toEqual(knownFailures.map(({ id }) => id));
        expect(results.length).toBeGreaterThan(45);
      });
    }
    const template = TEMPLATES[language];
    if (template) {
      it(`in ${title} define every message of the RFC`, (context) => {
        if (!isBuilt(context)) return;
        const names = readdirSync(join(cwd, "gen"), {
          recursive: true,
          encoding: "utf8",
        });
        const files = names.filter(
          (name) => name.toLowerCase().includes("a2a") && /\.\w+$/.test(name),
        );
        const code = files
          .map(
            (name) =>
              `${name}\n${readFileSync(join(cwd, "gen", name), "utf8")}`,
          )
          .join("\n");
        const messages = new Set(
          jsonGoldens().goldens.map(({ type }) => type.split(".").at(-1) ?? ""),
        );
        expect(
          [...messages].filter((name) => !template(name).test(code)),
        ).toEqual([]);
      });
    }
    if (example) {
      it(`in ${title} have an example that says what its README shows`, async (context) => {
        if (!isBuilt(context)) return;
        const shown = /```\n([\s\S]*?)```/.exec(
          readFileSync(join(cwd, "README.md"), "utf8").replace(
            /```sh[\s\S]*?```/g,
            "",
          ),
        );
        const workspace = temporaryDirectory();
        await using server = await serveCodingAgent({ workspace });
        const env = {
          ...process.env,
          DEVTOOL_URL: server.url,
          DEVTOOL_TOKEN: server.token,
        };
        const [command = "", ...args] = example.words;
        const { stdout } = await promisify(execFile)(command, args, {
          cwd,
          env,
        });
        expect(stdout).toBe(shown?.[1]);
        expect(
          readFileSync(join(workspace, `hello-${language}.txt`), "utf8"),
        ).toBe(`Hello from ${title}`);
      });
    }
  }
});

describe("the further examples", () => {
  const isBuilt = (language: string): boolean =>
    existsSync(join(directory, language, ".built"));

  async function run(
    words: readonly string[],
    language: string,
    server: Pick<DevtoolServer, "url" | "token">,
  ): Promise<string> {
    const env = {
      ...process.env,
      DEVTOOL_URL: server.url,
      DEVTOOL_TOKEN: server.token,
    };
    const [command = "", ...args] = words;
    return (
      await promisify(execFile)(command, args, {
        cwd: join(directory, language),
        env,
      })
    ).stdout;
  }

  it.for([
    { language: "python", words: [".venv/bin/python", "resume.py"] },
    { language: "go", words: ["target/resume"] },
    { language: "rust", words: ["target/debug/examples/resume"] },
    {
      language: "java",
      words: ["java", "-cp", "target/classes:target/lib/*", "example.Resume"],
    },
  ])(
    "in $language resume over connections that are cut",
    async ({ language, words }, { skip }) => {
      if (!isBuilt(language)) {
        return skip(`the binding is not built: pnpm bindings ${language}`);
      }
      const workspace = temporaryDirectory();
      await using proxy = await startCuttingProxy(
        () => server.url,
        () => 5000,
      );
      await using server = await serveCodingAgent({
        workspace,
        allowedHosts: [new URL(proxy.url).host],
      });
      const shown = await run(words, language, {
        url: proxy.url,
        token: server.token,
      });
      expect(shown).toBe("none left out, none twice\n");
      expect(proxy.cuts()).toBeGreaterThan(2);
    },
  );

  it("in python answer with asyncio", async ({ skip }) => {
    if (!isBuilt("python")) {
      return skip("the binding is not built: pnpm bindings python");
    }
    const workspace = temporaryDirectory();
    await using server = await serveCodingAgent({ workspace });
    const shown = await run(
      [".venv/bin/python", "asyncio_example.py"],
      "python",
      server,
    );
    expect(shown).toBe("Written.\nTASK_STATE_COMPLETED\n");
  });
});

describe("the program suite", () => {
  let workspace: string;
  let server: DevtoolServer;
  beforeAll(async () => {
    workspace = temporaryDirectory();
    server = await serveCodingAgent({ workspace, sandbox: "none" });
  });
  afterAll(() => server.close());

  async function failuresOf(
    spoil?: (outcome: Outcome) => Outcome,
  ): Promise<string[]> {
    rmSync(join(workspace, "conformance.txt"), { force: true });
    const results = await all(
      runProgramSuite(
        honestProgram(spoil && { spoil }),
        AbortSignal.timeout(60_000),
        { server },
      ),
    );
    return results
      .filter(({ status }) => status !== "passed")
      .map(({ id }) => id);
  }

  it("passes a correct program", async () => {
    expect(await failuresOf()).toEqual([]);
  });

  const faults: Readonly<
    Record<
      string,
      { readonly spoil: (outcome: Outcome) => Outcome; readonly breaks: string }
    >
  > = {
    "writes lowerCamelCase": {
      spoil: (outcome) =>
        outcome.case === "json"
          ? {
              ...outcome,
              value: outcome.value.replaceAll("tool_call_id", "toolCallId"),
            }
          : outcome,
      breaks: "program/json/ToolCall-1",
    },
    "writes no JSON": {
      spoil: (outcome) =>
        outcome.case === "json" ? { ...outcome, value: "" } : outcome,
      breaks: "program/json/AgentSettings-0",
    },
    "writes a byte more": {
      spoil: (outcome) =>
        outcome.case === "binary"
          ? { ...outcome, value: new Uint8Array([...outcome.value, 0]) }
          : outcome,
      breaks: "program/json/AgentSettings-0",
    },
    "writes the binary in base64, as text": {
      spoil: (outcome) =>
        outcome.case === "binary"
          ? {
              case: "json",
              value: Buffer.from(outcome.value).toString("base64"),
            }
          : outcome,
      breaks: "program/json/AgentSettings-0",
    },
    "takes what is bad": {
      spoil: (outcome) =>
        outcome.case === "refused"
          ? { case: "binary", value: new Uint8Array() }
          : outcome,
      breaks: "program/json/AgentSettings-0/bad-0",
    },
    "refuses what is newer": {
      spoil: (outcome) =>
        outcome.case === "binary" && outcome.value.length === 0
          ? REFUSED
          : outcome,
      breaks: "program/json/DevelopmentToolEvent-23",
    },
    "loses an event": {
      spoil: (outcome) => changed(outcome, (events) => events.toSpliced(5, 1)),
      breaks: "program/appendix-a",
    },
    "tells of an event twice": {
      spoil: (outcome) =>
        changed(outcome, (events) =>
          events.toSpliced(5, 0, ...events.slice(4, 5)),
        ),
      breaks: "program/edit-modified",
    },
    "loses the text of a thought": {
      spoil: (outcome) =>
        changed(outcome, (events) =>
          events.map((event) =>
            event.payload.case === "thought"
              ? { ...event, payload: { case: undefined } }
              : event,
          ),
        ),
      breaks: "program/appendix-a",
    },
    "tells of nothing": {
      spoil: (outcome) =>
        outcome.case === "conversation"
          ? {
              ...outcome,
              value: create(ConversationSchema, { task: emptyTask() }),
            }
          : outcome,
      breaks: "program/two-questions",
    },
    "does not give the task": {
      spoil: (outcome) => {
        if (outcome.case !== "conversation") return outcome;
        const { task: _task, ...rest } = outcome.value;
        return { ...outcome, value: rest };
      },
      breaks: "program/two-questions",
    },
  };
  for (const [fault, { spoil, breaks }] of variantsOf(
    "faults of programs",
    Object.entries(faults),
    4,
  )) {
    it(`fails one that ${fault} (sabotage)`, async () => {
      expect(await failuresOf(spoil)).toContain(breaks);
    });
  }

  it("skips the conversations when there is no server to talk with", async () => {
    const results = await all(
      runProgramSuite(honestProgram(), AbortSignal.timeout(60_000)),
    );
    expect(
      results.filter(({ status }) => status === "skipped").map(({ id }) => id),
    ).toEqual(CONVERSATIONS);
  });

  it("ends with an error that names the case when the program does not answer", async () => {
    const silent = {
      write: async () => undefined,
      output: new ReadableStream<Uint8Array>(),
    };
    const results = runProgramSuite(silent, AbortSignal.timeout(60_000), {
      timeoutMs: 50,
    });
    await expect(all(results)).rejects.toThrow(
      "program/json/AgentSettings-0: ",
    );
  });

  it("ends with an error when the program ends", async () => {
    const streams = {
      write: async () => undefined,
      output: (async function* () {})(),
    };
    await expect(
      all(runProgramSuite(streams, AbortSignal.timeout(60_000))),
    ).rejects.toThrow("ended without an answer");
  });

  it("ends with an error when the program cannot be started", async () => {
    const path = join(workspace, "binding.json");
    writeFileSync(path, '{"program": {"words": ["no-such-program"]}}');
    const { results } = await playProgram(
      path,
      {},
      AbortSignal.timeout(60_000),
    );
    await expect(all(results)).rejects.toThrow(
      /program "no-such-program" cannot be run: build the binding first \(npx -y pnpm@12 bindings LANGUAGE\), or correct .*binding\.json: .*ENOENT/,
    );
  });

  it("names requirements that there are", () => {
    const named = programCases().cases.flatMap(
      ({ requirements }) => requirements,
    );
    expect(named.filter((id) => !(id in REQUIREMENTS))).toEqual([]);
  });
});

const AGENT_CASES = new Set(
  agentCases().cases.map(({ id }) => id.replace(/^client\//, "")),
);

/**
 * The programs need not speak A2A 1.0, nor converse with agents of others; one
 * that does is tested.
 */
function isLeftOut({ id, status }: CaseResult): boolean {
  const name = id.split("/").at(-1) ?? "";
  const isOptional = id.startsWith("client/a2a-1.0-") || AGENT_CASES.has(name);
  return status === "skipped" && isOptional;
}

type Outcome = ProgramResponse["outcome"];
type Events = Extract<Outcome, { case: "conversation" }>["value"]["events"];
const REFUSED: Outcome = { case: "refused", value: "" };

function changed(
  outcome: Outcome,
  change: (events: Events) => Events,
): Outcome {
  if (outcome.case !== "conversation") return outcome;
  return {
    ...outcome,
    value: { ...outcome.value, events: change(outcome.value.events) },
  };
}

async function all(results: AsyncIterable<CaseResult>): Promise<CaseResult[]> {
  return Array.fromAsync(results);
}
