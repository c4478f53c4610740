import { expect, it } from "vitest";
import { retryAfterMs } from "./retry-after.ts";

const DATE = "Tue, 01 Dec 2026 05:00:00 GMT";

it.each([
  ["120", "", 120_000],
  [" 1.5 ", DATE, 1500],
  ["Tue, 01 Dec 2026 05:00:30 GMT", DATE, 30_000],
  ["Tue, 01 Dec 2026 04:00:00 GMT", DATE, 0],
  ["Tue, 01 Dec 2026 05:00:30 GMT", "", 0],
  ["-1", DATE, 0],
  ["soon", DATE, 0],
  ["", DATE, 0],
])("the wait that %j asks for at %j is %i ms", (retryAfter, date, ms) => {
  expect(retryAfterMs(retryAfter, date)).toBe(ms);
});
