import { create, toJson } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import type { Binding } from "../binding/binding.ts";
import type { CaseResult } from "../play/case-result.ts";
import {
  KnownFailingSchema,
  Level,
  Outcome,
  type Report,
  ReportSchema,
} from "../protos.ts";
import { createReport, isClean } from "./create-report.ts";
import { htmlPage } from "./html.ts";
import { junitXml } from "./junit.ts";
import { readKnownFailing } from "./known-failing.ts";
import { reportTable } from "./table.ts";

const BINDING: Binding = {
  name: "JSONRPC",
  protocolVersion: "1.0",
  endpoint: "http://agent.example/",
  has: () => true,
  play: () => Promise.reject(new Error("must not be called")),
};

const REASON = 'the text must be "<b>&": got \u0000\u202e';
const RESULTS: readonly CaseResult[] = [
  {
    id: "good",
    requirements: ["A2A1-GET", "A2A1-SEND"],
    status: "passed",
    durationMs: 12,
  },
  {
    id: "bad",
    requirements: ["A2A1-GET", "A2A1-LIST"],
    status: "failed",
    durationMs: 1500,
    failures: [{ requirements: ["A2A1-LIST"], step: 2, reason: REASON }],
    exchanges: [],
  },
  {
    id: "left",
    requirements: ["A2A1-CANCEL"],
    status: "skipped",
    reason: "the card does not claim it",
    durationMs: 0,
  },
];

const PASSED: CaseResult = {
  id: "good",
  requirements: ["A2A1-GET"],
  status: "passed",
  durationMs: 1,
};

interface Entry {
  readonly id: string;
  readonly binding?: string;
  readonly protocolVersion?: string;
}

function report(failures: readonly Entry[] = []): Report {
  const known = create(KnownFailingSchema, {
    failures: failures.map((entry) => ({ reason: "why", ...entry })),
  });
  const subject = {
    name: "http://agent.example",
    agent: "agent",
    agentVersion: "2",
    binding: BINDING,
  };
  return createReport({
    suite: "A2A 1.0 server",
    subject,
    results: RESULTS,
    known,
    time: new Date(0),
  });
}

/** The result of a case that failed for these requirements. */
function failed(id: string, ...requirements: readonly string[]): CaseResult {
  const failures = [{ requirements, step: 1, reason: "why" }];
  return { id, requirements, status: "failed", durationMs: 1, failures };
}

function reportOn(
  results: readonly CaseResult[],
  { level = Level.MUST, binding = BINDING } = {},
): Report {
  return createReport({
    suite: "s",
    subject: { name: "u", agent: "", agentVersion: "", binding },
    results,
    level,
    time: new Date(0),
  });
}

function outcomeOf({ requirements }: Report, id: string): Outcome | undefined {
  return requirements.find((item) => item.id === id)?.outcome;
}

