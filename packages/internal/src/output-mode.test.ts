import { describe, expect, it } from "vitest";
import { takesMode } from "./output-mode.ts";

describe("takesMode", () => {
  it.each<[string[], string, boolean]>([
    [[], "image/png", true],
    [["image/png"], "image/png", true],
    [["IMAGE/PNG; q=0.5"], "image/png", true],
    [["image/*"], "image/png", true],
    [["image/*"], "imagery/png", false],
    [["text"], "text/markdown", true],
    [["data"], "application/json", true],
    [["*"], "video/mp4", true],
    [["*/*"], "video/mp4", true],
    [["text/plain", "audio/*"], "image/png", false],
    [["text/plain"], "text/markdown", false],
    [["text/plain"], "text/plain; charset=utf-8", true],
    [[""], "text/plain", false],
  ])("a client that lists %j accepts %s: %s", (modes, mediaType, takes) => {
    expect(takesMode(modes, mediaType)).toBe(takes);
  });
});
