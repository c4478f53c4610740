import { describe, expect, it } from "vitest";
import { type FileAgents, readAgentFiles } from "./agent-files.ts";

describe("the agent files of Gemini CLI", () => {
  it("are of two kinds, and one may hold a list of agents elsewhere", () => {
    const found = read(
      `---
- kind: remote
  name: one
  agent_card_url: https://one.example/card.json
  auth: { type: http, scheme: Bearer, token: t0ken }
- kind: remote
  name: two
  description: Two.
  agent_card_json: '{"name": "Two", "url": "https://two.example/a2a"}'
---
`,
      `---
name: tester
description: Tests.
tools: [read_file, run_shell_command]
timeout_mins: 5
model: inherit
---
You test.
`,
    );
    expect(found.problems).toEqual([]);
    expect(found.remote).toEqual([
      {
        name: "one",
        description: "",
        url: "https://one.example/card.json",
        token: "t0ken",
      },
      { name: "two", description: "Two.", url: "https://two.example/a2a" },
    ]);
    expect(found.local).toMatchObject([
      {
        name: "tester",
        instructions: "You test.",
        tools: ["read_file", "run_shell_command"],
        timeoutMinutes: 5,
      },
    ]);
  });

  it.each([
    ["no head", "it has no YAML between --- lines"],
    ["---\nname: [\n---\nText", "Flow sequence"],
    ["---\nname: Big\n---\nText", "name: Invalid string"],
    ["---\nname: a\nkind: other\n---\nText", "kind: Invalid input"],
    [
      "---\nname: a\nhooks: x\n---\nText",
      'its fields: Unrecognized key: "hooks"',
    ],
    ["---\nname: a\n---\n", "it has no text"],
    ["---\nname: a\ntools: []\n---\nText", "tools has nothing"],
    ["---\nname: a\ntools: ['mcp_*']\n---\nText", 'tools has "mcp_*"'],
    ["---\nname: a\nmcp_servers: {}\n---\nText", "it brings mcp_servers"],
    [
      "---\nkind: remote\nname: a\n---\n",
      'agent "a" needs agent_card_url or agent_card_json, and not both',
    ],
    [
      remote("agent_card_url: file:///etc/passwd"),
      "agent_card_url: Invalid URL",
    ],
    [
      remote("agent_card_url: https://s3cret@a.example"),
      'agent "a" has a user name or a password in its URL: leave them out',
    ],
    [remote("agent_card_json: '{}'"), "agent_card_json names no URL"],
    [
      remote("agent_card_url: https://a.example\nauth: { type: oauth }"),
      'agent "a" has auth of a type that is not supported here',
    ],
    [
      remote(
        "agent_card_url: https://a.example\nauth: { type: http, scheme: Bearer, token: $HOME }",
      ),
      'agent "a" takes its token from a variable',
    ],
  ])("cost only themselves when they are wrong: %j", (text, problem) => {
    const found = read(text, "---\nname: good\n---\nText");
    expect(found.local.map(({ name }) => name)).toEqual(["good"]);
    expect(found.remote).toEqual([]);
    expect(found.problems).toEqual([
      expect.stringContaining(
        `agent file ".gemini/agents/0.md" is left out: ${problem}`,
      ),
    ]);
  });

  it("say which of their fields have no effect", () => {
    const { problems } = read(
      "---\nname: a\nmodel: x\nmax_turns: 3\n---\nText",
    );
    expect(problems).toEqual([
      'agent file ".gemini/agents/0.md": model, max_turns has no effect here',
    ]);
  });
});

function remote(rest: string): string {
  return `---\nkind: remote\nname: a\n${rest}\n---\n`;
}

function read(...texts: readonly string[]): FileAgents {
  return readAgentFiles(
    texts.map((text, at) => [`.gemini/agents/${at}.md`, Buffer.from(text)]),
  );
}