describe("a report", () => {
  it("names the version of the kit", () => {
    expect(report().kitVersion).toBe(manifest.version);
  });

  it("fails the requirement that a failure names, and not the others of its case", () => {
    const made = report();
    expect(outcomeOf(made, "A2A1-LIST")).toBe(Outcome.FAILED);
    expect(outcomeOf(made, "A2A1-GET")).toBe(Outcome.PASSED);
    expect(outcomeOf(made, "A2A1-CANCEL")).toBe(Outcome.SKIPPED);
    expect(made.requirements.some(({ id }) => id.startsWith("A2A03-"))).toBe(
      false,
    );
    expect(isClean(made)).toBe(false);
  });

  it("does not pass a requirement that only a failed case would have shown", () => {
    const subject = {
      name: "u",
      agent: "",
      agentVersion: "",
      binding: BINDING,
    };
    const made = createReport({
      suite: "s",
      subject,
      results: RESULTS.slice(1),
      time: new Date(0),
    });
    expect(outcomeOf(made, "A2A1-GET")).toBe(Outcome.SKIPPED);
  });

  it("is clean if every failure is known", () => {
    const made = report([{ id: "bad" }]);
    expect(outcomeOf(made, "A2A1-LIST")).toBe(Outcome.KNOWN_FAILING);
    expect(isClean(made)).toBe(true);
  });

  it("is not clean if the list names a case that passes or does not exist", () => {
    expect(isClean(report([{ id: "bad" }, { id: "good" }]))).toBe(false);
    expect(isClean(report([{ id: "bad" }, { id: "gone" }]))).toBe(false);
    expect(
      isClean(
        report([
          { id: "bad" },
          { id: "gone", binding: "GRPC" },
          { id: "old", protocolVersion: "0.3" },
        ]),
      ),
    ).toBe(true);
  });

  it("H4: warns of what breaks only a recommendation, unless that is asked for", () => {
    const cached = failed("a2a/card-cached", "A2A1-CARD-CACHE");
    const made = reportOn([cached]);
    expect(made.cases[0]?.outcome).toBe(Outcome.WARNING);
    expect(made.requirements).toMatchObject([
      { outcome: Outcome.WARNING, level: Level.SHOULD },
    ]);
    expect(isClean(made)).toBe(true);
    expect(junitXml([made])).toContain(
      '<skipped message="warning: A2A1-CARD-CACHE (A2A 1.0 §8.6.1): why"/>',
    );
    const strict = reportOn([cached], { level: Level.SHOULD });
    expect(strict.cases[0]?.outcome).toBe(Outcome.FAILED);
    expect(isClean(strict)).toBe(false);
    const both = failed("both", "A2A1-CARD-CACHE", "A2A1-CARD");
    expect(reportOn([both]).cases[0]?.outcome).toBe(Outcome.FAILED);
    expect(outcomeOf(reportOn([both]), "A2A1-CARD-CACHE")).toBe(
      Outcome.WARNING,
    );
  });

  it("has the warnings of each case in every form, and stays clean", () => {
    const warnings = [
      "result.kind is left over from A2A 0.3 <&>: leave it out",
    ];
    const made = reportOn([
      { ...PASSED, id: "one", warnings },
      { ...PASSED, id: "two", warnings },
      { ...failed("three", "A2A1-GET"), warnings },
      { ...PASSED, id: "left", status: "skipped", reason: "why", warnings },
    ]);
    const asJson = Object(toJson(ReportSchema, made));
    expect(asJson.cases.map((item: object) => Object(item).warnings)).toEqual(
      made.cases.map(() => warnings),
    );
    const output =
      "<system-out>warning: result.kind is left over from A2A 0.3 &lt;&amp;&gt;: leave it out\n</system-out></testcase>";
    expect(junitXml([made]).split(output)).toHaveLength(5);
    expect(htmlPage([made])).toContain(
      "<ul><li>result.kind is left over from A2A 0.3 &lt;&amp;&gt;: leave it out <small>one, two, three, left</small></li></ul>",
    );
    expect(isClean(reportOn([{ ...PASSED, warnings }]))).toBe(true);
    expect(htmlPage([reportOn([PASSED])])).not.toContain("trip over");
  });

  it("H4: knows that a level may depend on the binding", () => {
    const info = failed("a2a/error-info", "A2A1-ERROR-INFO");
    expect(reportOn([info]).cases[0]?.outcome).toBe(Outcome.WARNING);
    const binding: Binding = { ...BINDING, name: "HTTP+JSON" };
    expect(reportOn([info], { binding }).cases[0]?.outcome).toBe(
      Outcome.FAILED,
    );
  });

  it("refuses a list with a missing reason, a duplicate or an unknown field", () => {
    expect(() => readKnownFailing('{"failures":[{"id":"a"}]}')).toThrow(
      'known failure "a" has no reason',
    );
    const twice =
      '{"failures":[{"id":"a","reason":"x"},{"id":"a","reason":"y"}]}';
    expect(() => readKnownFailing(twice)).toThrow(
      'known failure "a" is listed twice',
    );
    expect(() => readKnownFailing('{"failing":[]}')).toThrow("failing");
  });

  it("as a table has a line per requirement, and the totals", () => {
    const lines = reportTable(report()).split("\n");
    expect(lines).toContain(
      "failed   MUST   A2A1-LIST   tasks are listed, newest first, and filtered by context, state and time (A2A 1.0 §3.1.4)",
    );
    expect(lines.slice(-3)).toEqual([
      "2 passed, 1 failed, 1 skipped of 4 requirements; 1 passed, 1 failed, 1 skipped of 3 cases",
      "met of what was tested: MUST: 2 of 3 (66 %)",
      "failed: bad",
    ]);
    expect(reportTable(report([{ id: "bad" }]))).not.toContain("failed:");
  });

  it("as JUnit XML has counts, and escapes what XML cannot contain", () => {
    const xml = junitXml([report()]);
    expect(xml).toContain(
      'tests="3" failures="1" skipped="1" errors="0" time="1.512"',
    );
    expect(xml).toContain(
      "the text must be &quot;&lt;b&gt;&amp;&quot;: got \\u{0}\u202e",
    );
    expect(xml).not.toContain("\u0000");
  });

  it("of a program is named after its suite, and has no requirements of servers", () => {
    const subject = { name: "node program.js", agent: "Zig", agentVersion: "" };
    const made = createReport({
      suite: "JSON",
      subject,
      results: [],
      time: new Date(0),
    });
    expect(made).toMatchObject({
      subject: "node program.js",
      protocolVersion: "",
      binding: "",
    });
    expect(made.requirements).toEqual([]);
    expect(junitXml([made])).toContain('<testsuite name="JSON" ');
    expect(htmlPage([made])).toContain("<h1>Zig: JSON</h1>");
  });
});
