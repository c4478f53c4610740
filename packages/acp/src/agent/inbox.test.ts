import { Code } from "@devtool/server/agent";
import { beforeEach, describe, expect, it } from "vitest";
import type { ClientAction } from "./client-action.ts";
import { Inbox } from "./inbox.ts";

const WRITE: ClientAction = {
  case: "write",
  path: "/w/a",
  content: "new",
  oldContent: undefined,
  isHidden: false,
};
const signal = new AbortController().signal;

describe("an action that an agent wants of its client", () => {
  let done: string[];
  const perform = async (): Promise<string> => {
    done.push("done");
    return "result";
  };
  beforeEach(() => {
    done = [];
  });

  it("is done when its question is answered so, and the turn hears of it", async () => {
    const inbox = new Inbox(() => undefined);
    const queue = inbox.open();
    const running = inbox.run(WRITE, perform, signal);
    const question = await queue.take(signal);
    expect([question, done]).toMatchObject([
      { case: "permission", value: { action: WRITE } },
      [],
    ]);
    if (question.case === "permission") {
      question.value.answer({ outcome: "selected", optionId: "allow" });
    }
    expect([await running, done]).toEqual(["result", ["done"]]);
    expect(await queue.take(signal)).toMatchObject({
      case: "performed",
      value: { error: undefined },
    });
  });

  it("is not done outside of a turn", async () => {
    const problem = 'writing "/w/a" is not possible now: no turn is open';
    const inbox = new Inbox(() => undefined);
    await expect(inbox.run(WRITE, perform, signal)).rejects.toMatchObject({
      code: Code.FailedPrecondition,
      problem,
    });
    expect(done).toEqual([]);
  });

  it("is not done when its turn ends before the answer, nor when the answer comes after that", async () => {
    const inbox = new Inbox(() => undefined);
    const queue = inbox.open();
    const running = inbox.run(WRITE, perform, signal);
    const question = await queue.take(signal);
    inbox.close();
    if (question.case === "permission") {
      question.value.answer({ outcome: "selected", optionId: "allow" });
    }
    await expect(running).rejects.toMatchObject({
      code: Code.Canceled,
      problem: 'writing "/w/a" was canceled',
    });
    expect(done).toEqual([]);
  });

  it("is not done for an agent that has ended before the answer", async () => {
    const inbox = new Inbox(() => undefined);
    const queue = inbox.open();
    const ended = new AbortController();
    const running = inbox.run(WRITE, perform, ended.signal);
    const question = await queue.take(signal);
    ended.abort();
    if (question.case === "permission") {
      question.value.answer({ outcome: "selected", optionId: "allow" });
    }
    await expect(running).rejects.toMatchObject({ code: Code.Canceled });
    expect(done).toEqual([]);
  });
});
