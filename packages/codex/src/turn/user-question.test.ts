import { describe, expect, it } from "vitest";
import { elicitationQuestion } from "./user-question.ts";

describe("the question of an MCP server of Codex to open a page", () => {
  const ask = (url: string) =>
    elicitationQuestion({
      mode: "url",
      serverName: "s",
      message: "Sign in.",
      url,
    });

  it("shows the address as a browser reads it, in front of the server's words", () => {
    expect(
      ask("https://a.example\\@b.example/\u202e")?.request.details,
    ).toMatchObject({
      value: {
        description:
          'MCP server "s" asks to open https://a.example/@b.example/%E2%80%AE\nSign in.',
      },
    });
  });

  it.each([
    "javascript:alert(1)",
    "file:///etc/passwd",
    "https://good.example@evil.example/",
    "x",
    "data:,x",
  ])("is not asked for %s", (url) => expect(ask(url)).toBeUndefined());
});
