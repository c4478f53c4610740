import { expect, it } from "vitest";
import { shortCount } from "./count.ts";

it("counts in a few characters", () => {
  expect([950n, 1200n, 3_400_000n].map(shortCount)).toEqual([
    "950",
    "1.2k",
    "3.4M",
  ]);
});
