import { describe, expect, it } from "vitest";
import { assertName } from "./name-limit.ts";

describe("an id or a name that a client chooses", () => {
  it.each(["thread-1", "Gespräch 2", "会話", "a/b:c", "😀"])(
    "is taken as it is: %s",
    (name) => {
      expect(() => assertName("context_id", name)).not.toThrow();
    },
  );

  it.each(["a\u0000", "a\nb", "bob\u202e", "b\u200bob", "a\ud800", "a\u00a0b"])(
    "is refused with a character that nobody sees: %j",
    (name) => {
      expect(() => assertName("context_id", name)).toThrow(
        "has characters that cannot be seen: send visible characters on one line",
      );
    },
  );
});
