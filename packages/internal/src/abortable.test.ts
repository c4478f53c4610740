import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { abortable } from "./abortable.ts";

it("leaves no rejection of its work to the process when its signal had aborted", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  const work = setImmediate().then(() => {
    throw new Error("the work failed later");
  });
  const waiting = abortable(work, AbortSignal.abort("over"));
  await expect(waiting).rejects.toBe("over");
  await setImmediate();
  await setImmediate();
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});
