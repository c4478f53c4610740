import { Code } from "@devtool/server/agent";
import { describe, expect, it } from "vitest";
import {
  isLostConnection,
  LostConnection,
  overConnections,
} from "./lost-connection.ts";

/** An error as `pg` and the system make it. */
function failure(code: string | undefined, message = "no"): Error {
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}

describe("isLostConnection", () => {
  it.each([
    ...["08006", "57P01", "53300", "ECONNRESET", "EPIPE"].map((code) =>
      failure(code),
    ),
    failure(undefined, "Connection terminated unexpectedly"),
    failure(undefined, "Client was closed and is not queryable"),
    new AggregateError([failure("ECONNREFUSED"), failure("ECONNREFUSED")]),
  ])("takes %o for one", (reason) => {
    expect(isLostConnection(reason)).toBe(true);
  });

  it.each([
    ...["23514", "42P01", "57014", "53100", "ERR_INVALID_ARG_TYPE"].map(
      (code) => failure(code),
    ),
    failure("42601", "Connection terminated unexpectedly"),
    failure(undefined, "Cannot use a pool after calling end on the pool"),
    new TypeError("x is not a function"),
    "Connection terminated",
  ])("does not take %o for one", (reason) => {
    expect(isLostConnection(reason)).toBe(false);
  });
});

describe("overConnections", () => {
  const never = new AbortController().signal;

  it("tries again after a lost connection alone", async () => {
    const ends: (() => unknown)[] = [
      () => Promise.reject(new LostConnection("one")),
      () => 7,
    ];
    const tried = await overConnections(async () => ends.shift()?.(), never, {
      retryMs: 1,
    });
    expect([tried, ends]).toEqual([7, []]);
    const other = failure("23514");
    await expect(
      overConnections(() => Promise.reject(other), never),
    ).rejects.toBe(other);
  });

  it("says at last what the connection was lost by", async () => {
    let tries = 0;
    const cause = failure("EPIPE");
    const lose = (): Promise<never> => {
      tries++;
      return Promise.reject(new LostConnection(cause));
    };
    await expect(
      overConnections(lose, never, { maxTries: 3, retryMs: 1 }),
    ).rejects.toMatchObject({ code: Code.Unavailable, cause });
    expect(tries).toBe(3);
  });

  it("waits for no connection once its signal aborts", async () => {
    const controller = new AbortController();
    const reason = new Error("canceled");
    const lose = (): Promise<never> => {
      setImmediate(() => controller.abort(reason));
      return Promise.reject(new LostConnection("one"));
    };
    const tried = overConnections(lose, controller.signal, {
      retryMs: 1_000_000,
    });
    await expect(tried).rejects.toBe(reason);
  });
});
