import { describe, expect, it } from "vitest";
import { locate } from "./conversation.ts";

const user = (...texts: string[]) =>
  ({ role: "user", texts, results: [] }) as const;

describe("locate", () => {
  it("finds the prompt behind an agent's context, also where it is a message of its own", () => {
    const position = { prompt: "text Hello.", round: 0, results: [] };
    expect(locate([user("The date is …", "text Hello.")])).toEqual(position);
    expect(locate([user("The date is …"), user("text Hello.")])).toEqual(
      position,
    );
  });

  it("takes the last prompt, where one before it has no answer because its turn was canceled", () => {
    const { prompt } = locate([
      user("wait 600000"),
      user("<turn canceled>"),
      user("text Hello."),
    ]);
    expect(prompt).toBe("text Hello.");
  });
});
