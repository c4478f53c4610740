import { describe, expect, it } from "vitest";
import { unsentFault } from "./unsent-fault.ts";

describe("a request that could not be sent", () => {
  it("gives the reason in one line", () => {
    const cause = new Error(
      "The file at /home/me/key.json does not exist.\nsecond line",
    );
    expect(unsentFault(cause).message).toBe(
      "the request to the model could not be made (The file at /home/me/key.json does not exist.): " +
        "the operator must check the credentials",
    );
    expect(unsentFault(undefined).message).toMatch(
      /^the request to the model could not be made: /,
    );
  });

  it("quotes nothing of a file that is not valid JSON", () => {
    const cause = thrownBy(() => JSON.parse('{"private_key": s3cret}'));
    expect(String(cause)).toContain("s3cret");
    expect(unsentFault(cause).message).toContain(
      "(the credentials are not valid JSON)",
    );
  });

  it("quotes no token, not even a part of one at the end", () => {
    const token = `eyJhbGciOiJSUzI1NiJ9.${"x".repeat(40)}.${"y".repeat(300)}.z-_`;
    const { message } = unsentFault(
      new Error(`invalid_grant: ${"word ".repeat(33)} ${token} is refused`),
    );
    expect(message).toContain("invalid_grant: word");
    expect(message).not.toMatch(/eyJ|xxx|yyy|z-_/);
  });
});

function thrownBy(run: () => unknown): unknown {
  try {
    return run();
  } catch (reason) {
    return reason;
  }
}
