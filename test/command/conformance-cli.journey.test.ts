import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { fromJsonString } from "@bufbuild/protobuf";
import type { Io } from "@devtool/cli/testing";
import { runProgram } from "@devtool/cli/testing";
import { serveCodingAgent } from "@devtool/coding-agent";
import {
  CaseReportSchema,
  Outcome,
  ReportSchema,
} from "@devtool/conformance/protos";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LEFT_TO_CI } from "../depth.ts";
import { freeAddress } from "../push/free-address.ts";

/** How a command went. */
interface Played {
  readonly code: number;
  readonly out: string;
}

describe("devtool conformance", () => {
  let directory: string;
  let server: DevtoolServer;
  let receiver: string;
  beforeAll(async () => {
    directory = temporaryDirectory();
    receiver = await freeAddress();
    server = await serveCodingAgent({
      workspace: directory,
      pushTargets: [receiver],
    });
  });
  afterAll(() => server.close());

  async function run(...args: readonly string[]): Promise<Played> {
    const stdout = new PassThrough();
    const stderr = new PassThrough();
    const io: Io = {
      stdin: new PassThrough(),
      stdout,
      stderr,
      env: { DEVTOOL_TOKEN: server.token },
      interactive: false,
      onInterrupt: () => () => undefined,
      interrupt: () => undefined,
    };
    const code = await runProgram(["conformance", ...args], io);
    return { code, out: `${stdout.read() ?? ""}${stderr.read() ?? ""}` };
  }

  function test(...args: readonly string[]): Promise<Played> {
    return run(server.url, "--data", directory, ...args);
  }

  it("speaks what the card lists first, and writes each kind of report", async () => {
    const files = ["html", "xml", "json"].map((name) =>
      join(directory, `report.${name}`),
    );
    const [html = "", xml = "", json = ""] = files;
    const reports = [
      "--report-html",
      html,
      "--report-junit",
      xml,
      "--report-json",
      json,
    ];
    const { code, out } = await test("--only", "a2a/card", ...reports);
    expect(out).toMatch(/^passed +a2a\/card +A2A1-CARD$/m);
    expect(out).toContain("2 passed of 2 cases");
    expect(code).toBe(0);
    const report = fromJsonString(ReportSchema, readFileSync(json, "utf8"));
    expect(report).toMatchObject({
      agent: "devtool",
      protocolVersion: "1.0",
      binding: "JSONRPC",
      subject: server.url,
    });
    expect(readFileSync(html, "utf8")).toContain(
      "<h1>devtool: A2A 1.0 server over JSONRPC</h1>",
    );
    expect(readFileSync(xml, "utf8")).toContain(
      'tests="2" failures="0" skipped="0"',
    );
  });

  it("fails for cases that are not known to fail, with the evidence", async () => {
    const json = join(directory, "failed.json");
    const prompts = join(directory, "unended.json");
    writeFileSync(prompts, JSON.stringify({ ends: "write x.txt x" }));
    const { code, out } = await test(
      "--only",
      "a2a/ended-task",
      "--prompts",
      prompts,
      "--report-json",
      json,
    );
    expect(code).toBe(1);
    expect(out).toMatch(/^failed +MUST +A2A1-ENDED-TASK/m);
    const [item] = fromJsonString(
      ReportSchema,
      readFileSync(json, "utf8"),
    ).cases;
    expect(item?.outcome).toBe(Outcome.FAILED);
    expect(item?.exchanges.map(({ step, status }) => [step, status])).toEqual([
      [1, "200"],
      [2, "200"],
    ]);
    expect(
      JSON.stringify(
        item?.exchanges.map(({ requestHeaders }) => requestHeaders),
      ),
    ).not.toContain(server.token);
  });

  it("shows where the server follows the RFC against A2A, as known to fail and not as a failure", async () => {
    const { code, out } = await test("--only", "a2a/ended-task");
    expect(code).toBe(0);
    expect(out).toMatch(
      /^known +a2a\/ended-task +A2A1-ENDED-TASK\n {4}STREAM-5: the RFC lets ended tasks continue/m,
    );
    expect(out).toMatch(
      /^known +a2a\/ended-task: STREAM-5: the RFC lets ended tasks continue/m,
    );
    expect(out).toContain("1 known to fail of 1 cases");
  });

  it("fails where the list of known failures differs from the results", async () => {
    const known = join(directory, "known.json");
    const list = (...ids: readonly string[]): void =>
      writeFileSync(
        known,
        JSON.stringify({
          failures: ids.map((id) => ({ id, reason: "by design" })),
        }),
      );
    list("a2a/ended-task");
    expect(
      (await test("--only", "a2a/ended-task", "--known-failing", known)).code,
    ).toBe(0);
    list("a2a/ended-task", "a2a/ended-task-of-mine");
    expect(
      (await test("--only", "a2a/ended-task", "--known-failing", known)).code,
    ).toBe(1);
    list("a2a/card", "a2a/no-such-case-but-not-asked-for");
    expect(
      (await test("--only", "a2a/card", "--known-failing", known)).code,
    ).toBe(1);
  });

  it.each([
    ["1.0", "a2a/push-", "A2A1-PUSH-DELIVERY"],
    ["0.3", "push/later", "PUSH-1"],
  ])(
    "receives the notifications of a server over A2A %s, of the cases that are named",
    async (version, only, id) => {
      const { code, out } = await test(
        "--push",
        receiver,
        "--a2a",
        version,
        "--binding",
        "JSONRPC",
        "--only",
        only,
      );
      expect(code).toBe(0);
      expect(out).toMatch(new RegExp(`^passed +${only}[\\w/-]* +${id}$`, "m"));
    },
  );

  it("names what the card lists when that is not what is asked for", async () => {
    const { code, out } = await test("--a2a", "0.3", "--binding", "GRPC");
    expect(code).not.toBe(0);
    expect(out).toContain(
      "the agent has no A2A 0.3 over GRPC: its card lists A2A 1.0 over JSONRPC",
    );
  });

  it("H3: refuses a prompt that no case has, and the name of a case that there is not", async () => {
    const prompts = join(directory, "typo.json");
    for (const [text, problem] of [
      ['{"sayz":"x"}', 'there is no prompt "sayz": the keys are says, ends,'],
      ['{"constructor":"x"}', 'there is no prompt "constructor": the keys are'],
      ["{says}", "Expected property name"],
    ]) {
      writeFileSync(prompts, text ?? "");
      const typo = await test("--only", "a2a/card", "--prompts", prompts);
      expect(typo.code).toBe(2);
      expect(typo.out).toContain(`${prompts} cannot be used: ${problem}`);
    }
    const group = await test("--only", "nonsense");
    expect(group.code).not.toBe(0);
    expect(group.out).toContain(
      'no case is named "nonsense…": there are a2a/, tenant/, card/,',
    );
    const name = await test("--only", "command/lits");
    expect(name.code).not.toBe(0);
    expect(name.out).toMatch(
      /no case is named "command\/lits…": there are (command\/[\w-]+(, )?)+\n$/,
    );
  });

  it("H1: writes the prompts to fill in, each with what the agent must do, and reads them", async () => {
    const file = join(directory, "template.json");
    expect(await run("--init", file)).toMatchObject({ code: 0 });
    const written = JSON.parse(readFileSync(file, "utf8"));
    expect(Object.keys(written)).toEqual([
      "says",
      "ends",
      "asks",
      "answers",
      "works-long",
      "works-a-while",
      "hook",
    ]);
    expect(written.asks).toEqual({
      agentMust:
        "ask the client something and wait for the answer (input-required)",
      prompt: "",
    });
    const { code, out } = await test("--only", "a2a/s", "--prompts", file);
    expect(code).toBe(0);
    expect(out).toContain('give --prompts with "asks"');
    expect((await run("--init", file)).code).not.toBe(0);
    const all = join(directory, "template-of-the-extension.json");
    await test("--init", all);
    expect(Object.keys(JSON.parse(readFileSync(all, "utf8")))).toContain(
      "asks-shell",
    );
  });

  it("skips cases for which no prompt is known", async () => {
    const prompts = join(directory, "prompts.json");
    writeFileSync(prompts, JSON.stringify({ says: "text hello" }));
    const { code, out } = await test("--only", "a2a/c", "--prompts", prompts);
    expect(code).toBe(0);
    expect(out).toContain(
      'give --prompts with "works-long": the agent must work for at least a minute',
    );
  });

  /** A `binding.json` for the program that refuses everything. */
  function refusing(...known: readonly string[]): string {
    const path = join(directory, "binding.json");
    const words = [
      process.execPath,
      fileURLToPath(
        new URL("../conformance/refusing-program.mjs", import.meta.url),
      ),
    ];
    const knownFailures = known.map((id) => ({ id, reason: "it is strict" }));
    writeFileSync(
      path,
      JSON.stringify({ title: "Refusal", program: { words }, knownFailures }),
    );
    return path;
  }

  const GOOD = "program/json/AgentSettings-0/bad-0";
  const BAD = "program/json/AgentSettings-0";

  it("reports on a program as on a server: JSON, client and resume in each kind of report", async () => {
    const files = ["html", "xml", "json"].map((name) =>
      join(directory, `program.${name}`),
    );
    const [html = "", xml = "", json = ""] = files;
    const reports = [
      "--report-html",
      html,
      "--report-junit",
      xml,
      "--report-json",
      json,
    ];
    const { code, out } = await run("--program", refusing(BAD), ...reports);
    expect(code).toBe(1);
    expect(out).toMatch(/^failed +MUST +JSON-1 /m);
    expect(out).toMatch(
      /^skipped +MUST +STREAM-7 .*: client\/.*the program does not support it: work 10$/m,
    );
    const report = fromJsonString(ReportSchema, readFileSync(json, "utf8"));
    expect(report).toMatchObject({
      suite: "JSON, client and resume",
      agent: "Refusal",
      protocolVersion: "",
      binding: "",
    });
    expect(report.subject).toContain("refusing-program.mjs");
    expect(report.requirements.some(({ id }) => id.startsWith("A2A"))).toBe(
      false,
    );
    const outcomes = Object.fromEntries(
      report.cases.map(({ id, outcome }) => [id, outcome]),
    );
    expect(outcomes).toMatchObject({
      [GOOD]: Outcome.PASSED,
      [BAD]: Outcome.KNOWN_FAILING,
      "program/json/ToolCall-1": Outcome.FAILED,
      "program/appendix-a": Outcome.SKIPPED,
      "client/appendix-a": Outcome.SKIPPED,
      "client/appendix-a/cut": Outcome.SKIPPED,
    });
    const total = report.cases.length;
    expect(readFileSync(html, "utf8")).toContain(
      "<h1>Refusal: JSON, client and resume</h1>",
    );
    expect(readFileSync(xml, "utf8")).toContain(
      `<testsuite name="JSON, client and resume" `,
    );
    expect(readFileSync(xml, "utf8")).toContain(`tests="${total}"`);
  });

  it("prints the cases of a program as the message that those of a server are", async () => {
    const { out } = await run("--program", refusing(), "--json");
    const cases = out
      .trimEnd()
      .split("\n")
      .map((line) => fromJsonString(CaseReportSchema, line));
    expect(cases.find(({ id }) => id === GOOD)).toMatchObject({
      outcome: Outcome.PASSED,
      exchanges: [],
    });
    const bad = cases.find(({ id }) => id === BAD);
    expect(bad?.failures[0]?.reason).toContain("nothing is good enough");
    expect(bad?.exchanges).toMatchObject([
      { step: 1, requestLine: "readJson", status: "refused" },
    ]);
    expect(bad?.exchanges[0]?.responseBody).toContain(
      '"refused": "nothing is good enough"',
    );
  });

  it.skipIf(LEFT_TO_CI !== "")(
    `fails where the known failures of a program differ from the results, and takes another list of them${LEFT_TO_CI}`,
    async () => {
      const strict = await run("--program", refusing(GOOD));
      expect(strict.out).toContain(
        `passes   ${GOOD}: is listed as known to fail ("it is strict") and passes`,
      );
      expect(strict.code).toBe(1);
      const { out } = await run("--program", refusing(), "--json");
      const failed = out
        .trimEnd()
        .split("\n")
        .map((line) => fromJsonString(CaseReportSchema, line));
      const ids = failed
        .filter(({ outcome }) => outcome === Outcome.FAILED)
        .map(({ id }) => id);
      expect((await run("--program", refusing(...ids))).code).toBe(0);
      const known = join(directory, "known.json");
      writeFileSync(
        known,
        JSON.stringify({
          failures: ids.map((id) => ({ id, reason: "by design" })),
        }),
      );
      expect(
        (await run("--program", refusing(), "--known-failing", known)).code,
      ).toBe(0);
      const stray = await run("--program", refusing(...ids, "program/gone"));
      expect(stray.out).toContain(
        "failed   program/gone: is listed as known to fail, and there is no such case",
      );
      expect(stray.code).toBe(1);
    },
  );

  it("M9, M11: what could not be tested ends with 2, and says why before it begins", async () => {
    const missing = join(directory, "missing", "file.json");
    const closed = `http://${await freeAddress()}`;
    const silent = createServer(() => undefined).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const address = silent.address();
    const port = typeof address === "object" && address ? address.port : 0;
    const url = `http://127.0.0.1:${port}`;
    try {
      for (const [args, text] of [
        [
          [url, "--timeout", "0.3"],
          `no agent card came from ${url}/.well-known/agent-card.json in 0.3 s`,
        ],
        [
          [closed],
          `no agent card came from ${closed}/.well-known/agent-card.json: nothing listens at`,
        ],
        [
          [server.url, "--prompts", missing],
          `${missing} cannot be read: no such file or directory`,
        ],
        [
          [server.url, "--known-failing", missing],
          `${missing} cannot be read: no such file or directory`,
        ],
        [
          [server.url, "--report-junit", missing],
          `the report ${missing} cannot be written: no such file or directory`,
        ],
        [
          [server.url, "--report-badge", missing],
          `the report ${missing} cannot be written: no such file or directory`,
        ],
        [[server.url, "--timeout", "soon"], "write seconds, such as 5 or 0.5"],
        [
          [server.url, "--a2a", "0.3", "--binding", "GRPC"],
          "the agent has no A2A 0.3 over GRPC",
        ],
      ] as const) {
        const own = args[0] === "--program" ? [] : ["--data", directory];
        const { code, out } = await run(...own, ...args);
        expect([code, out], args.join(" ")).toEqual([
          2,
          expect.stringContaining(text),
        ]);
        expect(out).not.toContain("passed ");
      }
    } finally {
      silent.closeAllConnections();
      silent.close();
    }
  });

  it("M9: a program that exits says with what", async () => {
    const path = join(directory, "exits.json");
    const words = [process.execPath, "-e", "process.exit(3)"];
    writeFileSync(path, JSON.stringify({ title: "Exits", program: { words } }));
    const { code, out } = await run("--program", path);
    expect(code).toBe(2);
    expect(out).toMatch(
      /exited with 3, and has to answer until its standard input ends/,
    );
  });

  it("refuses options about servers for a program", async () => {
    const { code, out } = await run("--program", refusing(), "--only", "a2a/");
    expect(code).toBe(2);
    expect(out).toContain(
      "option '--program <file>' cannot be used with option '--only <prefix>'",
    );
  });
});
