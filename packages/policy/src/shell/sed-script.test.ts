import { expect, it } from "vitest";
import { isHarmlessSed } from "./sed-script.ts";

it.each(["b", "1", "1,2!", "/a/", ":a"])(
  "X1: reads a script of sed in linear time: %j and spaces",
  (text) => {
    expect(isHarmlessSed([`${text}${" ".repeat(200_000)}?`])).toBe(false);
    expect(isHarmlessSed([`${text} ;`.repeat(50_000)])).toBe(
      text === "b" || text === ":a",
    );
  },
);
