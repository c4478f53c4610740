import { describe, expect, it } from "vitest";
import { Code } from "../errors.ts";
import { BrowserSessions, type HeldConnection } from "./browser-sessions.ts";
import { OPERATOR } from "./caller.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

describe("browser sessions", () => {
  it("redeem a code until a minute has passed, and once", async () => {
    const { sessions, pass } = await open();
    const [used, late] = [
      sessions.createCode(OPERATOR, ""),
      sessions.createCode(OPERATOR, ""),
    ];
    pass(MINUTE_MS - 1);
    await sessions.redeem(used.code);
    await expect(sessions.redeem(used.code)).rejects.toMatchObject({
      code: Code.Unauthenticated,
    });
    pass(1);
    await expect(sessions.redeem(late.code)).rejects.toMatchObject({
      code: Code.Unauthenticated,
    });
  });

  it("end after 12 hours, with the connections that are open", async () => {
    const { sessions, pass } = await open();
    const { token } = await sessions.redeem(
      sessions.createCode(OPERATOR, "").code,
    );
    const connection = new FakeConnection();
    sessions.hold(token, connection);
    pass(12 * HOUR_MS - 1);
    expect(sessions.callerOf(token)).toMatchObject({
      principal: OPERATOR.principal,
      rights: OPERATOR.rights,
    });
    expect(connection.isDestroyed).toBe(false);
    pass(1);
    expect(sessions.callerOf(token)).toBeUndefined();
    expect(sessions.list(OPERATOR.principal)).toEqual([]);
    await expect.poll(() => connection.isDestroyed).toBe(true);
  });

  it("hold each connection once, and forget it when it is closed", async () => {
    const { sessions } = await open();
    const { token, session } = await sessions.redeem(
      sessions.createCode(OPERATOR, "").code,
    );
    const connection = new FakeConnection();
    for (let request = 0; request < 100; request++) {
      sessions.hold(token, connection);
    }
    expect(connection.listeners).toHaveLength(1);
    for (const close of connection.listeners) close();
    await sessions.revoke(OPERATOR.principal, session.id);
    expect(connection.isDestroyed).toBe(false);
  });

  it("are at most 32 for a principal, and so are the codes that wait", async () => {
    const { sessions, pass } = await open();
    const codes = Array.from(
      { length: 32 },
      () => sessions.createCode(OPERATOR, "").code,
    );
    expect(() => sessions.createCode(OPERATOR, "")).toThrow(
      "there are 32 browser codes already",
    );
    for (const code of codes) await sessions.redeem(code);
    const { code } = sessions.createCode(OPERATOR, "");
    await expect(sessions.redeem(code)).rejects.toThrow(
      "there are 32 browser sessions already",
    );
    pass(12 * HOUR_MS);
    await sessions.redeem(sessions.createCode(OPERATOR, "").code);
  });
});

describe("codes for devices", () => {
  it("are ten digits, work once within five minutes, and give access for 14 days", async () => {
    const { sessions, pass } = await open();
    const [used, late] = [pair(sessions), pair(sessions)];
    expect(used).toMatch(/^[0-9A-HJKMNP-TV-Z]{5}-[0-9A-HJKMNP-TV-Z]{5}$/);
    pass(5 * MINUTE_MS - 1);
    const { token } = await sessions.redeem(used);
    await expect(sessions.redeem(used)).rejects.toMatchObject({
      code: Code.Unauthenticated,
    });
    pass(1);
    await expect(sessions.redeem(late)).rejects.toMatchObject({
      code: Code.Unauthenticated,
    });
    pass(14 * 24 * HOUR_MS - 2);
    expect(sessions.callerOf(token)?.principal).toBe(OPERATOR.principal);
    pass(1);
    expect(sessions.callerOf(token)).toBeUndefined();
  });

  it("are taken as people type them", async () => {
    const { sessions } = await open();
    for (const typed of [
      (code: string) => code.toLowerCase(),
      (code: string) => code.replace("-", ""),
      (code: string) => ` ${code.replace("-", " ")} `,
      (code: string) => code.replaceAll("0", "o").replaceAll("1", "l"),
    ]) {
      await sessions.redeem(typed(pair(sessions)));
    }
  });

  it("cannot be guessed: after ten wrong ones in a minute, a right one is refused, too", async () => {
    const { sessions, pass } = await open();
    const code = pair(sessions);
    for (let guess = 0; guess < 10; guess++) {
      await expect(sessions.redeem(`00000-0000${guess}`)).rejects.toMatchObject(
        { code: Code.Unauthenticated },
      );
    }
    await expect(sessions.redeem(code)).rejects.toMatchObject({
      code: Code.ResourceExhausted,
    });
    // Codes of links are too long to be guessed, and are not held up.
    await sessions.redeem(sessions.createCode(OPERATOR, "").code);
    pass(MINUTE_MS);
    await sessions.redeem(code);
  });

  it("are not sent twice by chance", async () => {
    const { sessions } = await open();
    const codes = Array.from({ length: 32 }, () => pair(sessions));
    expect(new Set(codes).size).toBe(32);
  });

  function pair(sessions: BrowserSessions): string {
    return sessions.createCode(OPERATOR, "", "device").code;
  }
});

class FakeConnection implements HeldConnection {
  isDestroyed = false;
  readonly listeners: (() => void)[] = [];

  destroy(): void {
    this.isDestroyed = true;
  }

  once(_event: "close", listener: () => void): void {
    this.listeners.push(listener);
  }
}

/** Opens sessions with a clock that the test moves. */
async function open(): Promise<{
  readonly sessions: BrowserSessions;
  pass(ms: number): void;
}> {
  let now = 0;
  const sleeping = new Map<() => void, number>();
  const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      sleeping.set(resolve, now + ms);
      signal.addEventListener("abort", () => reject(signal.reason), {
        once: true,
      });
    });
  const pass = (ms: number): void => {
    now += ms;
    for (const [wake, at] of sleeping) if (at <= now) wake();
  };
  return {
    sessions: await BrowserSessions.open({
      sources: new Set(),
      now: () => now,
      sleep,
    }),
    pass,
  };
}
