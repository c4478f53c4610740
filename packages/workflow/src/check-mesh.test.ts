import { readFileSync } from "node:fs";
import { create } from "@bufbuild/protobuf";
import { AgentMeshSchema } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { readMesh } from "./check-mesh.ts";
import { pickAgents } from "./pick-agents.ts";

const AGENTS = "agents: [{ name: one, skills: [review] }, { name: two }]\n";

describe("readMesh", () => {
  it("reads the sample of the page", () => {
    const page = new URL("../../../docs/agent-calls.md", import.meta.url);
    const [, sample = ""] =
      /<!-- mesh: front\.mesh\.yaml -->\n```yaml\n(.*?)```/s.exec(
        readFileSync(page, "utf8"),
      ) ?? [];
    expect(readMesh(sample, "front.mesh.yaml")).toMatchObject({
      name: "front",
      otherwise: ["coder"],
    });
  });

  it("reads TOML, too, and names a mesh after its file", () => {
    const text =
      'otherwise = ["one"]\n[[agents]]\nname = "one"\nconcurrency = 2\n';
    expect(readMesh(text, "/etc/desk.mesh.toml")).toMatchObject({
      name: "desk",
      agents: [{ name: "one", concurrency: 2 }],
    });
  });

  it.each([
    ["agents: []", "it has 0 agents: write 1 to 100 under agents"],
    [
      `agents: ${JSON.stringify(Array.from({ length: 101 }, (_, index) => ({ name: `a${index}` })))}`,
      "it has 101 agents: write 1 to 100 under agents",
    ],
    [
      "agents: [{ name: a b }]",
      'the name of an agent is "a b", which is not 1 to 50 letters, digits, - and _: write another one',
    ],
    [
      "agents: [{ name: a-b }, { name: A_b }]",
      'agent "A_b" has the name of "a-b", or nearly: choose another name',
    ],
    [
      "agents: [{ name: mesh }]",
      'agent "mesh" is the mesh itself: name it otherwise, or take the agent away',
    ],
    ...[-1, 0, 1001].map((concurrency) => [
      `agents: [{ name: a, concurrency: ${concurrency} }]`,
      `agent "a" has concurrency ${concurrency}: write a number from 1 to 1000`,
    ]),
    [
      "agents: [{ name: a, skills: ['b c'] }]",
      'a skill of "a" is "b c", which is not 1 to 50 letters, digits, - and _: write another one',
    ],
    [
      `${AGENTS}rules: [{ id: r, words: [x] }]`,
      'rule "r" has no agents: choose one, two',
    ],
    [
      `${AGENTS}rules: [{ id: r, agents: [one], words: [x] }, { id: R, agents: [one], words: [y] }]`,
      'rule "R" has the name of "r", or nearly: choose another name',
    ],
    [
      `${AGENTS}rules: [{ id: r, agents: [three], words: [x] }]`,
      'rule "r" names agent "three", which is not among its agents: choose one, two',
    ],
    [
      `${AGENTS}rules: [{ id: r, agents: [one] }]`,
      'rule "r" has no condition: write starts_with or words, or its agents under otherwise',
    ],
    ...["", " ", "c++", "two words", " x"].map((word) => [
      `${AGENTS}rules: [{ id: r, agents: [one], words: [b, ${JSON.stringify(word)}] }]`,
      `rule "r" has ${JSON.stringify(word)} among its words, which is never found: write one word of letters, digits, - and _, or use starts_with`,
    ]),
    ...[" ", " x"].map((start) => [
      `${AGENTS}rules: [{ id: r, agents: [one], starts_with: "${start}" }]`,
      'rule "r" has a blank in front of starts_with, where no text has one: take it away',
    ]),
    ...[
      ["words: [a, B]", "words: [b, A]"],
      ["words: [a, b]", "words: [b], starts_with: c"],
      ["words: [代码]", "words: [审查代码]"],
      ["starts_with: Re", "starts_with: review"],
      ["starts_with: re", "starts_with: re, words: [x]"],
    ].map(([first, second]) => [
      `${AGENTS}rules: [{ id: q, agents: [one], ${first} }, { id: r, agents: [two], ${second} }]`,
      'rule "r" is never reached, since rule "q" holds for all of its texts: put it in front of that one, or take it away',
    ]),
    [
      `${AGENTS}otherwise: [three]`,
      'otherwise names agent "three", which is not among its agents: choose one, two',
    ],
    ...["0", "-1", "2073600.001", "315576000000"].map((seconds) => [
      `${AGENTS}first_event_timeout: ${seconds}s`,
      `first_event_timeout is ${seconds} s: write a time above zero and up to 24 days, such as "30s"`,
    ]),
  ])("refuses %j, and says what to do", (text, problem) => {
    expect(() => readMesh(`name: mesh\n${text}`, "x.mesh.yaml")).toThrow(
      `mesh file "x.mesh.yaml" cannot be used: mesh: ${problem}`,
    );
  });

  it.each([
    ["words: [a]", "words: [a, b]"],
    ["words: [x], starts_with: a", "words: [x]"],
    ["words: [x]", "starts_with: x"],
    ["starts_with: review", "starts_with: re"],
    ["words: [हिन्दी, İ]", "words: [c-3, a_b]"],
    ["words: [审查代码]", "words: [代码]"],
  ])("takes rules that both can be reached: %s, %s", (first, second) => {
    const rules = `[{ id: q, agents: [one], ${first} }, { id: r, agents: [two], ${second} }]`;
    const mesh = readMesh(`${AGENTS}rules: ${rules}`, "x.mesh.yaml");
    expect(mesh.rules).toHaveLength(2);
  });

  it("refuses a name that no agent can have", () => {
    expect(() => readMesh(`name: a b\n${AGENTS}`, "x.mesh.yaml")).toThrow(
      'name is "a b", which is not 1 to 50 letters',
    );
  });

  it("finds a whole word, and one of a script without blanks anywhere", () => {
    const { rules } = readMesh(
      `${AGENTS}rules: [{ id: r, agents: [two], words: [代码, コード, โค้ด, ode] }]`,
      "x.mesh.yaml",
    );
    const agents = (text: string) =>
      pickAgents(
        { ...create(AgentMeshSchema), rules, otherwise: ["one"] },
        { text, data: {}, agent: "", skill: "" },
        { agent: "", refersElsewhere: false },
      ).names;
    for (const text of [
      "请审查代码。",
      "このコードを見て",
      "ดูโค้ดนี้",
      "an ODE",
    ]) {
      expect(agents(text), text).toEqual(["two"]);
    }
    for (const text of ["请审查。", "some code", "ode-x"]) {
      expect(agents(text), text).toEqual(["one"]);
    }
  });

  it("names a field that is not there", () => {
    expect(() => readMesh(`${AGENTS}rule: []`, "x.mesh.yaml")).toThrow(
      /^mesh file "x\.mesh\.yaml" cannot be used: .*rule/,
    );
  });
});
