import { expect, it } from "vitest";
import type { DiffProposal, EditorDiff } from "./editor.ts";
import { DiffDecision } from "./gen/devtool/ide/v1alpha/diff_pb.ts";
import { OpenDiffs } from "./open-diffs.ts";
import { ScriptedEditor } from "./testing/index.ts";

const { signal } = new AbortController();
const proposal = { path: "/a.ts", content: "one", title: "" };

it("keeps a file whose view the editor fails to close, and drops its answer", async () => {
  const editor = new ScriptedEditor();
  const diffs = new OpenDiffs(editor);
  const [owner, other] = [{}, {}];
  const { answer } = await diffs.open(owner, proposal, signal);
  editor.fault = "fails";
  await expect(diffs.close(owner, "/a.ts")).rejects.toThrow("no window");
  await expect(diffs.open(owner, proposal, signal)).rejects.toThrow();
  editor.fault = undefined;
  // A second view of the file would stand beside the first.
  const next = await diffs.open(other, proposal, signal);
  expect(editor.diffs).toHaveLength(1);
  editor.diffs[0]?.accept();
  expect(await answer).toBeUndefined();
  await expect.poll(() => editor.diffs).toHaveLength(2);
  editor.diffs[1]?.accept();
  expect(await next.answer).toMatchObject({ decision: DiffDecision.ACCEPTED });
});

it("opens one view at a time of a file that is proposed many times", async () => {
  const editor = new ScriptedEditor();
  const diffs = new OpenDiffs(editor);
  const owner = {};
  const opened = await Promise.all(
    Array.from({ length: 5 }, () => diffs.open(owner, proposal, signal)),
  );
  expect(editor.diffs.map(({ isOpen }) => isOpen)).toEqual([
    false,
    false,
    false,
    false,
    true,
  ]);
  editor.diffs[4]?.reject();
  const answers = await Promise.all(opened.map(({ answer }) => answer));
  expect(answers.map((each) => each?.decision)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
    DiffDecision.REJECTED,
  ]);
});

it("shows the diffs of a file one after another, and none whose agent has gone", async () => {
  const editor = new ScriptedEditor();
  const diffs = new OpenDiffs(editor);
  const gone = new AbortController();
  const open = async (content: string, until = signal) => {
    const owner = { content };
    const next = { ...proposal, content };
    return { owner, ...(await diffs.open(owner, next, until)) };
  };
  const first = await open("first");
  const closed = await open("closed");
  const left = await open("left", gone.signal);
  const last = await open("last");
  gone.abort(new Error("the client is gone"));
  await expect(left.answer).rejects.toThrow("the client is gone");
  expect(await diffs.close(closed.owner, "/a.ts")).toBeUndefined();
  expect(await closed.answer).toBeUndefined();
  expect(editor.diffs).toHaveLength(1);
  editor.diffs[0]?.reject();
  expect(await first.answer).toMatchObject({ decision: DiffDecision.REJECTED });
  await expect.poll(() => editor.diffs[1]?.content).toBe("last");
  editor.diffs[1]?.accept();
  expect(await last.answer).toMatchObject({ content: "last" });
});

it("tells an agent that has waited when the editor then fails", async () => {
  const editor = new ScriptedEditor();
  const diffs = new OpenDiffs(editor);
  await diffs.open({}, proposal, signal);
  const { answer } = await diffs.open({}, proposal, signal);
  editor.fault = "fails";
  editor.diffs[0]?.accept();
  await expect(answer).rejects.toThrow("no window is open");
});

/** An editor that shows a diff late, and whose view then breaks. */
class LateEditor extends ScriptedEditor {
  readonly asked = Promise.withResolvers<void>();
  readonly gate = Promise.withResolvers<void>();

  override async openDiff(proposal: DiffProposal): Promise<EditorDiff> {
    this.asked.resolve();
    await this.gate.promise;
    const diff = await super.openDiff(proposal);
    return { ...diff, outcome: Promise.reject(new Error("the view broke")) };
  }
}

it("closes a view that opens when nobody waits for it any more", async () => {
  const editor = new LateEditor();
  const gone = new AbortController();
  const opening = new OpenDiffs(editor).open({}, proposal, gone.signal);
  await editor.asked.promise;
  gone.abort(new Error("the client is gone"));
  await expect(opening).rejects.toThrow("the client is gone");
  editor.gate.resolve();
  await expect.poll(() => editor.diffs[0]?.isOpen).toBe(false);
});
