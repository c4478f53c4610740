import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { Outcome, type Report, ReportSchema } from "../protos.ts";
import { REQUIREMENTS } from "../requirement/requirements.ts";
import { sourceLinks } from "./evidence-html.ts";
import { htmlPage } from "./html.ts";
import { PAGE_STYLE } from "./page-style.ts";

const HOSTILE = `"'></pre></style><script>alert(1)</script><img src=//evil.example/x onerror=alert(1)>&lt;\u0000\u202e`;

describe("the page of a report", () => {
  it("starts with the totals, then the failures, then each table with the worst first", () => {
    const page = htmlPage([report()]);
    const told = page.matchAll(
      /<h\d>.*<\/h\d>|<td>\d+<\/td>|<th scope="row">.*<code>.*<\/code>/g,
    );
    expect([...told].map(([markup]) => textOf(markup))).toEqual([
      "agent: A2A 1.0 server over JSONRPC",
      "1",
      "1",
      "1",
      "0",
      "1",
      "1",
      "0",
      "0",
      "3",
      "2",
      "What to look at",
      "✗ failed bad",
      "Known to fail",
      "≈ known to fail known",
      "Requirements",
      "A2A1-LIST",
      "A2A1-GET",
      "Cases",
      "bad",
      "known",
      "good",
    ]);
  });

  it("shows a failure with its requirement, the source, and the exchange of the failed step", () => {
    const page = htmlPage([report()]);
    const article =
      /<article id="case-0-bad">(.*?)<\/article>/s.exec(page)?.[1] ?? "";
    expect(article).toContain("the list is too long");
    expect(article).toMatch(
      /<code>A2A1-LIST<\/code> tasks are listed <small><a href="https:\/\/a2a-protocol\.org\/v1\.0\.0\/specification\/">A2A 1\.0 §3\.1\.4<\/a>/,
    );
    expect(
      [...article.matchAll(/<details(.*?)>\s*<summary>(.*?)<\/summary>/g)].map(
        ([, open, title]) => [open, title],
      ),
    ).toEqual([
      ["", "Step 1: POST http://agent.example/one → 200"],
      [" open", "Step 2: POST http://agent.example/two → no answer"],
    ]);
    expect(page).toContain('see <a href="#case-0-bad">bad</a>');
  });

  it("folds the evidence of known failures", () => {
    expect(
      /<article id="case-0-known">(.*?)<\/article>/s.exec(
        htmlPage([report()]),
      )?.[1],
    ).toContain("<details>");
  });

  it("labels its columns and rows, and expresses every colour in words too", () => {
    const page = htmlPage([report()]);
    const tables = page.match(/<table/g) ?? [];
    expect(
      page.match(/<thead><tr>(<th scope="col">[^<]+<\/th>){3}<\/tr><\/thead>/g),
    ).toHaveLength(tables.length);
    expect(
      page.match(/<tr>.*<\/tr>/g)?.filter((row) => !row.includes('scope="')),
    ).toEqual([]);
    const marks = [
      ...page.matchAll(/<span class="mark (\w+)">(.*?<\/span>.*?)<\/span>/g),
    ];
    expect(
      new Set(marks.map(([, look, text]) => `${look}: ${textOf(text ?? "")}`)),
    ).toEqual(
      new Set([
        "failed: ✗ failed",
        "passed: ✓ passed",
        "known: ≈ known to fail",
        "skipped: – skipped",
      ]),
    );
  });

  it("escapes every text of a report", () => {
    const page = htmlPage([hostile()]);
    expect(foreign(page)).toEqual([]);
    expect(foreign(`${page}<img src="x">`)).toHaveLength(2);
    expect(
      foreign(page.replace("<details>", '<details ontoggle="x">')),
    ).toHaveLength(2);
    expect(page).toContain(
      "&quot;'&gt;&lt;/pre&gt;&lt;/style&gt;&lt;script&gt;",
    );
    expect(page).toContain("&amp;lt;\\u{0}\\u{202e}");
    expect(["\u0000", "\u202e"].filter((char) => page.includes(char))).toEqual(
      [],
    );
  });

  it("loads nothing and runs no script, and its policy forbids both", () => {
    const page = htmlPage([report(), hostile()]);
    expect(page).toContain(
      `content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"`,
    );
    expect(PAGE_STYLE.text).not.toMatch(/@import|url\(|src:/);
    expect(page).not.toMatch(
      /<(script|link|img|iframe|object|embed|form|base)\b/,
    );
  });

  it("has a contrast of 4.5 between every text and background colour, in light and dark mode", () => {
    const colours = Object.fromEntries(
      [
        ...PAGE_STYLE.text.matchAll(/--(\w+): light-dark\((#\w+), (#\w+)\)/g),
      ].map(([, name = "", ...pair]) => [name, pair]),
    );
    const faint = ["ink", "soft", "passed", "failed", "known", "link"].flatMap(
      (ink) =>
        ["paper", "code"].flatMap((ground) =>
          [0, 1]
            .map(
              (mode) =>
                [
                  ink,
                  ground,
                  mode,
                  contrast(colours[ink]?.[mode], colours[ground]?.[mode]),
                ] as const,
            )
            .filter(([, , , ratio]) => !(ratio >= 4.5)),
        ),
    );
    expect(faint).toEqual([]);
    expect(contrast("#777", "#fff")).toBeLessThan(4.5);
  });

  it("links each part of each source, except for own requirements", () => {
    const parts = Object.values(REQUIREMENTS).flatMap(({ source }) =>
      source.split("; "),
    );
    expect(
      parts.filter(
        (part) =>
          part !== "own" &&
          !sourceLinks(part).text.startsWith('<a href="https://'),
      ),
    ).toEqual([]);
    expect(sourceLinks("A2A 0.3 §9.5; own").text).toMatch(/<\/a>; own$/);
  });
});

/** A report with a case of each outcome that is shown with evidence. */
function report(): Report {
  const failure = {
    requirements: ["A2A1-LIST"],
    step: 2,
    reason: "the list is too long",
  };
  const exchanges = [
    {
      step: 1,
      requestLine: "POST http://agent.example/one",
      status: "200",
      responseBody: "{}",
    },
    { step: 2, requestLine: "POST http://agent.example/two" },
  ];
  return create(ReportSchema, {
    suite: "A2A 1.0 server",
    agent: "agent",
    binding: "JSONRPC",
    cases: [
      { id: "good", requirements: ["A2A1-GET"], outcome: Outcome.PASSED },
      {
        id: "known",
        outcome: Outcome.KNOWN_FAILING,
        reason: "by design",
        failures: [{ ...failure, requirements: [] }],
        exchanges,
      },
      {
        id: "bad",
        requirements: ["A2A1-LIST"],
        outcome: Outcome.FAILED,
        failures: [failure],
        exchanges,
      },
    ],
    requirements: [
      {
        id: "A2A1-GET",
        behaviour: "a task is read",
        source: "A2A 1.0 §3.1.3",
        outcome: Outcome.PASSED,
      },
      {
        id: "A2A1-LIST",
        behaviour: "tasks are listed",
        source: "A2A 1.0 §3.1.4",
        outcome: Outcome.FAILED,
      },
    ],
  });
}

/** A report of which every text is hostile. */
function hostile(): Report {
  const text = HOSTILE;
  const exchange = {
    requestLine: text,
    requestBody: text,
    status: text,
    responseBody: text,
  };
  const headers = {
    requestHeaders: { [text]: text },
    responseHeaders: { [text]: text },
  };
  const failures = [{ requirements: [text], reason: text }];
  const outcomes = [
    Outcome.FAILED,
    Outcome.PASSED_THOUGH_KNOWN,
    Outcome.KNOWN_FAILING,
    Outcome.PASSED,
    Outcome.SKIPPED,
  ];
  return create(ReportSchema, {
    ...{
      suite: text,
      subject: text,
      agent: text,
      agentVersion: text,
      protocolVersion: text,
      binding: text,
      kitVersion: text,
    },
    cases: outcomes.map((outcome) => ({
      ...{ id: text, requirements: [text], outcome, reason: text, failures },
      exchanges: [{ ...exchange, ...headers }],
    })),
    requirements: outcomes.map((outcome) => ({
      ...{ id: text, behaviour: text, outcome, reason: text, cases: [text] },
      source: `RFC ${text}; ${text}`,
    })),
  });
}

/**
 * The brackets that are of no element that the page has, with the attributes
 * that it has.
 */
function foreign(page: string): string[] {
  const parts = [
    /html|head|title|body|main|section|article|div|span|h[123]|p|small|code|pre|figure|figcaption|ul|li|i|a/,
    /details|summary|table|thead|tbody|tr|th|td|meta/,
  ];
  const attributes =
    /lang|charset|name|content|http-equiv|class|id|href|scope|style|tabindex|aria-hidden/;
  const tag = new RegExp(
    `</?(?:${parts.map(({ source }) => source).join("|")})(?: (?:${attributes.source})="[^"<>]*")*(?: open)?>|<!doctype html>`,
    "g",
  );
  return (
    page.replace(PAGE_STYLE.text, "").replaceAll(tag, "").match(/[<>]/g) ?? []
  );
}

function textOf(markup: string): string {
  return markup.replaceAll(/<[^>]*>/g, "").trim();
}

/** The contrast of two colours, from 1 to 21 (WCAG 2.2, contrast ratio). */
function contrast(one = "", other = ""): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].toSorted(
    (a, b) => b - a,
  );
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: string): number {
  const digits =
    colour.length === 4 ? colour.replaceAll(/[^#]/g, "$&$&") : colour;
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map((at) => Number.parseInt(digits.slice(at, at + 2), 16) / 255)
    .map((value) =>
      value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4,
    );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
